// SPDX-License-Identifier: Apache-2.0

// Takes the permission to read from every other element of a list, as programs
// do with secrets, and then waits for the end of its input. No collection runs.
package main

import (
	"syscall"
	"unsafe"
)

const (
	blocks     = 20
	blockBytes = 10 * 4096
)

// Block is so large that it has pages of its own.
type Block struct {
	Next *Block
	_    [blockBytes - unsafe.Sizeof(uintptr(0))]byte
}

var chain *Block

func seal(block *Block) {
	bytes := (*[blockBytes]byte)(unsafe.Pointer(block))[:]
	if err := syscall.Mprotect(bytes, syscall.PROT_NONE); err != nil {
		panic(err)
	}
}

func main() {
	reserve()
	for i := 0; i < blocks; i++ {
		chain = &Block{Next: chain}
	}
	known("chain", blocks, blocks*blockBytes)
	tell()
	for block := chain; block != nil; {
		odd := block.Next
		block = odd.Next
		seal(odd)
	}
	wait()
}
