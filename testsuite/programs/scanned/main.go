// SPDX-License-Identifier: Apache-2.0

// Objects whose words the collector scans up to a known one: with a pointer at
// the beginning, at the end, in each element of an array, in large objects, and
// with none. The program collects, and prints as one line of JSON how many of
// each type there are, up to which word of the type the last pointer goes, what
// the variables hold, and what the runtime itself says that it scans.
package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"syscall"
	"unsafe"
)

const (
	// Arrays of so many fill a slot: since Go 1.22, the collector takes the
	// rest of an array's slot for more elements.
	nPairs, nBlocks = 60416, 60416
	nFives, nWides  = 2047, 1535
	nTalls, nVast   = 20, 2
	nLost           = 700
	metric          = "/gc/scan/heap:bytes"
)

type early struct { // 1 word
	first *int
	rest  [7]uint64
}

type late struct { // 8 words
	rest [7]uint64
	last *int
}

type pair struct { // 2 words
	a *early
	b *late
}

type five struct { // 4 * 8 + 1 words
	parts [5]early
}

type wide struct { // 101 words, behind a malloc header if there is one
	rest [100]uint64
	last *int
	tail [20]uint64
}

type block struct { // none
	rest [16]uint64
}

type tall struct { // 1000 words of a large object
	first [1000]*int
	rest  [5144]uint64
}

type vast struct { // 40960 words, which the collector scans in parts
	all [40960]*int
}

var (
	pairs  []*pair
	fives  []*five
	wides  []*wide
	blocks []*block
	talls  []*tall
	vasts  []*vast
	// The collector scans it also for its finalizer.
	doomed *late

	samples = []metrics.Sample{{Name: metric}}
	line    = make([]byte, 0, 4096)
	input   [1]byte
	lost    interface{}
)

func build() {
	pairs = make([]*pair, nPairs)
	for i := range pairs {
		pairs[i] = &pair{new(early), new(late)}
	}
	fives = make([]*five, nFives)
	for i := range fives {
		fives[i] = new(five)
	}
	wides = make([]*wide, nWides)
	for i := range wides {
		wides[i] = new(wide)
	}
	blocks = make([]*block, nBlocks)
	for i := range blocks {
		blocks[i] = new(block)
	}
	talls = make([]*tall, nTalls)
	for i := range talls {
		talls[i] = new(tall)
	}
	vasts = make([]*vast, nVast)
	for i := range vasts {
		vasts[i] = new(vast)
	}
	doomed = new(late)
	runtime.SetFinalizer(doomed, func(*late) {})
}

// lose makes garbage.
//
//go:noinline
func lose() {
	for i := 0; i < nLost; i++ {
		lost = new(wide)
	}
	lost = nil
}

// hasHeaders says whether a large slot with pointers begins with a word of the
// runtime's: all size classes of that size are multiples of 128 bytes.
func hasHeaders() int {
	return int(uintptr(unsafe.Pointer(wides[0])) / 8 % 2)
}

// scanned is what the runtime says; 0 if it has no such metric.
func scanned() uint64 {
	metrics.Read(samples)
	if samples[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return samples[0].Value.Uint64()
}

func say(text string) {
	line = append(line, text...)
}

func put(name string, numbers ...int) {
	line = strconv.AppendQuote(line, name)
	say(": [")
	for i, n := range numbers {
		if i > 0 {
			say(", ")
		}
		line = strconv.AppendInt(line, int64(n), 10)
	}
	say("]")
}

func tellAll(bytes uint64) {
	header := hasHeaders()
	say(`{"held": {}, "places": {}, "types": {`)
	put("main.early", nPairs, 1)
	say(", ")
	put("main.late", nPairs+1, 8)
	say(", ")
	put("main.pair", nPairs, 2)
	say(", ")
	put("main.five", nFives, 33)
	say(", ")
	put("main.wide", nWides, 101+header)
	say(", ")
	put("main.block", nBlocks, 0)
	say(", ")
	put("main.tall", nTalls, 1000)
	say(", ")
	put("main.vast", nVast, 40960)
	say("}, ")
	put("lost", nLost, 101+header)
	say(", ")
	put("header", header)
	say(", ")
	put("scanned", int(bytes))
	say(`, "roots": {`)
	put("main.pairs", nPairs+nPairs*(2+1+8))
	say(", ")
	put("main.fives", nFives+nFives*33+header)
	say(", ")
	put("main.wides", nWides+nWides*(101+header)+header)
	say(", ")
	put("main.blocks", nBlocks)
	say(", ")
	put("main.talls", nTalls+nTalls*1000)
	say(", ")
	put("main.vasts", nVast+nVast*40960)
	say("}}\n")
	os.Stdout.Write(line)
}

func main() {
	startThreads()
	debug.SetGCPercent(-1)
	build()
	scanned()
	runtime.GC()
	runtime.GC()
	bytes := scanned()
	lose()
	tellAll(bytes)
	for n := 1; n > 0; {
		n, _ = syscall.Read(0, input[:])
	}
	runtime.KeepAlive(&bytes)
}
