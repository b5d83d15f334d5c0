// SPDX-License-Identifier: Apache-2.0

// Objects that lead back to themselves, some of them behind finalizers: the
// chain to each of them must end all the same.
package main

import (
	"runtime"
	"unsafe"
)

type Ring struct {
	Next *Ring
	Any  []any
	Pad  [3]uint64
}

var rings *Ring

//go:noinline
func newRing(n int) *Ring {
	first := &Ring{}
	last := first
	for i := 1; i < n; i++ {
		last.Next = &Ring{Any: []any{first}}
		last = last.Next
	}
	last.Next = first
	return first
}

//go:noinline
func build() {
	rings = newRing(5)
	where("rings", unsafe.Pointer(rings))
	where("ringsNext", unsafe.Pointer(rings.Next))

	// Nothing but its finalizer leads to this one, and it to itself.
	ring := newRing(5)
	where("ring", unsafe.Pointer(ring))
	where("ringNext", unsafe.Pointer(ring.Next))
	where("ringLast", unsafe.Pointer(ring.Next.Next.Next.Next))
	runtime.SetFinalizer(ring, func(*Ring) {})

	// And this one leads to the next by words that no type explains.
	other := newRing(3)
	other.Next.Any = append(other.Next.Any, unsafe.Pointer(other), []*Ring{other})
	where("other", unsafe.Pointer(other))
	where("otherNext", unsafe.Pointer(other.Next))
	runtime.SetFinalizer(other, func(*Ring) {})
}

func main() {
	reserve()
	build()
	tell()
	wait()
}
