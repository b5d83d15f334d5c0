// SPDX-License-Identifier: Apache-2.0

// The fixed part of programs that testsuite/e2e/cleared.py makes: made.go has
// random types, and variables whose fields hold random structures of them. When
// the test has its core, the program clears one field after the other, collects,
// and prints how far the heap falls.
package main

import (
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// A field is a case: how it is filled and cleared, the object that was made for
// it last, and the fall of the heap.
type field struct {
	name        string
	fill, clear func()
	deep        uintptr
	fall        uint64
}

// What the makers of made.go share.
var (
	budget int     // objects that may still have objects of their own
	deep   uintptr // the last new object
	drawn  uint64  // state of the generator of numbers
	serial int
)

// next draws a number below n: xorshift.
func next(n int) int {
	drawn ^= drawn << 13
	drawn ^= drawn >> 7
	drawn ^= drawn << 17
	return int(drawn % uint64(n))
}

func isLucky(percent int) bool { return next(100) < percent }

func made(p unsafe.Pointer) {
	deep = uintptr(p)
	budget--
}

// text is a string with bytes of its own.
func text() string {
	serial++
	return newString("text", serial)
}

// numbers have no pointers, and are too large for the tiny allocator.
func numbers() []int { return make([]int, 4+next(20)) }

//go:noinline
func fillAll() {
	drawn = seed
	for i := 0; i < 3; i++ {
		budget = 60
		fillKept()
	}
	forget()
	for i := range fields {
		budget, deep = 5+next(100), 0
		fields[i].fill()
		if deep == 0 {
			panic(fields[i].name + " holds nothing new")
		}
		fields[i].deep = deep
		forget()
		truthPlaces = append(truthPlaces,
			place{fields[i].name, fields[i].deep})
	}
}

func heapAlloc() uint64 {
	collect()
	return truthStats.HeapAlloc
}

// measureFall clears one field. The fall of the heap is what the collection
// behind that frees, beyond what one before it does.
//
//go:noinline
func measureFall(f *field) {
	before := heapAlloc()
	still := heapAlloc()
	f.clear()
	f.fall = still - heapAlloc() - (before - still)
}

func tellFalls() {
	line := append(truthLine[:0], "{"...)
	for i := range fields {
		if i > 0 {
			line = append(line, ", "...)
		}
		line = strconv.AppendQuote(line, fields[i].name)
		line = append(line, ": "...)
		line = strconv.AppendUint(line, fields[i].fall, 10)
	}
	line = append(line, "}\n"...)
	for len(line) > 0 {
		n, err := syscall.Write(1, line)
		if err != nil {
			panic(err)
		}
		line = line[n:]
	}
}

func main() {
	reserve()
	fillAll()
	tell()
	wait()
	// Each P has wait records of its own. What the runtime keeps for two
	// more collections goes first.
	runtime.GOMAXPROCS(1)
	for i := 0; i < 4; i++ {
		collect()
	}
	for i := range fields {
		measureFall(&fields[i])
	}
	tellFalls()
	wait()
}
