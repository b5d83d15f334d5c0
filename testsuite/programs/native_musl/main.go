// SPDX-License-Identifier: Apache-2.0

// Blocks in places that only musl has: in the rest of a page of the program's
// data, by the variables of the first thread, and by one that has ended. The
// program prints the complements of their addresses, so that it holds none.
//
//	native_musl [busy | malloc]
//
// With busy, a goroutine runs all the time. With malloc, there are no such
// blocks, but two threads of C that allocate all the time.
package main

// #cgo CFLAGS: -O1 -g
// #include "places.h"
import "C"

import (
	"encoding/json"
	"io"
	"os"
	"runtime"
)

func init() {
	runtime.LockOSThread() // main() runs on the first thread
}

var spins uint64

func spin() {
	for {
		spins++
	}
}

func main() {
	var found C.struct_places
	lost := [][2]uint64{}
	switch os.Args[len(os.Args)-1] {
	case "malloc":
		C.allocate_always()
	case "busy":
		go spin()
		fallthrough
	default:
		C.fill_places(&found)
	}
	for i := 0; i < int(found.nlost); i++ {
		pair := [2]uint64{uint64(found.lost[i]), uint64(found.by_lost[i])}
		lost = append(lost, pair)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"kept": map[string]uint64{
			"of thread": uint64(found.of_thread),
			"variable":  uint64(found.kept),
			"result":    uint64(found.result),
		},
		"left": uint64(found.left),
		"lost": lost,
	})
	io.Copy(io.Discard, os.Stdin)
}
