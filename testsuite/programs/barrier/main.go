// SPDX-License-Identifier: Apache-2.0

// A program that copies pointers while collections mark, through the write
// barrier, in the midst of a function that holds an object on its stack.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"unsafe"
)

type Kept struct {
	Next  *Kept
	Words [6]uint64
}

var (
	kList   *Kept
	kFrom   [8]*Kept
	kTo     [8]*Kept
	kLatest uintptr // the object that store holds
)

//go:noinline
func use(k *Kept) uint64 { return k.Words[3] }

//go:noinline
func store(i int) uint64 {
	k := new(Kept)
	kLatest = uintptr(unsafe.Pointer(k))
	if i < 0 {
		kList = k // never: it is on the heap
	}
	// Not there at the call before, which allocated.
	var held [4]*Kept
	held[i%len(held)] = k
	kTo = kFrom
	return use(held[i%len(held)])
}

func main() {
	for i := 0; i < 300000; i++ {
		kList = &Kept{Next: kList}
	}
	for i := range kFrom {
		kFrom[i] = new(Kept)
	}
	go func() {
		for {
			runtime.GC()
		}
	}()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println("{}")
	for i := 0; ; i++ {
		store(i)
	}
}
