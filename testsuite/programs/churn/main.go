// SPDX-License-Identifier: Apache-2.0

// A program that never rests: many goroutines allocate in every way there is,
// grow their stacks, pass pointers through channels and maps, call through
// reflection, panic and recover, while collections run at all times. A test
// stops it at random moments. Its heap stays small: everything is replaced
// sooner or later.
package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A rng is a small generator of its own for each goroutine: no lock.
type rng uint64

func (r *rng) next(n int) int {
	*r ^= *r << 13
	*r ^= *r >> 7
	*r ^= *r << 17
	return int(uint64(*r>>1) % uint64(n))
}

type Tree struct {
	Left, Right *Tree
	Key         int
	Value       any
	Name        string
}

// A wide object has a malloc header where there are such: past 512 bytes.
type Wide struct {
	Slots [90]*Tree
	Count int
	Names [10]string
}

// Windows are shared by all: what they hold is replaced at random.
var (
	kTrees  [64]atomic.Value
	kWide   [16]atomic.Value
	kSlices [16]atomic.Value
	kShared sync.Map
	kPool   = sync.Pool{New: func() any { return new(Wide) }}
	kPipe   = make(chan *Tree, 16)
	kPlain  = make(chan any)
	kRounds uint64
)

//go:noinline
func newTree(r *rng, depth int) *Tree {
	t := &Tree{Key: r.next(1000)}
	if depth > 0 && r.next(8) > 0 {
		t.Left = newTree(r, depth-1)
	}
	if depth > 0 && r.next(8) > 0 {
		t.Right = newTree(r, depth-1)
	}
	switch r.next(5) {
	case 0:
		t.Value = r.next(1 << 30)
	case 1:
		t.Value = &t.Key
	case 2:
		t.Value = func() *Tree { return t.Left }
	case 3:
		t.Value = strconv.Itoa(t.Key)
	}
	t.Name = "tree " + strconv.Itoa(t.Key)
	return t
}

// walk is called with a growing stack: pointers into the heap and into the
// stack itself lie in each frame.
//
//go:noinline
func walk(t *Tree, depth int, above **Tree) int {
	var frame [12]*Tree
	here := t
	frame[depth%len(frame)] = t
	sum := 0
	if depth > 0 {
		sum = walk(t, depth-1, &here)
	}
	for ; here != nil; here = here.Left {
		sum += here.Key
		frame[sum%len(frame)] = here
	}
	if above != nil && *above != nil && frame[3] != nil {
		*above = (*above).Right
	}
	return sum
}

func allocate(r *rng) {
	kTrees[r.next(len(kTrees))].Store(newTree(r, 4+r.next(4)))
	w := &Wide{Count: r.next(100)}
	for i := range w.Slots {
		if r.next(3) == 0 {
			w.Slots[i] = &Tree{Name: newString("wide", i)}
		}
	}
	kWide[r.next(len(kWide))].Store(w)
	s := make([]*Tree, r.next(3000))
	for i := 0; i < len(s); i += 1 + r.next(50) {
		s[i] = &Tree{Key: i}
	}
	kSlices[r.next(len(kSlices))].Store(s)
	bytes := make([]byte, r.next(100000))
	tiny := new(uint8)
	*tiny = uint8(len(bytes))
	walk(&Tree{Key: int(*tiny)}, r.next(4), nil)
}

func churnMaps(r *rng) {
	m := make(map[string]*Tree)
	n := make(map[int][4]*Tree)
	for i := 0; i < 20+r.next(300); i++ {
		m["key "+strconv.Itoa(r.next(200))] = &Tree{Key: i}
		n[r.next(100)] = [4]*Tree{{Key: i}, nil, {Key: i}}
		if r.next(3) == 0 {
			delete(m, "key "+strconv.Itoa(r.next(200)))
			delete(n, r.next(100))
		}
	}
	for k, t := range m {
		kShared.Store(k, t)
		if r.next(10) == 0 {
			kShared.Delete(k)
		}
	}
	for _, four := range n {
		walk(four[0], 2, &four[2])
	}
}

func growStack(r *rng) {
	t := newTree(r, 6)
	done := make(chan int)
	go func() {
		done <- walk(t, 10+r.next(2000), nil)
	}()
	<-done
}

// send and receive meet on both channels, or give up.
func send(r *rng) {
	t := newTree(r, 2)
	timer := time.NewTimer(time.Millisecond)
	select {
	case kPipe <- t:
	case kPlain <- t.Left:
	case <-timer.C:
	}
	timer.Stop()
}

func receive(r *rng) {
	select {
	case t := <-kPipe:
		walk(t, r.next(30), nil)
	case v := <-kPlain:
		if t, ok := v.(*Tree); ok && t != nil {
			walk(t, r.next(5), nil)
		}
	case <-time.After(time.Duration(1+r.next(1000)) * time.Microsecond):
	}
}

func panics(r *rng) (ret *Tree) {
	t := newTree(r, 3)
	defer func() {
		if p, ok := recover().(*Tree); ok {
			ret = p
		}
		walk(ret, 3, nil)
	}()
	for i := 0; i < 3; i++ {
		defer func(t *Tree) { ret = t }(newTree(r, 1))
	}
	if walk(t, 5, nil)%2 == 0 {
		panic(t)
	}
	return t.Left
}

func special(r *rng) {
	t := newTree(r, 2)
	runtime.SetFinalizer(t, func(t *Tree) { kTrees[0].Store(t) })
	w := kPool.Get().(*Wide)
	w.Slots[r.next(len(w.Slots))] = t
	kPool.Put(w)
	time.AfterFunc(time.Duration(r.next(1000))*time.Microsecond, func() {
		kTrees[1].Store(&Tree{Left: t.Left})
	})
	nap := syscall.Timespec{Nsec: int64(r.next(300000))}
	syscall.Nanosleep(&nap, nil)
}

// spin has no call in its loop: only a signal can stop it.
//
//go:noinline
func spin(t *Tree, n int) *Tree {
	best := t
	for i := 0; i < n; i++ {
		for p := t; p != nil; p = p.Right {
			if p.Key > best.Key+i {
				best = p
			}
		}
	}
	return best
}

func work(seed int) {
	r := rng(seed*2654435761 + 88172645463325252)
	jobs := []func(*rng){
		allocate, churnMaps, growStack, send, receive, special, reflected,
		newer, inC,
		func(r *rng) { kTrees[2].Store(&Tree{Left: panics(r)}) },
		func(r *rng) { kTrees[3].Store(spin(newTree(r, 6), 20000)) },
		func(r *rng) { own := *r + 1; go send(&own) },
	}
	for {
		jobs[r.next(len(jobs))](&r)
		atomic.AddUint64(&kRounds, 1)
	}
}

func main() {
	workers := 24
	if len(os.Args) > 1 {
		workers, _ = strconv.Atoi(os.Args[1])
	}
	startTokens(workers)
	tell()
	debug.SetGCPercent(20)
	startC()
	for i := 0; i < workers; i++ {
		go work(i)
	}
	go func() {
		for {
			time.Sleep(5 * time.Millisecond)
			runtime.GC()
		}
	}()
	wait()
}
