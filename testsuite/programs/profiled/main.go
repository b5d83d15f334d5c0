// SPDX-License-Identifier: Apache-2.0

// A program that writes its own profiles when nothing else in it runs, and then
// waits for the end of its input. A profile is a file of pprof in base64.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"
)

var (
	silent = make(chan int)
	locked sync.Mutex
)

type worker interface{ work() }

type waiter struct{ n int }

//go:noinline
func (w waiter) work() { await(w.n) }

// Small enough to be inlined, one into the other.
func receive(c chan int) int { return <-c }
func twice(c chan int) int   { return receive(c) + receive(c) }

//go:noinline
func await(n int) {
	if n > 0 {
		await(n - 1)
		return
	}
	twice(silent)
}

func generic[T any](value T) T {
	await(1)
	return value
}

//go:noinline
func leak() {
	c := make(chan int)
	go func() { c <- 1 }()
}

func startAll() {
	locked.Lock()
	for i := 0; i < 40; i++ {
		go await(i % 4)
	}
	// Wrappers: of a call with arguments, of a method value, of a method that
	// an interface calls by pointer.
	var w worker = &waiter{2}
	go w.work()
	go waiter{1}.work()
	go (&waiter{1}).work()
	f := w.work
	go func() { defer f() }()
	go generic("text")
	go generic(&waiter{1})
	go func() {
		defer func() { await(0) }()
		panic("recovered never")
	}()
	for i := 0; i < 6; i++ {
		labels := pprof.Labels("kind", "labelled", "half", strconv.Itoa(i%2))
		pprof.Do(context.Background(), labels, func(context.Context) {
			go await(1)
		})
	}
	go locked.Lock()
	go time.Sleep(time.Hour)
	go await(300)
	leak()
}

func stacks() string {
	buffer := make([]byte, 4<<20)
	return string(buffer[:runtime.Stack(buffer, true)])
}

// profile gives nil where the release has no such profile.
func profile(name string) []byte {
	var buffer bytes.Buffer
	p := pprof.Lookup(name)
	if p == nil {
		return nil
	}
	if err := p.WriteTo(&buffer, 0); err != nil {
		panic(err)
	}
	return buffer.Bytes()
}

func main() {
	startAll()
	time.Sleep(200 * time.Millisecond)
	truth := map[string]any{
		"held":      map[string]any{},
		"places":    map[string]string{},
		"goroutine": profile("goroutine"),
		"stacks":    stacks(),
	}
	// The last one: it marks what has leaked.
	truth["goroutineleak"] = profile("goroutineleak")
	json.NewEncoder(os.Stdout).Encode(truth)
	io.Copy(io.Discard, os.Stdin)
}
