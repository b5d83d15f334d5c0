// SPDX-License-Identifier: Apache-2.0

// A program that changes while it grows, as its input asks: lines of words, each
// answered by a line when that is done. Its first line is an empty object.
//
//	child BYTES               a child touches memory
//	load PATH NAME            a library is loaded
//	call BYTES                its function runs
//	unload                    it goes
//	threads N BYTES           threads of C, of which each touches its part
//	heap BYTES                the Go heap
//	exec                      it begins anew
//	exit STATUS
package main

/*
#cgo CFLAGS: -O1 -g
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "change.h"
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

var kept [][]byte

//go:noinline
func touchHeap(bytes int) {
	for ; bytes > 0; bytes -= 32 << 10 {
		one := make([]byte, 32<<10)
		for i := range one {
			one[i] = 1
		}
		kept = append(kept, one)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func do(words []string) {
	switch words[0] {
	case "child":
		C.in_child(C.size_t(number(words[1])))
	case "load":
		path, name := C.CString(words[1]), C.CString(words[2])
		C.load_library(path, name)
		C.free(unsafe.Pointer(path))
		C.free(unsafe.Pointer(name))
	case "call":
		C.call_library(C.size_t(number(words[1])))
	case "unload":
		C.unload_library()
	case "threads":
		C.in_threads(C.int(number(words[1])), C.size_t(number(words[2])))
	case "heap":
		touchHeap(number(words[1]))
	case "exec":
		err := syscall.Exec("/proc/self/exe", os.Args, os.Environ())
		panic(err)
	case "exit":
		os.Exit(number(words[1]))
	}
}

func main() {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	for _, argument := range os.Args[1:] {
		do(strings.Split(argument, ","))
	}
	fmt.Println("{}")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		do(strings.Fields(input.Text()))
		fmt.Println("done")
	}
}
