// SPDX-License-Identifier: Apache-2.0

// A program that samples its own memory and contention, writes the profiles and
// then waits for the end of its input. Its argument is the rate of the memory
// profile, or "off" for one that has sampled nothing. No collection runs after
// the profiles are written, so that its memory keeps what they say.
package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"
)

type node struct {
	next *node
	data [5]int
}

var (
	list   *node
	index  map[string]*node
	texts  []string
	blocks [][]byte
	mutex  sync.Mutex
	locks  int
)

// Small enough to be inlined, one into the other.
func fresh() *node             { return &node{} }
func link(next *node) *node    { n := fresh(); n.next = next; return n }
func grow[T any](s []T) []T    { return append(make([]T, 0, 2*len(s)+1), s...) }
func word(i int) string        { return strings.Repeat("word", i%50+1) }
func block(bytes int) []byte   { return make([]byte, bytes) }
func closure(i int) func() int { return func() int { return i } }

//go:noinline
func deep(n int, f func()) {
	if n > 0 {
		deep(n-1, f)
		return
	}
	f()
}

//go:noinline
func build(n int) {
	index = make(map[string]*node)
	for i := 0; i < n; i++ {
		list = link(list)
		texts = append(texts, word(i))
		index[strconv.Itoa(i)] = link(nil)
		// Garbage.
		grow(texts)
		closure(i)()
	}
	for i := 0; i < 40; i++ {
		blocks = append(blocks, block(i*5000))
	}
	deep(10, func() { list = link(list) })
	deep(60, func() { list = link(list) })
}

//go:noinline
func hold(d time.Duration) {
	mutex.Lock()
	defer mutex.Unlock()
	time.Sleep(d)
	locks++
}

// Goroutines that wait for each other: for a lock, for a channel, for all.
func contend() {
	var group sync.WaitGroup
	c := make(chan int)
	for i := 0; i < 40; i++ {
		group.Add(2)
		go func() {
			defer group.Done()
			hold(200 * time.Microsecond)
		}()
		go func() {
			defer group.Done()
			deep(3, func() { <-c })
		}()
	}
	time.Sleep(10 * time.Millisecond)
	for i := 0; i < 40; i++ {
		c <- i
	}
	group.Wait()
}

func profile(name string) []byte {
	var buffer bytes.Buffer
	if err := pprof.Lookup(name).WriteTo(&buffer, 0); err != nil {
		panic(err)
	}
	return buffer.Bytes()
}

func main() {
	if os.Args[1] == "off" {
		runtime.MemProfileRate = 0
	} else {
		runtime.MemProfileRate, _ = strconv.Atoi(os.Args[1])
		runtime.SetBlockProfileRate(1)
		runtime.SetMutexProfileFraction(3)
	}
	contend()
	build(2000)
	if len(os.Args) > 2 { // before any collection
		debug.SetGCPercent(-1)
	} else {
		runtime.GC()
		build(500)
		runtime.GC()
		runtime.GC()
		debug.SetGCPercent(-1)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held":   map[string]any{},
		"places": map[string]string{},
		"block":  profile("block"),
		"mutex":  profile("mutex"),
		"heap":   profile("heap"),
		"allocs": profile("allocs"),
	})
	runtime.KeepAlive(list)
	io.Copy(io.Discard, os.Stdin)
}
