// SPDX-License-Identifier: Apache-2.0

// Mutexes with a holder that sleeps, waiters, and decoys: goroutines that use
// the same object and do not hold the mutex.
package main

import (
	"sync"
	"time"
	"unsafe"
)

type store struct {
	mu   sync.Mutex
	rw   sync.RWMutex
	rows map[string]int
}

func init() {
	for name, hold := range map[string]func(s *store){
		"deferred": (*store).deferred,
		"between":  (*store).between,
		"deep":     (*store).deep,
		"loop":     (*store).loop,
		"helper":   (*store).helper,
		"closure":  (*store).closure,
		"branch":   (*store).branch,
	} {
		hold := hold
		modes[name] = func() {
			s := &store{rows: map[string]int{}}
			go hold(s)
			crowd(s)
		}
	}
	modes["package"] = inPackage
	modes["packagedefer"] = inPackageDeferred
	modes["embedded"] = inEmbedded
	modes["element"] = inElement
	modes["generic"] = inGeneric
	modes["writer"] = byWriter
	modes["lost"] = lostUnlock
	modes["behindreaders"] = behindReaders
	modes["once"] = inOnce
}

func sleep() { time.Sleep(time.Hour) }

// crowd starts waiters and decoys.
func crowd(s *store) {
	settle(50 * time.Millisecond)
	blocked(5, func() { s.get("x") })
	go s.before()
	go s.after()
}

//go:noinline
func (s *store) get(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows[key]
}

// before has not locked yet.
//
//go:noinline
func (s *store) before() {
	sleep()
	s.mu.Lock()
	s.rows["before"]++
	s.mu.Unlock()
}

// after tried, and does something else.
//
//go:noinline
func (s *store) after() {
	if s.mu.TryLock() {
		s.mu.Unlock()
	}
	sleep()
	s.rows["after"]++
}

//go:noinline
func (s *store) deferred() {
	s.mu.Lock()
	defer s.mu.Unlock()
	owns(unsafe.Pointer(&s.mu))
	sleep()
}

//go:noinline
func (s *store) between() {
	s.mu.Lock()
	owns(unsafe.Pointer(&s.mu))
	sleep()
	s.rows["between"]++
	s.mu.Unlock()
}

//go:noinline
func (s *store) deep() {
	s.mu.Lock()
	owns(unsafe.Pointer(&s.mu))
	load("a", 5)
	s.rows["deep"]++
	s.mu.Unlock()
}

//go:noinline
func load(name string, depth int) int {
	if depth > 0 {
		return load(name, depth-1) + 1
	}
	sleep()
	return len(name)
}

// loop has its deferred call in a loop, so that it is a record of its own.
//
//go:noinline
func (s *store) loop() {
	for i := 0; i < 1+len(s.rows); i++ {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	owns(unsafe.Pointer(&s.mu))
	sleep()
}

//go:noinline
func (s *store) lock() { s.mu.Lock() }

//go:noinline
func (s *store) unlock() { s.mu.Unlock() }

//go:noinline
func (s *store) helper() {
	s.lock()
	defer s.unlock()
	owns(unsafe.Pointer(&s.mu))
	sleep()
}

//go:noinline
func (s *store) closure() {
	func() {
		s.mu.Lock()
		defer func() {
			s.rows["closure"]++
			s.mu.Unlock()
		}()
		owns(unsafe.Pointer(&s.mu))
		sleep()
	}()
}

// branch unlocks on two ways.
//
//go:noinline
func (s *store) branch() {
	s.mu.Lock()
	if s.rows["branch"] > 0 {
		s.mu.Unlock()
		return
	}
	owns(unsafe.Pointer(&s.mu))
	sleep()
	s.rows["branch"]++
	s.mu.Unlock()
}

var (
	mutex, another sync.Mutex
	count          int
)

//go:noinline
func increment() {
	mutex.Lock()
	count++
	mutex.Unlock()
}

func inPackage() {
	go func() {
		mutex.Lock()
		owns(unsafe.Pointer(&mutex))
		sleep()
		count++
		mutex.Unlock()
	}()
	settle(50 * time.Millisecond)
	blocked(5, increment)
	go func() {
		sleep()
		increment()
	}()
}

//go:noinline
func add() {
	another.Lock()
	count++
	another.Unlock()
}

func inPackageDeferred() {
	go func() {
		another.Lock()
		defer another.Unlock()
		owns(unsafe.Pointer(&another))
		sleep()
	}()
	settle(50 * time.Millisecond)
	blocked(5, add)
	go func() {
		sleep()
		add()
	}()
}

type session struct {
	id int
	sync.Mutex
	data []byte
}

func (s *session) grow() {
	s.Lock()
	defer s.Unlock()
	s.data = append(s.data, 1)
}

//go:noinline
func (s *session) stay() {
	s.Lock()
	defer s.Unlock()
	owns(unsafe.Pointer(&s.Mutex))
	sleep()
}

func inEmbedded() {
	s := &session{id: 1}
	go s.stay()
	settle(50 * time.Millisecond)
	blocked(5, s.grow)
	go func() { sleep(); s.grow() }()
}

var locks = map[string]*sync.Mutex{}

//go:noinline
func update(key string) {
	locks[key].Lock()
	defer locks[key].Unlock()
	count++
}

func inElement() {
	locks["a"], locks["b"] = new(sync.Mutex), new(sync.Mutex)
	go func() {
		mu := locks["a"]
		mu.Lock()
		defer mu.Unlock()
		owns(unsafe.Pointer(mu))
		sleep()
	}()
	go func() {
		mu := locks["b"]
		mu.Lock()
		defer mu.Unlock()
		sleep()
	}()
	settle(50 * time.Millisecond)
	blocked(5, func() { update("a") })
}

type guarded[T any] struct {
	mu    sync.Mutex
	value T
}

//go:noinline
func (g *guarded[T]) set(value T) {
	g.mu.Lock()
	g.value = value
	g.mu.Unlock()
}

//go:noinline
func (g *guarded[T]) with(f func(*T)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(&g.value)
}

func inGeneric() {
	g := &guarded[string]{}
	go g.with(func(*string) {
		owns(unsafe.Pointer(&g.mu))
		sleep()
	})
	settle(50 * time.Millisecond)
	blocked(5, func() { g.set("x") })
	go func() { sleep(); g.set("y") }()
}

//go:noinline
func (s *store) write() {
	s.rw.Lock()
	defer s.rw.Unlock()
	owns(unsafe.Pointer(&s.rw))
	sleep()
}

//go:noinline
func (s *store) read() int {
	s.rw.RLock()
	defer s.rw.RUnlock()
	return len(s.rows)
}

// A writer holds it, readers wait.
func byWriter() {
	s := &store{}
	go s.write()
	settle(50 * time.Millisecond)
	blocked(5, func() { s.read() })
	go func() { sleep(); s.read() }()
}

//go:noinline
func (s *store) forget(key string) bool {
	s.mu.Lock()
	if _, ok := s.rows[key]; !ok {
		lost(unsafe.Pointer(&s.mu))
		return false
	}
	s.mu.Unlock()
	return true
}

// The error path forgets to unlock.
func lostUnlock() {
	s := &store{rows: map[string]int{}}
	go s.forget("x")
	settle(50 * time.Millisecond)
	blocked(5, func() { s.get("x") })
}

//go:noinline
func (s *store) readLong() {
	s.rw.RLock()
	defer s.rw.RUnlock()
	sleep()
}

//go:noinline
func (s *store) change(key string) {
	s.rw.Lock()
	s.rows[key]++
	s.rw.Unlock()
}

// A writer waits for a reader, and a second writer for the first one: the
// runtime tells that.
func behindReaders() {
	s := &store{rows: map[string]int{}}
	go s.readLong()
	settle(50 * time.Millisecond)
	go func() {
		ownsExactly(unsafe.Pointer(&s.rw))
		addBlocked(self())
		s.change("first")
	}()
	settle(50 * time.Millisecond)
	blocked(3, func() { s.change("second") })
	blocked(2, func() { s.read() })
}

type config struct {
	once sync.Once
	text string
}

//go:noinline
func (c *config) load() {
	ownsExactly(unsafe.Pointer(&c.once))
	sleep()
	c.text = "loaded"
}

func (c *config) get() string {
	c.once.Do(c.load)
	return c.text
}

func inOnce() {
	c := &config{}
	go c.get()
	settle(50 * time.Millisecond)
	blocked(5, func() { c.get() })
}
