// SPDX-License-Identifier: Apache-2.0

// Go objects with a typed pointer to a structure of C, whose bytes are known.
// The program prints how many, and waits for the end of its input.
//
//	native_struct [NODES [NOTES [LOST]]]
//
// NODES are those of the larger tree, NOTES are objects of Go alone, and LOST
// are blocks of C that nothing holds.
package main

/*
#cgo CFLAGS: -O1 -g
#include <gnu/libc-version.h>
#include "index.h"
*/
import "C"

import (
	"encoding/json"
	"io"
	"os"
	"runtime"
	"strconv"
	"unsafe"
)

const (
	bufferBytes = 3000 // no pointers are in it
	notesBytes  = 2048 // a class of its own
	lostBytes   = 65536
	tableBytes  = 816 // of the chunk of a struct table
)

type engine struct {
	index  *C.struct_index
	buffer uintptr // as some bindings keep their handles
	notes  *[notesBytes]byte
}

// A sum says how many C blocks something holds alone, and in how many bytes.
type sum struct {
	Blocks int `json:"blocks"`
	Bytes  int `json:"bytes"`
}

type engineTruth struct {
	Address string `json:"address"`
	Index   string `json:"index"`
	First   string `json:"first"` // a node
	Entry   string `json:"entry"` // of that node
	Nodes   int    `json:"nodes"`
	ByIndex sum    `json:"by_index"`
	Buffer  sum    `json:"by_buffer"`
	GoBytes int    `json:"go_bytes"` // behind the engine, and its own
}

// The engines share a table, which none of them holds alone.
var big, small *engine

// Memory of Go alone.
var more []*[notesBytes]byte

func newEngine(table *C.struct_table, nodes int) (*engine, engineTruth) {
	var index, buffer C.struct_sum
	e := &engine{
		C.index_create(table, C.long(nodes), &index),
		uintptr(C.block_create(bufferBytes, &buffer)),
		new([notesBytes]byte),
	}
	first := C.index_first(e.index)
	return e, engineTruth{
		hex(unsafe.Pointer(e)), hex(unsafe.Pointer(e.index)),
		hex(unsafe.Pointer(first)), hex(unsafe.Pointer(first.entry)),
		nodes,
		sum{int(index.blocks), int(index.bytes)},
		sum{int(buffer.blocks), int(buffer.bytes)},
		int(unsafe.Sizeof(*e)) + notesBytes,
	}
}

// lose makes blocks that nothing holds, but for an old word of a stack.
func lose(count int) sum {
	var lost C.struct_sum
	for i := 0; i < count; i++ {
		C.block_create(lostBytes, &lost)
	}
	return sum{int(lost.blocks), int(lost.bytes)}
}

// hex leaves no copy of the address on the heap, as package fmt does: it could
// be in the tiny block that a P has, which is a root.
func hex(pointer unsafe.Pointer) string {
	return "0x" + strconv.FormatUint(uint64(uintptr(pointer)), 16)
}

// numberOf is an argument, or what it stands for.
func numberOf(i, usual int) int {
	if i >= len(os.Args) {
		return usual
	}
	number, err := strconv.Atoi(os.Args[i])
	if err != nil {
		panic(err)
	}
	return number
}

func init() {
	runtime.LockOSThread() // others run on other threads
}

// apart runs it on a thread that is not the first one. The heap of the first
// thread may lie low, where numbers look like addresses of its blocks.
func apart(run func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		run()
	}()
	<-done
}

func main() {
	var bigTruth, smallTruth engineTruth
	var lost sum
	apart(func() {
		table := C.table_create()
		big, bigTruth = newEngine(table, numberOf(1, 1000))
		small, smallTruth = newEngine(table, 200)
		lost = lose(numberOf(3, 0))
	})
	more = make([]*[notesBytes]byte, numberOf(2, 0))
	for i := range more {
		more[i] = new([notesBytes]byte)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"glibc":   C.GoString(C.gnu_get_libc_version()),
		"engines": map[string]any{"big": bigTruth, "small": smallTruth},
		"table":   tableBytes,
		"more":    len(more) * notesBytes,
		"lost":    lost,
	})
	io.Copy(io.Discard, os.Stdin)
}
