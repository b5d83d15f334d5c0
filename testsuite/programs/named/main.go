// SPDX-License-Identifier: Apache-2.0

// Objects that are reached by pointers to their parts, and memory that holds
// many values or a part of one: what it is called must be what lies there.
package main

import (
	"strconv"
	"unsafe"
)

const many = 1000

type Part struct {
	Leaf *Leaf
	N    uint64
}

// Inner lies in the middle of a Whole and at the start of a Begun.
type Whole struct {
	N    uint64
	Part Part
	Rest [4]*Leaf
}

type Begun struct {
	Part Part
	Rest [5]*Leaf
}

type Plain struct {
	A, B, C uint64
	D       [8]uint64
}

type Triple struct{ A, B, C uint64 }

type Pair struct {
	Leaf *Leaf
	N    uint64
}

// The first slice is followed before the second.
var (
	nInner struct {
		Parts  []*Part
		Wholes []*Whole
	}
	nFirst struct {
		Parts  []*Part
		Wholes []*Begun
	}
	nPlain struct {
		Parts  []*uint64
		Wholes []*Plain
	}
	// The same without pointers, and in the smallest size classes.
	nStart struct {
		Parts  []*uint64
		Wholes []*Plain
	}
	nTriple struct {
		Parts  []*uint64
		Wholes []*Triple
	}
	nPair struct {
		Parts  []**Leaf
		Wholes []*Pair
	}
	// Nothing but these leads to their objects.
	nOnlyInner []*Inside
	nOnlyFirst []*Outset
)

type Inside struct{ Leaf *Leaf }

type Outset struct{ Leaf *Leaf }

type Hidden struct {
	N     uint64
	Field Inside
	Rest  [4]*Leaf
}

type Headed struct {
	Field Outset
	Rest  [5]*Leaf
}

// Types that their size classes have the most room for.
type (
	Of1544  struct{ Data [1544]byte }
	Of2312  struct{ Data [2312]byte }
	Of3464  struct{ Data [3464]byte }
	Of4104  struct{ Data [4104]byte }
	Of6920  struct{ Data [6920]byte }
	Of8200  struct{ Data [8200]byte }
	Of32776 struct{ Data [32776]byte }
	Of40968 struct{ Data [40968]byte }
)

var nRoomy struct {
	Of1544  *Of1544
	Of2312  *Of2312
	Of3464  *Of3464
	Of4104  *Of4104
	Of6920  *Of6920
	Of8200  *Of8200
	Of32776 *Of32776
	Of40968 *Of40968
}

//go:noinline
func buildRoomy() {
	r := &nRoomy
	r.Of1544, r.Of2312, r.Of3464 = new(Of1544), new(Of2312), new(Of3464)
	r.Of4104, r.Of6920, r.Of8200 = new(Of4104), new(Of6920), new(Of8200)
	r.Of32776, r.Of40968 = new(Of32776), new(Of40968)
	where("Of1544", unsafe.Pointer(r.Of1544))
	where("Of2312", unsafe.Pointer(r.Of2312))
	where("Of3464", unsafe.Pointer(r.Of3464))
	where("Of4104", unsafe.Pointer(r.Of4104))
	where("Of6920", unsafe.Pointer(r.Of6920))
	where("Of8200", unsafe.Pointer(r.Of8200))
	where("Of32776", unsafe.Pointer(r.Of32776))
	where("Of40968", unsafe.Pointer(r.Of40968))
}

type Shape interface{ Area() uint64 }

func (p *Plain) Area() uint64 { return p.A }

type Numbers []uint64

type Names map[string]*Leaf

var (
	// An element of an array, before the array.
	nElement struct {
		First *Shape
		Array []Shape
	}
	nShapes  []Shape
	nNumbers Numbers
	nLarge   []*Leaf
	nText    string
	nMap     Names
	nChan    chan *Leaf
	nFunc    func() uint64

	nPlainPtr   *Plain
	nStringPtr  *string
	nSlicePtr   *[]uint64
	nMapPtr     *Names
	nArrayPtr   *[100]*Leaf
	nShapePtr   *Shape
	nWholeSlice []Whole
)

//go:noinline
func buildParts() {
	for i := 0; i < many; i++ {
		w := &Whole{N: uint64(i)}
		nInner.Wholes = append(nInner.Wholes, w)
		nInner.Parts = append(nInner.Parts, &w.Part)
		b := &Begun{}
		nFirst.Wholes = append(nFirst.Wholes, b)
		nFirst.Parts = append(nFirst.Parts, &b.Part)
		p := &Plain{A: uint64(i)}
		nPlain.Wholes = append(nPlain.Wholes, p)
		nPlain.Parts = append(nPlain.Parts, &p.B)
		s := &Plain{A: uint64(i)}
		nStart.Wholes = append(nStart.Wholes, s)
		nStart.Parts = append(nStart.Parts, &s.A)
		t := &Triple{A: uint64(i)}
		nTriple.Wholes = append(nTriple.Wholes, t)
		nTriple.Parts = append(nTriple.Parts, &t.A)
		q := &Pair{N: uint64(i)}
		nPair.Wholes = append(nPair.Wholes, q)
		nPair.Parts = append(nPair.Parts, &q.Leaf)
		nOnlyInner = append(nOnlyInner, &(&Hidden{}).Field)
		nOnlyFirst = append(nOnlyFirst, &(&Headed{}).Field)
	}
	where("onlyFirst", unsafe.Pointer(nOnlyFirst[7]))
	where("inner", unsafe.Pointer(nInner.Wholes[7]))
	where("first", unsafe.Pointer(nFirst.Wholes[7]))
	where("plain", unsafe.Pointer(nPlain.Wholes[7]))
	where("start", unsafe.Pointer(nStart.Wholes[7]))
	where("triple", unsafe.Pointer(nTriple.Wholes[7]))
	where("pair", unsafe.Pointer(nPair.Wholes[7]))
}

//go:noinline
func buildArrays() {
	nShapes = make([]Shape, 48)
	for i := range nShapes {
		nShapes[i] = &Plain{}
	}
	where("shapes", unsafe.Pointer(&nShapes[0]))
	nElement.Array = make([]Shape, 48)
	nElement.First = &nElement.Array[0]
	where("element", unsafe.Pointer(nElement.First))
	nNumbers = make(Numbers, 100)
	where("numbers", unsafe.Pointer(&nNumbers[0]))
	nLarge = make([]*Leaf, 8192)
	nLarge[0] = newLeaf()
	where("large", unsafe.Pointer(&nLarge[0]))
	nText = newString("text", many)
	data := *(*unsafe.Pointer)(unsafe.Pointer(&nText))
	where("text", data)
	nMap = Names{}
	for i := 0; i < many; i++ {
		nMap["key"+strconv.Itoa(i)] = newLeaf()
	}
	where("map", *(*unsafe.Pointer)(unsafe.Pointer(&nMap)))
	nChan = make(chan *Leaf, 20)
	where("chan", *(*unsafe.Pointer)(unsafe.Pointer(&nChan)))
	nWholeSlice = make([]Whole, 5)
	where("wholes", unsafe.Pointer(&nWholeSlice[0]))
}

//go:noinline
func buildValues() {
	nPlainPtr = &Plain{}
	where("value.plain", unsafe.Pointer(nPlainPtr))
	nStringPtr = new(string)
	*nStringPtr = nText
	where("value.string", unsafe.Pointer(nStringPtr))
	nSlicePtr = new([]uint64)
	*nSlicePtr = nNumbers
	where("value.slice", unsafe.Pointer(nSlicePtr))
	nMapPtr = new(Names)
	*nMapPtr = nMap
	where("value.map", unsafe.Pointer(nMapPtr))
	nArrayPtr = new([100]*Leaf)
	where("value.array", unsafe.Pointer(nArrayPtr))
	nShapePtr = new(Shape)
	where("value.shape", unsafe.Pointer(nShapePtr))
	leaf := newLeaf()
	nFunc = func() uint64 { return leaf.A }
	where("closure", *(*unsafe.Pointer)(unsafe.Pointer(&nFunc)))
}

func main() {
	reserve()
	buildParts()
	buildArrays()
	buildRoomy()
	buildValues()
	tell()
	wait()
}
