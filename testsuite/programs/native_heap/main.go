// SPDX-License-Identifier: Apache-2.0

// Blocks of malloc: a million random allocations and frees in eight
// threads, which then wait. The program writes each block that it holds, and
// each address that it has freed and not got again, to the file `blocks' in the
// current folder, and what malloc_info() says to `malloc_info'.
//
//	native_heap [THREADS [OPERATIONS [brk] [fork] [other]]]
//
// With brk, it also moves the end of the data segment itself. With fork, it has
// a child, which has the same heap and one thread. With other, malloc is not
// glibc's: it has other words before a block, or none, and no malloc_info().
package main

/*
#cgo CFLAGS: -O1 -g
#cgo LDFLAGS: -lpthread
#include <stdlib.h>
#include "heap.h"
#include "child.h"
#include "truth.h"
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

func init() {
	runtime.LockOSThread() // main() runs on the thread with the main heap
}

func argument(i, otherwise int) int {
	if len(os.Args) <= i {
		return otherwise
	}
	number, err := strconv.Atoi(os.Args[i])
	check(err)
	return number
}

// asked says whether the words behind the numbers have this one.
func asked(word string) bool {
	for i := 3; i < len(os.Args); i++ {
		if os.Args[i] == word {
			return true
		}
	}
	return false
}

func number(yes bool) C.int {
	if yes {
		return 1
	}
	return 0
}

func mallinfo(totals *C.struct_totals) map[string]uint64 {
	return map[string]uint64{
		"arena":    uint64(totals.arena),
		"hblks":    uint64(totals.hblks),
		"hblkhd":   uint64(totals.hblkhd),
		"fsmblks":  uint64(totals.fsmblks),
		"uordblks": uint64(totals.uordblks),
		"fordblks": uint64(totals.fordblks),
		"keepcost": uint64(totals.keepcost),
	}
}

func main() {
	settings := (*C.struct_settings)(C.calloc(1, C.sizeof_struct_settings))
	threads := argument(1, 8)
	settings.threads = C.int(threads)
	settings.operations = C.long(argument(2, 1000000))
	settings.seed = 22
	settings.foreign_brk = number(asked("brk"))
	settings.is_glibc = number(!asked("other"))
	settings.blocks_file = C.CString("blocks")
	settings.info_file = C.CString("malloc_info")
	var totals C.struct_totals
	if C.fill_heap(settings, &totals) != 0 {
		panic("the heap was not filled")
	}
	C.free(unsafe.Pointer(settings.blocks_file))
	C.free(unsafe.Pointer(settings.info_file))
	C.free(unsafe.Pointer(settings))
	child := 0
	if asked("fork") {
		child = int(C.fork_child())
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"glibc":          C.GoString(C.truth_libc_version()),
		"child":          child,
		"threads":        threads,
		"blocks":         int(totals.blocks),
		"bytes":          int(totals.bytes),
		"mmapped_blocks": int(totals.mmapped_blocks),
		"mmapped_bytes":  int(totals.mmapped_bytes),
		"freed":          int(totals.freed),
		"brks":           int(totals.brks),
		"mallinfo":       mallinfo(&totals),
	})
	io.Copy(io.Discard, os.Stdin)
}
