// SPDX-License-Identifier: Apache-2.0

// Services that hang, each for a reason of its own.
package main

import (
	"errors"
	"os"
	"sync"
	"time"
	"unsafe"
)

func init() {
	modes["inversion"] = inversion
	modes["forgotten"] = forgotten
	modes["fullqueue"] = fullQueue
	modes["miscount"] = miscount
	modes["promises"] = promises
	modes["stages"] = stages
}

type accounts struct {
	mu   sync.Mutex
	sums map[int]int
}

type audit struct {
	mu    sync.Mutex
	lines []string
}

type bank struct {
	accounts accounts
	audit    audit
}

//go:noinline
func (b *bank) deposit(id int, pause func()) {
	b.accounts.mu.Lock()
	defer b.accounts.mu.Unlock()
	b.accounts.sums[id]++
	if pause != nil {
		owns(unsafe.Pointer(&b.accounts.mu))
		pause()
	}
	b.log("deposit")
}

//go:noinline
func (b *bank) log(line string) {
	b.audit.mu.Lock()
	defer b.audit.mu.Unlock()
	b.audit.lines = append(b.audit.lines, line)
}

//go:noinline
func (b *bank) report(pause func()) int {
	b.audit.mu.Lock()
	defer b.audit.mu.Unlock()
	if pause != nil {
		owns(unsafe.Pointer(&b.audit.mu))
		pause()
	}
	return len(b.audit.lines) + b.total()
}

//go:noinline
func (b *bank) total() int {
	b.accounts.mu.Lock()
	defer b.accounts.mu.Unlock()
	return len(b.accounts.sums)
}

var theBank = &bank{accounts: accounts{sums: map[int]int{}}}

// Requests take two locks, in two orders.
func inversion() {
	note, ready := ids(2), barrier(2)
	pause := func() { note(); ready() }
	go theBank.deposit(0, pause)
	go theBank.report(pause)
	settle(50 * time.Millisecond)
	for i := 0; i < 200; i++ {
		i := i
		blocked(1, func() { theBank.deposit(i, nil) })
		if i%10 == 0 {
			blocked(1, func() { theBank.report(nil) })
		}
	}
}

type limits struct{ low, high int }

type users struct {
	limits limits
	mu     sync.Mutex
	byName map[string]int
}

var errNotFound = errors.New("not found")

//go:noinline
func (u *users) find(name string) (int, error) {
	u.mu.Lock()
	id, ok := u.byName[name]
	if !ok {
		return 0, errNotFound
	}
	u.mu.Unlock()
	return id, nil
}

var theUsers = &users{byName: map[string]int{"ann": 1}}

// A variable leads to a part of what another one leads to.
var theLimits = &theUsers.limits

// A request for an unknown user forgets to unlock.
func forgotten() {
	go theUsers.find("bob")
	settle(50 * time.Millisecond)
	lost(unsafe.Pointer(&theUsers.mu))
	blocked(100, func() { theUsers.find("ann") })
}

type queue struct{ items chan *session }

//go:noinline
func (q *queue) consume() {
	for i := 0; i < 3; i++ {
		<-q.items
	}
}

//go:noinline
func (q *queue) produce(id int) { q.items <- &session{id: id} }

var theQueue = &queue{make(chan *session, 10)}

// The consumer is gone.
func fullQueue() {
	go theQueue.consume()
	for i := 0; i < 113; i++ {
		i := i
		blocked(1, func() { theQueue.produce(i) })
	}
}

type batch struct {
	group sync.WaitGroup
	done  int
}

//go:noinline
func (b *batch) finish() { b.group.Wait() }

var theBatch = &batch{}

// One part more is expected than there is.
func miscount() {
	theBatch.group.Add(5)
	for i := 0; i < 4; i++ {
		go func() {
			defer theBatch.group.Done()
			time.Sleep(time.Millisecond)
		}()
	}
	blocked(20, theBatch.finish)
}

type promise struct {
	done  chan struct{}
	value int
}

// get waits for the promise of the one before, and keeps its own.
//
//go:noinline
func (p *promise) get(before *promise) {
	defer close(p.done)
	<-before.done
	p.value = before.value + 1
}

//go:noinline
func (p *promise) read(file *os.File) {
	defer close(p.done)
	addHead(self())
	file.Read(make([]byte, 1))
}

// addHead notes who keeps all others waiting.
func addHead(id int) {
	truth.Lock()
	truth.Heads = append(truth.Heads, id)
	truth.Unlock()
}

// A hundred calls, each of which waits for the one before; the first one reads.
func promises() {
	file, writer, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	kept = append(kept, writer)
	before := &promise{done: make(chan struct{})}
	go before.read(file)
	for i := 0; i < 100; i++ {
		next := &promise{done: make(chan struct{})}
		go next.get(before)
		before = next
	}
}

var kept []*os.File

// Pipelines without work.
func stages() {
	for i := 0; i < 4; i++ {
		file, writer, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		kept = append(kept, writer)
		first, second := make(chan int), make(chan int)
		go func() {
			buf := make([]byte, 1)
			for {
				if _, err := file.Read(buf); err != nil {
					return
				}
				first <- int(buf[0])
			}
		}()
		go func() {
			for x := range first {
				second <- x
			}
		}()
		go func() {
			for range second {
			}
		}()
	}
}
