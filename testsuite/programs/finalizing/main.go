// SPDX-License-Identifier: Apache-2.0

// Finalizers, cleanups and pools that hold memory: queued behind one that does
// not return, or never to run, or in no hurry.
//
//	finalizing WHAT [COUNT]
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const buffers = 200

var (
	handles = 500
	rings   = 100
)

// Handle stands for something outside of Go that a finalizer closes.
type Handle struct {
	data *[1024]uint64
	id   int
}

// Ring leads back to itself. Tail hangs on a ring.
type Ring struct {
	next *Ring
	tail *Tail
	data *[128]uint64
}

type Tail struct {
	data *[64]uint64
}

// Self points to itself, which the collector passes by.
type Self struct {
	me   *Self
	data *[64]uint64
}

// Long points to itself, but the collector scans it in parts.
type Long struct {
	words [1 << 15]*uint64
	me    *Long
}

var (
	mutex   sync.Mutex
	gate    = make(chan int)
	entered int32
	cBytes  int // of the C memory behind one object
	live    []*Ring
	ran     int32 // the finalizers of type Self
	ranLong int32
	pool    = sync.Pool{New: func() any { return new([1 << 16]byte) }}
)

// aside runs a function on a stack that is gone when it returns.
func aside(function func()) {
	done := make(chan bool)
	go func() {
		defer close(done)
		function()
	}()
	<-done
}

// Each of these is a finalizer that comes to wait for something.
var finalizers = map[string]func(h *Handle){
	"mutex": func(h *Handle) {
		atomic.AddInt32(&entered, 1)
		mutex.Lock()
		mutex.Unlock()
		runtime.KeepAlive(h)
	},
	"channel": func(h *Handle) {
		atomic.AddInt32(&entered, 1)
		<-gate
		runtime.KeepAlive(h)
	},
	"slow": func(h *Handle) {
		atomic.AddInt32(&entered, 1)
		time.Sleep(time.Hour)
		runtime.KeepAlive(h)
	},
}

func queueFinalizers(finalizer func(h *Handle)) {
	aside(func() {
		for i := 0; i < handles; i++ {
			h := &Handle{new([1024]uint64), i}
			runtime.SetFinalizer(h, finalizer)
		}
	})
	runtime.GC()
	waitEntered()
}

func waitEntered() {
	for atomic.LoadInt32(&entered) == 0 {
		time.Sleep(time.Millisecond)
	}
}

// crowd makes goroutines wait for the lock before a finalizer does.
func crowd() {
	for i := 0; i < 20; i++ {
		go mutex.Lock()
	}
	allParked()
}

func newRing() *Ring {
	first := &Ring{data: new([128]uint64)}
	first.next = &Ring{data: new([128]uint64)}
	first.next.next = &Ring{first, nil, new([128]uint64)}
	first.tail = &Tail{new([64]uint64)}
	return first
}

// makeRings makes rings whose finalizers never run, and some that live.
func makeRings() {
	aside(func() {
		for i := 0; i < rings; i++ {
			ring := newRing()
			runtime.SetFinalizer(ring, func(*Ring) {})
			runtime.SetFinalizer(ring.tail, func(*Tail) {})
		}
		for i := 0; i < rings; i++ {
			ring := newRing()
			runtime.SetFinalizer(ring, func(*Ring) {})
			live = append(live, ring.next)
		}
	})
	runtime.GC()
}

const longs = 3

func makeSelves() {
	aside(func() {
		for i := 0; i < rings; i++ {
			s := &Self{data: new([64]uint64)}
			s.me = s
			runtime.SetFinalizer(s, func(*Self) { atomic.AddInt32(&ran, 1) })
		}
		for i := 0; i < longs; i++ {
			l := new(Long)
			l.me = l
			runtime.SetFinalizer(l, func(*Long) { atomic.AddInt32(&ranLong, 1) })
		}
	})
}

// collectSelves lets the collector say which of them can be freed.
func collectSelves() {
	for i := 0; i < 1000 && int(atomic.LoadInt32(&ran)) < rings; i++ {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	fmt.Printf("{\"ran\": %d, \"ran_long\": %d}\n",
		atomic.LoadInt32(&ran), atomic.LoadInt32(&ranLong))
}

func fillPool() {
	aside(func() {
		var all [buffers]any
		for i := range all {
			all[i] = pool.Get()
		}
		for _, buffer := range all {
			pool.Put(buffer)
		}
	})
}

func main() {
	debug.SetGCPercent(-1)
	what := os.Args[1]
	if len(os.Args) > 2 {
		count, err := strconv.Atoi(os.Args[2])
		check(err)
		handles, rings = count, count
	}
	mutex.Lock()
	switch {
	case finalizers[what] != nil:
		queueFinalizers(finalizers[what])
	case what == "crowd":
		crowd()
		queueFinalizers(finalizers["mutex"])
	case what == "cycle":
		makeRings()
	case what == "self":
		makeSelves()
	case what == "pool":
		fillPool()
	case what == "victim":
		fillPool()
		runtime.GC()
	default:
		more(what)
	}
	fmt.Printf("{\"held\": {}, \"places\": {}, \"entered\": %d, "+
		"\"c_bytes\": %d}\n", atomic.LoadInt32(&entered), cBytes)
	io.Copy(io.Discard, os.Stdin)
	mutex.Unlock()
	if what == "self" {
		collectSelves()
	}
	runtime.KeepAlive(live)
}
