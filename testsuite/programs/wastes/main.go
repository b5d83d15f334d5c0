// SPDX-License-Identifier: Apache-2.0

// One kind of waste, chosen by the first argument: the name of a check of
// `goref waste`, `frugal` for a heap that wastes nothing, or `mix SEED N`,
// `mix-runtime SEED N` or `mix-shared SEED N` for random structures. The
// program prints the truth as one line of JSON. The bytes are measured: each
// structure is built twice, as it is before the change and as it would be after
// it. The difference in heap size is what the change would save.
package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
)

// A finding is what one change saves. Fields are separated by "|" if the
// program reaches an object by more than one. No bytes: there is nothing to
// find. No count: it depends on what is counted.
type finding struct {
	typ, field string
	bytes      uint64
	count      int
	isOptional bool // it takes a guess to find it
}

var (
	findings []finding
	line     []byte
)

// plant builds a structure with and without waste.
//
//go:noinline
func plant(typ, field string, count int, build func(wasteful bool)) {
	build(false)
	after := heapAlloc()
	build(true)
	now := heapAlloc()
	if now < after {
		now = after
	}
	note(typ, field, now-after, count)
}

// grow plants what would not be there at all.
//
//go:noinline
func grow(typ, field string, count int, build func()) {
	before := heapAlloc()
	build()
	note(typ, field, heapAlloc()-before, count)
}

func note(typ, field string, bytes uint64, count int) {
	findings = append(findings, finding{typ, field, bytes, count, false})
}

// optional says that goref need not find what was planted last.
func optional() {
	findings[len(findings)-1].isOptional = true
}

func appendFindings(line []byte) []byte {
	for i, f := range findings {
		if i > 0 {
			line = append(line, ", "...)
		}
		line = append(line, `{"type": `...)
		line = strconv.AppendQuote(line, f.typ)
		line = append(line, `, "field": `...)
		line = strconv.AppendQuote(line, f.field)
		line = append(line, `, "bytes": `...)
		line = strconv.AppendUint(line, f.bytes, 10)
		line = append(line, `, "count": `...)
		line = strconv.AppendInt(line, int64(f.count), 10)
		line = append(line, `, "optional": `...)
		line = strconv.AppendBool(line, f.isOptional)
		line = append(line, '}')
	}
	return line
}

// finish collects for the last time, then plants what a collection would undo,
// and prints the truth.
func finish(check string, last func()) {
	runtime.GOMAXPROCS(truthProcs)
	collect()
	bytes, objects := truthStats.HeapAlloc, truthStats.HeapObjects
	if last != nil {
		debug.SetGCPercent(-1)
		last()
	}
	line = append(line[:0], `{"check": `...)
	line = strconv.AppendQuote(line, check)
	line = append(line, `, "findings": [`...)
	line = appendFindings(line)
	line = append(line, `], "heap": {"objects": `...)
	line = strconv.AppendUint(line, objects, 10)
	line = append(line, `, "bytes": `...)
	line = strconv.AppendUint(line, bytes, 10)
	line = append(line, `}, "places": {`...)
	line = appendPlaces(line)
	writeLine(append(line, "}}\n"...))
}

// A mode plants; last is called behind the last collection.
type mode struct {
	plant, last func()
}

var modes = map[string]mode{
	"duplicate-strings": {plant: plantDuplicates},
	"equal-strings":     {plant: plantEqual},
	"slice-capacity":    {plant: plantCapacity},
	"pinned-array":      {plant: plantPinned},
	"sparse-map":        {plant: plantSparse},
	"constant-field":    {plant: plantConstant},
	"goroutine-stack":   {last: plantStacks},
	"stuck-finalizer":   {plant: plantFinalizers},
	"gc-headroom":       {plant: plantHeadroom},
	"context-children":  {plant: plantContexts},
	"nested-contexts":   {plant: plantNested},
	"pool":              {last: plantPool},
	"size-class":        {plant: plantSizeClass},
	"field-order":       {plant: plantOrder},
	"tiny-objects":      {plant: plantTiny},
	"far-timers":        {plant: plantTimers},
	"library-tax":       {plant: plantLibraries},
	"frugal":            {plant: plantFrugal},
	"shared":            {plant: plantShared},
	"mix":               {plant: plantMix},
	"mix-runtime":       {plant: plantMixRuntime, last: stirRuntime},
	"mix-shared":        {plant: plantMixShared, last: plantMixPools},
}

func main() {
	name := os.Args[1]
	mode, is := modes[name]
	if !is {
		panic("no mode " + name)
	}
	reserve()
	findings = make([]finding, 0, 32)
	line = make([]byte, 0, 8<<10)
	if mode.plant != nil {
		mode.plant()
	}
	finish(name, mode.last)
	wait()
	runtime.KeepAlive(&findings)
}
