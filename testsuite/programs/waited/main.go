// SPDX-License-Identifier: Apache-2.0

// Goroutines that begin to wait before, between and after collections. The
// program prints when, by the clock of the runtime.
package main

import (
	"encoding/json"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

const clockMonotonic = 1

// Goroutine says when a goroutine began to wait, and after how many collections.
type Goroutine struct {
	Name        string `json:"name"`
	Id          uint64 `json:"id"`
	Began       int64  `json:"began"`
	Collections int    `json:"collections"`
}

// Collection says in which time a collection ran.
type Collection struct {
	Begin int64 `json:"begin"`
	End   int64 `json:"end"`
}

var truth struct {
	Goroutines  []*Goroutine `json:"goroutines"`
	Collections []Collection `json:"collections"`
}

var (
	first, second, third = make(chan int), make(chan int), make(chan int)
	woken                = make(chan int)
	pipe                 [2]int
	began                = make(chan bool)
)

func now() int64 {
	var ts syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic,
		uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

// start begins a goroutine that waits in f, and gives it time to.
func start(name string, f func()) *Goroutine {
	g := &Goroutine{Name: name}
	truth.Goroutines = append(truth.Goroutines, g)
	go func() {
		g.Id, g.Began = goid(), now()
		g.Collections = len(truth.Collections)
		began <- true
		f()
	}()
	<-began
	time.Sleep(50 * time.Millisecond)
	return g
}

func collectNow() {
	c := Collection{Begin: now()}
	runtime.GC()
	c.End = now()
	truth.Collections = append(truth.Collections, c)
	time.Sleep(200 * time.Millisecond)
}

func main() {
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	// A goroutine that waits is noted from the second collection on.
	runtime.GC()
	start("before all", func() { <-first })
	start("in a system call", func() {
		syscall.Read(pipe[0], make([]byte, 1))
	})
	again := start("waits again", func() { <-woken; <-woken })
	collectNow()
	start("before the second", func() { <-second })
	collectNow()
	collectNow()
	woken <- 1
	time.Sleep(50 * time.Millisecond)
	again.Began, again.Collections = now(), len(truth.Collections)
	start("after all", func() { <-third })
	line, err := json.Marshal(truth)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(line, '\n'))
	os.Stdin.Read(make([]byte, 1))
}
