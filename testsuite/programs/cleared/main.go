// SPDX-License-Identifier: Apache-2.0

// The fixed part of programs that testsuite/e2e/cleared.py makes: made.go has
// random types, and variables whose fields hold random structures of them. When
// the test has its core, the program clears one field after the other, collects,
// and prints how far the heap falls.
package main

import "unsafe"

// A field is a case: how it is filled and cleared, the object that was made for
// it last, and the fall of the heap.
type field struct {
	name        string
	fill, clear func()
	deep        uintptr
	fall        uint64
}

// The makers of made.go share these.
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

func main() {
	reserve()
	fillAll()
	tell()
	wait()
	restForFalls()
	for i := range fields {
		fields[i].fall = fallOf(fields[i].clear)
	}
	tellFalls(len(fields), func(i int) (string, uint64) {
		return fields[i].name, fields[i].fall
	})
	wait()
}
