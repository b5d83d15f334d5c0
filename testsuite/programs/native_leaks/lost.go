// SPDX-License-Identifier: Apache-2.0
package main

/*
#include <stdlib.h>
#include <string.h>
#include "plant.h"
#include "record.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

const (
	droppedBlocks  = 500
	droppedStrings = 300
	deadBlocks     = 100
	behindBlocks   = 10
	longest        = 64 // of the strings
	besideBlocks   = 40
	besideBytes    = 1500 // no other block has them
)

func loseByGo() {
	for i := 0; i < droppedBlocks; i++ {
		block := C.malloc(C.size_t(16 + i%7*24))
		C.memset(block, 0x11, C.size_t(16+i%7*24))
		C.record(C.LEAKED, kind("malloc"), block)
	}
	letters := strings.Repeat("a secret of C, ", longest)
	for i := 0; i < droppedStrings; i++ {
		text := C.CString(letters[:20+i%(longest-20)])
		C.record(C.LEAKED, kind("string"), unsafe.Pointer(text))
	}
}

func blocksOf(name string, count int) []unsafe.Pointer {
	found := make([]unsafe.Pointer, count)
	for i := range found {
		found[i] = C.take(C.LEAKED, kind(name), C.size_t(56+i%3*64))
	}
	return found
}

// loseWithSlice leaves a dead slice in the arena.
func loseWithSlice() {
	dead := blocksOf("dead slice", deadBlocks)
	if len(dead) != deadBlocks {
		panic("too few")
	}
}

var deadObject string // the address of one

// loseBehindC leaves a dead slice, whose address C keeps: that does not make
// it live.
func loseBehindC() {
	dead := blocksOf("behind c", behindBlocks)
	deadObject = fmt.Sprintf("%p", &dead[0])
	C.keep_word(kind("stale word"), C.uintptr_t(
		uintptr(unsafe.Pointer(&dead[0]))))
}

// A neighbour holds the blocks between those that are lost.
type neighbour struct {
	block unsafe.Pointer
}

var neighbours []*neighbour

func loseBeside() {
	for i := 0; i < besideBlocks; i++ {
		neighbours = append(neighbours,
			&neighbour{C.take(C.HELD, kind("beside"), 1400)})
		C.take(C.LEAKED, kind("beside"), besideBytes)
	}
}
