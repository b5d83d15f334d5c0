// SPDX-License-Identifier: Apache-2.0

// Goroutines that wait in many ways, below calls that the compiler inlines and
// calls that it does not. The program prints what runtime.Stack says of all of
// them, and then waits for the end of its input.
package main

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"time"
)

var (
	mutex     sync.Mutex
	readWrite sync.RWMutex
	group     sync.WaitGroup
	condition = sync.NewCond(&sync.Mutex{})
	silent    = make(chan int)
	full      = make(chan int, 1)
)

// Small enough to be inlined, one into the other.
func inner(c chan int) int  { return <-c }
func middle(c chan int) int { return inner(c) + 1 }

//go:noinline
func outer(c chan int) int { return middle(c) + 1 }

//go:noinline
func deep(n int, f func()) {
	if n > 0 {
		deep(n-1, f)
		return
	}
	f()
}

type server struct{ name string }

//go:noinline
func (s *server) serve(c chan int) { inner(c) }

func (s server) value() { deep(3, func() { <-silent }) }

func lock() {
	mutex.Lock()
	mutex.Unlock()
}

func accept(l net.Listener) { l.Accept() }

func start(f func()) { go f() }

func startAll() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	group.Add(1)
	mutex.Lock()
	readWrite.Lock()
	full <- 1
	s := &server{"s"}
	go outer(silent)
	go s.serve(silent)
	go s.value()
	go lock()
	go accept(l)
	go func() {
		full <- 2
	}()
	go func() {
		select {
		case <-silent:
		case full <- 3:
		}
	}()
	start(func() { readWrite.RLock() })
	start(group.Wait)
	start(func() {
		condition.L.Lock()
		condition.Wait()
	})
	start(func() { time.Sleep(time.Hour) })
	go deep(20, func() { select {} })
	go func() {
		defer func() { <-silent }()
		deep(2, func() { var p *server; _ = p.name })
	}()
}

func stacks() string {
	buffer := make([]byte, 1<<20)
	return string(buffer[:runtime.Stack(buffer, true)])
}

func main() {
	startAll()
	time.Sleep(200 * time.Millisecond)
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"stacks": stacks(),
	})
	io.Copy(io.Discard, os.Stdin)
}
