// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
)

// ---------------------------------------------------------- slice-capacity

type Chunk struct {
	ID   int
	Data []byte
}

type Numbers struct {
	ID     int
	Values []int64
}

// More than 512 bytes with pointers: newer releases add a header.
type Links struct {
	ID    int
	Items []*Leaf
}

// Both slices have one array. It is in use up to the end of the longer one.
type Both struct {
	Short, Long []int64
}

type Emptied struct {
	ID   int
	Data []byte
}

var (
	chunks  []*Chunk
	numbers []*Numbers
	links   []*Links
	both    []*Both
	emptied []*Emptied
	grown   []string
)

//go:noinline
func newChunk(i, length, capacity int) *Chunk {
	chunk := &Chunk{i, make([]byte, length, capacity)}
	for k := range chunk.Data {
		chunk.Data[k] = byte(i >> (k % 4 * 8))
	}
	return chunk
}

//go:noinline
func buildChunks(wasteful bool) {
	chunks = make([]*Chunk, planted)
	for i := range chunks {
		chunks[i] = newChunk(i, 40, 40)
		if wasteful {
			chunks[i] = newChunk(i, 40, 128)
		}
	}
}

// Five values that are appended one by one have room for eight.
//
//go:noinline
func buildNumbers(wasteful bool) {
	numbers = make([]*Numbers, planted)
	for i := range numbers {
		values := make([]int64, 0, 5)
		if wasteful {
			values = nil
		}
		for k := 0; k < 5; k++ {
			values = append(values, int64(i+k))
		}
		numbers[i] = &Numbers{i, values}
	}
}

//go:noinline
func buildLinks(wasteful bool) {
	leaf := newLeaf()
	links = make([]*Links, planted/8)
	for i := range links {
		capacity := 10
		if wasteful {
			capacity = 100
		}
		items := make([]*Leaf, 10, capacity)
		for k := range items {
			items[k] = leaf
		}
		links[i] = &Links{i, items}
	}
}

//go:noinline
func buildBoth(wasteful bool) {
	both = make([]*Both, planted/8)
	for i := range both {
		capacity := 20
		if wasteful {
			capacity = 64
		}
		array := make([]int64, 20, capacity)
		for k := range array {
			array[k] = int64(i)
		}
		both[i] = &Both{array[:10], array}
	}
}

//go:noinline
func buildEmptied(wasteful bool) {
	emptied = make([]*Emptied, planted/8)
	for i := range emptied {
		emptied[i] = &Emptied{ID: i}
		if wasteful {
			emptied[i].Data = make([]byte, 0, 256)
		}
	}
}

//go:noinline
func buildGrown(wasteful bool) {
	capacity := planted
	if wasteful {
		capacity *= 4
	}
	grown = make([]string, planted, capacity)
	for i := range grown {
		grown[i] = "constant"
	}
}

func plantCapacity() {
	plant("main.Chunk", ".Data", planted, buildChunks)
	plant("main.Numbers", ".Values", planted, buildNumbers)
	plant("main.Links", ".Items", planted/8, buildLinks)
	plant("main.Both", ".Short|.Long", planted/8, buildBoth)
	plant("main.Emptied", ".Data", planted/8, buildEmptied)
	plant("main.grown", "", 1, buildGrown)
}

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

var (
	excerpts []*Excerpt
	windows  []*Window
	ends     []*Ends
	overlaps []*Overlap
	matches  []*Match
	cells    []*Cell
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

func plantPinned() {
	plant("main.Excerpt", ".Text", pinned, buildExcerpts)
	plant("main.Window", ".Rows", pinned, buildWindows)
	plant("main.Ends", ".Head|.Tail", pinned, buildEnds)
	plant("main.Overlap", ".A|.B", pinned, buildOverlaps)
	plant("main.Match", ".Found", pinned, buildMatches)
	plant("main.Cell", ".Leaf", pinned, buildCells)
}
