// SPDX-License-Identifier: Apache-2.0

package main

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

// The slice itself is an object, which has no field of its own.
type Behind struct {
	ID   int
	Data *[]byte
}

var (
	behinds []*Behind
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

//go:noinline
func buildBehinds(wasteful bool) {
	behinds = make([]*Behind, planted/4)
	for i := range behinds {
		chunk := newChunk(i, 40, 40)
		if wasteful {
			chunk = newChunk(i, 40, 128)
		}
		behinds[i] = &Behind{i, new([]byte)}
		*behinds[i].Data = chunk.Data
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
	plant("main.Behind", ".Data", planted/4, buildBehinds)
	plant("main.Numbers", ".Values", planted, buildNumbers)
	plant("main.Links", ".Items", planted/8, buildLinks)
	plant("main.Both", ".Short|.Long", planted/8, buildBoth)
	plant("main.Emptied", ".Data", planted/8, buildEmptied)
	plant("main.grown", "", 1, buildGrown)
}
