// SPDX-License-Identifier: Apache-2.0

// Channels as semaphores: whoever has sent is to receive when it is done.
package main

import (
	"sync"
	"time"
	"unsafe"
)

func init() {
	modes["slots"] = slots
	modes["jobs"] = fullJobs
	modes["pooled"] = pooled
}

// holds notes that the caller has a place of the semaphore.
func holds(sem chan struct{}) {
	owns(*(*unsafe.Pointer)(unsafe.Pointer(&sem)))
}

//go:noinline
func inVariable(sem chan struct{}, work func(chan struct{})) {
	sem <- struct{}{}
	work(sem)
	<-sem
}

type limiter struct {
	name string
	sem  chan struct{}
	used int
}

//go:noinline
func (l *limiter) do(work func(chan struct{})) {
	l.sem <- struct{}{}
	defer func() { <-l.sem }()
	work(l.sem)
	l.used++
}

//go:noinline
func (l *limiter) plain(work func(chan struct{})) {
	l.sem <- struct{}{}
	work(l.sem)
	l.used++
	<-l.sem
}

var shared = make(chan struct{}, 2)

//go:noinline
func inPackageSlot(work func(chan struct{})) {
	shared <- struct{}{}
	work(shared)
	<-shared
}

// slots has two holders and three waiters of each semaphore.
func slots() {
	local := make(chan struct{}, 2)
	first := &limiter{name: "first", sem: make(chan struct{}, 2)}
	second := &limiter{name: "second", sem: make(chan struct{}, 2)}
	for _, take := range []func(func(chan struct{})){
		func(work func(chan struct{})) { inVariable(local, work) },
		first.do, second.plain, inPackageSlot,
	} {
		take := take
		var ready sync.WaitGroup
		ready.Add(2)
		for i := 0; i < 2; i++ {
			go take(func(sem chan struct{}) {
				holds(sem)
				ready.Done()
				sleep()
			})
		}
		ready.Wait()
		blocked(3, func() { take(func(chan struct{}) {}) })
	}
	settle(50 * time.Millisecond)
}

type order struct{ id int }

//go:noinline
func handle(orders chan *order, results chan struct{}) {
	for o := range orders {
		o.id++
		sleep()
		results <- struct{}{}
	}
}

//go:noinline
func drain(results, ended chan struct{}) {
	<-results
	sleep()
	ended <- struct{}{}
}

// fullJobs is no semaphore: what is sent is work for others.
func fullJobs() {
	orders, results := make(chan *order, 1), make(chan struct{}, 1)
	ended := make(chan struct{})
	go handle(orders, results)
	go drain(results, ended)
	for i := 0; i < 4; i++ {
		blocked(1, func() { orders <- &order{} })
	}
	results <- struct{}{}
	settle(50 * time.Millisecond)
	results <- struct{}{}
	blocked(2, func() { results <- struct{}{} })
}

type item struct{ id int }

type itemPool struct {
	name  string
	items chan *item
}

//go:noinline
func (p *itemPool) with(work func()) int {
	it := <-p.items
	defer func() { p.items <- it }()
	work()
	return it.id
}

//go:noinline
func process(items chan *item, results chan int) {
	for it := range items {
		sleep()
		results <- it.id
	}
}

// pooled has three holders of the values of a pool and two waiters, and beside
// them a queue with three workers, one of which works.
func pooled() {
	p := &itemPool{name: "items", items: make(chan *item, 3)}
	for i := 0; i < 3; i++ {
		p.items <- &item{i}
	}
	for i := 0; i < 3; i++ {
		go p.with(func() {
			owns(*(*unsafe.Pointer)(unsafe.Pointer(&p.items)))
			sleep()
		})
	}
	settle(50 * time.Millisecond)
	blocked(2, func() { p.with(func() {}) })
	queue, results := make(chan *item, 4), make(chan int)
	for i := 0; i < 3; i++ {
		go process(queue, results)
	}
	queue <- &item{7}
	settle(50 * time.Millisecond)
}
