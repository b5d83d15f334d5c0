// SPDX-License-Identifier: Apache-2.0

// Objects of known sites behind known roots. The program prints how many objects
// of which site it keeps where, and then waits for the end of its input. Its
// argument is the rate of the memory profile; more arguments multiply the
// number of objects. No collection runs after the figures are taken.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"unsafe"
)

// item fills a slot of 32 kB, of which one page is touched.
type item struct {
	next *item
	data [32700]byte
}

const (
	lateKept    = 70
	lateDropped = 30
)

var (
	list  *item
	table = map[int]*item{}
	slots []*item
	late  []*item
)

// Sites: a function of its own, one that is inlined into another, and one that
// is called in several ways.
//
//go:noinline
func fresh() *item { return &item{} }

func inlined() *item { return &item{next: nil} }

//go:noinline
func outer() *item { return inlined() }

//go:noinline
func shared() *item { return new(item) }

func viaCopy() *item { return shared() }

//go:noinline
func copied() *item { return viaCopy() }

//go:noinline
func parsed() *item { return shared() }

type cell struct {
	Site    string `json:"site"`
	Root    string `json:"root"`
	Objects int    `json:"objects"`
	Address string `json:"address"`
}

func keepInList(i *item)  { i.next, list = list, i }
func keepInTable(i *item) { table[len(table)] = i }
func keepInSlots(i *item) { slots = append(slots, i) }

// build makes objects of all sites for all roots.
func build(times int) []cell {
	sites := []struct {
		name string
		make func() *item
	}{
		{"main.fresh", fresh}, {"main.outer", outer},
		{"main.copied", copied}, {"main.parsed", parsed},
	}
	roots := []struct {
		name string
		keep func(*item)
	}{
		{"main.list", keepInList}, {"main.table", keepInTable},
		{"main.slots", keepInSlots},
	}
	var cells []cell
	for i, site := range sites {
		for k, root := range roots {
			n := (10 + 7*i + 5*k) * times
			var last *item
			for ; n > 0; n-- {
				last = site.make()
				root.keep(last)
			}
			cells = append(cells, cell{site.name, root.name,
				(10 + 7*i + 5*k) * times,
				fmt.Sprintf("%#x", uintptr(unsafe.Pointer(last)))})
		}
	}
	return cells
}

//go:noinline
func lateOne() *item { return &item{} }

// buildLate makes objects after the last collection, some of them garbage.
func buildLate() {
	for i := 0; i < lateKept; i++ {
		late = append(late, lateOne())
	}
	for i := 0; i < lateDropped; i++ {
		lateOne()
	}
}

func profile(name string) []byte {
	var buffer bytes.Buffer
	if err := pprof.Lookup(name).WriteTo(&buffer, 0); err != nil {
		panic(err)
	}
	return buffer.Bytes()
}

func main() {
	var before, stats runtime.MemStats
	runtime.ReadMemStats(&before)
	if rate, err := strconv.Atoi(os.Args[1]); err == nil {
		runtime.MemProfileRate = rate
	}
	times := 1
	if len(os.Args) > 2 {
		times, _ = strconv.Atoi(os.Args[2])
	}
	cells := build(times)
	runtime.GC()
	runtime.GC()
	debug.SetGCPercent(-1)
	heap := profile("heap")
	buildLate()
	runtime.ReadMemStats(&stats)
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"cells": cells, "heap": heap,
		"late_kept": lateKept, "late_dropped": lateDropped,
		"before_bytes": before.HeapAlloc, "before_objects": before.HeapObjects,
		"heap_alloc": stats.HeapAlloc, "heap_objects": stats.HeapObjects,
	})
	runtime.KeepAlive(late)
	io.Copy(io.Discard, os.Stdin)
}
