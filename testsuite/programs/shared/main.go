// SPDX-License-Identifier: Apache-2.0

// Objects that several roots hold: who is billed for them.
package main

import (
	"context"
	"sync"
	"time"
	"unsafe"
)

type Chain struct {
	Next    *Chain
	Payload []*Leaf
}

type Deep struct {
	One *struct {
		Two *struct {
			Three *Deep
		}
	}
	Leaves []*Leaf
}

// A Cache has a pool in it; the library has a list of all pools.
type Cache struct {
	pool   sync.Pool
	leaves []*Leaf
}

type Shelf struct {
	One *struct {
		Two *Cache
	}
}

// A Waiter is blocked on a channel and holds a large list by its stack.
type Waiter struct {
	Leaves []*Leaf
}

var (
	sFar   *Chain
	sNear  *Chain
	sTieA  []*Leaf
	sTieB  []*Leaf
	sPartA []*Leaf
	sPartB []*Leaf
	sHeadA []*Leaf
	sHeadB []*Leaf
	sHuge  []*Leaf
	sShelf *Shelf

	sChan    = make(chan *Leaf)
	sTimer   *time.Timer
	sContext context.Context
	sCancel  context.CancelFunc

	sLocal   []*Leaf
	sMethod  func() int
	sClosure func() int
	sServer  Waiter
)

func (w *Waiter) Count() int { return len(w.Leaves) }

//go:noinline
func waitFor(w *Waiter, ready chan bool) {
	ready <- true
	<-sChan
	w.Leaves[0].A++
}

// The same leaves hang on a package variable and on this frame, at the same
// depth: the package variable comes first.
//
//go:noinline
func shareLocal(leaves []*Leaf, ready chan bool) {
	ready <- true
	<-sChan
	leaves[0].A++
}

//go:noinline
func countLater(leaves []*Leaf) func() int {
	return func() int { return len(leaves) }
}

// Five chain links; the near variable holds the third, the far one the first:
// the far one is billed for the first two only.
func buildChain() {
	for i := 0; i < 5; i++ {
		sFar = &Chain{sFar, newLeaves(10)}
	}
	sNear = sFar.Next.Next
	known("sFar", 2*12, 0)
	known("sNear", 3*12, 0)
	where("sNear", unsafe.Pointer(sNear))
	where("sNear.last", unsafe.Pointer(sNear.Next.Next.Payload[9]))
	where("sFar", unsafe.Pointer(sFar))
}

// A tie goes to the variable at the lower address: the test learns here
// which that is.
func buildTies() {
	sTieA = newLeaves(20)
	sTieB = sTieA
	where("&sTieA", unsafe.Pointer(&sTieA))
	where("&sTieB", unsafe.Pointer(&sTieB))
	// Without a header: no more than 512 bytes. The other has one, where the
	// release has headers.
	whole := newLeaves(60)
	sPartA = whole[:24:24]
	sPartB = whole[36:]
	whole = newLeaves(100)
	sHeadA = whole[:40:40]
	sHeadB = whole[60:]
	where("sTieA", unsafe.Pointer(sTieA[0]))
}

// The list of pools leads into the cache with fewer hops than the shelf.
func buildShelf() {
	sShelf = new(Shelf)
	sShelf.One = new(struct{ Two *Cache })
	sShelf.One.Two = &Cache{leaves: newLeaves(20)}
	known("sShelf", 24, 0)
	where("sShelf.cache", unsafe.Pointer(sShelf.One.Two))
}

// A closure and a method value are one object each: what they hold hangs nearer
// on a variable.
func buildCallers() {
	sServer.Leaves = newLeaves(10)
	sMethod = sServer.Count
	sClosure = countLater(sServer.Leaves)
	known("sServer", 11, 0)
	known("sMethod", 1, 0)
	known("sClosure", 1, 0)
}

// Objects that only a timer holds must be billed to the timer, not to the first
// channel or timer that leads into the scheduler.
func buildWaiting() {
	held := newLeaves(50000)
	time.AfterFunc(24*time.Hour, func() { held[0].A++ })
	known("timer", 50003, 0)
	sTimer = time.NewTimer(24 * time.Hour)
	sContext, sCancel = context.WithTimeout(context.Background(),
		24*time.Hour)
	known("sTimer", 3, 0)
	known("sChan", 1, 0)
	ready := make(chan bool)
	go waitFor(&Waiter{newLeaves(1000)}, ready)
	<-ready
	known("waitFor.", 1002, 0)
	sLocal = newLeaves(30)
	go shareLocal(sLocal, ready)
	<-ready
	known("sLocal", 31, 0)
}

func main() {
	reserve()
	buildChain()
	buildTies()
	buildCallers()
	buildShelf()
	buildWaiting()
	measure("sHuge", 100001, func() { sHuge = newLeaves(100000) })
	time.Sleep(10 * time.Millisecond)
	tell()
	// A collection would take it off the list. It now has a part for each P.
	sShelf.One.Two.pool.Get()
	wait()
}
