// SPDX-License-Identifier: Apache-2.0

// Thousands of maps in the middle of growing. Before Go 1.24 a bucket that has
// moved already is cleared, but its overflow buckets are only unlinked: those
// that were allocated with the array stay in it, and keep what comes behind
// them alive. So rare a chain needs many maps.
package main

import "unsafe"

var growing []map[int]*Leaf

func fillUntilGrowing(m map[int]*Leaf, leaf *Leaf) {
	header := *(*unsafe.Pointer)(unsafe.Pointer(&m))
	for i := 0; i < 300; i++ {
		m[i] = leaf
		isGrowing := *(*unsafe.Pointer)(unsafe.Add(header, 24)) != nil
		if isGrowing && i > 216 {
			return
		}
	}
}

func main() {
	reserve()
	measure("growing", -1, func() {
		leaf := newLeaf()
		growing = make([]map[int]*Leaf, 0, 4000)
		for i := 0; i < 4000; i++ {
			m := make(map[int]*Leaf)
			fillUntilGrowing(m, leaf)
			growing = append(growing, m)
		}
	})
	tell()
	wait()
}
