// SPDX-License-Identifier: Apache-2.0

// Variables of C that are alike. The program prints their length, and waits for
// the end of its input.
package main

/*
#cgo CFLAGS: -O1 -g -gdwarf-5
#include "twins.h"
*/
import "C"

import (
	"fmt"
	"io"
	"os"
)

func main() {
	C.fill_twins()
	fmt.Printf("{\"held\": {}, \"places\": {}, \"length\": %d, "+
		"\"one_bytes\": %d, \"other_bytes\": %d}\n",
		C.TWINS, C.ONE_BYTES, C.OTHER_BYTES)
	io.Copy(io.Discard, os.Stdin)
}
