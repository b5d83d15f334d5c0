// SPDX-License-Identifier: Apache-2.0

// Blocks whose types only C and C++ tell, without one pointer of Go. The program
// prints each with the type that goref should give it, and waits for the end of
// its input. Its arguments are libraries that fill blocks, too.
package main

/*
#cgo CFLAGS: -O1 -g
#cgo CXXFLAGS: -O1 -g
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "types.h"
*/
import "C"

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"unsafe"
)

const lost = 9 // objects of C++

type row struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Type    string `json:"type"`
}

func truth() []row {
	var rows []row
	for i := C.int(0); ; i++ {
		at := C.truth_at(i)
		if at == nil {
			return rows
		}
		rows = append(rows, row{
			C.GoString(at.name),
			fmt.Sprintf("%#x", ^uint64(at.complement)),
			C.GoString(at._type),
		})
	}
}

func main() {
	C.make_variables()
	C.make_shapes()
	for _, path := range os.Args[1:] {
		text := C.CString(path)
		C.load_library(text)
		C.free(unsafe.Pointer(text))
	}
	C.lose_shapes(lost)
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"blocks": truth(), "lost": lost,
	})
	io.Copy(io.Discard, os.Stdin)
}
