// SPDX-License-Identifier: Apache-2.0

// A program with leaked goroutines, or with goroutines that only look like it.
//
//	leaks leaked | quiet
package main

import (
	"encoding/json"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

// fact is a group of goroutines: where they are, how many, and what each of
// them holds, or all of them together.
type fact struct {
	Function string
	Count    int
	Bytes    int
}

var (
	facts   []fact
	started int32
)

// begin starts goroutines and waits until all of them are about to wait.
func begin(function string, count, bytes int, f func()) {
	facts = append(facts, fact{function, count, bytes})
	atomic.StoreInt32(&started, 0)
	for i := 0; i < count; i++ {
		go f()
	}
	for int(atomic.LoadInt32(&started)) < count {
		time.Sleep(time.Millisecond)
	}
}

// ready is what a goroutine says before it waits.
func ready() { atomic.AddInt32(&started, 1) }

func main() {
	if os.Args[1] == "leaked" {
		leak()
	} else {
		quiet()
	}
	time.Sleep(20 * time.Millisecond)
	runtime.GC()
	json.NewEncoder(os.Stdout).Encode(facts)
	io.Copy(io.Discard, os.Stdin)
}
