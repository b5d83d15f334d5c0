// SPDX-License-Identifier: Apache-2.0

// A program that makes the calls that it is asked for. Each line of its input is
// a number, the bytes of a block, and a letter for each call: the last one takes
// the block. Capital letters are functions of Go, small ones those of two C
// libraries (library/chain.c), in any order, so that Go calls C and C calls Go. A
// line that begins with T runs in a new thread of C. The answer to a line is its
// number and the address of its block. So many goroutines work, each in a thread.
//
//	chained LIBRARY LIBRARY WORKERS
package main

/*
#cgo CFLAGS: -O2 -fomit-frame-pointer
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "chain.h"
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"unsafe"
)

var (
	sink  int
	model C.struct_chain
)

// letter is that of the next call.
func letter(c *C.struct_chain) byte { return *(*byte)(unsafe.Pointer(c.rest)) }

func advance(c *C.struct_chain) {
	c.rest = (*C.char)(unsafe.Add(unsafe.Pointer(c.rest), 1))
}

//go:noinline
func stepA(c *C.struct_chain) {
	on(c)
	sink++
}

//go:noinline
func stepB(c *C.struct_chain) {
	var local [100]int
	local[sink%100] = 1
	on(c)
	sink += local[sink%100]
}

//go:noinline
func stepC(c *C.struct_chain) {
	defer func() { sink++ }()
	on(c)
}

//go:noinline
func stepD(c *C.struct_chain) {
	func(step func(*C.struct_chain)) { step(c) }(stepE)
	sink++
}

//go:noinline
func stepE(c *C.struct_chain) {
	on(c)
	sink++
}

//go:noinline
func on(c *C.struct_chain) {
	which := letter(c)
	if which < 'A' || which > 'D' {
		C.chain_run(c)
		sink++
		return
	}
	advance(c)
	switch which {
	case 'A':
		stepA(c)
	case 'B':
		stepB(c)
	case 'C':
		stepC(c)
	case 'D':
		stepD(c)
	}
	sink++
}

//go:noinline
//export goChain
func goChain(c *C.struct_chain) { on(c) }

type job struct {
	number, bytes int
	calls         string
}

//go:noinline
func run(j job) uintptr {
	c := (*C.struct_chain)(C.malloc(C.size_t(unsafe.Sizeof(model))))
	*c = model
	calls := C.CString(j.calls)
	c.rest, c.bytes = calls, C.size_t(j.bytes)
	if letter(c) == 'T' {
		advance(c)
		C.chain_run_in_thread(c)
	} else {
		on(c)
	}
	block := uintptr(c.block)
	C.free(unsafe.Pointer(calls))
	C.free(unsafe.Pointer(c))
	return block
}

func work(jobs chan job, done chan string) {
	runtime.LockOSThread()
	for j := range jobs {
		done <- fmt.Sprintf("%d %#x", j.number, run(j))
	}
}

func main() {
	first, second := C.CString(os.Args[1]), C.CString(os.Args[2])
	C.chain_load(&model, first, second)
	jobs, done := make(chan job), make(chan string)
	workers, _ := strconv.Atoi(os.Args[3])
	for i := 0; i < workers; i++ {
		go work(jobs, done)
	}
	go func() {
		for line := range done {
			fmt.Println(line)
		}
	}()
	fmt.Println("{}")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var j job
		fmt.Sscan(input.Text(), &j.number, &j.bytes, &j.calls)
		jobs <- j
	}
}
