// SPDX-License-Identifier: Apache-2.0

// A wide heap: one variable leads to thousands of small objects that have
// pointers. The collector that marks by spans finds more of their spans, one
// after another, than a queue of its own P has room to keep from other Ps, so
// that it makes a ring of spans for them (runtime/mgcmark_greenteagc.go:
// spanQueue.put).
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
