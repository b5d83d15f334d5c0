// SPDX-License-Identifier: Apache-2.0

// A program that tells its truth and then ends itself in the way that its
// argument names. Package variables and a waiting goroutine hold what they
// held before.
package main

import (
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

var (
	crLeaves []*Leaf
	crMap    map[int]*Leaf
	crNever  = make(chan bool)
	crReady  = make(chan bool)
	crSpins  uint32
	crSink   uint64
)

//go:noinline
func use(leaves []*Leaf) {
	for _, l := range leaves {
		crSink += l.A
	}
}

func holdWaiting() {
	leaves := newLeaves(10)
	where("holdWaiting", unsafe.Pointer(leaves[9]))
	crReady <- true
	<-crNever
	use(leaves)
}

// Running while the program ends: stopped by a signal wherever it is.
func holdRunning() {
	leaves := newLeaves(20)
	crReady <- true
	for atomic.AddUint32(&crSpins, 1) != 0 {
	}
	use(leaves)
}

//go:noinline
func deep(n int) int {
	var local [64]int
	if n > 0 {
		local[n%64] = deep(n-1) + deep(n-2)
	}
	return local[0] + n
}

type Impossible struct {
	Text string
}

func end(how string) {
	switch how {
	case "panic":
		defer func() {
			panic(&Impossible{"again"})
		}()
		panic(&Impossible{"first"})
	case "nil":
		var leaf *Leaf
		crSink = leaf.A
	case "fault":
		debug.SetPanicOnFault(false)
		crSink = *(*uint64)(unsafe.Pointer(uintptr(0xdeadbeef000)))
	case "overflow":
		debug.SetMaxStack(1 << 20)
		crSink = uint64(deep(1 << 30))
	case "throw":
		// A fatal error of the runtime's own.
		new(sync.Mutex).Unlock()
	case "abort":
		syscall.Kill(syscall.Getpid(), syscall.SIGABRT)
		<-crNever
	}
}

func main() {
	measure("crLeaves", 101, func() { crLeaves = newLeaves(100) })
	measure("crMap", -1, func() {
		crMap = make(map[int]*Leaf)
		for i := 0; i < 50; i++ {
			crMap[i] = newLeaf()
		}
	})
	go holdWaiting()
	<-crReady
	go holdRunning()
	<-crReady
	known("holdWaiting.", 11, 0)
	known("holdRunning.", 21, 0)
	tell()
	wait()
	end(os.Args[1])
}
