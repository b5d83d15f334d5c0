// SPDX-License-Identifier: Apache-2.0

//go:build go1.24

package main

import (
	"runtime"
	"time"
	"unsafe"
)

// Cleaned objects have a cleanup; Discarded ones are dead, and their cleanups
// wait behind a blocked one.
type Cleaned struct {
	Leaf *Leaf
}

type Argument struct {
	Leaves []*Leaf
}

var (
	cObject  *Cleaned
	cStarted = make(chan bool, 1)
)

//go:noinline
func discard(n int, cleanup func(*Argument)) {
	for i := 0; i < n; i++ {
		obj := &Cleaned{newLeaf()}
		arg := &Argument{newLeaves(10)}
		runtime.AddCleanup(obj, cleanup, arg)
	}
}

func measureNewer() {
	measure("cObject", 2, func() { cObject = &Cleaned{newLeaf()} })
}

func buildNewer() {
	arg := &Argument{newLeaves(10)}
	where("cleanup.leaf", unsafe.Pointer(arg.Leaves[9]))
	runtime.AddCleanup(cObject, func(a *Argument) { use(a.Leaves) }, arg)
	discard(1, func(a *Argument) {
		select {
		case cStarted <- true:
		default:
		}
		<-fNever
	})
	rSink += clearStack()
	// Where cleanups run on the finalizers' goroutine, that one is blocked
	// already.
	for i := 0; i < 20; i++ {
		runtime.GC()
		select {
		case <-cStarted:
			i = 20
		case <-time.After(time.Millisecond):
		}
	}
	discard(4, func(a *Argument) { use(a.Leaves) })
	rSink += clearStack()
	known("cleanups", 5*12, 0)
}
