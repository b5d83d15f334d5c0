// SPDX-License-Identifier: Apache-2.0

// One planted leak, chosen by the first argument, or none. It prints the truth
// about it as one line of JSON: who holds the memory, what accumulates there,
// how many of these there are, and by how many bytes the heap has grown.
package main

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const (
	planted  = 20000
	requests = 8000
	payload  = 200
)

// A Session is what most of the leaks are made of. All of its pages are written.
type Session struct {
	ID   string
	Data *[payload]byte
	Next *Session
}

//go:noinline
func newSession(i int) *Session {
	data := new([payload]byte)
	data[0] = 1
	return &Session{ID: newString("session", i), Data: data}
}

type truth struct {
	Name         string `json:"name"`  // the holder
	Accumulation string `json:"where"` // the type where it accumulates
	Type         string `json:"type"`  // what accumulates
	Count        int    `json:"count"`
	Touched      uint64 `json:"touched"` // bytes of it in resident pages
	Bytes        uint64 `json:"bytes"`
}

var (
	sessions    map[string]*Session
	history     []*Session
	newest      *Session
	inbox       chan *Session
	onClose     []func() int
	pages       Cache
	collectSize func() int
	byID, byTag map[string]*Session
	index       *Index
	buffers     [][]byte
)

// The compiler lays out what it refers to in data: that has no name.
var unnamed Cache = &memoryCache{values: map[string]*Session{}}

// A Cache hides what keeps its values.
type Cache interface {
	Put(key string, value *Session)
}

type memoryCache struct {
	hits   uint64
	values map[string]*Session
	order  []*Session
}

func (c *memoryCache) Put(key string, value *Session) {
	c.values[key] = value
	c.order = append(c.order, value)
}

// A Store is what a service keeps; more than one root leads to it.
type Store struct {
	name   string
	values map[string]*Session
}

//go:noinline
func newStore() *Store {
	s := &Store{name: "store", values: map[string]*Session{}}
	for i := 0; i < planted; i++ {
		v := newSession(i)
		s.values[v.ID] = v
	}
	return s
}

// A Server has a store and connections, each of which leads back to it.
type Server struct {
	store *Store
	conns []*conn
}

type conn struct {
	server *Server
	input  chan []byte
}

//go:noinline
func (c *conn) read() {
	for line := range c.input {
		c.server.store.name = string(line)
	}
}

//go:noinline
func (s *Server) expire() { s.store.name = "expired" }

//go:noinline
func (s *Server) serve(ready chan<- bool, stop <-chan bool) {
	ready <- true
	<-stop
	s.store.name = "stopped"
}

func leakMap() truth {
	sessions = map[string]*Session{}
	for i := 0; i < planted; i++ {
		s := newSession(i)
		sessions[s.ID] = s
	}
	return truth{Name: "main.sessions", Accumulation: "map[string]*main.Session"}
}

func leakSlice() truth {
	for i := 0; i < planted; i++ {
		history = append(history, newSession(i))
	}
	return truth{Name: "main.history", Accumulation: "*main.Session"}
}

func leakList() truth {
	for i := 0; i < planted; i++ {
		s := newSession(i)
		s.Next, newest = newest, s
	}
	return truth{Name: "main.newest", Accumulation: "main.Session"}
}

func leakChannel() truth {
	inbox = make(chan *Session, planted)
	for i := 0; i < planted; i++ {
		inbox <- newSession(i)
	}
	return truth{Name: "main.inbox", Accumulation: "chan *main.Session"}
}

//go:noinline
func handle(s *Session, never <-chan bool) {
	<-never
	s.ID = "never"
}

func leakGoroutines() truth {
	never := make(chan bool)
	for i := 0; i < requests; i++ {
		go handle(newSession(i), never)
	}
	return truth{Name: "main.handle", Accumulation: "main.handle", Count: requests}
}

func leakClosures() truth {
	for i := 0; i < planted; i++ {
		s := newSession(i)
		onClose = append(onClose, func() int { return len(s.ID) })
	}
	return truth{
		Name: "main.onClose", Accumulation: "func() int",
		Type: "main.leakClosures.func1",
	}
}

// An Index keeps its sessions in a tree, whose nodes have arrays of nodes.
type Index struct {
	size int
	root *treeNode
}

type treeNode struct {
	sessions []*Session
	children []*treeNode
}

//go:noinline
func newTree(first, n, depth int) *treeNode {
	node := &treeNode{}
	if depth == 0 {
		for i := first; i < first+n; i++ {
			node.sessions = append(node.sessions, newSession(i))
		}
		return node
	}
	more := n * 3 / 5
	node.children = []*treeNode{
		newTree(first, more, depth-1),
		newTree(first+more, n-more, depth-1),
	}
	return node
}

func leakTree() truth {
	index = &Index{size: planted, root: newTree(0, planted, 6)}
	return truth{Name: "main.index", Accumulation: "*main.treeNode"}
}

func leakCache() truth {
	pages = &memoryCache{values: map[string]*Session{}}
	for i := 0; i < planted; i++ {
		s := newSession(i)
		pages.Put(s.ID, s)
	}
	return truth{Name: "main.pages", Accumulation: "main.memoryCache"}
}

func leakUnnamed() truth {
	for i := 0; i < planted; i++ {
		s := newSession(i)
		unnamed.Put(s.ID, s)
	}
	return truth{Name: "main.unnamed", Accumulation: "main.unnamed"}
}

// leakMetric: the nearest root is a closure that reports a size.
func leakMetric(stop <-chan bool) truth {
	server := &Server{store: newStore()}
	store := server.store
	collectSize = func() int { return len(store.values) }
	ready := make(chan bool)
	go server.serve(ready, stop)
	<-ready
	return truth{Name: "main.Store", Accumulation: "in main.Store.values"}
}

// leakTimer: the same for a timer that captured the server.
func leakTimer(stop <-chan bool) truth {
	server := &Server{store: newStore()}
	time.AfterFunc(time.Hour, func() { server.expire() })
	ready := make(chan bool)
	go server.serve(ready, stop)
	<-ready
	return truth{Name: "main.Server", Accumulation: "in main.Store.values"}
}

// leakReader: the same for the goroutines that read of connections.
func leakReader(stop <-chan bool) truth {
	server := &Server{store: newStore()}
	for i := 0; i < 20; i++ {
		c := &conn{server: server, input: make(chan []byte)}
		server.conns = append(server.conns, c)
		go c.read()
	}
	ready := make(chan bool)
	go server.serve(ready, stop)
	<-ready
	return truth{Name: "main.Server", Accumulation: "in main.Store.values"}
}

// leakShared: two indexes, each of which would keep all sessions alone.
func leakShared() truth {
	byID, byTag = map[string]*Session{}, map[string]*Session{}
	for i := 0; i < planted; i++ {
		s := newSession(i)
		byID[s.ID], byTag[newString("tag", i)] = s, s
	}
	return truth{Name: "main.Session", Accumulation: "main.byID"}
}

// leakTwo: two leaks in one program.
func leakTwo() truth {
	leakSlice()
	return leakMap()
}

// residentBytes asks the kernel for the pages of a buffer, which begins at one.
func residentBytes(buffer []byte) (found uint64) {
	const page = 4096
	pages := make([]byte, len(buffer)/page)
	_, _, errno := syscall.RawSyscall(syscall.SYS_MINCORE,
		uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)),
		uintptr(unsafe.Pointer(&pages[0])))
	if errno != 0 {
		panic(errno)
	}
	for _, state := range pages {
		found += uint64(state&1) * page
	}
	return found
}

// leakUntouched: large buffers of which hardly any page was written, as those
// of a table that is made for the worst case. The runtime sometimes clears one.
func leakUntouched() truth {
	const count, bytes, step = 8, 8 << 20, 16 * 4096
	forbidHugePages()
	told := truth{Name: "main.buffers", Accumulation: "main.buffers",
		Type: "[]uint8 data", Count: count}
	for i := 0; i < count; i++ {
		buffers = append(buffers, make([]byte, bytes))
		for at := 0; at < bytes/2; at += step {
			buffers[i][at] = 1
		}
		told.Touched += residentBytes(buffers[i])
	}
	return told
}

// idle: some of all these, but not much.
func idle() truth {
	sessions = map[string]*Session{}
	pages = &memoryCache{values: map[string]*Session{}}
	for i := 0; i < 1000; i++ {
		s := newSession(i)
		sessions[s.ID] = s
		pages.Put(s.ID, newSession(i))
	}
	never := make(chan bool)
	for i := 0; i < 50; i++ {
		go handle(newSession(i), never)
	}
	return truth{}
}

func plant(kind string, stop <-chan bool) truth {
	switch kind {
	case "map":
		return leakMap()
	case "slice":
		return leakSlice()
	case "list":
		return leakList()
	case "channel":
		return leakChannel()
	case "goroutines":
		return leakGoroutines()
	case "closures":
		return leakClosures()
	case "tree":
		return leakTree()
	case "cache":
		return leakCache()
	case "unnamed":
		return leakUnnamed()
	case "metric":
		return leakMetric(stop)
	case "timer":
		return leakTimer(stop)
	case "reader":
		return leakReader(stop)
	case "shared":
		return leakShared()
	case "two":
		return leakTwo()
	case "untouched":
		return leakUntouched()
	case "idle":
		return idle()
	}
	return truth{} // "hello"
}

func main() {
	stop := make(chan bool)
	collect()
	before := truthStats.HeapAlloc
	told := plant(strings.Join(os.Args[1:], " "), stop)
	time.Sleep(50 * time.Millisecond)
	collect()
	told.Bytes = truthStats.HeapAlloc - before
	if told.Type == "" && told.Name != "" {
		told.Type = "main.Session"
	}
	if told.Count == 0 && told.Name != "" {
		told.Count = planted
	}
	json.NewEncoder(os.Stdout).Encode(told)
	wait()
	stop <- true
	runtime.KeepAlive(&told)
}
