// SPDX-License-Identifier: Apache-2.0

// A process with a steady rate of page faults: it touches pages of a mapping
// from different depths of its stack, in an order that no rule guesses, and
// gives them back. Every second it prints the faults and the processor time, in
// microseconds, so far.
//
//	faults RATE
package main

import (
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"syscall"
	"time"
)

const (
	pages = 1 << 15
	page  = 4096
	step  = 10 * time.Millisecond
	deep  = 40
)

var kept byte

//go:noinline
func touch(memory []byte, depth int) byte {
	var local [96]byte
	local[depth%len(local)] = byte(depth)
	if depth == 0 {
		memory[0] = 1
		return memory[0]
	}
	return touch(memory, depth-1) + local[depth%len(local)]
}

func used() (faults, us int64) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Minflt, usage.Utime.Nano()/1e3 + usage.Stime.Nano()/1e3
}

func main() {
	rate, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	memory, err := syscall.Mmap(-1, 0, pages*page,
		syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	if err := syscall.Madvise(memory, 15); err != nil { // MADV_NOHUGEPAGE
		panic(err)
	}
	order := rand.New(rand.NewSource(1)).Perm(pages)
	each := rate * int(step) / int(time.Second)
	ticks := time.NewTicker(step)
	for at, n := 0, 0; ; n++ {
		<-ticks.C
		for i := 0; i < each; i++ {
			kept += touch(memory[order[at]*page:], at%deep)
			if at++; at == pages {
				at = 0
				if err := syscall.Madvise(memory, syscall.MADV_DONTNEED); err != nil {
					panic(err)
				}
			}
		}
		if n%int(time.Second/step) == 0 {
			faults, us := used()
			fmt.Println(faults, us)
		}
	}
}
