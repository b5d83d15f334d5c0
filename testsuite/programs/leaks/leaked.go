// SPDX-License-Identifier: Apache-2.0

package main

import "sync"

type payload struct {
	mutex   sync.Mutex
	rwmutex sync.RWMutex
	group   sync.WaitGroup
	cond    *sync.Cond
	bytes   [2000]byte
	shared  *[60000]byte
}

// shared is what two groups hold together.
func shared() *[60000]byte { return new([60000]byte) }

func newPayload() *payload {
	p := &payload{}
	p.cond = sync.NewCond(&p.mutex)
	return p
}

// Each goroutine holds a payload of its own, in which it waits.

func lockTwice() {
	p := newPayload()
	p.mutex.Lock()
	ready()
	p.mutex.Lock()
	p.bytes[0]++
}

func readLocked() {
	p := newPayload()
	p.rwmutex.Lock()
	ready()
	p.rwmutex.RLock()
	p.bytes[0]++
}

func writeRead() {
	p := newPayload()
	p.rwmutex.RLock()
	ready()
	p.rwmutex.Lock()
	p.bytes[0]++
}

func waitForGroup() {
	p := newPayload()
	p.group.Add(1)
	ready()
	p.group.Wait()
	p.bytes[0]++
}

func waitForSignal() {
	p := newPayload()
	p.mutex.Lock()
	ready()
	p.cond.Wait()
	p.bytes[0]++
}

func sendForever() {
	p := newPayload()
	c := make(chan *payload)
	ready()
	c <- p
}

func receiveNothing() {
	p := newPayload()
	c := make(chan int, 3)
	ready()
	<-c
	p.bytes[0]++
}

func selectForever() {
	p := newPayload()
	a, b := make(chan *payload), make(chan int)
	ready()
	select {
	case a <- p:
	case <-b:
	}
	p.bytes[0]++
}

// chain waits for the next one, and the last one waits for nobody.
func chain(n int) func() {
	var next chan int
	for ; n > 0; n-- {
		mine, other := make(chan int), next
		go func() {
			ready()
			mine <- <-other
		}()
		next = mine
	}
	return func() {
		ready()
		<-next
	}
}

func leak() {
	const size = 2000
	begin("main.lockTwice", 20, size, lockTwice)
	begin("main.readLocked", 20, size, readLocked)
	begin("main.writeRead", 20, size, writeRead)
	begin("main.waitForGroup", 20, size, waitForGroup)
	begin("main.waitForSignal", 20, size, waitForSignal)
	begin("main.sendForever", 20, size, sendForever)
	begin("main.receiveNothing", 20, size, receiveNothing)
	begin("main.selectForever", 20, size, selectForever)
	both := shared()
	begin("main.leak.func1", 3, 0, func() {
		p := newPayload()
		p.shared = both
		ready()
		p.group.Add(1)
		p.group.Wait()
		p.bytes[0]++
	})
	begin("main.leak.func2", 3, 0, func() {
		p := newPayload()
		p.shared = both
		ready()
		<-make(chan int)
		p.bytes[0]++
	})
}
