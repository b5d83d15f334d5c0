// SPDX-License-Identifier: Apache-2.0

// A program that ends with a fault in C code: in its own, or in a library. What
// the runtime prints then goes to a file in its folder.
package main

/*
#include <stdlib.h>

static __attribute__((noinline, noclone)) int readFrom(int *p)
{
	return *(volatile int *)p + 1;
}

static int faultHere(void)
{
	return readFrom(NULL);
}

static int faultInLibrary(void)
{
	return atoi(NULL);
}
*/
import "C"

import (
	"encoding/json"
	"io"
	"os"
	"syscall"
)

func main() {
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
	})
	io.Copy(io.Discard, os.Stdin)
	file, err := os.Create("stderr")
	if err == nil {
		err = syscall.Dup3(int(file.Fd()), 2, 0)
	}
	if err != nil {
		os.Exit(1)
	}
	if os.Args[1] == "library" {
		C.faultInLibrary()
	}
	C.faultHere()
}
