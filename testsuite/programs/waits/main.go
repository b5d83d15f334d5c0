// SPDX-License-Identifier: Apache-2.0

// Goroutines that wait, each for a thing of its own. The program prints what
// each of them waits for, and then waits for the end of its input.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// A Wait is one thing that a goroutine waits for.
type Wait struct {
	Kind     string `json:"kind"`
	Address  string `json:"address"`
	Path     string `json:"path,omitempty"` // a name of it
	Count    int    `json:"count"`          // of a channel
	Capacity int    `json:"capacity"`
}

// A Case is a goroutine that waits.
type Case struct {
	Name  string `json:"name"`
	Id    uint64 `json:"id"`
	Waits []Wait `json:"waits"`
	// Other facts: a descriptor, a value that is sent ...
	Facts map[string]any `json:"facts,omitempty"`
}

// Job is sent through channels.
type Job struct {
	Number int
	Name   string
}

// Store has primitives in its fields.
type Store struct {
	name     string
	mu       sync.Mutex
	jobs     chan Job
	sessions struct {
		lock sync.RWMutex
		done sync.WaitGroup
	}
	once sync.Once
}

var (
	mutex     sync.Mutex
	readWrite sync.RWMutex
	shared    sync.RWMutex
	group     sync.WaitGroup
	cond      = sync.NewCond(&sync.Mutex{})
	store     = &Store{name: "store", jobs: make(chan Job, 2)}
	requests  = make(chan int)
	results   = make(chan Job)
	signals   = make(chan struct{}, 1)
	nothing   chan int

	cases []*Case
	began = make(chan bool)
	table sync.Mutex
)

func hex(p unsafe.Pointer) string { return fmt.Sprintf("%#x", uintptr(p)) }

func one(kind string, p unsafe.Pointer, path string) []Wait {
	return []Wait{{Kind: kind, Address: hex(p), Path: path}}
}

// channel describes a wait for a channel of any type.
func channel(kind string, c any, path string) Wait {
	p := (*[2]unsafe.Pointer)(unsafe.Pointer(&c))[1]
	w := Wait{Kind: kind, Address: hex(p), Path: path}
	switch c := c.(type) {
	case chan int:
		w.Count, w.Capacity = len(c), cap(c)
	case chan Job:
		w.Count, w.Capacity = len(c), cap(c)
	case chan struct{}:
		w.Count, w.Capacity = len(c), cap(c)
	}
	return w
}

// start begins a goroutine that waits in f.
func start(name string, waits []Wait, facts map[string]any, f func()) {
	c := &Case{Name: name, Waits: waits, Facts: facts}
	cases = append(cases, c)
	go func() {
		c.Id = goid()
		began <- true
		f()
	}()
	<-began
}

func startChannels() {
	start("receive", []Wait{channel("channel receive", requests, "main.requests")},
		nil, func() { <-requests })
	start("send", []Wait{channel("channel send", results, "main.results")},
		map[string]any{"value": "main.Job {Number: 7, Name: \"seven\"}"},
		func() { results <- Job{7, "seven"} })
	store.jobs <- Job{1, "one"}
	store.jobs <- Job{2, "two"}
	start("send to a full one",
		[]Wait{channel("channel send", store.jobs, "main.store.jobs")},
		map[string]any{"value": "main.Job {Number: 3, Name: \"three\"}"},
		func() { store.jobs <- Job{3, "three"} })
	signals <- struct{}{}
	start("select", []Wait{
		channel("select receive", requests, "main.requests"),
		channel("select send", signals, "main.signals"),
		channel("select send", store.jobs, "main.store.jobs"),
	}, nil, func() {
		select {
		case <-requests:
		case signals <- struct{}{}:
		case store.jobs <- Job{4, "four"}:
		case <-nothing:
		}
	})
	start("nil channel", []Wait{{Kind: "nil channel", Address: "0x0"}}, nil,
		func() { <-nothing })
	start("send to a nil channel", []Wait{{Kind: "nil channel", Address: "0x0"}},
		nil, func() { nothing <- 1 })
	start("empty select", []Wait{{Kind: "empty select", Address: "0x0"}}, nil,
		func() { select {} })
	start("select of nil channels",
		[]Wait{{Kind: "empty select", Address: "0x0"}}, nil, func() {
			var other chan int
			select {
			case <-nothing:
			case other <- 1:
			}
		})
	ctx, cancel := context.WithCancel(context.Background())
	canceled = append(canceled, cancel)
	done := ctx.Done()
	p := (*[2]unsafe.Pointer)(unsafe.Pointer(&[]any{done}[0]))[1]
	start("context", one("channel receive", p, ""), nil, func() { <-done })
	ticker := time.NewTicker(time.Hour)
	tick := ticker.C
	p = (*[2]unsafe.Pointer)(unsafe.Pointer(&[]any{tick}[0]))[1]
	start("ticker", []Wait{{Kind: "channel receive", Address: hex(p),
		Capacity: 1}}, nil, func() {
		<-tick
		ticker.Stop()
	})
}

var canceled []context.CancelFunc

func startLocks() {
	mutex.Lock()
	start("Mutex", one("Mutex", unsafe.Pointer(&mutex), "main.mutex"), nil,
		func() { mutex.Lock() })
	start("Mutex, second", one("Mutex", unsafe.Pointer(&mutex), "main.mutex"),
		nil, func() { mutex.Lock() })
	store.mu.Lock()
	start("Mutex in a struct",
		one("Mutex", unsafe.Pointer(&store.mu), "main.store.mu"), nil,
		func() { store.mu.Lock() })
	readWrite.Lock()
	start("RWMutex, reader", one("RWMutex read", unsafe.Pointer(&readWrite),
		"main.readWrite"), nil, func() { readWrite.RLock() })
	start("RWMutex, second writer", one("Mutex", unsafe.Pointer(&readWrite),
		"main.readWrite.w"), nil, func() { readWrite.Lock() })
	store.sessions.lock.RLock()
	start("RWMutex, writer behind readers",
		one("RWMutex write", unsafe.Pointer(&store.sessions.lock),
			"main.store.sessions.lock"), nil,
		func() { store.sessions.lock.Lock() })
	group.Add(3)
	start("WaitGroup", one("WaitGroup", unsafe.Pointer(&group), "main.group"),
		map[string]any{"left": 3}, func() { group.Wait() })
	store.sessions.done.Add(1)
	start("WaitGroup in a struct", one("WaitGroup",
		unsafe.Pointer(&store.sessions.done), "main.store.sessions.done"),
		map[string]any{"left": 1}, func() { store.sessions.done.Wait() })
	start("Cond", one("Cond", unsafe.Pointer(cond), "main.cond"), nil, func() {
		cond.L.Lock()
		cond.Wait()
	})
	start("Cond, second", one("Cond", unsafe.Pointer(cond), "main.cond"), nil,
		func() {
			cond.L.Lock()
			cond.Wait()
		})
	hold := make(chan int)
	w := channel("channel receive", hold, "")
	start("Once, inside", []Wait{w}, nil, func() {
		store.once.Do(func() { <-hold })
	})
}

// startLate begins what waits behind another goroutine that must wait already.
func startLate() {
	once := onceMutex(&store.once)
	start("Once", one("Mutex", once, "main.store.once.m"),
		map[string]any{"once": hex(unsafe.Pointer(&store.once))},
		func() { store.once.Do(func() {}) })
}

// onceMutex is the address of the Mutex of a Once, its last field.
func onceMutex(once *sync.Once) unsafe.Pointer {
	size := unsafe.Sizeof(*once) - unsafe.Sizeof(sync.Mutex{})
	return unsafe.Pointer(uintptr(unsafe.Pointer(once)) + size)
}

func startOutside() {
	start("sleep", []Wait{{Kind: "sleep", Address: "0x0"}}, nil,
		func() { time.Sleep(2 * time.Hour) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	address := l.Addr().String()
	start("accept", []Wait{{Kind: "network", Address: "0x0"}},
		map[string]any{"fd": descriptor(l.(*net.TCPListener)),
			"local": address}, func() {
			l.Accept()
			l.Accept()
		})
	c, err := net.Dial("tcp", address)
	check(err)
	start("network", []Wait{{Kind: "network", Address: "0x0"}},
		map[string]any{"fd": descriptor(c.(*net.TCPConn)),
			"local": c.LocalAddr().String(), "remote": address},
		func() { c.Read(make([]byte, 1)) })
	r, w, err := os.Pipe()
	check(err)
	pipes = append(pipes, r, w)
	conn, err := r.SyscallConn()
	check(err)
	fd := 0
	check(conn.Control(func(n uintptr) { fd = int(n) }))
	start("pipe", []Wait{{Kind: "network", Address: "0x0"}},
		map[string]any{"fd": fd}, func() { r.Read(make([]byte, 1)) })
	var raw [2]int
	check(syscall.Pipe(raw[:]))
	start("system call", []Wait{{Kind: "system call", Address: "0x0"}},
		map[string]any{"number": syscall.SYS_READ, "fd": raw[0]},
		func() { syscall.Read(raw[0], make([]byte, 1)) })
	start("locked to its thread",
		[]Wait{channel("channel receive", requests, "main.requests")}, nil,
		func() {
			runtime.LockOSThread()
			<-requests
		})
}

var pipes []*os.File

func descriptor(c syscall.Conn) int {
	conn, err := c.SyscallConn()
	check(err)
	fd := 0
	check(conn.Control(func(n uintptr) { fd = int(n) }))
	return fd
}

func main() {
	startChannels()
	startLocks()
	startOutside()
	startNewer()
	allParked()
	startLate()
	stacks := allParked()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"cases": cases, "stacks": stacks, "pid": os.Getpid(),
	})
	io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(pipes)
}
