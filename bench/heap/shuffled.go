// SPDX-License-Identifier: Apache-2.0

package main

// A vertex is 24 bytes, its leaf 32 without pointers.
type vertex struct {
	left, right *vertex
	leaf        *leaf
}

type leaf struct {
	values [4]uint64
}

var top *vertex

// crossEdges: of a hundred vertices so many point to any other one.
const crossEdges = 12

func buildShuffled(n int) {
	vertices := make([]*vertex, n/2)
	leaves := make([]*leaf, len(vertices))
	for i := range vertices {
		vertices[i] = new(vertex)
		leaves[i] = new(leaf)
	}
	shuffle(len(vertices), func(i, j int) {
		vertices[i], vertices[j] = vertices[j], vertices[i]
	})
	shuffle(len(leaves), func(i, j int) {
		leaves[i], leaves[j] = leaves[j], leaves[i]
	})
	for i, v := range vertices {
		v.leaf = leaves[i]
		if i > 0 {
			hang(vertices[rng.below(i)], v)
		}
	}
	for _, v := range vertices {
		if rng.below(100) < crossEdges {
			cross(v, vertices[rng.below(len(vertices))])
		}
	}
	top = vertices[0]
}

func shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, rng.below(i+1))
	}
}

// hang puts v at the first free place on a random way down from under.
func hang(under, v *vertex) {
	for {
		child := &under.left
		if rng.next()>>63 == 1 {
			child = &under.right
		}
		if *child == nil {
			*child = v
			return
		}
		under = *child
	}
}

// cross uses a place that the tree left free, if there is one.
func cross(v, to *vertex) {
	if v.left == nil {
		v.left = to
	} else if v.right == nil {
		v.right = to
	}
}
