// SPDX-License-Identifier: Apache-2.0

package main

import "unsafe"

type wideKey [20]uint64

type wideValue struct {
	Leaves [30]*Leaf
}

type withMap struct {
	Name string
	M    map[string]*Leaf
}

var (
	vMapSmall    map[string]*Leaf
	vMapLarge    map[string]*Leaf
	vMapInts     map[int]*Leaf
	vMapPlain    map[uint64]uint64
	vMapWideKey  map[wideKey]*Leaf
	vMapWideVal  map[int]wideValue
	vMapPointers map[*Leaf]*Leaf
	vMapSet      map[string]struct{}
	vMapMaps     map[string]map[string]*Leaf
	vMapSlice    []withMap
	vMapAny      map[any]any
	vMapDeleted  map[string]*Leaf
	vMapGrowing  map[string]*Leaf
	vMapEmpty    map[string]*Leaf
)

func fill(m map[string]*Leaf, n int) map[string]*Leaf {
	for i := 0; i < n; i++ {
		m[newString("key", i)] = newLeaf()
	}
	return m
}

// In the old design a map grows little by little: entries are inserted until
// the header's oldbuckets (at 24) is set. The newer design has at that offset
// the length of its directory, and grows a table at once.
func fillUntilGrowing(m map[string]*Leaf) {
	header := *(*unsafe.Pointer)(unsafe.Pointer(&m))
	for i := 0; i < 4000; i++ {
		m[newString("key", i)] = newLeaf()
		growing := *(*unsafe.Pointer)(unsafe.Add(header, 24)) != nil
		if growing && i > 1000 {
			return
		}
	}
}

func buildMaps() {
	measure("vMapSmall", 2+2*5, func() {
		vMapSmall = fill(make(map[string]*Leaf), 5)
	})
	measure("vMapLarge", -1, func() {
		vMapLarge = fill(make(map[string]*Leaf), 5000)
	})
	measure("vMapInts", -1, func() {
		vMapInts = make(map[int]*Leaf)
		for i := 0; i < 300; i++ {
			vMapInts[i] = newLeaf()
		}
	})
	measure("vMapPlain", -1, func() {
		vMapPlain = make(map[uint64]uint64)
		for i := uint64(0); i < 3000; i++ {
			vMapPlain[i] = i
		}
	})
	measure("vMapEmpty", -1, func() {
		vMapEmpty = fill(make(map[string]*Leaf), 1)
		delete(vMapEmpty, newString("key", 0))
	})
	buildWideMaps()
	buildNestedMaps()
}

func buildWideMaps() {
	measure("vMapWideKey", -1, func() {
		vMapWideKey = make(map[wideKey]*Leaf)
		for i := 0; i < 50; i++ {
			vMapWideKey[wideKey{3: uint64(i)}] = newLeaf()
		}
	})
	measure("vMapWideVal", -1, func() {
		vMapWideVal = make(map[int]wideValue)
		for i := 0; i < 50; i++ {
			var v wideValue
			copy(v.Leaves[:], newLeaves(30))
			vMapWideVal[i] = v
		}
	})
	measure("vMapPointers", -1, func() {
		vMapPointers = make(map[*Leaf]*Leaf)
		for i := 0; i < 20; i++ {
			vMapPointers[newLeaf()] = newLeaf()
		}
	})
	measure("vMapSet", -1, func() {
		vMapSet = make(map[string]struct{})
		for i := 0; i < 100; i++ {
			vMapSet[newString("member", i)] = struct{}{}
		}
	})
	measure("vMapAny", -1, func() {
		vMapAny = make(map[any]any)
		for i := 0; i < 30; i++ {
			vMapAny[newString("any", i)] = Pair{X: newLeaf()}
			vMapAny[newLeaf()] = newLeaf()
		}
	})
}

func buildNestedMaps() {
	measure("vMapMaps", -1, func() {
		vMapMaps = make(map[string]map[string]*Leaf)
		for i := 0; i < 20; i++ {
			vMapMaps[newString("outer", i)] =
				fill(make(map[string]*Leaf), 3)
		}
	})
	measure("vMapSlice", -1, func() {
		for i := 0; i < 4; i++ {
			vMapSlice = append(vMapSlice, withMap{
				newString("name", i),
				fill(make(map[string]*Leaf), 20),
			})
		}
	})
	measure("vMapDeleted", -1, func() {
		vMapDeleted = fill(make(map[string]*Leaf), 1000)
		for i := 0; i < 1000; i += 2 {
			delete(vMapDeleted, newString("key", i))
		}
	})
	measure("vMapGrowing", -1, func() {
		vMapGrowing = make(map[string]*Leaf)
		fillUntilGrowing(vMapGrowing)
	})
	where("vMapLarge.value", unsafe.Pointer(
		vMapLarge[newString("key", 4321)]))
	where("vMapWideVal.leaf", unsafe.Pointer(vMapWideVal[7].Leaves[29]))
	where("vMapGrowing.value", unsafe.Pointer(
		vMapGrowing[newString("key", 17)]))
}
