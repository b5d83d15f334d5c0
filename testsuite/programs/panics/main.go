// SPDX-License-Identifier: Apache-2.0

// A program that tells its truth and then ends in the way that its argument
// names, below calls that are deferred. What the runtime prints then goes to a
// file in its folder.
package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
	"unsafe"
)

// Code is no error and has no String method.
type Code int

// Failure has an Error method.
type Failure struct {
	Op  string
	Err error
}

func (f *Failure) Error() string { return f.Op + ": " + f.Err.Error() }

// Point has no method at all.
type Point struct {
	X, Y int
	Name string
}

var (
	silent = make(chan int)
	shared = map[int]int{}
	sink   uint64
	mutex  sync.Mutex
)

//go:noinline
func cleanup(n int) { sink += uint64(n) }

// Deferred calls with and without a record: in a loop they have one.
//
//go:noinline
func below(f func()) {
	defer cleanup(1)
	for i := 0; i < 2; i++ {
		defer func() { cleanup(2) }()
	}
	defer func() { cleanup(3) }()
	f()
}

func again(value any) {
	defer func() {
		r := recover()
		panic(fmt.Sprintf("again: %v", r))
	}()
	panic(value)
}

func write(n int) {
	for i := 0; ; i++ {
		shared[i%64] = n
	}
}

func end(how string) {
	switch how {
	case "error":
		panic(errors.New("no space left"))
	case "wrapped":
		panic(&Failure{"open", errors.New("no such file")})
	case "string":
		panic("out of cheese")
	case "code":
		panic(Code(42))
	case "struct":
		panic(Point{3, 4, "here"})
	case "pointer":
		panic(&Point{5, 6, "there"})
	case "nested":
		defer func() { panic("second") }()
		panic("first")
	case "again":
		again("first")
	case "goroutine":
		go below(func() { panic("elsewhere") })
		<-silent
	case "nil":
		var at *Point
		sink = uint64(at.X)
	case "index":
		var list []int
		sink = uint64(list[len(os.Args)])
	case "fault":
		sink = *(*uint64)(unsafe.Pointer(uintptr(0xdeadbeef000)))
	case "unlock":
		mutex.Unlock()
	case "maps":
		go write(1)
		write(2)
	case "deadlock":
		<-silent
	case "slow":
		go func() {
			defer func() { <-silent }()
			defer func() { panic("late") }()
			panic("early")
		}()
		time.Sleep(time.Hour)
	case "sleep":
		time.Sleep(time.Hour)
	}
}

func main() {
	waitToEnd()
	below(func() { end(os.Args[1]) })
}
