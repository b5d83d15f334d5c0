// SPDX-License-Identifier: Apache-2.0

// A service that hangs: many goroutines that wait for one thing.
//
//	hung WHAT COUNT [DEPTH]
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Request is what each goroutine holds in a variable of its own.
type Request struct {
	Id   int
	Body []byte
}

var (
	mutex   sync.Mutex
	rwmutex sync.RWMutex
	group   sync.WaitGroup
	cond    = sync.NewCond(&sync.Mutex{})
	channel = make(chan *Request)
	done    = make(chan int)
	own     []chan *Request
	table   [1 << 17]sync.Mutex
	started int32

	// Room for the lists that tests make up.
	spare = make([]byte, 4<<20)
)

var waits = map[string]func(r *Request){
	"mutex":   func(r *Request) { mutex.Lock() },
	"rwmutex": func(r *Request) { rwmutex.RLock() },
	"group":   func(r *Request) { group.Wait() },
	"cond":    func(r *Request) { cond.L.Lock(); cond.Wait() },
	"receive": func(r *Request) { <-channel },
	"send":    func(r *Request) { channel <- r },
	"lost":    func(r *Request) { <-make(chan *Request) },
	"own":     func(r *Request) { own[r.Id] <- r },
	"table":   func(r *Request) { table[r.Id].Lock(); table[r.Id].Lock() },
	"select": func(r *Request) {
		select {
		case channel <- r:
		case <-done:
		}
	},
}

// inOneSlice waits, each time for another element of a slice that nobody has but
// those that wait.
func inOneSlice(count int) func(r *Request) {
	groups := make([]sync.WaitGroup, count)
	return func(r *Request) {
		groups[r.Id].Add(1)
		groups[r.Id].Wait()
	}
}

// inQueue waits for the one before it; the first one reads from a pipe.
func inQueue() func() func(r *Request) {
	reader, writer, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	pipes = append(pipes, writer)
	var last chan struct{}
	return func() func(r *Request) {
		before, mine := last, make(chan struct{})
		last = mine
		return func(r *Request) {
			defer close(mine)
			if before == nil {
				reader.Read(r.Body)
			} else {
				<-before
			}
		}
	}
}

var pipes []*os.File

// serve is as deep as a handler of a real service.
//
//go:noinline
func serve(wait func(r *Request), r *Request, depth int) int {
	if depth > 0 {
		return serve(wait, r, depth-1) + r.Id
	}
	atomic.AddInt32(&started, 1)
	wait(r)
	return len(r.Body)
}

func main() {
	wait := waits[os.Args[1]]
	count, _ := strconv.Atoi(os.Args[2])
	if os.Args[1] == "slice" {
		wait = inOneSlice(count)
	}
	next := func() func(r *Request) { return wait }
	if os.Args[1] == "queue" {
		next = inQueue()
	}
	depth := 0
	if len(os.Args) > 3 {
		depth, _ = strconv.Atoi(os.Args[3])
	}
	for i := range spare {
		spare[i] = 1
	}
	mutex.Lock()
	rwmutex.Lock()
	group.Add(1)
	for i := 0; i < count && os.Args[1] == "own"; i++ {
		own = append(own, make(chan *Request, 1))
		own[i] <- nil
	}
	ended := make(chan int)
	for i := 0; i < count; i++ {
		go serve(next(), &Request{i, make([]byte, 16)}, depth)
	}
	// Those that run begin first: it is later that they wait.
	for int(atomic.LoadInt32(&started)) < count {
		go func() { ended <- 1 }()
		<-ended
	}
	// Newer runtimes find goroutines that nothing can wake.
	profile := pprof.Lookup("goroutineleak")
	for os.Args[1] == "lost" && profile != nil && profile.Count() < count {
		profile.WriteTo(io.Discard, 1)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{},
		"places": map[string]string{
			"spare": fmt.Sprintf("%#x", uintptr(unsafe.Pointer(&spare[0]))),
		},
	})
	io.Copy(io.Discard, os.Stdin)
}
