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
	"os"
)

func main() {
	waitToEnd()
	if os.Args[1] == "library" {
		C.faultInLibrary()
	}
	C.faultHere()
}
