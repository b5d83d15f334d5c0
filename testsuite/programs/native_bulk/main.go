// SPDX-License-Identifier: Apache-2.0

// Many blocks of C of one size, and one block whose pages nobody has touched.
// The program prints what it holds, and waits for the end of its input.
//
//	native_bulk [BLOCKS [BYTES [UNTOUCHED]]]
package main

/*
#cgo CFLAGS: -O1 -g
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
)

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
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"glibc":     C.GoString(C.gnu_get_libc_version()),
		"blocks":    blocks,
		"bytes":     int(bulk.bytes),
		"in_use":    int(bulk.in_use),
		"mapped":    int(bulk.mapped),
		"untouched": untouched,
	})
	io.Copy(io.Discard, os.Stdin)
}
