// SPDX-License-Identifier: Apache-2.0

// A program that samples its allocations, at the rate of its argument, and knows
// them. A line of its input, a name, a number and a size, is a goroutine with the
// name as its label, which allocates so many blocks: the answer is its number and
// their addresses. "drop NAME" lets the blocks go, and collects. "change NUMBER
// EACH" is one goroutine that has a label so many times and allocates a block
// then, whose size is the label; it collects after EACH of them (0: never).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"unsafe"
)

var kept = map[string][][]byte{}

//go:noinline
func allocate(blocks [][]byte, size int) {
	for i := range blocks {
		blocks[i] = make([]byte, size)
	}
}

//go:noinline
func handle(name string, count, size int) {
	done := make(chan uint64)
	blocks := make([][]byte, count)
	kept[name] = blocks
	go pprof.Do(context.Background(), pprof.Labels("job", name),
		func(context.Context) {
			allocate(blocks, size)
			done <- uint64(goid())
		})
	answer := map[string]any{"goroutine": <-done}
	var addresses []uint64
	for i := range blocks {
		first := unsafe.Pointer(&blocks[i][0])
		addresses = append(addresses, uint64(uintptr(first)))
	}
	answer["addresses"] = addresses
	json.NewEncoder(os.Stdout).Encode(answer)
}

// allocateOne has no frame of its own in common with allocate.
//
//go:noinline
func allocateOne(size int) []byte {
	return make([]byte, size)
}

func change(count, each int) {
	for i := 0; i < count; i++ {
		size := 1024 << (i * i % 7 % 4)
		labels := pprof.Labels("size", strconv.Itoa(size))
		pprof.Do(context.Background(), labels, func(context.Context) {
			kept["change"] = append(kept["change"], allocateOne(size))
		})
		if each > 0 && i%each == each-1 {
			runtime.GC()
		}
	}
	fmt.Println("{}")
}

func main() {
	runtime.MemProfileRate, _ = strconv.Atoi(os.Args[1])
	debug.SetGCPercent(-1)
	fmt.Println("{}")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var name, count string
		var size int
		fmt.Sscan(input.Text(), &name, &count, &size)
		if name == "drop" {
			delete(kept, count)
			runtime.GC()
			fmt.Println("{}")
			continue
		}
		number, _ := strconv.Atoi(count)
		if name == "change" {
			change(number, size)
			continue
		}
		handle(name, number, size)
	}
	if len(os.Args) > 99 {
		runtime.MemProfile(nil, true) // or the linker switches sampling off
	}
}
