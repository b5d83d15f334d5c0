// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
)

// ------------------------------------------------------------ pinned-array

type Excerpt struct {
	ID   int
	Text string
}

type Window struct {
	ID   int
	Rows []uint64
}

// Two views far from each other need an array each.
type Ends struct {
	Head, Tail string
}

// Two views that overlap need one array.
type Overlap struct {
	A, B []byte
}

type Match struct {
	ID    int
	Found string
}

// A pointer to one value of an array.
type Cell struct {
	ID   int
	Leaf *Leaf
}

// More than 512 bytes with pointers, also afterwards.
type Refs struct {
	ID    int
	Items []*Leaf
}

// A pointer to a number in a large object.
type Counter struct {
	ID    int
	Value *uint64
}

// An empty slice keeps its array, too.
type Nothing struct {
	ID   int
	Data []byte
}

// An object of many pages.
type Huge struct {
	ID   int
	Text string
}

var (
	excerpts []*Excerpt
	windows  []*Window
	ends     []*Ends
	overlaps []*Overlap
	matches  []*Match
	cells    []*Cell
	refs     []*Refs
	counters []*Counter
	nothings []*Nothing
	huge     []*Huge
)

const pinned = 4000

//go:noinline
func document(i, bytes int) string {
	text := newString("document", i)
	return text + strings.Repeat(".", bytes-len(text))
}

//go:noinline
func clone(text string, is bool) string {
	if is {
		return strings.Clone(text)
	}
	return text
}

//go:noinline
func buildExcerpts(wasteful bool) {
	excerpts = make([]*Excerpt, pinned)
	for i := range excerpts {
		text := document(i, 1024)[:24]
		excerpts[i] = &Excerpt{i, clone(text, !wasteful)}
	}
}

//go:noinline
func buildWindows(wasteful bool) {
	windows = make([]*Window, pinned)
	for i := range windows {
		rows := make([]uint64, 128)
		rows[12] = uint64(i)
		rows = rows[10:14:14]
		if !wasteful {
			less := make([]uint64, 4)
			copy(less, rows)
			rows = less
		}
		windows[i] = &Window{i, rows}
	}
}

//go:noinline
func buildEnds(wasteful bool) {
	ends = make([]*Ends, pinned)
	for i := range ends {
		text := document(i, 1024)
		ends[i] = &Ends{
			clone(text[:30], !wasteful),
			clone(text[900:950], !wasteful),
		}
	}
}

//go:noinline
func buildOverlaps(wasteful bool) {
	overlaps = make([]*Overlap, pinned)
	for i := range overlaps {
		array := []byte(document(i, 1024))
		array = array[100:260:260]
		if !wasteful {
			less := make([]byte, 160)
			copy(less, array)
			array = less
		}
		overlaps[i] = &Overlap{array[:100:100], array[50:]}
	}
}

//go:noinline
func buildMatches(wasteful bool) {
	number := regexp.MustCompile(`bytes-of-its-own-[0-9]+`)
	matches = make([]*Match, pinned)
	for i := range matches {
		found := number.FindString(document(i, 1024))
		matches[i] = &Match{i, clone(found, !wasteful)}
	}
}

//go:noinline
func buildCells(wasteful bool) {
	cells = make([]*Cell, pinned)
	for i := range cells {
		leaf := newLeaf()
		if wasteful {
			leaf = &make([]Leaf, 40)[7]
		}
		cells[i] = &Cell{i, leaf}
	}
}

//go:noinline
func buildRefs(wasteful bool) {
	leaf := newLeaf()
	refs = make([]*Refs, pinned)
	for i := range refs {
		size := 100
		if wasteful {
			size = 200
		}
		items := make([]*Leaf, size)
		for k := range items {
			items[k] = leaf
		}
		if wasteful {
			items = items[50:150:150]
		}
		refs[i] = &Refs{i, items}
	}
}

//go:noinline
func buildCounters(wasteful bool) {
	counters = make([]*Counter, pinned)
	for i := range counters {
		value := new(uint64)
		if wasteful {
			value = &make([]uint64, 64)[9]
		}
		*value = uint64(i)
		counters[i] = &Counter{i, value}
	}
}

//go:noinline
func buildNothings(wasteful bool) {
	nothings = make([]*Nothing, pinned)
	for i := range nothings {
		nothings[i] = &Nothing{ID: i}
		if wasteful {
			data := make([]byte, 1024)
			nothings[i].Data = data[:0:0]
		}
	}
}

//go:noinline
func buildHuge(wasteful bool) {
	huge = make([]*Huge, 8)
	for i := range huge {
		text := document(i, 500000)[400000:400020]
		huge[i] = &Huge{i, clone(text, !wasteful)}
	}
}

func plantPinned() {
	plant("main.Excerpt", ".Text", pinned, buildExcerpts)
	plant("main.Window", ".Rows", pinned, buildWindows)
	plant("main.Ends", ".Head|.Tail", pinned, buildEnds)
	plant("main.Overlap", ".A|.B", pinned, buildOverlaps)
	plant("main.Match", ".Found", pinned, buildMatches)
	plant("main.Cell", ".Leaf", pinned, buildCells)
	optional() // a program that uses unsafe could look around the value
	plant("main.Refs", ".Items", pinned, buildRefs)
	plant("main.Counter", ".Value", pinned, buildCounters)
	optional()
	plant("main.Nothing", ".Data", pinned, buildNothings)
	plant("main.Huge", ".Text", 8, buildHuge)
}
