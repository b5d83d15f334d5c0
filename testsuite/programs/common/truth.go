// SPDX-License-Identifier: Apache-2.0

// Every test program shares this: it counts what it builds, prints that as
// one line of JSON and then waits. The test builds each program with this
// file beside its own.
package main

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// A held line says: everything reachable from the root of that name, and
// billed to it, is so many objects in so many bytes of slots (0: not known).
type held struct {
	name    string
	objects uint64
	bytes   uint64
}

// A place line says: an object of interest lies at this address. As a number,
// so that the truth itself holds no memory.
type place struct {
	name string
	addr uintptr
}

var (
	truthHeld   []held
	truthPlaces []place
	truthFaults []string
	truthLine   []byte
	truthProcs  int
	truthStats  runtime.MemStats
	waitBuffer  [1]byte
)

// collect leaves nothing but live objects on the heap: the second round frees
// what finalizers and pools still held in the first.
func collect() {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&truthStats)
}

// measure runs build and takes what the heap has grown by as the truth of the
// package variable that it fills. want is the number of objects counted by
// hand, or -1 where it depends on the release (the insides of maps).
//
//go:noinline
func measure(name string, want int, build func()) {
	reserve()
	collect()
	objects, bytes := truthStats.HeapObjects, truthStats.HeapAlloc
	build()
	collect()
	objects = truthStats.HeapObjects - objects
	bytes = truthStats.HeapAlloc - bytes
	if want >= 0 && uint64(want) != objects {
		truthFaults = append(truthFaults, name+": the heap grew by "+
			strconv.FormatUint(objects, 10)+" objects, "+
			strconv.Itoa(want)+" were counted by hand")
	}
	truthHeld = append(truthHeld, held{name, objects, bytes})
}

// known states a truth counted by hand, where goroutines and timers make the
// heap grow by more than the variable holds.
func known(name string, objects, bytes uint64) {
	reserve()
	truthHeld = append(truthHeld, held{name, objects, bytes})
}

// where notes the address of an object.
func where(name string, p unsafe.Pointer) {
	reserve()
	truthPlaces = append(truthPlaces, place{name, uintptr(p)})
}

// reserve keeps what the truth itself and the runtime need once out of what is
// measured: these lists, and threads.
func reserve() {
	if truthHeld == nil {
		truthProcs = runtime.GOMAXPROCS(1)
		startThreads()
		truthHeld = make([]held, 0, 256)
		truthPlaces = make([]place, 0, 256)
		truthFaults = make([]string, 0, 16)
		truthLine = make([]byte, 0, 64<<10)
	}
}

// startThreads makes the runtime start more threads, and fill its cache of
// wait records and its list of timers further than it will ever need here:
// what they hold on the heap stays, and is in nobody's truth.
func startThreads() {
	const threads, sleepers = 12, 300
	done := make(chan bool)
	for i := 0; i < threads; i++ {
		go func() {
			runtime.LockOSThread()
			nap := syscall.Timespec{Nsec: 10e6}
			syscall.Nanosleep(&nap, nil)
			runtime.UnlockOSThread()
			done <- true
		}()
	}
	for i := 0; i < sleepers; i++ {
		go func() {
			time.Sleep(2 * time.Millisecond)
			done <- true
		}()
	}
	time.Sleep(20 * time.Millisecond)
	for i := 0; i < threads+sleepers; i++ {
		<-done
	}
	for i := 0; i < 4; i++ {
		collect()
	}
}

func appendHeld(line []byte) []byte {
	for i, h := range truthHeld {
		if i > 0 {
			line = append(line, ", "...)
		}
		line = strconv.AppendQuote(line, "main."+h.name)
		line = append(line, `: {"objects": `...)
		line = strconv.AppendUint(line, h.objects, 10)
		line = append(line, `, "bytes": `...)
		line = strconv.AppendUint(line, h.bytes, 10)
		line = append(line, '}')
	}
	return line
}

func appendPlaces(line []byte) []byte {
	for i, p := range truthPlaces {
		if i > 0 {
			line = append(line, ", "...)
		}
		line = strconv.AppendQuote(line, p.name)
		line = append(line, `: "0x`...)
		line = strconv.AppendUint(line, uint64(p.addr), 16)
		line = append(line, '"')
	}
	return line
}

func appendFaults(line []byte) []byte {
	for i, f := range truthFaults {
		if i > 0 {
			line = append(line, ", "...)
		}
		line = strconv.AppendQuote(line, f)
	}
	return line
}

// tell collects, then prints the truth; from here on nothing is allocated and
// no collection starts.
func tell() {
	reserve()
	runtime.GOMAXPROCS(truthProcs)
	debug.SetGCPercent(-1)
	line := append(truthLine[:0], `{"go": `...)
	line = strconv.AppendQuote(line, runtime.Version())
	line = append(line, `, "held": {`...)
	line = appendHeld(line)
	line = append(line, `}, "places": {`...)
	line = appendPlaces(line)
	line = append(line, `}, "faults": [`...)
	line = appendFaults(line)
	collect()
	line = append(line, `], "heap": {"objects": `...)
	line = strconv.AppendUint(line, truthStats.HeapObjects, 10)
	line = append(line, `, "bytes": `...)
	line = strconv.AppendUint(line, truthStats.HeapAlloc, 10)
	writeLine(append(line, "}}\n"...))
}

func writeLine(line []byte) {
	for len(line) > 0 {
		n, err := syscall.Write(1, line)
		if err != nil {
			panic(err)
		}
		line = line[n:]
	}
}

// wait blocks in a read of standard input until the test is done with us.
func wait() {
	syscall.Read(0, waitBuffer[:])
}

// A leaf has no pointers and is too large for the tiny allocator.
type Leaf struct {
	A, B, C uint64
}

//go:noinline
func newLeaf() *Leaf {
	return &Leaf{A: 1}
}

//go:noinline
func newLeaves(n int) []*Leaf {
	leaves := make([]*Leaf, n)
	for i := range leaves {
		leaves[i] = newLeaf()
	}
	return leaves
}

// newString makes a string with bytes of its own, of 16 or more: not tiny.
//
//go:noinline
func newString(prefix string, i int) string {
	return prefix + "-with-bytes-of-its-own-" + strconv.Itoa(i)
}
