// SPDX-License-Identifier: Apache-2.0

// A program that knows how much memory the heap has at the moment it waits for
// a line of its input. The lines are commands: work allocates objects of all
// kinds, gc collects, and stats prints what the heap had when the program began
// to wait for that line. Start it with GODEBUG=memprofilerate=1: each object is
// sampled, but for those that the runtime makes first. (Go 1.19 forgets that
// setting after the runtime's own initialisation.)
package main

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
)

type node struct {
	next *node
	data [5]int
}

var (
	stats  runtime.MemStats
	line   [64]byte
	out    = make([]byte, 0, 256)
	list   *node
	tiny   []*int8
	texts  []string
	index  = map[string]int{}
	blocks [][]byte
)

// work makes objects with and without pointers: tiny ones, which share blocks,
// small and large ones, and garbage.
func work() {
	for i := 0; i < 500; i++ {
		list = &node{next: list}
		tiny = append(tiny, new(int8))
		text := strings.Repeat("text", i%30+1)
		texts = append(texts, text+strconv.Itoa(i))
		index[texts[len(texts)-1]] = i
	}
	for bytes := 1; bytes < 1<<20; bytes *= 3 {
		blocks = append(blocks, make([]byte, bytes))
	}
}

func say(text string) {
	os.Stdout.WriteString(text)
}

func printStats() {
	out = append(out[:0], "{\"heap_alloc\": "...)
	out = strconv.AppendUint(out, stats.HeapAlloc, 10)
	out = append(out, ", \"heap_objects\": "...)
	out = strconv.AppendUint(out, stats.HeapObjects, 10)
	out = append(out, "}\n"...)
	os.Stdout.Write(out)
}

func main() {
	runtime.MemProfileRate = 1
	startThreads()
	debug.SetGCPercent(-1)
	runtime.GC()
	runtime.GC()
	// The linker leaves sampling out of programs that read no profile.
	pprof.Lookup("heap").WriteTo(new(bytes.Buffer), 0)
	say("{}\n")
	for {
		// Nothing is allocated from here on until a line has come.
		runtime.ReadMemStats(&stats)
		n, err := os.Stdin.Read(line[:])
		if err != nil {
			return
		}
		switch string(line[:n]) {
		case "work\n":
			work()
			say("done\n")
		case "gc\n":
			runtime.GC()
			runtime.GC()
			say("done\n")
		case "stats\n":
			printStats()
		}
	}
}
