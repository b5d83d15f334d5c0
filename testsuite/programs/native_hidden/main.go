// SPDX-License-Identifier: Apache-2.0

// A block of C that nothing holds but a word of one mapping, which targets may
// lack. The program prints the address of the block, and waits for the end of
// its input.
//
//	native_hidden HOW
//
// HOW is that of hidden.h.
package main

/*
#cgo CFLAGS: -O1 -g
#include <stdlib.h>
#include "hidden.h"
*/
import "C"

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"unsafe"
)

const (
	arenaBytes = 64 << 20
	pageBytes  = 8 << 10 // of Go
)

var filling [][]byte

func init() {
	runtime.LockOSThread() // main() runs on the main thread
}

// behindGo fills the heap to the end of an arena, and writes to its last page.
// It gives the address behind it.
func behindGo() uintptr {
	debug.SetGCPercent(-1)
	for {
		page := make([]byte, pageBytes)
		filling = append(filling, page)
		end := uintptr(unsafe.Pointer(&page[0])) + pageBytes
		if end%arenaBytes == 0 {
			page[pageBytes-1] = 1
			return end
		}
	}
}

// address is text: a number in memory would hold the block.
func address(how string) []byte {
	name := C.CString(how)
	defer C.free(unsafe.Pointer(name))
	var at unsafe.Pointer
	for how == "behind" && at == nil {
		at = C.reserve(C.uintptr_t(behindGo())) // the runtime may have been faster
	}
	hidden := uint64(C.hide(name, at))
	return strconv.AppendUint(nil, ^hidden, 10)
}

func main() {
	fmt.Printf("{\"held\": %s}\n", address(os.Args[1]))
	C.scrub()
	io.Copy(io.Discard, os.Stdin)
}
