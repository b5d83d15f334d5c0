// SPDX-License-Identifier: Apache-2.0

// Objects that the runtime samples, each of them: some stay, some are freed,
// some of those slots are used again, by objects that are sampled or not, and
// some objects are garbage in the end. The program prints the addresses of all,
// by kind, and then waits for the end of its input.
package main

import (
	"encoding/json"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"
	"unsafe"
)

const (
	count      = 300
	countLarge = 32
	tinyBytes  = 16
)

// Kinds of slots. A header has a malloc header in releases that have these, and
// so has its slot; several of tiny share a slot.
type (
	header       struct{ pointers [100]*int }
	small        struct{ pointers [10]*int }
	noscan       [200]byte
	tiny         [3]byte
	large        [100 << 10]byte
	largePointer [20 << 10]*int
)

// All objects of a kind, by what has become of them.
type kind[T any] struct {
	Kept    []*T `json:"-"`
	Later   []*T `json:"-"`
	Again   []*T `json:"-"`
	number  int
	isTiny  bool
	Live    []uintptr `json:"live"`    // sampled and kept
	Dropped []uintptr `json:"dropped"` // sampled and freed
	Reused  []uintptr `json:"reused"`  // kept, and not sampled
	Second  []uintptr `json:"second"`  // sampled and kept, in a slot that was freed
	Garbage []uintptr `json:"garbage"` // sampled and not freed yet
}

var (
	headers  = &kind[header]{number: count}
	smalls   = &kind[small]{number: count}
	noscans  = &kind[noscan]{number: count}
	tinies   = &kind[tiny]{number: 5 * count, isTiny: true}
	larges   = &kind[large]{number: countLarge}
	pointers = &kind[largePointer]{number: countLarge}
	sink     *[333]byte
)

// sample turns sampling on or off. Newer releases sample one more object then.
func sample(rate int) {
	runtime.MemProfileRate = rate
	for i := 0; i < 10; i++ {
		sink = new([333]byte)
	}
}

// fresh makes objects of a kind. Nothing else takes memory meanwhile.
//
//go:noinline
func (k *kind[T]) fresh(number int) ([]*T, []uintptr) {
	objects := make([]*T, number)
	addresses := make([]uintptr, number)
	for i := range objects {
		objects[i] = new(T)
		addresses[i] = uintptr(unsafe.Pointer(objects[i]))
	}
	return objects, addresses
}

// begin keeps about half of the objects: every other slot.
func (k *kind[T]) begin() {
	objects, addresses := k.fresh(k.number)
	for i, address := range addresses {
		slot := i
		if k.isTiny {
			slot = int(address / tinyBytes)
		}
		if slot%2 == 0 {
			k.Kept = append(k.Kept, objects[i])
			k.Live = append(k.Live, address)
		} else {
			k.Dropped = append(k.Dropped, address)
		}
	}
}

// These take parts of the slots that are free now.
func (k *kind[T]) reuse() { k.Later, k.Reused = k.fresh(k.number / 5) }
func (k *kind[T]) again() { k.Again, k.Second = k.fresh(k.number / 5) }
func (k *kind[T]) waste() { _, k.Garbage = k.fresh(k.number / 5) }

type steps interface {
	begin()
	reuse()
	again()
	waste()
}

func main() {
	// Large objects are the first ones to take the pages that are free.
	all := []steps{larges, pointers, headers, smalls, noscans, tinies}
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	// The runtime's own timers need no more memory then, which would be sampled.
	for i := 0; i < 5; i++ {
		time.AfterFunc(time.Hour, runtime.GC)
	}
	sample(1)
	for _, k := range all {
		k.begin()
	}
	runtime.GC()
	runtime.GC()
	sample(0)
	for _, k := range all {
		k.reuse()
	}
	sample(1)
	for _, k := range all {
		k.again()
	}
	for _, k := range all {
		k.waste()
	}
	sample(0)
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"kinds": map[string]any{
			"header": headers, "small": smalls, "noscan": noscans,
			"tiny": tinies, "large": larges, "pointers": pointers,
		},
	})
	io.Copy(io.Discard, os.Stdin)
}
