// SPDX-License-Identifier: Apache-2.0

package main

// Small values, each with the struct that would hold the value itself. That it
// could be smaller than the one before is not counted: padding keeps its size.

type Boxed struct {
	ID    int
	Value interface{}
}

type boxedTwin struct {
	ID int
	Pair
}

type Pair struct {
	X, Y float64
}

// Two integers of eight bytes share an object of the tiny allocator.
type Number struct {
	ID    int
	Value interface{}
}

type numberTwin struct {
	ID    int
	Value int
	_     uintptr
}

type Leafed struct {
	ID   int
	Leaf *Leaf
}

type leafedTwin struct {
	ID int
	Leaf
}

type Single struct {
	ID    int
	Items []*Leaf
}

type singleTwin struct {
	ID   int
	Item *Leaf
	_    [2]int
}

type Idle struct {
	ID    int
	attrs map[string]int
}

// Two of these share a leaf: each would need a copy.
type Sharer struct {
	ID   int
	Leaf *Leaf
}

var (
	sharers     []*Sharer
	boxed       []*Boxed
	boxedTwins  []*boxedTwin
	integers    []*Number
	numberTwins []*numberTwin
	leafed      []*Leafed
	leafedTwins []*leafedTwin
	singles     []*Single
	singleTwins []*singleTwin
	idle        []*Idle
)

//go:noinline
func buildBoxed(wasteful bool) {
	boxed, boxedTwins = nil, make([]*boxedTwin, planted)
	if wasteful {
		boxed, boxedTwins = make([]*Boxed, planted), nil
	}
	for i := 0; i < planted; i++ {
		if wasteful {
			boxed[i] = &Boxed{i, Pair{float64(i), 1 / float64(i+1)}}
		} else {
			boxedTwins[i] = &boxedTwin{ID: i}
		}
	}
}

//go:noinline
func buildIntegers(wasteful bool) {
	integers, numberTwins = nil, make([]*numberTwin, planted)
	if wasteful {
		integers, numberTwins = make([]*Number, planted), nil
	}
	for i := 0; i < planted; i++ {
		if wasteful {
			integers[i] = &Number{i, i + 1000}
		} else {
			numberTwins[i] = &numberTwin{ID: i, Value: i}
		}
	}
}

//go:noinline
func buildLeafed(wasteful bool) {
	leafed, leafedTwins = nil, make([]*leafedTwin, planted)
	if wasteful {
		leafed, leafedTwins = make([]*Leafed, planted), nil
	}
	for i := 0; i < planted; i++ {
		if wasteful {
			leafed[i] = &Leafed{i, newLeaf()}
			leafed[i].Leaf.B = uint64(i)
		} else {
			leafedTwins[i] = &leafedTwin{ID: i}
		}
	}
}

//go:noinline
func buildSingles(wasteful bool) {
	leaves := [2]*Leaf{newLeaf(), newLeaf()}
	singles, singleTwins = nil, make([]*singleTwin, planted)
	if wasteful {
		singles, singleTwins = make([]*Single, planted), nil
	}
	for i := 0; i < planted; i++ {
		if wasteful {
			singles[i] = &Single{i, []*Leaf{leaves[i%2]}}
		} else {
			singleTwins[i] = &singleTwin{ID: i}
		}
	}
}

//go:noinline
func buildIdle(wasteful bool) {
	idle = make([]*Idle, planted)
	for i := range idle {
		idle[i] = &Idle{ID: i}
		if wasteful {
			idle[i].attrs = make(map[string]int)
		}
	}
}

//go:noinline
func buildSharers() {
	for i := 0; i < planted; i++ {
		leaf := newLeaf()
		sharers = append(sharers, &Sharer{i, leaf}, &Sharer{i, leaf})
	}
}

func plantTiny() {
	plant("main.Boxed", ".Value", planted, buildBoxed)
	plant("main.Number", ".Value", planted/2, buildIntegers)
	optional()
	plant("main.Leafed", ".Leaf", planted, buildLeafed)
	plant("main.Single", ".Items", planted, buildSingles)
	plant("main.Idle", ".attrs", planted, buildIdle)
	buildSharers()
	note("main.Sharer", ".Leaf", 0, 0)
}
