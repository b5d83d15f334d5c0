// SPDX-License-Identifier: Apache-2.0
package main

/*
#include <stdlib.h>
#include "plant.h"
#include "record.h"
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"time"
	"unsafe"
)

const (
	ofEach       = 50        // of the 200 blocks that Go holds
	handledBytes = 16 + 4096 // the slots of one
)

// An owner has a typed pointer to C.
type owner struct {
	name  string
	thing *C.struct_thing
}

// A handled is a Go object that only C can reach.
type handled struct {
	number int
	rest   *[4000]byte
}

// An objectByC says where an object is that a handle or a Pinner keeps alive.
type objectByC struct {
	Address string `json:"address"`
	Bytes   int    `json:"bytes"` // of slots, with what it holds
}

var (
	goPointers []unsafe.Pointer
	goOwners   []*owner
	goMap      = map[int]unsafe.Pointer{}
	goNumbers  []uintptr
	goBig      []unsafe.Pointer
	objectsByC = map[string]objectByC{}
	neverReady = make(chan int)
)

func holdByGo() {
	for i := 0; i < ofEach; i++ {
		size := C.size_t(40 + i%6*80)
		goPointers = append(goPointers, C.take(C.HELD, kind("go"), size))
		thing := C.take(C.HELD, kind("go"), C.sizeof_struct_thing)
		goOwners = append(goOwners, &owner{
			fmt.Sprint("owner", i), (*C.struct_thing)(thing),
		})
		goMap[i] = C.take(C.HELD, kind("go"), size)
		goNumbers = append(goNumbers,
			uintptr(C.take(C.HELD, kind("go"), size)))
	}
	for i := 0; i < 3; i++ {
		size := C.size_t(300<<10 + i*8192)
		goBig = append(goBig, C.take(C.HELD, kind("big"), size))
	}
}

func newHandled(number int) *handled {
	return &handled{number, new([4000]byte)}
}

func noteByC(name string, object *handled) {
	objectsByC[name] = objectByC{
		fmt.Sprintf("%#x", uintptr(unsafe.Pointer(object))),
		handledBytes,
	}
}

// holdBehindC leaves Go objects that nothing in Go names, but for the tables
// of handles and of pinned objects.
func holdBehindC() {
	object := newHandled(1)
	C.keep_word(kind("handle"), C.uintptr_t(cgo.NewHandle(object)))
	noteByC("handle", object)
	pinOne()
}

// takeFar gives the address of a block that is on no stack of a thread.
//
//go:noinline
func takeFar(name string, size C.size_t) uintptr {
	return ^uintptr(C.take_hidden(kind(name), size))
}

// holdByGoroutine leaves a goroutine whose frame alone has two blocks, one as a
// number.
func holdByGoroutine() {
	ready := make(chan int)
	go func() {
		block := unsafe.Pointer(takeFar("goroutine", 248))
		number := takeFar("number", 264)
		close(ready)
		<-neverReady
		C.free(block)
		C.free(unsafe.Pointer(number))
	}()
	<-ready
}

// waitInC leaves four threads of Go that wait in C.
func waitInC() {
	go C.wait_with_frame()
	go C.wait_with_register()
	go C.wait_in_coroutine()
	go C.wait_with_red_zone()
	for C.waiting_callers() < 2 || C.waiting_coroutines() < 1 ||
		C.waiting_red_zones() < 1 {
		time.Sleep(time.Millisecond)
	}
}
