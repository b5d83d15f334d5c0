// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"time"
	"unsafe"
)

// Finalized objects have a finalizer, whose closure holds leaves.
type Finalized struct {
	Leaf *Leaf
}

// Queued objects are dead and wait for their finalizer, which is blocked.
type Queued struct {
	Leaf *Leaf
}

var (
	fObjects  []*Finalized
	fStarted  = make(chan bool, 1)
	fNever    = make(chan bool)
	tStrings  []string
	tBytes    []*int8
	tUnshared *int32
)

//go:noinline
func finalizeWith(obj *Finalized, leaves []*Leaf) {
	runtime.SetFinalizer(obj, func(*Finalized) { use(leaves) })
}

//go:noinline
func drop(n int, finalizer func(*Queued)) {
	for i := 0; i < n; i++ {
		obj := &Queued{newLeaf()}
		runtime.SetFinalizer(obj, finalizer)
	}
}

//go:noinline
func clearStack() uint64 {
	var zero [512]uint64
	for i := range zero {
		zero[i] = rSink
	}
	return zero[rSink%512]
}

// The finalizer's closure, its slice and ten leaves for each of three
// objects; five dead objects with a leaf each wait behind a blocked finalizer,
// which holds one more such pair.
func buildFinalizers() {
	measure("fObjects", -1, func() {
		fObjects = make([]*Finalized, 3)
		for i := range fObjects {
			fObjects[i] = &Finalized{newLeaf()}
		}
	})
	for _, obj := range fObjects {
		finalizeWith(obj, newLeaves(10))
	}
	known("finalizers.set", 3*12, 0)
	drop(1, func(q *Queued) {
		fStarted <- true
		<-fNever
	})
	rSink += clearStack()
	for started := false; !started; {
		runtime.GC()
		select {
		case started = <-fStarted:
		case <-time.After(time.Millisecond):
		}
	}
	drop(5, func(q *Queued) { rSink++ })
	rSink += clearStack()
	known("finalizers.queued", 2*5, 0)
}

// A timer that only the runtime knows: the timer, the closure that it calls,
// the slice and the leaves that this holds.
func buildTimers() {
	leaves := newLeaves(10)
	where("timer.leaf", unsafe.Pointer(leaves[9]))
	time.AfterFunc(24*time.Hour, func() { use(leaves) })
	known("timers", 12, 0)
}

// Small strings and bytes share blocks of the tiny allocator.
func buildTiny() {
	measure("tStrings", -1, func() {
		tStrings = make([]string, 64)
		for i := range tStrings {
			tStrings[i] = string([]byte{'t', byte('0' + i), '.'})
		}
	})
	measure("tBytes", -1, func() {
		tBytes = make([]*int8, 64)
		for i := range tBytes {
			tBytes[i] = new(int8)
		}
	})
	tUnshared = new(int32)
	where("tiny", unsafe.Pointer(tUnshared))
}
