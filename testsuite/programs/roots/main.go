// SPDX-License-Identifier: Apache-2.0

// One goroutine for each way in which a stack holds memory. Each has a
// function of its own and holds a known number of objects that nobody else
// holds; the names of its roots begin with that function.
package main

import (
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

var (
	rGlobal *Leaf
	rSends  = make(chan *Leaf)
	rNever  = make(chan int)
	rOther  = make(chan int)
	rMutex  sync.Mutex
	rReady  sync.WaitGroup
	rGroup  sync.WaitGroup
	rCond   = sync.NewCond(new(sync.Mutex))
	rPipe   [2]int
	rPool   sync.Pool
	rPooled [10]*Leaf
	rSink   uint64
)

// use keeps the leaves alive up to here without letting them escape.
//
//go:noinline
func use(leaves []*Leaf) {
	for _, l := range leaves {
		rSink += l.A
	}
}

func holdReceive() {
	leaves := newLeaves(10)
	where("holdReceive", unsafe.Pointer(leaves[9]))
	rReady.Done()
	<-rNever
	use(leaves)
}

func holdSelect() {
	leaves := newLeaves(10)
	rReady.Done()
	select {
	case <-rNever:
	case <-rOther:
	}
	use(leaves)
}

func holdMutex() {
	leaves := newLeaves(10)
	rReady.Done()
	rMutex.Lock()
	use(leaves)
}

func holdSleep() {
	leaves := newLeaves(10)
	rReady.Done()
	time.Sleep(24 * time.Hour)
	use(leaves)
}

func holdSyscall() {
	leaves := newLeaves(10)
	rReady.Done()
	syscall.Read(rPipe[0], waitBuffer[:])
	use(leaves)
}

func holdGroup() {
	leaves := newLeaves(10)
	rReady.Done()
	rGroup.Wait()
	use(leaves)
}

func holdCond() {
	leaves := newLeaves(10)
	rCond.L.Lock()
	rReady.Done()
	rCond.Wait()
	use(leaves)
}

func holdArgument(leaves []*Leaf) {
	rReady.Done()
	<-rNever
	use(leaves)
}

// The value of the blocked sender hangs on the channel and on its stack.
func holdSend() {
	leaf := newLeaf()
	where("holdSend", unsafe.Pointer(leaf))
	rReady.Done()
	rSends <- leaf
}

// The closure and what it captured stay on the stack: nothing escapes.
func holdDefer() {
	leaves := newLeaves(10)
	defer func() { use(leaves) }()
	rReady.Done()
	<-rNever
}

func holdDeferArgument() {
	defer use(newLeaves(10))
	rReady.Done()
	<-rNever
}

// Deferred in a loop: the records are objects of the heap.
func holdDeferLoop() {
	for i := 0; i < 3; i++ {
		leaves := newLeaves(10)
		where("holdDeferLoop", unsafe.Pointer(leaves[9]))
		defer use(leaves)
	}
	rReady.Done()
	<-rNever
}

// holder is a value on the stack whose address is taken.
type holder struct {
	count  int
	leaves []*Leaf
	first  *Leaf
}

//go:noinline
func (h *holder) fill(n int) {
	h.leaves = newLeaves(n)
	h.first = newLeaf()
	h.count = n
}

func holdStackObject() {
	var h holder
	h.fill(10)
	rReady.Done()
	<-rNever
	h.fill(h.count + int(h.first.A) + len(h.leaves))
}

func holdRecursion(depth int) uint64 {
	leaf := newLeaf()
	if depth == 1 {
		rReady.Done()
		<-rNever
		return leaf.B
	}
	return holdRecursion(depth-1) + leaf.A
}

type Walker struct {
	Leaves []*Leaf
}

func (w *Walker) Run() {
	rReady.Done()
	<-rNever
	use(w.Leaves)
}

type Stroller struct {
	Leaves []*Leaf
}

func (s *Stroller) Stroll() {
	rReady.Done()
	<-rNever
	use(s.Leaves)
}

//go:noinline
func goClosure() {
	leaves := newLeaves(10)
	where("goClosure", unsafe.Pointer(leaves[9]))
	go func() {
		rReady.Done()
		<-rNever
		use(leaves)
	}()
}

// Panicked holds what a panic carries while a deferred call is at work.
type Panicked struct {
	Leaves []*Leaf
}

func holdPanic() {
	defer func() {
		rReady.Done()
		<-rNever
	}()
	leaves := newLeaves(10)
	where("holdPanic", unsafe.Pointer(leaves[9]))
	panic(&Panicked{leaves})
}

func holdRecovered() {
	defer func() {
		value := recover()
		rReady.Done()
		<-rNever
		use(value.(*Panicked).Leaves)
	}()
	leaves := newLeaves(10)
	where("holdRecovered", unsafe.Pointer(leaves[9]))
	panic(&Panicked{leaves})
}

// start waits for f to get ready, so that only one runs at a time.
func start(f func()) {
	rReady.Add(1)
	go f()
	rReady.Wait()
}

//go:noinline
func startAll() {
	for _, f := range []func(){
		holdReceive, holdSelect, holdMutex, holdSleep, holdSyscall,
		holdGroup, holdCond, holdSend, holdDefer, holdDeferArgument,
		holdDeferLoop, holdStackObject, holdPanic, holdRecovered,
	} {
		start(f)
	}
	rReady.Add(5)
	go holdArgument(newLeaves(10))
	go holdRecursion(100)
	go (&Walker{newLeaves(10)}).Run()
	stroll := (&Stroller{newLeaves(10)}).Stroll
	go stroll()
	goClosure()
	rReady.Wait()
}

func stackTruths() {
	for _, name := range []string{
		"holdReceive.", "holdSelect.", "holdMutex.", "holdSleep.",
		"holdSyscall.", "holdGroup.", "holdCond.", "holdDefer.",
		"holdDeferArgument.", "holdArgument.",
	} {
		known(name, 11, 0)
	}
	known("holdStackObject.", 12, 0)
	known("holdRecursion.", 100, 0)
	known("(*Walker).Run.", 12, 0)
	known("main.", 11, 0)
}

// Two collections would empty a pool: it is filled after the last one.
//
//go:noinline
func fillPool() {
	for i := range rPooled {
		rPool.Put(rPooled[i])
		rPooled[i] = nil
	}
}

func main() {
	runtime.LockOSThread()
	syscall.Pipe(rPipe[:])
	rMutex.Lock()
	rGroup.Add(1)
	measure("rGlobal", 1, func() { rGlobal = newLeaf() })
	startAll()
	stackTruths()
	buildTiny()
	measureNewer()
	buildFinalizers()
	buildTimers()
	buildNewer()
	local := newLeaves(10)
	where("main.local", unsafe.Pointer(&local[0]))
	time.Sleep(10 * time.Millisecond)
	for i := range rPooled {
		rPooled[i] = newLeaf()
	}
	where("rPool.leaf", unsafe.Pointer(rPooled[5]))
	tell()
	fillPool()
	wait()
	use(local)
}
