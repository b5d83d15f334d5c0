// SPDX-License-Identifier: Apache-2.0

// A program that allocates in C, in known ways, as its input asks. Each line is
// a command, and is answered by a line of JSON. The first line is an empty
// object.
//
//	allocs PREFIX=PATH... (library/sites.c; sampler: library/sampler.c)
//
// The commands are those of the switch below; LIBRARY is a prefix, SITE a name
// of sites, HOLDER who has the blocks: nobody, c, or go.
//
//	make LIBRARY SITE COUNT BYTES HOLDER   by a goroutine with a label
//	drop LIBRARY SITE                      those that nobody has
//	hang LIBRARY WAY COUNT BYTES           a goroutine that should free waits
//	free                                   the goroutines that hang go on
//	load LIBRARY THREADS RATE EVERY_A EVERY_B SLOTS   SLOTS: of all threads
//	stop                                   the load
//	truth                                  all blocks that are not freed
//	cpu                                    processor time
//	sample COUNT BYTES KEEP_EVERY          with the USDT probes
//	threads LIBRARY N COUNT BYTES          threads of C
//	fork                                   a child that allocates
//	allocator PATH PREFIX COUNT            a library that brings an allocator
//	unload                                 it goes
//	exec                                   the program begins anew
//	exit STATUS
package main

/*
#cgo CFLAGS: -O1 -g -fno-omit-frame-pointer
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "allocs.h"
*/
import "C"

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

var (
	sites = []string{"leak_a", "leak_b", "held", "grown", "zeroed", "aligned",
		"posix_aligned", "memaligned", "array", "valloced", "newed",
		"new_array", "new_nothrow", "new_aligned", "own", "mapped"}
	holders   = []string{"nobody", "c", "go"}
	libraries []string
	heldByGo  [][]unsafe.Pointer
)

func indexOf(names []string, wanted string) C.int {
	for i, name := range names {
		if name == wanted {
			return C.int(i)
		}
	}
	panic("what is " + wanted)
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	check(err)
	return n
}

func answer(document any) {
	check(json.NewEncoder(os.Stdout).Encode(document))
}

// labelled runs a function in a goroutine of its own, with a label.
func labelled(name string, run func(id uint64)) uint64 {
	done := make(chan uint64)
	go pprof.Do(context.Background(), pprof.Labels("site", name),
		func(context.Context) {
			id := goid()
			run(id)
			done <- id
		})
	return <-done
}

//go:noinline
func makeBlocks(words []string, id uint64) {
	holder := indexOf(holders, words[4])
	count := number(words[2])
	var blocks []unsafe.Pointer
	var first *unsafe.Pointer
	if holder == C.HOLDER_CALLER {
		blocks = make([]unsafe.Pointer, count)
		first = &blocks[0]
		heldByGo = append(heldByGo, blocks)
	}
	C.make_blocks(indexOf(libraries, words[0]), indexOf(sites, words[1]),
		C.uint64_t(count), C.size_t(number(words[3])), holder,
		C.uint64_t(id), first)
}

// A row of a block: library, site, address, bytes, holder, goroutine, and the
// time of the clock CLOCK_MONOTONIC.
type row struct {
	Library   string `json:"library"`
	Site      string `json:"site"`
	Address   uint64 `json:"address"`
	Bytes     uint64 `json:"bytes"`
	Holder    string `json:"holder"`
	Goroutine uint64 `json:"goroutine"`
	TimeNs    uint64 `json:"time_ns"`
}

func truth() []row {
	rows := []row{}
	for i := C.uint64_t(0); i < C.ledger_count(); i++ {
		one := C.ledger_entry(i)
		if one.is_gone != 0 {
			continue
		}
		rows = append(rows, row{libraries[one.library], sites[one.site],
			^uint64(one.hidden), uint64(one.bytes), holders[one.holder],
			uint64(one.goid), uint64(one.time_ns)})
	}
	for thread := 0; thread < C.MAX_THREADS; thread++ {
		for slot := 0; slot < C.MAX_SLOTS; slot++ {
			at := C.table_block(C.int(thread), C.int(slot))
			if at != nil {
				rows = append(rows, row{theLoad.library, "held",
					uint64(uintptr(at)), 100, "c", 0, 0})
			}
		}
	}
	return rows
}

func sample(words []string) [][3]uint64 {
	C.sampled_blocks(C.uint64_t(number(words[0])), C.size_t(number(words[1])),
		C.uint64_t(number(words[2])))
	found := [][3]uint64{}
	var index C.uint64_t
	var one C.struct_sample
	for C.next_sample(&index, &one) != 0 {
		found = append(found, [3]uint64{^uint64(one.hidden),
			uint64(one.bytes), uint64(one.weight)})
	}
	return found
}

func cpu() int64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return usage.Utime.Nano()/1000 + usage.Stime.Nano()/1000
}

func change(words []string) any {
	switch words[0] {
	case "threads":
		C.in_threads(indexOf(libraries, words[1]), C.int(number(words[2])),
			C.uint64_t(number(words[3])), C.size_t(number(words[4])))
	case "fork":
		return map[string]int{"child": int(C.fork_allocating())}
	case "allocator":
		path, prefix := C.CString(words[1]), C.CString(words[2])
		C.use_allocator(path, prefix, C.uint64_t(number(words[3])))
		C.free(unsafe.Pointer(path))
		C.free(unsafe.Pointer(prefix))
	case "unload":
		C.unload_allocator()
	case "exec":
		check(syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
	case "exit":
		os.Exit(number(words[1]))
	default:
		panic("no command: " + words[0])
	}
	return struct{}{}
}

func do(words []string) any {
	switch words[0] {
	case "make":
		return map[string]uint64{"goroutine": labelled(words[2],
			func(id uint64) { makeBlocks(words[1:], id) })}
	case "drop":
		C.drop_blocks(indexOf(libraries, words[1]), indexOf(sites, words[2]))
		return struct{}{}
	case "hang":
		return map[string]uint64{"goroutine": hang(words[1:])}
	case "free":
		return map[string]int{"hung": freeAll()}
	case "load":
		theLoad.start(words[1:])
		return struct{}{}
	case "stop":
		return map[string]uint64{"pairs": theLoad.stop()}
	case "truth":
		return map[string]any{"blocks": truth(), "pairs": theLoad.count(),
			"goroutines": theLoad.goroutines}
	case "cpu":
		return map[string]int64{"us": cpu(), "pairs": int64(theLoad.count())}
	case "sample":
		return map[string]any{"samples": sample(words[1:])}
	}
	return change(words)
}

func load(argument string) {
	name, path, _ := strings.Cut(argument, "=")
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	if name == "sampler" {
		framed := C.CString("framed")
		defer C.free(unsafe.Pointer(framed))
		C.load_sampler(cpath, framed)
		return
	}
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	C.load_library(C.int(len(libraries)), cpath, cname)
	libraries = append(libraries, name)
}

func main() {
	debug.SetGCPercent(-1)
	for _, argument := range os.Args[1:] {
		load(argument)
	}
	fmt.Println("{}")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		answer(do(strings.Fields(input.Text())))
	}
}
