// SPDX-License-Identifier: Apache-2.0

// A wide heap: one variable leads to thousands of small objects that have
// pointers. When the collector scans the variable, one P puts 256 spans into its
// queue in a row. After 64 of them it makes a ring, and hands spans to other Ps
// in it (runtime/mgcmark_greenteagc.go: spanQueue.put).
package main

import (
	"encoding/json"
	"io"
	"os"
	"runtime"
)

const leaves = 4096 // in 256 spans

var wide [leaves]*[64]*byte

func main() {
	for i := range wide {
		wide[i] = new([64]*byte)
	}
	runtime.GC()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
	})
	io.Copy(io.Discard, os.Stdin)
}
