// SPDX-License-Identifier: Apache-2.0

// Many blocks of C of one size, and one block whose pages nobody has touched.
// Go keeps the addresses of some that are free. The program prints what it
// holds, and waits for the end of its input; its threads go on to allocate and
// free other blocks.
//
//	native_bulk [BLOCKS [BYTES [UNTOUCHED [THREADS]]]]
package main

/*
#cgo CFLAGS: -O1 -g
#cgo LDFLAGS: -lpthread
#include <gnu/libc-version.h>
#include "bulk.h"
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

const staleBlocks = 5 // as many as a thread keeps of one size

var stale []unsafe.Pointer

func init() {
	runtime.LockOSThread() // main() runs on the thread with the main heap
}

func argument(i, otherwise int) int {
	if len(os.Args) <= i {
		return otherwise
	}
	number, err := strconv.Atoi(os.Args[i])
	if err != nil {
		panic(err)
	}
	return number
}

func main() {
	blocks, untouched := argument(1, 1000), argument(3, 1<<30)
	var bulk C.struct_bulk
	C.fill(C.size_t(blocks), C.size_t(argument(2, 1000)),
		C.size_t(untouched), &bulk)
	for i := 0; i < staleBlocks; i++ {
		stale = append(stale, C.stale_block(C.size_t(40+16*i)))
	}
	C.churn(C.int(argument(4, 0)))
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"glibc":     C.GoString(C.gnu_get_libc_version()),
		"blocks":    blocks,
		"bytes":     int(bulk.bytes),
		"in_use":    int(bulk.in_use),
		"mapped":    int(bulk.mapped),
		"untouched": untouched,
		"stale":     len(stale),
	})
	io.Copy(io.Discard, os.Stdin)
}
