// SPDX-License-Identifier: Apache-2.0

// A program that copies pointers while collections mark, through the write
// barrier, in the midst of a function that holds an object on its stack.
//
//	barrier [OBJECTS]
//
// So many objects keep a collection busy.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
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

// storePointer stores one pointer. So many words are at hand there that no
// register is left for k.
//
//go:noinline
func storePointer(i int, words *[12]uint64) uint64 {
	k := new(Kept)
	kLatest = uintptr(unsafe.Pointer(k))
	if i < 0 {
		kList = k // never: it is on the heap
	}
	var held [4]*Kept
	held[i%len(held)] = k
	a, b, c, d := words[0], words[1], words[2], words[3]
	e, f, g, h := words[4], words[5], words[6], words[7]
	l, m, n, o := words[8], words[9], words[10], words[11]
	kTo[i%len(kTo)] = kFrom[i%len(kFrom)]
	a, b, c, d = a*b+1, b*c+1, c*d+1, d*e+1
	e, f, g, h = e*f+1, f*g+1, g*h+1, h*l+1
	l, m, n, o = l*m+1, m*n+1, n*o+1, o*a+1
	return use(held[i%len(held)]) ^ a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^
		l ^ m ^ n ^ o
}

func main() {
	objects := 300000
	if len(os.Args) > 1 {
		objects, _ = strconv.Atoi(os.Args[1])
	}
	for i := 0; i < objects; i++ {
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
	var words [12]uint64
	for i := 0; ; i++ {
		store(i)
		words[i%len(words)] ^= storePointer(i, &words)
	}
}
