// SPDX-License-Identifier: Apache-2.0

// A program that maps memory and uses a part of it, as its input asks: each
// line is a way, the bytes to map and the bytes to use; `use' uses the memory of
// the last `memory' or `huge' again, in steps of bytes, and `often' maps so many
// times so many bytes. It prints the bytes to
// map when that is done. Its first line is an empty object.
package main

/*
#cgo CFLAGS: -O1 -g
#cgo LDFLAGS: -lpthread
#include <stdlib.h>
#include "map.h"
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"unsafe"
)

var slices [][]byte

//go:noinline
func makeSlice(bytes, used int) {
	slice := make([]byte, bytes)
	for i := 0; i < used; i++ {
		slice[i] = 1
	}
	slices = append(slices, slice)
}

func take(way string, size, part int) {
	bytes, used := C.size_t(size), C.size_t(part)
	switch way {
	case "memory":
		C.map_memory(bytes, used)
	case "huge":
		C.map_huge(bytes, used)
	case "use":
		C.use_again(bytes, used)
	case "reserved":
		C.map_reserved(bytes, used)
	case "again":
		C.map_again(bytes, used)
	case "drop":
		C.map_and_drop(bytes)
	case "often":
		C.map_often(bytes, used)
	case "back":
		C.map_and_give_back(bytes)
	case "file":
		path := C.CString("untouched.file")
		C.map_file(path, bytes)
		C.free(unsafe.Pointer(path))
	case "block":
		C.take_block(bytes, used)
	case "break":
		C.grow_break(bytes, used)
	case "thread":
		C.start_thread()
	case "slice":
		makeSlice(size, part)
	default:
		panic("no way to map: " + way)
	}
}

func main() {
	runtime.LockOSThread() // the main arena of malloc is its thread's
	debug.SetGCPercent(-1)
	fmt.Println("{}")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var way string
		var bytes, used int
		fmt.Sscan(input.Text(), &way, &bytes, &used)
		take(way, bytes, used)
		fmt.Println(bytes)
	}
}
