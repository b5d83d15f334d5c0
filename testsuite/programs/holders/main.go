// SPDX-License-Identifier: Apache-2.0

// Thirty fields that hold something alone, and some that do not. When the test
// has its core, the program clears one field after the other, collects, and
// prints how far the heap falls.
package main

import (
	"runtime"
	"sync"
	"unsafe"
)

type Node struct {
	Next *Node
	Leaf *Leaf
}

// A Ring is closed in both directions.
type Ring struct {
	Next, Prev *Ring
	Leaf       *Leaf
}

// A Tree knows its parents.
type Tree struct {
	Parent, Left, Right *Tree
	Leaf                *Leaf
}

type Fields struct {
	List    *Node
	Ring    *Ring
	Tree    *Tree
	Strings map[string]*Leaf
	Numbers map[int]*Leaf
	Slice   []*Leaf
	Slices  [][]*Leaf
	Any     any
	Func    func() *Leaf
	Chan    chan *Leaf
}

var (
	hList    *Node
	hRing    *Ring
	hTree    *Tree
	hStrings map[string]*Leaf
	hNumbers map[int]*Leaf
	hSlice   []*Leaf
	hSlices  [][]*Leaf
	hAny     any
	hFunc    func() *Leaf
	hChan    chan *Leaf

	hFields Fields
	hRow    [3]Fields

	// Two fields lead to one list: only the variable holds it alone.
	hTwo struct{ First, Second *Node }
	// Two variables hold one list, none of them alone.
	hThisWay, hThatWay *Node
	// Found through a pool: a weak reference.
	hPool = sync.Pool{}
	// Waits for its argument's end.
	hWaiting = make(chan bool)
)

// A field is a case: the address of its pointer, and the deepest object.
type field struct {
	name string
	word unsafe.Pointer // of a global variable
	deep uintptr
	fall uint64
}

var fields = make([]field, 0, 64)

//go:noinline
func newList(n int) (list *Node) {
	for i := 0; i < n; i++ {
		list = &Node{list, newLeaf()}
	}
	return list
}

//go:noinline
func newRing(n int) *Ring {
	first := &Ring{Leaf: newLeaf()}
	first.Next, first.Prev = first, first
	for i := 1; i < n; i++ {
		ring := &Ring{first, first.Prev, newLeaf()}
		first.Prev.Next = ring
		first.Prev = ring
	}
	return first
}

//go:noinline
func newTree(parent *Tree, depth int) *Tree {
	if depth == 0 {
		return nil
	}
	tree := &Tree{Parent: parent, Leaf: newLeaf()}
	tree.Left = newTree(tree, depth-1)
	tree.Right = newTree(tree, depth-1)
	return tree
}

//go:noinline
func fill(f *Fields, n int) {
	f.List = newList(n)
	f.Ring = newRing(n + 1)
	f.Tree = newTree(nil, 5)
	f.Strings = map[string]*Leaf{}
	f.Numbers = map[int]*Leaf{}
	for i := 0; i < n; i++ {
		f.Strings[newString("key", i)] = newLeaf()
		f.Numbers[i] = newLeaf()
	}
	f.Slice = newLeaves(n + 2)
	f.Slices = [][]*Leaf{newLeaves(n), newLeaves(n + 3)}
	f.Any = newList(n + 4)
	leaves := newLeaves(n + 5)
	f.Func = func() *Leaf { return leaves[0] }
	f.Chan = make(chan *Leaf, n)
	for i := 0; i < n-1; i++ {
		f.Chan <- newLeaf()
	}
}

func first(p unsafe.Pointer) uintptr { return uintptr(*(*unsafe.Pointer)(p)) }

func add(name string, word unsafe.Pointer, deep unsafe.Pointer) {
	at := uintptr(deep)
	if deep == nil {
		at = first(word)
	}
	fields = append(fields, field{name: name, word: word, deep: at})
}

// note enters the ten fields of f, whose names begin with prefix.
func note(prefix string, f *Fields) {
	last := f.List
	for last.Next != nil {
		last = last.Next
	}
	add(prefix+"List", unsafe.Pointer(&f.List), unsafe.Pointer(last.Leaf))
	add(prefix+"Ring", unsafe.Pointer(&f.Ring),
		unsafe.Pointer(f.Ring.Next.Next))
	add(prefix+"Tree", unsafe.Pointer(&f.Tree),
		unsafe.Pointer(f.Tree.Left.Right.Leaf))
	add(prefix+"Strings", unsafe.Pointer(&f.Strings),
		unsafe.Pointer(f.Strings[newString("key", 3)]))
	add(prefix+"Numbers", unsafe.Pointer(&f.Numbers),
		unsafe.Pointer(f.Numbers[7]))
	add(prefix+"Slice", unsafe.Pointer(&f.Slice), unsafe.Pointer(f.Slice[3]))
	add(prefix+"Slices", unsafe.Pointer(&f.Slices),
		unsafe.Pointer(f.Slices[1][2]))
	add(prefix+"Any", unsafe.Add(unsafe.Pointer(&f.Any), 8),
		unsafe.Pointer(f.Any.(*Node).Next))
	add(prefix+"Func", unsafe.Pointer(&f.Func), unsafe.Pointer(f.Func()))
	add(prefix+"Chan", unsafe.Pointer(&f.Chan), nil)
}

// fillVariables moves what a struct holds to ten variables.
//
//go:noinline
func fillVariables() {
	var f Fields
	fill(&f, 33)
	note("main.h", &f)
	hList, hRing, hTree = f.List, f.Ring, f.Tree
	hStrings, hNumbers = f.Strings, f.Numbers
	hSlice, hSlices, hAny = f.Slice, f.Slices, f.Any
	hFunc, hChan = f.Func, f.Chan
	words := []unsafe.Pointer{
		unsafe.Pointer(&hList), unsafe.Pointer(&hRing),
		unsafe.Pointer(&hTree), unsafe.Pointer(&hStrings),
		unsafe.Pointer(&hNumbers), unsafe.Pointer(&hSlice),
		unsafe.Pointer(&hSlices), unsafe.Add(unsafe.Pointer(&hAny), 8),
		unsafe.Pointer(&hFunc), unsafe.Pointer(&hChan),
	}
	for i, word := range words {
		fields[i].word = word
	}
}

//go:noinline
func fillAll() {
	fillVariables()
	fill(&hFields, 50)
	note("main.hFields.", &hFields)
	fill(&hRow[1], 71)
	note("main.hRow[1].", &hRow[1])
	list := newList(40)
	hTwo.First, hTwo.Second = list, list
	where("two", unsafe.Pointer(list.Leaf))
	list = newList(20)
	hThisWay, hThatWay = list, list
	where("shared", unsafe.Pointer(list.Next))
	for i := range fields {
		truthPlaces = append(truthPlaces,
			place{fields[i].name, fields[i].deep})
	}
}

//go:noinline
func keep(list *Node) {
	where("local", unsafe.Pointer(list.Next.Leaf))
	started <- true
	<-hWaiting
	runtime.KeepAlive(list)
}

var started = make(chan bool)

func main() {
	reserve()
	fillAll()
	go keep(newList(10))
	<-started
	tell()
	wait()
	restForFalls()
	for i := range fields {
		word := fields[i].word
		fields[i].fall = fallOf(func() { *(*unsafe.Pointer)(word) = nil })
	}
	fields = append(fields, field{name: "main.hTwo"})
	before := heapAlloc()
	hTwo.First, hTwo.Second = nil, nil
	fields[len(fields)-1].fall = before - heapAlloc()
	tellFalls(len(fields), func(i int) (string, uint64) {
		return fields[i].name, fields[i].fall
	})
	wait()
}
