// SPDX-License-Identifier: Apache-2.0

// Goroutines that wait for locks and channels, each of which has a name: a short
// path from a package variable, or the nearest object with a type. The program
// prints the names.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// A Case is a goroutine that waits for something of that name.
type Case struct {
	Name string `json:"name"`
	Id   uint64 `json:"id"`
	Path string `json:"path"`
}

// Fork fills a slot of 16 bytes, SmallFork shares one. Neither has pointers.
type Fork struct {
	mu sync.Mutex
	id int
}

type SmallFork struct {
	mu sync.Mutex
	id int32
}

type Device struct {
	id int
	mu sync.Mutex
	_  [4]int
}

type Table struct {
	forks  []*Fork
	device *Device
}

// Pool leads to the runtime's timers, and over these to all that has one.
type Pool struct {
	ticker *time.Ticker
	quit   chan int
}

type Conn struct {
	ctx  context.Context
	name string
}

type Node struct {
	next *Node
	ch   chan int
	conn *Conn
}

var (
	forks  []*Fork
	smalls []*SmallFork
	array  [5]struct {
		sync.Mutex
		n int
	}
	device = &Device{}
	tables = map[string]*Table{}
	pool   *Pool
	list   *Node

	cases []*Case
	began = make(chan bool)
	stop  = make(chan bool)
)

// start begins a goroutine that waits in f.
func start(name, path string, f func()) {
	c := &Case{Name: name, Path: path}
	cases = append(cases, c)
	go func() {
		c.Id = goid()
		began <- true
		f()
	}()
	<-began
}

// at begins the name of an object by its type: (*main.Fork)(0xc000012340).
func at(kind string, p unsafe.Pointer) string {
	return fmt.Sprintf("(*%s)(%#x)", kind, uintptr(p))
}

// The value of an interface.
func data(v any) unsafe.Pointer {
	return (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1]
}

// lockTwice waits for ever, with only a pointer to the lock.
//
//go:noinline
func lockTwice(mu *sync.Mutex) {
	mu.Lock()
	mu.Lock()
}

func startLock(name, path string, mu *sync.Mutex) {
	start(name, path, func() { lockTwice(mu) })
}

func startLocks() {
	for i := 0; i < 5; i++ {
		forks = append(forks, &Fork{id: i})
		smalls = append(smalls, &SmallFork{id: int32(i)})
	}
	tables["a"] = &Table{[]*Fork{{}, {}}, &Device{}}
	startLock("fork", "main.forks[2].mu", &forks[2].mu)
	startLock("small fork", "main.smalls[3].mu", &smalls[3].mu)
	startLock("element", "main.array[3].Mutex", &array[3].Mutex)
	startLock("device", "main.device.mu", &device.mu)
	startLock("map", `main.tables["a"].device.mu`, &tables["a"].device.mu)
	startLock("slice in a map", `main.tables["a"].forks[1].mu`,
		&tables["a"].forks[1].mu)
}

// A fork and a small one that only a stack leads to.
//
//go:noinline
func keepForks() {
	fork, small := &Fork{id: 7}, &SmallFork{id: 8}
	startLock("fork of a stack",
		at("main.Fork", unsafe.Pointer(fork))+".mu", &fork.mu)
	startLock("small fork of a stack",
		at("main.SmallFork", unsafe.Pointer(small))+".mu", &small.mu)
	began <- true
	<-stop
	runtime.KeepAlive(fork)
	runtime.KeepAlive(small)
}

func doneOf(c <-chan struct{}) func() { return func() { <-c } }

func startTimers() {
	pool = &Pool{time.NewTicker(time.Hour), make(chan int)}
	start("quit", "main.pool.quit", func() { <-pool.quit })
	start("ticker", "main.pool.ticker.C", func() { <-pool.ticker.C })
	ctx, _ := context.WithTimeout(context.Background(), time.Hour)
	start("context with a timer",
		at("context.timerCtx", data(ctx))+".cancelCtx.done.v",
		doneOf(ctx.Done()))
	child, _ := context.WithCancel(ctx)
	start("its child", at("context.cancelCtx", data(child))+".done.v",
		doneOf(child.Done()))
	for i := 0; i < 20; i++ {
		time.AfterFunc(time.Hour, func() {})
	}
}

func startList() {
	for i := 0; i < 10; i++ {
		list = &Node{list, make(chan int), nil}
	}
	last := list
	for last.next != nil {
		last = last.next
	}
	start("near", "main.list.next.ch", func() { <-list.next.ch })
	start("far", at("main.Node", unsafe.Pointer(last))+".ch",
		func() { <-last.ch })
	ctx, _ := context.WithCancel(context.Background())
	last.conn = &Conn{ctx, "conn"}
	start("context of a connection",
		at("main.Conn", unsafe.Pointer(last.conn))+".ctx.done.v",
		doneOf(ctx.Done()))
}

func main() {
	startLocks()
	go keepForks()
	<-began
	startTimers()
	startList()
	allParked()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"cases": cases, "pid": os.Getpid(),
	})
	io.Copy(io.Discard, os.Stdin)
}
