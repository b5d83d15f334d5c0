// SPDX-License-Identifier: Apache-2.0

// A heap that changes when it is told to: of one type objects are added, of
// another one they are dropped, goroutines with a buffer each begin and end. The
// program prints what it holds before and after, and how many of the objects
// that it held before it still holds. With the argument "collected", the
// collector runs in between, and what it frees is allocated anew.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
)

// Each fills a slot of the allocator.
type order struct {
	next *order
	id   [7]uint64
}

type session struct {
	next *session
	id   [15]uint64
}

type item struct {
	next *item
	id   [31]uint64
}

type page struct {
	next *page
	data [504]byte
}

type buffer struct {
	data [4096]byte
}

var (
	orders   *order
	sessions *session
	items    *item
	pages    *page
	begun    = make(chan bool)
	stop     = make(chan bool)
	other    = make(chan bool)
)

func addOrders(n int) {
	for i := 0; i < n; i++ {
		orders = &order{next: orders}
	}
}

func addSessions(n int) {
	for i := 0; i < n; i++ {
		sessions = &session{next: sessions}
	}
}

func dropSessions(n int) {
	for i := 0; i < n; i++ {
		sessions = sessions.next
	}
}

func addItems(n int) {
	for i := 0; i < n; i++ {
		items = &item{next: items}
	}
}

func addPages(n int) {
	for i := 0; i < n; i++ {
		pages = &page{next: pages}
	}
}

//go:noinline
func newBuffer() *buffer { return &buffer{} }

//go:noinline
func touch(b *buffer) { b.data[0]++ }

func worker() {
	b := newBuffer()
	touch(b)
	begun <- true
	<-stop
	touch(b)
}

func cleaner() {
	b := newBuffer()
	touch(b)
	begun <- true
	<-other
	touch(b)
	begun <- true
}

func start(n int, f func()) {
	for i := 0; i < n; i++ {
		go f()
		<-begun
	}
}

// Objects that are held.
type counts struct {
	Orders, Sessions, Items, Pages, Workers, Cleaners int
}

type truth struct {
	Held counts `json:"held"`
	// Objects that were held before, too.
	Survivors counts `json:"survivors"`
	NumGC     uint32 `json:"num_gc"`
}

func say(t truth) {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	t.NumGC = stats.NumGC
	if err := json.NewEncoder(os.Stdout).Encode(t); err != nil {
		panic(err)
	}
}

func change(isCollected bool) {
	dropSessions(1500)
	pages = nil
	for i := 0; i < 4; i++ {
		other <- true
		<-begun
	}
	if isCollected {
		runtime.GC()
		runtime.GC()
		addSessions(700)
	}
	addOrders(2000)
	addItems(20000)
	start(50, worker)
}

func main() {
	runtime.MemProfileRate = 1
	runtime.MemProfile(nil, false) // keeps the profiler in the program
	debug.SetGCPercent(-1)
	isCollected := len(os.Args) > 1 && os.Args[1] == "collected"
	addOrders(1000)
	addSessions(2000)
	addPages(20000)
	start(10, worker)
	start(6, cleaner)
	in := bufio.NewReader(os.Stdin)
	say(truth{Held: counts{1000, 2000, 0, 20000, 10, 6}})
	if _, err := in.ReadString('\n'); err != nil {
		return
	}
	change(isCollected)
	now := truth{
		Held:      counts{3000, 500, 20000, 0, 60, 2},
		Survivors: counts{1000, 500, 0, 0, 10, 2},
	}
	if isCollected {
		now.Held.Sessions += 700
	}
	say(now)
	in.ReadString('\n')
}
