// SPDX-License-Identifier: Apache-2.0

// heap builds a heap of a known size and shape and then waits, so that what
// walks it can be measured.
//
//	heap -objects N -shape friendly|shuffled|emptied
//
// friendly: what services hold (maps of sessions, slices, strings, interfaces,
// closures, lists, trees, channels), allocated in order, 58 bytes an object.
// shuffled: a random binary tree whose nodes lie in memory by a random
// permutation, a leaf each, one in eight with a cross edge: 28 bytes an
// object, and hardly two that lie side by side are used together.
// emptied: a friendly heap of which about 100,000 objects are left.
//
// The same arguments build the same heap. One line of JSON says what was
// built. Then each line on standard input is a command, answered by one line
// of JSON: "gc N" collects N times (GODEBUG=gctrace=1 shows the times),
// "watch" starts a clock that wakes every millisecond, "gap" stops it and
// says the longest time it did not run. The end of input ends the program.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A random is xorshift64*: the same numbers in every release of Go.
type random uint64

func (r *random) next() uint64 {
	*r ^= *r >> 12
	*r ^= *r << 25
	*r ^= *r >> 27
	return uint64(*r) * 2685821657736338717
}

func (r *random) below(n int) int {
	return int((r.next() >> 33) % uint64(n))
}

var (
	shapes = map[string]func(n int){
		"friendly": buildFriendly,
		"shuffled": buildShuffled,
		"emptied":  buildEmptied,
	}
	stats runtime.MemStats
	rng   = random(20240229)
)

func main() {
	objects := flag.Int("objects", 1000000, "objects to build, about")
	shape := flag.String("shape", "friendly", "friendly, shuffled or emptied")
	flag.Parse()
	if *objects < 0 {
		// The linker leaves sampling out of programs that read no profile.
		runtime.MemProfile(nil, true)
	}
	build := shapes[*shape]
	if build == nil || *objects < 1000 || *objects > 1<<27 ||
		flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "heap: -shape is friendly, shuffled or "+
			"emptied, -objects from 1000 to 134217728")
		os.Exit(2)
	}
	debug.SetGCPercent(-1)
	build(*objects)
	collect(2)
	fmt.Printf(`{"go": %q, "shape": %q, "objects": %d, "bytes": %d}`+"\n",
		runtime.Version(), *shape, stats.HeapObjects, stats.HeapAlloc)
	serve()
}

func collect(times int) {
	for i := 0; i < times; i++ {
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
}

// readLine reads one command; nothing of it stays on the heap.
func readLine() (string, bool) {
	var line [64]byte
	for n := 0; n < len(line); n++ {
		got, err := syscall.Read(0, line[n:n+1])
		for err == syscall.EINTR {
			got, err = syscall.Read(0, line[n:n+1])
		}
		if err != nil || got == 0 {
			return "", false
		}
		if line[n] == '\n' {
			return string(line[:n]), true
		}
	}
	return "", false
}

func serve() {
	for {
		line, ok := readLine()
		if !ok {
			return
		}
		words := strings.Fields(line + " 1")
		switch words[0] {
		case "gc":
			times, _ := strconv.Atoi(words[1])
			collect(times)
			fmt.Printf(`{"objects": %d, "bytes": %d}`+"\n",
				stats.HeapObjects, stats.HeapAlloc)
		case "watch":
			startWatch()
			fmt.Println("{}")
		case "gap":
			fmt.Printf(`{"longest_gap_ms": %.3f}`+"\n",
				float64(stopWatch())/1e6)
		default:
			fmt.Printf(`{"error": %q}`+"\n", line)
		}
	}
}

// ---------------------------------------------------------------- the clock

var (
	watching int32
	longest  = make(chan time.Duration)
)

// startWatch measures the pauses of the process as the process sees them.
func startWatch() {
	atomic.StoreInt32(&watching, 1)
	go func() {
		var gap time.Duration
		last := time.Now()
		for atomic.LoadInt32(&watching) != 0 {
			time.Sleep(time.Millisecond)
			now := time.Now()
			if now.Sub(last) > gap {
				gap = now.Sub(last)
			}
			last = now
		}
		longest <- gap
	}()
}

func stopWatch() time.Duration {
	if !atomic.CompareAndSwapInt32(&watching, 1, 0) {
		return 0
	}
	return <-longest
}
