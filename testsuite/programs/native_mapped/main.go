// SPDX-License-Identifier: Apache-2.0

// Memory that C has mapped itself, and memory that malloc has given back. The
// program prints address and bytes of each kind, and waits for the end of its
// input.
package main

/*
#cgo CFLAGS: -O1 -g
#cgo LDFLAGS: -lpthread
#include <stdlib.h>
#include "mapped.h"
*/
import "C"

import (
	"encoding/json"
	"io"
	"os"
	"runtime"
	"unsafe"
)

func init() {
	runtime.LockOSThread() // main() runs on the thread with the main heap
}

var (
	inGo   unsafe.Pointer
	object = new([1 << 20]byte)
)

// The complement of an address holds nothing.
type row struct {
	hidden, bytes uint64
}

func told(rows map[string]row) map[string][2]uint64 {
	found := map[string][2]uint64{}
	for kind, row := range rows {
		found[kind] = [2]uint64{^row.hidden, row.bytes}
	}
	return found
}

func main() {
	rows := map[string]row{}
	for kind := C.int(0); kind < C.NKINDS; kind++ {
		at := C.take(kind)
		rows[C.GoString(C.name_of(kind))] = row{
			uint64(at.hidden), uint64(at.bytes),
		}
	}
	inGo = unsafe.Pointer(uintptr(C.for_go()))
	rows["go"] = row{^uint64(uintptr(inGo)), C.BYTES}
	rows["object"] = row{^uint64(uintptr(unsafe.Pointer(object))), 4096}
	rows["runtime"] = row{^uint64(uintptr(C.code()) &^ 4095), 4096}
	json.NewEncoder(os.Stdout).Encode(told(rows))
	io.Copy(io.Discard, os.Stdin)
}
