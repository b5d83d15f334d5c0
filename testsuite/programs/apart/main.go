// SPDX-License-Identifier: Apache-2.0

// Many goroutines that wait in one place, each for a thing of its own: the
// context of a connection, the lock of a session, a reply. The program prints
// how many wait for what.
package main

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const count = 40

// conn is a connection with a context of its own.
type conn struct {
	name   string
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
}

// session has a lock, and others of its kind behind it.
type session struct {
	id   int
	lock sync.Mutex
	next *session
}

// store is what a package variable has.
type store struct {
	name string
	mu   sync.Mutex
	jobs chan int
}

var (
	conns    []*conn
	sessions = map[int]*session{}
	chain    *session
	shop     = &store{name: "shop", jobs: make(chan int)}
	depot    = &store{name: "depot", jobs: make(chan int)}
	plain    = make(chan string)
)

//go:noinline
func watch(c *conn) {
	<-c.ctx.Done()
	runtime.KeepAlive(c)
}

//go:noinline
func finish(c *conn) {
	<-c.done
	runtime.KeepAlive(c)
}

//go:noinline
func hidden(c *conn) {
	<-c.ctx.Done()
	runtime.KeepAlive(c)
}

//go:noinline
func use(s *session) {
	s.lock.Lock()
	runtime.KeepAlive(s)
}

//go:noinline
func buy(s *store) {
	s.mu.Lock()
	runtime.KeepAlive(s)
}

//go:noinline
func serve(s *store) {
	<-s.jobs
	runtime.KeepAlive(s)
}

//go:noinline
func either(c *conn) {
	select {
	case <-c.ctx.Done():
	case <-shop.jobs:
	}
	runtime.KeepAlive(c)
}

//go:noinline
func reply() {
	answer := make(chan int)
	keep(answer)
	<-answer
	runtime.KeepAlive(answer)
}

//go:noinline
func keep(any) {}

func newConn() *conn {
	c := &conn{name: "c", done: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

func startAll() {
	for i := range make([]int, count) {
		c := newConn()
		conns = append(conns, c)
		go watch(c)
		go finish(c)
		go hidden(newConn())
		go either(newConn())
		s := &session{id: i}
		s.lock.Lock()
		sessions[i] = s
		chain = &session{id: i, next: chain}
		chain.lock.Lock()
		go use(s)
		go use(chain)
		go reply()
	}
	shop.mu.Lock()
	depot.mu.Lock()
	for range make([]int, 3) {
		go buy(shop)
		go buy(depot)
		go serve(shop)
		go serve(depot)
		go func() { <-plain }()
	}
}

// parked counts the goroutines that wait, by what runtime.Stack says.
func parked() int {
	text := make([]byte, 4<<20)
	text = text[:runtime.Stack(text, true)]
	return strings.Count(string(text), "[chan receive") +
		strings.Count(string(text), "[select") +
		strings.Count(string(text), "[sync.Mutex.Lock") +
		strings.Count(string(text), "[semacquire")
}

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR2)
	startAll()
	for parked() < 7*count+15 {
		time.Sleep(time.Millisecond)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]int{"count": count})
	for {
		time.Sleep(time.Hour)
	}
}
