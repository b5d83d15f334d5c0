// SPDX-License-Identifier: Apache-2.0

// Generic functions whose instances share their code: one way after the other
// in which a frame comes by its dictionary. Every instance holds a chain that
// nobody else holds, of a length of its own.
package main

import "runtime"

type Red struct {
	Next *Red
	Leaf *Leaf
}

type Blue struct {
	Leaf *Leaf
	Next *Blue
	Size int
}

type Pair[K comparable, V any] struct {
	Key   K
	Value V
}

type Box[T any] struct {
	Items []T
}

var (
	gReady = make(chan int)
	gNever = make(chan int)
)

//go:noinline
func reds(n int) *Red {
	var list *Red
	for ; n > 0; n-- {
		list = &Red{list, newLeaf()}
	}
	return list
}

//go:noinline
func blues(n int) *Blue {
	var list *Blue
	for ; n > 0; n-- {
		list = &Blue{newLeaf(), list, n}
	}
	return list
}

//go:noinline
func block() {
	gReady <- 1
	<-gNever
}

// Called by the wrapper that `go` makes.
//
//go:noinline
func started[T any](x T) {
	block()
	runtime.KeepAlive(x)
}

// Called by code that is not generic.
//
//go:noinline
func called[T any](x T) {
	block()
	runtime.KeepAlive(x)
}

// Called by code that is generic itself.
//
//go:noinline
func inner[T any](pairs []Pair[string, T]) {
	block()
	runtime.KeepAlive(pairs)
}

//go:noinline
func outer[T any](x T) {
	inner(pairs(x))
}

//go:noinline
func pairs[T any](x T) []Pair[string, T] {
	return []Pair[string, T]{{newString("pair", 1), x}}
}

//go:noinline
func box[T any](items ...T) *Box[T] {
	return &Box[T]{append([]T(nil), items...)}
}

//go:noinline
func (b *Box[T]) method() {
	block()
	runtime.KeepAlive(b)
}

//go:noinline
func keyed[K comparable, V any](m map[K]V) {
	block()
	runtime.KeepAlive(m)
}

//go:noinline
func table[V any](value V) map[string]V {
	return map[string]V{newString("key", 1): value}
}

// By an interface, whose table names a wrapper.
type methoder interface{ method() }

//go:noinline
func dispatch(m methoder) { m.method() }

// Only one of it in the program: the code of a shape says which.
//
//go:noinline
func single[T any](x []T) {
	block()
	runtime.KeepAlive(x)
}

func run(f func()) {
	go f()
	<-gReady
}

func main() {
	reserve()
	go started(reds(3))
	<-gReady
	go started(blues(4))
	<-gReady
	known("started[*main.Red].", 6, 0)
	known("started[*main.Blue].", 8, 0)
	run(func() { called(reds(5)) })
	run(func() { called(blues(6)) })
	known("called[*main.Red].", 10, 0)
	known("called[*main.Blue].", 12, 0)
	// The slice, the string in it.
	run(func() { outer(reds(7)) })
	run(func() { outer(blues(8)) })
	known("inner[*main.Red].", 16, 0)
	known("inner[*main.Blue].", 18, 0)
	run(func() { box(reds(9)).method() })
	run(func() { box(blues(10)).method() })
	known("(*Box[*main.Red]).method.", 20, 0)
	known("(*Box[*main.Blue]).method.", 22, 0)
	run(func() { dispatch(box(newLeaf())) })
	known("(*Box[*main.Leaf]).method.", 3, 0)
	run(func() { single(box(reds(11)).Items) })
	known("single[*main.Red].", 23, 0)
	// A map of so few entries is a header and a group or bucket, and a
	// string.
	run(func() { keyed(table(reds(12))) })
	run(func() { keyed(table(blues(13))) })
	known("keyed[string,*main.Red].", 27, 0)
	known("keyed[string,*main.Blue].", 29, 0)
	tell()
	wait()
}
