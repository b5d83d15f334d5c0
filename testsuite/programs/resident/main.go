// SPDX-License-Identifier: Apache-2.0

// Memory of all kinds: live and dead objects, stacks, a mapped file, mapped
// memory. The program prints how much it keeps where, and what its own
// runtime/metrics say, and then waits for the end of its input.
//
//	resident [scavenge|free|stacks|threads]
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"syscall"
	"unsafe"
)

const (
	objects     = 4000
	objectBytes = 4096
	page        = 4096
	filePages   = 300
	readPages   = 257 // of the mapped file; and of memory that is written
	goroutines  = 300
	peakObjects = 10 * objects // more than two arenas of the heap
	deepStacks  = 300          // of half a megabyte each, the same
	sparsePages = 1024         // of which as many are touched as of the file
	threads     = 1000
)

var (
	kept    [][]byte
	dropped [][]byte
	mapped  []byte
	private []byte
	started sync.WaitGroup
	silent  = make(chan int)
	sum     int
	sparse  []byte
	freed   uintptr // an object was there

	unwritten []byte
)

func fill(n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = make([]byte, objectBytes)
		for j := range all[i] {
			all[i][j] = byte(i)
		}
	}
	return all
}

//go:noinline
func deep(n int) int {
	var room [128]byte
	room[n%128] = 1
	if n == 0 {
		started.Done()
		<-silent
	} else {
		room[0] += byte(deep(n - 1))
	}
	return int(room[0])
}

func mapAnonymous(protection int) []byte {
	memory, err := syscall.Mmap(-1, 0, filePages*page, protection,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	check(err)
	return memory
}

func mapAll() {
	// It stays: a core has no pages of a file that is still there.
	file, err := os.CreateTemp("", "goref-mapped-")
	check(err)
	_, err = file.Write(make([]byte, filePages*page))
	check(err)
	mapped, err = syscall.Mmap(int(file.Fd()), 0, filePages*page,
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	check(err)
	private = mapAnonymous(syscall.PROT_READ | syscall.PROT_WRITE)
	unwritten = mapAnonymous(syscall.PROT_READ) // beside no other memory
	for i := 0; i < readPages; i++ {
		mapped[i*page] = 1
		private[i*page] = 1
		// The page of zeros, which does not count, if the kernel has one.
		sum += int(unwritten[i*page])
	}
}

// lock starts goroutines that keep threads of their own.
func lock() {
	started.Add(threads)
	for i := 0; i < threads; i++ {
		go func() {
			runtime.LockOSThread()
			started.Done()
			<-silent
		}()
	}
	started.Wait()
}

// growStacks makes arenas that have stacks and no objects.
func growStacks() {
	started.Add(deepStacks)
	for i := 0; i < deepStacks; i++ {
		go deep(2500)
	}
	started.Wait()
}

// free leaves pages free that are not given back: without a goal of the
// collector, the scavenger has none either.
func free() {
	debug.SetGCPercent(-1)
	dropped = fill(peakObjects)
	freed = uintptr(unsafe.Pointer(&dropped[peakObjects/2][0]))
	dropped = nil
	runtime.GC()
}

func ownMetrics() map[string]uint64 {
	names := map[string]string{
		"objects": "/memory/classes/heap/objects:bytes",
		"stacks":  "/memory/classes/heap/stacks:bytes",
		"goal":    "/gc/heap/goal:bytes",
		"free":    "/memory/classes/heap/free:bytes",

		"mspan":       "/memory/classes/metadata/mspan/inuse:bytes",
		"mspan_free":  "/memory/classes/metadata/mspan/free:bytes",
		"mcache":      "/memory/classes/metadata/mcache/inuse:bytes",
		"mcache_free": "/memory/classes/metadata/mcache/free:bytes",
		"metadata":    "/memory/classes/metadata/other:bytes",
		"buckets":     "/memory/classes/profiling/buckets:bytes",
		"other":       "/memory/classes/other:bytes",
		"unused":      "/memory/classes/heap/unused:bytes",
	}
	values := map[string]uint64{}
	for name, metric := range names {
		sample := []metrics.Sample{{Name: metric}}
		metrics.Read(sample)
		values[name] = sample[0].Value.Uint64()
	}
	return values
}

func main() {
	forbidHugePages()
	gogc := debug.SetGCPercent(100)
	debug.SetGCPercent(gogc)
	started.Add(goroutines)
	for i := 0; i < goroutines; i++ {
		go deep(100)
	}
	started.Wait()
	mapAll()
	kept = fill(objects)
	debug.FreeOSMemory()
	limit := debug.SetGCPercent(-1)
	dropped = fill(objects / 2)
	dropped = nil
	debug.SetGCPercent(limit)
	sparse = make([]byte, sparsePages*page)
	for i := 0; i < readPages; i++ {
		sparse[i*page] = 1
	}
	if len(os.Args) > 1 {
		map[string]func(){
			"scavenge": debug.FreeOSMemory, "free": free,
			"stacks": growStacks, "threads": lock,
		}[os.Args[1]]()
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"kept":      objects * objectBytes,
		"garbage":   objects / 2 * objectBytes,
		"mapped":    readPages * page,
		"file":      filePages * page,
		"anonymous": readPages * page,
		"gogc":      gogc,
		"sparse":    fmt.Sprintf("%#x", uintptr(unsafe.Pointer(&sparse[0]))),
		"pages":     sparsePages,
		"touched":   readPages,
		"freed":     fmt.Sprintf("%#x", freed),
		"unwritten": fmt.Sprintf("%#x", uintptr(unsafe.Pointer(&unwritten[0]))),
		"metrics":   ownMetrics(),
	})
	io.Copy(io.Discard, os.Stdin)
}
