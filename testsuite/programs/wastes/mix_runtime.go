// SPDX-License-Identifier: Apache-2.0

// The mode `mix-runtime SEED N`: N objects at random, held by timers, by
// finalizers and cleanups, by goroutines and by variables, alone or together;
// stacks of random sizes; a collector with random settings. With a last
// argument `slow`, the first finalizer sleeps, and is not blocked.
package main

import (
	"context"
	"math"
	"math/rand"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
)

// A Part is what all others hold.
type Part struct {
	id         uint64
	text       []byte
	next, side *Part
	handle     *Handle
	loop       *Loop
}

// A Handle has a finalizer, which waits for one that does not return. Chains of
// handles are finalized one after the other.
type Handle struct {
	id   uint64
	next *Handle
	part *Part
}

// A Loop holds itself, and has a finalizer or a cleanup: never run.
type Loop struct {
	next   *Loop
	part   *Part
	handle *Handle
	id     uint64
}

// A Back leads from a cleanup to its object.
type Back struct {
	loop *Loop
	part *Part
}

// A weaver makes random objects; left is how many are to be made.
type weaver struct {
	*rand.Rand
	left int
	// Those that others may share.
	parts   []*Part
	handles []*Handle
	loops   []*Loop
	// Timers of a far future, by the function that they call.
	far map[string]int
}

var (
	weaving   *weaver
	keptParts []*Part
	keptMore  []*Handle
	keptLoops []*Loop
	timers    []*time.Timer
	calls     int                // what is called late counts
	orders    = make(chan order) // for goroutines; see work()
	locked    sync.Mutex
	resting   = make(chan bool)
	// The functions that run first of all finalizers and of all cleanups.
	finalizer, cleanup string
	isSlow             bool
	entered            = make(chan bool, 1)
	keptContexts       []context.Context
	garbage            []byte
)

// one is true in one of n cases.
func (w *weaver) one(n int) bool {
	return w.Intn(n) == 0
}

// ---------------------------------------------------------------------- parts

// tree makes a tree of parts. A part of it may be that of another one, or be in
// a variable.
func (w *weaver) tree() *Part {
	made := []*Part{}
	for i := w.Intn(12); i >= 0; i-- {
		part := &Part{id: w.Uint64()}
		w.left--
		if w.one(3) {
			part.text = make([]byte, 1+w.Intn(300))
			w.left--
		}
		if w.one(200) {
			part.text = make([]byte, 1+w.Intn(100000))
		}
		if len(made) > 0 {
			w.hang(part, made[w.Intn(len(made))])
		}
		w.share(part)
		made = append(made, part)
	}
	if w.one(5) {
		keptParts = append(keptParts, made[w.Intn(len(made))])
	}
	if w.one(3) {
		w.parts = append(w.parts, made[w.Intn(len(made))])
	}
	return made[0]
}

// hang lets a part hold another one, where it has room.
func (w *weaver) hang(part, on *Part) {
	for on.next != nil && on.side != nil {
		if w.one(2) {
			on = on.next
		} else {
			on = on.side
		}
	}
	if on.next == nil {
		on.next = part
	} else {
		on.side = part
	}
}

// share lets a part lead to what others hold.
func (w *weaver) share(part *Part) {
	switch {
	case w.one(60) && len(w.parts) > 0:
		part.side = w.parts[w.Intn(len(w.parts))]
	case w.one(100) && len(w.handles) > 0:
		part.handle = w.handles[w.Intn(len(w.handles))]
	case w.one(100) && len(w.loops) > 0:
		part.loop = w.loops[w.Intn(len(w.loops))]
	}
}

// --------------------------------------------------------------------- timers

// distance is when a timer fires: in less than an hour, or in more. It is never
// near an hour: the test does not know when the program ended.
func (w *weaver) distance() time.Duration {
	switch w.Intn(6) {
	case 0, 1:
		return time.Duration(10+w.Intn(40)) * time.Minute
	case 2:
		return math.MaxInt64
	}
	return time.Duration(70+w.Intn(100000)) * time.Minute
}

//go:noinline
func remind(part *Part, after time.Duration) *time.Timer {
	return time.AfterFunc(after, func() { part.id++ })
}

//go:noinline
func remindTwice(part, other *Part, after time.Duration) *time.Timer {
	return time.AfterFunc(after, func() { part.id += other.id })
}

func (part *Part) touch() {
	part.id++
}

//go:noinline
func touchLate(part *Part, after time.Duration) *time.Timer {
	return time.AfterFunc(after, part.touch)
}

func callNobody() {
	calls++
}

// expire makes a context that ends, and with it what it holds.
func (w *weaver) expire(part *Part) {
	above := context.WithValue(context.Background(), part.id, part)
	if w.one(3) {
		above = parent
	}
	after := w.distance()
	ended, cancel := context.WithTimeout(above, after)
	if w.one(8) {
		cancel()
	} else {
		w.count("context", after)
	}
	if w.one(8) {
		keptContexts = append(keptContexts, ended)
	}
}

// await holds no timer, but its channel.
//
//go:noinline
func await(fired <-chan time.Time) {
	<-fired
}

// ring makes a timer or a ticker with a channel. If no goroutine waits for it,
// newer releases forget it.
func (w *weaver) ring() *time.Timer {
	var fired <-chan time.Time
	var timer *time.Timer
	if after := w.distance(); w.one(2) {
		fired = time.NewTicker(after).C
	} else {
		timer = time.NewTimer(after)
		fired = timer.C
	}
	if w.one(4) {
		go await(fired)
	}
	return timer
}

// timer makes one that calls a function or sends to a channel.
func (w *weaver) timer() {
	after := w.distance()
	part := w.tree()
	switch w.Intn(8) {
	case 0, 1:
		w.move(remind(part, after), "main.remind.func1", after)
	case 2:
		made := remindTwice(part, w.tree(), after)
		w.move(made, "main.remindTwice.func1", after)
	case 3, 4:
		w.move(touchLate(part, after), "main.(*Part).touch-fm", after)
	case 5:
		w.move(time.AfterFunc(after, callNobody), "main.callNobody", after)
	case 6:
		w.expire(part)
	case 7:
		if timer := w.ring(); timer != nil {
			w.move(timer, "", after)
		}
	}
}

// move may stop a timer, reset it, or hold it in a variable. It counts those
// that fire in more than an hour, by what they call.
func (w *weaver) move(timer *time.Timer, calls string, after time.Duration) {
	switch w.Intn(16) {
	case 0:
		timer.Stop()
		after = 0
	case 1, 2:
		after = w.distance()
		timer.Reset(after)
	}
	w.count(calls, after)
	if w.one(6) {
		timers = append(timers, timer)
	}
}

func (w *weaver) count(calls string, after time.Duration) {
	if after > time.Hour {
		w.far[calls]++
	}
}

// ----------------------------------------------------------------- finalizers

// block notes who is the first, and does not return.
//
//go:noinline
func block(first *string, name string) {
	if *first == "" {
		*first = name
	}
	select {
	case entered <- true:
	default:
	}
	if isSlow && first == &finalizer {
		time.Sleep(1000 * time.Hour)
	}
	<-never
}

//go:noinline
func closeHandle(*Handle) {
	block(&finalizer, "main.closeHandle")
}

//go:noinline
func closeWith(h *Handle, part *Part) {
	runtime.SetFinalizer(h, func(*Handle) {
		block(&finalizer, "main.closeWith.func1")
		part.id++
	})
}

//go:noinline
func closeLoop(*Loop) {
	block(&finalizer, "main.closeLoop")
}

//go:noinline
func closeSelf(l *Loop) {
	runtime.SetFinalizer(l, func(*Loop) {
		block(&finalizer, "main.closeSelf.func1")
		l.id++
	})
}

// chain makes handles that hold each other. Chains may end in one tail, or in
// one that a variable holds.
func (w *weaver) chain() {
	var handle *Handle
	if w.one(4) && len(w.handles) > 0 {
		handle = w.handles[w.Intn(len(w.handles))]
	}
	most := 2
	if w.one(10) {
		most = 20
	}
	for i := w.Intn(most); i >= 0; i-- {
		handle = &Handle{id: w.Uint64(), next: handle}
		w.left--
		if w.one(2) {
			handle.part = w.tree()
		}
		switch w.Intn(8) {
		case 0:
			addCleanup(handle, w.tree())
		case 1, 2:
			closeWith(handle, w.tree())
		case 3:
		default:
			runtime.SetFinalizer(handle, closeHandle)
		}
		if w.one(20) {
			addAnother(handle, w.tree())
		}
		if w.one(12) {
			w.handles = append(w.handles, handle)
		}
		if w.one(12) {
			keptMore = append(keptMore, handle)
		}
	}
}

// loop makes objects that hold each other in a circle. One of them has a
// finalizer or a cleanup, or more of them have.
func (w *weaver) loop() {
	first := &Loop{id: w.Uint64()}
	last := first
	for i := w.Intn(4); i > 0; i-- {
		last.next = &Loop{id: w.Uint64()}
		last = last.next
		w.left--
	}
	if last != first {
		last.next = first
	}
	w.finalizeLoop(first, last == first)
	if last != first && w.one(4) {
		w.finalizeLoop(last, false)
	}
	if w.one(3) {
		last.part = w.tree()
	}
	if w.one(4) {
		last.handle = &Handle{part: w.tree()}
		runtime.SetFinalizer(last.handle, closeHandle)
	}
	if w.one(10) {
		w.loops = append(w.loops, last)
	}
	if w.one(10) {
		keptLoops = append(keptLoops, first)
	}
	if w.one(20) {
		keepWeakly(last)
	}
}

// finalizeLoop: a loop of one object needs a closure to hold itself.
func (w *weaver) finalizeLoop(loop *Loop, isAlone bool) {
	w.left -= 2
	switch {
	case w.one(4):
		addCleanupBack(loop, &Back{loop, w.tree()})
	case w.one(3) || isAlone:
		closeSelf(loop)
	default:
		runtime.SetFinalizer(loop, closeLoop)
	}
}

// --------------------------------------------------------------------- stacks

// An order is what a goroutine is to do: call itself down to a depth, and wait
// there or above.
type order struct {
	depth     int
	staysDown bool
	how       int
	part      *Part
}

//go:noinline
func dive(o *order, depth int) byte {
	var frame [1000]byte
	frame[depth%len(frame)] = 1
	if depth > 0 {
		return dive(o, depth-1) + frame[depth%len(frame)]
	}
	if o.staysDown {
		park(o)
	}
	return frame[0]
}

//go:noinline
func park(o *order) {
	parked <- true
	switch o.how {
	case 0:
		locked.Lock()
	case 1:
		select {
		case <-never:
		case <-resting:
		}
	case 2:
		time.Sleep(1000 * time.Hour)
	default:
		<-never
	}
	o.part.touch()
}

func work() {
	o := <-orders
	dive(&o, o.depth)
	park(&o)
}

func workShallow() {
	o := <-orders
	park(&o)
}

func workInClosure() func() {
	return func() {
		o := <-orders
		dive(&o, o.depth)
		park(&o)
	}
}

// goroutine starts one, which parks. It may make a timer first, on any P.
func (w *weaver) goroutine() {
	part := w.tree()
	o := order{w.Intn(100), w.one(3), w.Intn(6), part}
	switch w.Intn(4) {
	case 0:
		go workShallow()
	case 1:
		go workInClosure()()
	default:
		go work()
	}
	orders <- o
	<-parked
}

// ------------------------------------------------------------------------ all

func (w *weaver) weave() {
	for w.left > 0 {
		switch w.Intn(10) {
		case 0, 1, 2, 3:
			w.timer()
		case 4, 5, 6:
			w.chain()
		case 7, 8:
			w.loop()
		case 9:
			keptParts = append(keptParts, w.tree())
		}
	}
}

// plantMixRuntime makes all structures but goroutines. After it, objects with
// finalizers that nothing holds are in the queue of finalizers.
func plantMixRuntime() {
	seed, err := strconv.Atoi(os.Args[2])
	check(err)
	count, err := strconv.Atoi(os.Args[3])
	check(err)
	isSlow = len(os.Args) > 4 && os.Args[4] == "slow"
	debug.SetGCPercent(-1)
	parent, stop = context.WithCancel(context.Background())
	weaving = &weaver{
		Rand: rand.New(rand.NewSource(int64(seed))),
		left: count,
		far:  map[string]int{},
	}
	weaving.weave()
	weaving.parts, weaving.handles, weaving.loops = nil, nil, nil
	runtime.GC()
	<-entered
}

// stirRuntime starts goroutines, in two parts with a collection in between, and
// leaves garbage.
func stirRuntime() {
	w := weaving
	locked.Lock()
	for i := 0; i < 150; i++ {
		w.goroutine()
	}
	runtime.GC()
	for i := 0; i < 150; i++ {
		w.goroutine()
		w.timer()
	}
	for i := 0; i < 20; i++ {
		startCoroutine(&order{depth: w.Intn(100)})
	}
	w.parts, w.handles, w.loops = nil, nil, nil
	runtime.GC()
	allParked()
	for i := w.Intn(20); i > 0; i-- {
		garbage = make([]byte, 1+w.Intn(100000))
	}
	garbage = nil
	percents := []int{30, 75, 100, 100, 250, 400}
	limits := []int64{1 << 25, 3 << 30, math.MaxInt64, math.MaxInt64}
	for calls, count := range w.far {
		note(calls, "far", 0, count)
	}
	note(finalizer, "finalizer", 0, 0)
	note(cleanup, "cleanup", 0, 0)
	debug.SetGCPercent(percents[w.Intn(len(percents))])
	debug.SetMemoryLimit(limits[w.Intn(len(limits))])
	runtime.ReadMemStats(&truthStats)
	note("", "allocated", truthStats.HeapAlloc, int(truthStats.HeapObjects))
}
