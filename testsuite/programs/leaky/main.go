// SPDX-License-Identifier: Apache-2.0

// A small service with three leaks, for the tour: sessions that a forgotten
// map keeps, a pile-up of goroutines that wait for an answer nobody sends, and
// a cache behind an interface that never evicts. With refunds, it also has a
// deadlock. It prints one line of JSON when the leaks are there and the deadlock
// has come, and goes on until it is killed.
//
//	leaky [SESSIONS [refunds]]
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// A User is who is logged in.
type User struct {
	Name  string
	Roles []string
}

// A Session should end with its connection.
type Session struct {
	ID     string
	User   *User
	Basket []*Item
	Seen   time.Time
}

// An Item lies in a basket.
type Item struct {
	Label string
	Cents int
}

// sessionsByToken was meant for debugging; nobody deletes from it.
var sessionsByToken = map[string]*Session{}

// A Store hides what keeps the pages.
type Store interface {
	Put(key string, page []byte)
}

type memoryStore struct {
	pages map[string]*page
	order []*page
}

type page struct {
	key  string
	body []byte
	prev *page
}

func (m *memoryStore) Put(key string, body []byte) {
	p := &page{key: key, body: body}
	if n := len(m.order); n > 0 {
		p.prev = m.order[n-1]
	}
	m.pages[key] = p
	m.order = append(m.order, p)
}

var pageCache Store = &memoryStore{pages: map[string]*page{}}

// A request waits for its answer.
type request struct {
	path    string
	payload [512]byte
	answer  chan string
}

//go:noinline
func handle(r *request) {
	answer := <-r.answer // the backend went away
	fmt.Fprintln(io.Discard, r.path, answer)
}

//go:noinline
func login(i int) *Session {
	name := "user-" + strconv.Itoa(i)
	s := &Session{
		ID:   "token-" + strconv.Itoa(i),
		User: &User{Name: name, Roles: []string{"reader", "buyer"}},
		Seen: time.Now(),
	}
	for j := 0; j < 3; j++ {
		s.Basket = append(s.Basket, &Item{Label: "item-" + strconv.Itoa(j), Cents: 100 * j})
	}
	return s
}

//go:noinline
func render() []byte {
	return make([]byte, 4096)
}

// A Shop has two locks. Orders take stock first, refunds take ledger first.
type Shop struct {
	stock struct {
		mu   sync.Mutex
		left map[string]int
	}
	ledger struct {
		mu    sync.Mutex
		cents int
	}
	served int32
}

var shop = &Shop{}

//go:noinline
func (s *Shop) order(item string) {
	s.stock.mu.Lock()
	defer s.stock.mu.Unlock()
	s.stock.left[item]--
	time.Sleep(time.Millisecond) // the warehouse answers
	s.book(100)
}

//go:noinline
func (s *Shop) refund(item string) {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	s.ledger.cents -= 100
	time.Sleep(time.Millisecond) // the bank answers
	s.putBack(item)
}

//go:noinline
func (s *Shop) book(cents int) {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	s.ledger.cents += cents
}

//go:noinline
func (s *Shop) putBack(item string) {
	s.stock.mu.Lock()
	defer s.stock.mu.Unlock()
	s.stock.left[item]++
}

// serve calls a handler again and again.
func (s *Shop) serve(handler func(item string)) {
	for {
		handler("book")
		atomic.AddInt32(&s.served, 1)
	}
}

// open lets customers in, and returns when nobody has been served in five looks
// in a row: if the machine stands still for a while, one look misses that.
func (s *Shop) open() {
	s.stock.left = map[string]int{"book": 1000}
	for i := 0; i < 30; i++ {
		go s.serve(s.order)
		if i%3 == 0 {
			go s.serve(s.refund)
		}
	}
	for last, idle := int32(-1), 0; idle < 5; {
		time.Sleep(100 * time.Millisecond)
		if now := atomic.LoadInt32(&s.served); now == last {
			idle++
		} else {
			last, idle = now, 0
		}
	}
}

type truth struct {
	Pid        int    `json:"pid"`
	Go         string `json:"go"`
	Sessions   int    `json:"sessions"`
	Goroutines int    `json:"goroutines"`
	Pages      int    `json:"pages"`
	Suspect    string `json:"suspect"`
	Sites      int    `json:"sites"`
	Objects    uint64 `json:"heap_objects"`
	Bytes      uint64 `json:"heap_bytes"`
}

func main() {
	runtime.MemProfileRate = 8 << 10 // the heap is small: more samples
	const requests, pages = 400, 5000
	sessions := 50000
	if len(os.Args) > 1 {
		sessions, _ = strconv.Atoi(os.Args[1])
	}
	var suspect *Session
	for i := 0; i < sessions; i++ {
		s := login(i)
		sessionsByToken[s.ID] = s
		if i == sessions/2 {
			suspect = s
		}
	}
	for i := 0; i < pages; i++ {
		pageCache.Put("/page/"+strconv.Itoa(i), render())
	}
	for i := 0; i < requests; i++ {
		go handle(&request{path: "/buy/" + strconv.Itoa(i), answer: make(chan string)})
	}
	told := truth{
		Pid: os.Getpid(), Go: runtime.Version(), Sessions: sessions,
		Goroutines: requests, Pages: pages,
		Suspect: fmt.Sprintf("%#x", uintptr(unsafe.Pointer(suspect))),
	}
	suspect = nil
	if len(os.Args) > 2 && os.Args[2] == "refunds" {
		shop.open()
	}
	time.Sleep(50 * time.Millisecond)
	runtime.GC()
	runtime.GC()
	// The linker leaves out the heap profile of what never reads it.
	told.Sites, _ = runtime.MemProfile(nil, true)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	told.Objects, told.Bytes = m.HeapObjects, m.HeapAlloc
	json.NewEncoder(os.Stdout).Encode(told)
	for {
		time.Sleep(time.Hour)
	}
}
