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
	"strconv"
	"unsafe"
)

func init() {
	runtime.LockOSThread() // main() runs on the main thread
}

// address is text: a number in memory would hold the block.
func address(how string) []byte {
	name := C.CString(how)
	defer C.free(unsafe.Pointer(name))
	hidden := uint64(C.hide(name))
	return strconv.AppendUint(nil, ^hidden, 10)
}

func main() {
	fmt.Printf("{\"held\": %s}\n", address(os.Args[1]))
	C.scrub()
	io.Copy(io.Discard, os.Stdin)
}
