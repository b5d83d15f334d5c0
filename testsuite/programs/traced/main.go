// SPDX-License-Identifier: Apache-2.0

// A program that grows by known amounts, one after the other, as its input
// asks: each line is a way to grow and a number of bytes. It prints the number
// of bytes when that is done. Its first line is an empty object.
//
//	traced LIBRARY... (the libraries of library/grow.c, as PREFIX=PATH)
//
// The ways are those of the switch below.
package main

/*
#cgo CFLAGS: -O1 -g
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "grow.h"
*/
import "C"

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"unsafe"
)

const (
	sessionBytes = 40 << 10
	rowBytes     = 18 << 10 // of a slot, with a header if there is one
)

type session struct {
	payload [sessionBytes - 8]byte
	next    *session
}

type row struct {
	cells [rowBytes - 2*8]byte
	next  *row
}

var (
	sessions  *session
	rows      *row
	mappings  []unsafe.Pointer
	libraries = map[string]unsafe.Pointer{}
	files     int
)

//go:noinline
func openSessions(bytes int) {
	for ; bytes >= int(unsafe.Sizeof(session{})); bytes -= sessionBytes {
		one := &session{next: sessions}
		for i := range one.payload {
			one.payload[i] = 1
		}
		sessions = one
	}
}

//go:noinline
func readRows(bytes int) {
	labels := pprof.Labels("step", "rows")
	pprof.Do(context.Background(), labels, func(context.Context) {
		for ; bytes >= int(unsafe.Sizeof(row{})); bytes -= rowBytes {
			one := &row{next: rows}
			for i := range one.cells {
				one.cells[i] = 1
			}
			rows = one
		}
	})
}

//export goBack
func goBack(data C.uintptr_t) {
	mappings = append(mappings, C.grow_mapping(C.size_t(data)))
}

func load(name, path string) {
	cname, cpath := C.CString(name), C.CString(path)
	defer C.free(unsafe.Pointer(cname))
	defer C.free(unsafe.Pointer(cpath))
	libraries[name] = C.load_library(cpath, cname)
}

func grow(way string, bytes int) {
	name := strings.TrimPrefix(way, "back:")
	switch {
	case name != way:
		C.call_library(libraries[name], C.uintptr_t(bytes))
	case way == "sessions":
		openSessions(bytes)
	case way == "rows":
		readRows(bytes)
	case way == "mapping":
		mappings = append(mappings, C.grow_mapping(C.size_t(bytes)))
	case way == "file":
		path := C.CString("traced.file." + strconv.Itoa(files))
		files++
		C.grow_file(path, C.size_t(bytes))
		C.free(unsafe.Pointer(path))
	case way == "table":
		C.grow_table(C.size_t(bytes))
	case way == "stacks":
		C.grow_stacks(C.size_t(bytes), 8)
	case libraries[way] != nil:
		C.grow_library(libraries[way], C.size_t(bytes))
	default:
		panic("no way to grow: " + way)
	}
}

func main() {
	runtime.LockOSThread() // the main arena of malloc is its thread's
	runtime.MemProfileRate = 16 << 10
	debug.SetGCPercent(-1)
	paths := map[string]string{}
	for _, argument := range os.Args[1:] {
		name, path, _ := strings.Cut(argument, "=")
		paths[name] = path
	}
	fmt.Println("{}")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		way, number, _ := strings.Cut(input.Text(), " ")
		bytes, _ := strconv.Atoi(number)
		name := strings.TrimPrefix(way, "back:")
		if path := paths[name]; path != "" && libraries[name] == nil {
			load(name, path)
		}
		grow(way, bytes)
		fmt.Println(bytes)
	}
	if len(os.Args) > 99 {
		pprof.Lookup("heap") // or the linker switches sampling off
	}
}
