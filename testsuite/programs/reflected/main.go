// SPDX-License-Identifier: Apache-2.0

// Goroutines that wait in calls which reflect makes: of such a frame's
// arguments only the value that is called knows the map, and what the caller
// is done with is nobody's.
package main

import (
	"reflect"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// More arguments than go into registers.
type Many func(a, b, c, d, e, f, g, h, i, j, k, l *Leaf) *Leaf

var (
	cReady sync.WaitGroup
	cNever = make(chan int)
	cSink  uint64
)

type Receiver struct {
	Leaf *Leaf
}

//go:noinline
func (r *Receiver) Receive(a, b, c, d, e, f, g, h, i, j, k, l *Leaf) *Leaf {
	cReady.Done()
	<-cNever
	cSink += r.Leaf.A
	return l
}

//go:noinline
func use(leaves []*Leaf) {
	for _, l := range leaves {
		cSink += l.A
	}
}

// call holds twelve leaves, first and last the one and the other kind of
// argument; what it had before stays on its stack, and is of no use.
func call(name string, f Many) {
	past := [4]*Leaf{newLeaf(), newLeaf(), newLeaf(), newLeaf()}
	use(past[:])
	where(name+".past", unsafe.Pointer(past[3]))
	where(name+".func", *(*unsafe.Pointer)(unsafe.Pointer(&f)))
	first, last := newLeaf(), newLeaf()
	where(name+".first", unsafe.Pointer(first))
	where(name+".last", unsafe.Pointer(last))
	back := f(first, newLeaf(), newLeaf(), newLeaf(), newLeaf(), newLeaf(),
		newLeaf(), newLeaf(), newLeaf(), newLeaf(), newLeaf(), last)
	cSink += back.A
}

func callMade() {
	made := reflect.MakeFunc(reflect.TypeOf(Many(nil)),
		func(in []reflect.Value) []reflect.Value {
			cReady.Done()
			<-cNever
			return in[11:]
		})
	call("made", made.Interface().(Many))
}

func callMethod() {
	r := &Receiver{newLeaf()}
	where("method.receiver", unsafe.Pointer(r.Leaf))
	method := reflect.ValueOf(r).Method(0).Interface()
	call("method", method.(func(a, b, c, d, e, f, g, h, i, j, k,
		l *Leaf) *Leaf))
}

func main() {
	runtime.LockOSThread()
	reserve()
	cReady.Add(2)
	go callMade()
	go callMethod()
	cReady.Wait()
	time.Sleep(10 * time.Millisecond)
	tell()
	wait()
}
