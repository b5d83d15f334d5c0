// SPDX-License-Identifier: Apache-2.0

//go:build go1.24

package main

import (
	"runtime"
	"weak"
)

var pWeak []weak.Pointer[Leaf]

// Cleanups, and weak pointers to what something holds.
func buildNewer() {
	for i := 0; i < 100; i++ {
		node := &Node{Payload: newLeaf()}
		held := newLeaves(5)
		runtime.AddCleanup(node, func(l []*Leaf) { l[0].A++ }, held)
		pBoxes = append(pBoxes, node)
		pWeak = append(pWeak, weak.Make(pMixed[i].Slots[7].Leaf))
	}
}
