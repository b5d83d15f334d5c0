// SPDX-License-Identifier: Apache-2.0

// More services that hang: many goroutines at one place, of which each waits
// for a thing of its own, and an owner that is deep inside Go's own library.
package main

import (
	"bufio"
	"net"
	"net/textproto"
	"sync"
	"time"
	"unsafe"
)

func init() {
	modes["pool"] = exhausted
	modes["silent"] = silent
	modes["rooms"] = roomsLost
	modes["backend"] = backend
	modes["quiet"] = quiet
	modes["small"] = smallOnes
}

type connection struct{ id int }

type pool struct {
	mu       sync.Mutex
	left     int
	requests []chan *connection
}

//go:noinline
func (p *pool) take() *connection {
	p.mu.Lock()
	if p.left > 0 {
		p.left--
		p.mu.Unlock()
		return &connection{p.left}
	}
	request := make(chan *connection, 1)
	p.requests = append(p.requests, request)
	p.mu.Unlock()
	select {
	case c := <-request:
		return c
	case <-forever:
		return nil
	}
}

var (
	thePool = &pool{left: 5}
	forever chan bool // nil
)

// Each handler takes a connection, and another one while it has the first.
func exhausted() {
	blocked(60, func() {
		first := thePool.take()
		second := thePool.take()
		first.id, second.id = second.id, first.id
	})
}

type mailbox struct {
	mu      sync.Mutex
	changed *sync.Cond
	letters []string
}

//go:noinline
func (m *mailbox) next() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.letters) == 0 {
		m.changed.Wait()
	}
	letter := m.letters[0]
	m.letters = m.letters[1:]
	return letter
}

var theMailbox = &mailbox{}

// Letters are put into the mailbox, but nobody is told.
func silent() {
	theMailbox.changed = sync.NewCond(&theMailbox.mu)
	blocked(40, func() { theMailbox.next() })
	settle(100 * time.Millisecond)
	theMailbox.mu.Lock()
	theMailbox.letters = append(theMailbox.letters, "hello")
	theMailbox.mu.Unlock()
}

type room struct {
	mu   sync.Mutex
	name string
}

//go:noinline
func (r *room) post() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.name += "."
}

var theRooms []*room

// Each room has a lock of its own, and each is lost.
func roomsLost() {
	for i := 0; i < 100; i++ {
		r := &room{name: "a room"}
		r.mu.Lock()
		theRooms = append(theRooms, r)
		lost(unsafe.Pointer(&r.mu))
		blocked(1+i%2, r.post)
	}
}

type client struct {
	mu   sync.Mutex
	conn *textproto.Reader
}

//go:noinline
func (c *client) ask() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	owns(unsafe.Pointer(&c.mu))
	line, _ := c.conn.ReadLine()
	return line
}

var theClient = &client{}

// A server that never answers, and one connection for all.
func backend() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		panic(err)
	}
	theClient.conn = textproto.NewReader(bufio.NewReader(conn))
	go theClient.ask()
	settle(50 * time.Millisecond)
	blocked(30, func() { theClient.ask() })
}

var theQueues []chan int

// Many queues without work, each with more workers than wait for a lost lock.
func quiet() {
	for i := 0; i < 20; i++ {
		queue := make(chan int)
		theQueues = append(theQueues, queue)
		blocked(6, func() {
			for range queue {
			}
		})
	}
	go theUsers.find("bob")
	settle(50 * time.Millisecond)
	lost(unsafe.Pointer(&theUsers.mu))
	blocked(3, func() { theUsers.find("ann") })
}

type tally struct {
	mu sync.Mutex
	n  int
}

type gauge struct {
	mu       sync.Mutex
	low, top int
}

var (
	theTallies = map[string]*tally{}
	theGauges  []*gauge
	theFlags   []*sync.Mutex
)

//go:noinline
func (t *tally) add() {
	t.mu.Lock()
	t.n++
	t.mu.Unlock()
}

//go:noinline
func (g *gauge) set(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.low, g.top = n, n
}

// Locks are the first fields of objects without pointers, which are hardly
// larger than a lock. The last ones share their memory.
func smallOnes() {
	for _, name := range []string{"one", "two"} {
		t := &tally{}
		t.mu.Lock()
		lost(unsafe.Pointer(&t.mu))
		theTallies[name] = t
		blocked(2, t.add)
		g := &gauge{}
		g.mu.Lock()
		lost(unsafe.Pointer(&g.mu))
		theGauges = append(theGauges, g)
		blocked(2, func() { g.set(1) })
		f := &sync.Mutex{}
		f.Lock()
		lost(unsafe.Pointer(f))
		theFlags = append(theFlags, f)
		blocked(2, f.Lock)
	}
}
