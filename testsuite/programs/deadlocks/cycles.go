// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"
	"time"
	"unsafe"
)

func init() {
	modes["two"] = func() { ring(2) }
	modes["three"] = func() { ring(3) }
	modes["five"] = func() { ring(5) }
	modes["twice"] = func() { twice() }
	modes["upgrade"] = upgrade
	modes["upgrades"] = upgrades
	modes["channels"] = channelRing
	modes["mixed"] = mixed
	modes["results"] = results
	modes["global"] = globalOrder
	modes["transfer"] = transfers
	modes["lockchannel"] = lockChannel
	modes["senders"] = senders
	modes["stuckreaders"] = stuckReaders
	modes["vault"] = func() { inOtherOrder(vault.cells[1], vault.cells[2]) }
}

// ids collects the numbers of n goroutines and notes their deadlock.
func ids(n int) func() {
	var mutex sync.Mutex
	found := []int{}
	return func() {
		mutex.Lock()
		found = append(found, self())
		if len(found) == n {
			deadlocked(found)
		}
		mutex.Unlock()
	}
}

type account struct {
	name string
	mu   sync.Mutex
	sum  int
}

// take locks its own account and then that of the next one.
//
//go:noinline
func (a *account) take(next *account, note, ready func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	owns(unsafe.Pointer(&a.mu))
	note()
	ready()
	next.add(1)
}

//go:noinline
func (a *account) add(n int) {
	a.mu.Lock()
	a.sum += n
	a.mu.Unlock()
}

func ring(n int) {
	collect, ready := ids(n), barrier(n)
	var locked sync.WaitGroup
	locked.Add(n)
	note := func() {
		collect()
		locked.Done()
	}
	accounts := make([]*account, n)
	for i := range accounts {
		accounts[i] = &account{name: "account"}
	}
	for i := range accounts {
		go accounts[i].take(accounts[(i+1)%n], note, ready)
	}
	locked.Wait() // Else they may have it before the ring does.
	blocked(3, func() { accounts[0].add(1) })
}

// transfer locks two accounts in the order of its arguments.
//
//go:noinline
func transfer(from, to *account, note, ready func()) {
	from.mu.Lock()
	owns(unsafe.Pointer(&from.mu))
	note()
	ready()
	to.mu.Lock()
	from.sum--
	to.sum++
	to.mu.Unlock()
	from.mu.Unlock()
}

func transfers() {
	note, ready := ids(2), barrier(2)
	a, b := &account{name: "a"}, &account{name: "b"}
	go transfer(a, b, note, ready)
	go transfer(b, a, note, ready)
}

// A lock taken twice.
func twice() {
	note := ids(1)
	a := &account{name: "twice"}
	go func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		owns(unsafe.Pointer(&a.mu))
		note()
		a.add(1)
	}()
}

type table struct {
	rw   sync.RWMutex
	rows map[string]int
}

// put wants to write while it still reads.
//
//go:noinline
func (t *table) put(key string, note func()) {
	t.rw.RLock()
	defer t.rw.RUnlock()
	note()
	if t.rows[key] == 0 {
		t.rw.Lock()
		t.rows[key]++
		t.rw.Unlock()
	}
}

func upgrade() {
	t := &table{rows: map[string]int{}}
	go t.put("x", ids(1))
}

// Two at once: neither lets go of its read lock.
func upgrades() {
	note, ready := ids(2), barrier(2)
	t := &table{rows: map[string]int{}}
	for i := 0; i < 2; i++ {
		go t.put("x", func() { note(); ready() })
	}
}

var first, second sync.Mutex

//go:noinline
func firstThenSecond(note, ready func()) {
	first.Lock()
	owns(unsafe.Pointer(&first))
	note()
	ready()
	second.Lock()
	second.Unlock()
	first.Unlock()
}

//go:noinline
func secondThenFirst(note, ready func()) {
	second.Lock()
	owns(unsafe.Pointer(&second))
	note()
	ready()
	first.Lock()
	first.Unlock()
	second.Unlock()
}

func globalOrder() {
	note, ready := ids(2), barrier(2)
	go firstThenSecond(note, ready)
	go secondThenFirst(note, ready)
}

// Each receives from the one before and would then send to the next.
func channelRing() {
	const n = 3
	note := ids(n)
	channels := [n]chan int{}
	for i := range channels {
		channels[i] = make(chan int)
	}
	for i := range channels {
		go pass(channels[i], channels[(i+1)%n], note)
	}
}

//go:noinline
func pass(in, out chan int, note func()) {
	note()
	out <- <-in
}

// One holds a lock and waits for a value; the other one would send it, and waits
// for the lock.
func mixed() {
	note, ready := ids(2), barrier(2)
	a, values := &account{name: "mixed"}, make(chan int)
	go func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		owns(unsafe.Pointer(&a.mu))
		note()
		ready()
		a.sum += <-values
	}()
	go func() {
		note()
		ready()
		a.add(1)
		values <- 1
	}()
}

// Somebody waits for the worker before he takes its results.
func results() {
	note := ids(2)
	found := make(chan int)
	go func() {
		var group sync.WaitGroup
		group.Add(1)
		go func() {
			defer group.Done()
			note()
			found <- 1
		}()
		note()
		group.Wait()
		<-found
	}()
}

var ledger account

// One holds a package-level lock and waits to send; the only receiver waits for
// the lock.
func lockChannel() {
	note, ready := ids(2), barrier(2)
	sums := make(chan int)
	go func() {
		ledger.mu.Lock()
		defer ledger.mu.Unlock()
		owns(unsafe.Pointer(&ledger.mu))
		note()
		ready()
		sums <- ledger.sum
	}()
	go func() {
		note()
		ready()
		ledger.add(1)
		ledger.add(<-sums)
	}()
}

// Three send their results, and whoever takes them waits for all three first.
func senders() {
	note := ids(4)
	found := make(chan int)
	go func() {
		var group sync.WaitGroup
		for i := 0; i < 3; i++ {
			i := i
			group.Add(1)
			go func() {
				defer group.Done()
				note()
				found <- i
			}()
		}
		note()
		group.Wait()
		for i := 0; i < 3; i++ {
			<-found
		}
	}()
}

//go:noinline
func (t *table) size() int {
	t.rw.RLock()
	defer t.rw.RUnlock()
	return len(t.rows)
}

// Readers wait behind a writer that waits for itself.
func stuckReaders() {
	t := &table{rows: map[string]int{}}
	go t.put("x", ids(1))
	settle(50 * time.Millisecond)
	blocked(7, func() { t.size() })
}

// A cell begins with its lock and has no pointers; only a map leads to it.
type cell struct {
	mu      sync.Mutex
	id, sum int
}

var vault = struct{ cells map[int]*cell }{
	map[int]*cell{1: {id: 1}, 2: {id: 2}},
}

//go:noinline
func (c *cell) give(to *cell, collect, ready func()) {
	c.mu.Lock()
	owns(unsafe.Pointer(&c.mu))
	collect()
	ready()
	to.mu.Lock()
	c.sum, to.sum = c.sum-1, to.sum+1
	to.mu.Unlock()
	c.mu.Unlock()
}

func inOtherOrder(a, b *cell) {
	collect, ready := ids(2), barrier(2)
	go a.give(b, collect, ready)
	go b.give(a, collect, ready)
}
