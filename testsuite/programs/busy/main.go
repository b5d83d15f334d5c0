// SPDX-License-Identifier: Apache-2.0

// Goroutines that are at work: with one P, one spins and holds its list in
// registers, the other was preempted in the middle of its loop. With the
// argument "frozen" (and GODEBUG=asyncpreemptoff=1) the main goroutine spins
// and two goroutines wait to be started.
package main

import (
	"os"
	"runtime"
	"unsafe"
)

// A Ring is a closed list: one can go round it for ever.
type Ring struct {
	Next  *Ring
	Value uint64
}

var (
	bGate    = make(chan bool)
	bCounter uint64
	bPast    [2]uint64
)

//go:noinline
func newRing(n int) *Ring {
	first := &Ring{}
	last := first
	for i := 1; i < n; i++ {
		last.Next = &Ring{Value: uint64(i)}
		last = last.Next
	}
	last.Next = first
	return first
}

//go:noinline
func spinFirst() uint64 {
	ring := newRing(100)
	sum := uint64(0)
	for ring.Value < 1000 {
		sum += ring.Value
		ring = ring.Next
		bPast[0]++
	}
	return sum
}

//go:noinline
func spinSecond() uint64 {
	ring := newRing(200)
	sum := uint64(0)
	for ring.Value < 1000 {
		sum += ring.Value
		ring = ring.Next
		bPast[1]++
	}
	return sum
}

func pending(leaves []*Leaf) {
	<-bGate
	bCounter += leaves[0].A
}

//go:noinline
func startPending() {
	go pending(newLeaves(10))
	leaves := newLeaves(10)
	go func() {
		<-bGate
		bCounter += leaves[0].A
	}()
}

func frozen() {
	known("spinFirst.", 100, 0)
	known("pending", 2*12, 0)
	runtime.GOMAXPROCS(1)
	truthProcs = 1
	tell()
	startPending()
	spinFirst()
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "frozen" {
		frozen()
	}
	reserve()
	truthProcs = 1
	known("spinFirst.", 100, 0)
	known("spinSecond.", 200, 0)
	go spinFirst()
	go spinSecond()
	for bPast[0] == 0 || bPast[1] == 0 {
		runtime.Gosched()
	}
	where("bPast", unsafe.Pointer(&bPast))
	tell()
	wait()
}
