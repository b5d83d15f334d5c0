// SPDX-License-Identifier: Apache-2.0

// Threads of C that get blocks and give them back all the time. Each has a block
// in a variable of its own only as long as it uses it.
//
//	native_hands THREADS
//
// The program prints an empty object and waits for a line; then the threads
// begin, and it prints another object and waits for the end of its input.
package main

/*
#cgo CFLAGS: -O1 -g
#cgo LDFLAGS: -lpthread
#include "hands.h"
*/
import "C"

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
)

func main() {
	threads, err := strconv.Atoi(os.Args[1])
	if err != nil || C.prepare(C.int(threads)) != 0 {
		panic("no threads")
	}
	fmt.Println("{}")
	input := bufio.NewReader(os.Stdin)
	input.ReadString('\n')
	C.begin()
	fmt.Println("{}")
	io.Copy(io.Discard, input)
}
