// SPDX-License-Identifier: Apache-2.0

//go:build go1.21

package main

/*
#include "plant.h"
*/
import "C"

import (
	"runtime"
	"unsafe"
)

var pinner runtime.Pinner

// pinOne leaves an object that a Pinner keeps alive, and its address in C.
func pinOne() {
	object := newHandled(2)
	pinner.Pin(object)
	C.keep_word(kind("pinned"), C.uintptr_t(
		uintptr(unsafe.Pointer(object))))
	noteByC("pinned", object)
}
