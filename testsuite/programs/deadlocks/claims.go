// SPDX-License-Identifier: Apache-2.0

// Goroutines that look like owners of a lock, and are none: they have unlocked
// it by hand, in a branch, in a wait for a condition, or in a helper; they have
// not locked it on their way; or they are about to lock it.
package main

import (
	"sync"
	"time"
	"unsafe"
)

func init() {
	modes["byhand"] = func() { eachForOther((*store).pause) }
	modes["released"] = released
	modes["woken"] = woken
	modes["inhelper"] = inHelper
	modes["nested"] = nested
	modes["letgo"] = letGo
	modes["past"] = past
	modes["continues"] = continues
	modes["onebranch"] = func() { eachForOther((*store).fill) }
	modes["ondemand"] = onDemand
	modes["tried"] = tried
	modes["cases"] = inCases
	modes["busygroup"] = busyGroup
	modes["captured"] = captured
	modes["afterwards"] = afterwards
	modes["hooked"] = hooked
	modes["guarded"] = byVariable
	modes["twodefers"] = twoDefers
	modes["ownlocker"] = ownLocker
	modes["letdeep"] = letDeep
	modes["bymethod"] = byMethod
}

// hold locks for ever.
//
//go:noinline
func (s *store) hold() {
	s.mu.Lock()
	owns(unsafe.Pointer(&s.mu))
	sleep()
	s.rows["hold"]++
	s.mu.Unlock()
}

func newStore() *store { return &store{rows: map[string]int{}} }

func heldStore() *store {
	s := newStore()
	go s.hold()
	settle(50 * time.Millisecond)
	return s
}

// pause unlocks while it uses the other one.
//
//go:noinline
func (s *store) pause(other *store, ready func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows["pause"]++
	s.mu.Unlock()
	ready()
	other.get("x")
	s.mu.Lock()
	s.rows["pause"]--
}

// eachForOther has two goroutines, each of which has unlocked its store and waits
// for that of the other one, which somebody else holds by then.
func eachForOther(use func(s, other *store, ready func())) {
	a, b := newStore(), newStore()
	unlocked, taken := make(chan bool), make(chan bool)
	ready := func() {
		unlocked <- true
		<-taken
	}
	go use(a, b, ready)
	go use(b, a, ready)
	<-unlocked
	<-unlocked
	go a.hold()
	go b.hold()
	settle(50 * time.Millisecond)
	close(taken)
	settle(50 * time.Millisecond)
	blocked(2, func() { a.get("x") })
}

type bell struct {
	mu   sync.Mutex
	ring *sync.Cond
	n    int
}

//go:noinline
func (b *bell) wait(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.n < n {
		b.ring.Wait()
	}
}

//go:noinline
func (b *bell) hold() {
	b.mu.Lock()
	owns(unsafe.Pointer(&b.mu))
	b.n = 1
	b.ring.Broadcast()
	sleep()
	b.mu.Unlock()
}

//go:noinline
func (b *bell) add() {
	b.mu.Lock()
	b.n++
	b.mu.Unlock()
}

func waitersFor(n int) {
	b := &bell{}
	b.ring = sync.NewCond(&b.mu)
	for i := 0; i < 3; i++ {
		go b.wait(n)
	}
	settle(50 * time.Millisecond)
	go b.hold()
	settle(50 * time.Millisecond)
	blocked(2, b.add)
}

// Three wait for a condition, and have unlocked its lock for that.
func released() { waitersFor(2) }

// Three have been told, and wait to lock it again.
func woken() { waitersFor(1) }

// use is in a helper that waits for the lock.
//
//go:noinline
func (s *store) use() {
	s.lock()
	s.rows["use"]++
	s.unlock()
}

// inHelper starts goroutines for which a helper is about to lock.
func inHelper() {
	s := heldStore()
	for i := 0; i < 3; i++ {
		go s.use()
	}
}

// move has one lock and waits for another one of the same type, in a call.
//
//go:noinline
func (s *store) move(to *store) {
	s.mu.Lock()
	to.put("x")
	s.rows["x"]--
	to.rows["y"]--
	s.mu.Unlock()
}

//go:noinline
func (s *store) put(key string) {
	s.mu.Lock()
	s.rows[key]++
	s.mu.Unlock()
}

func nested() {
	to := heldStore()
	go newStore().move(to)
}

// withoutLock unlocks what its caller has locked, and waits.
//
//go:noinline
func (s *store) withoutLock(other *store) {
	s.mu.Unlock()
	other.get("x")
	s.mu.Lock()
}

//go:noinline
func (s *store) around(other *store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.withoutLock(other)
	s.rows["around"]++
}

func letGo() {
	s, other := newStore(), heldStore()
	go s.around(other)
	settle(50 * time.Millisecond)
	go s.hold()
	settle(50 * time.Millisecond)
	blocked(2, func() { s.get("x") })
}

// lockAndLoad has locked for its caller, and is still busy.
//
//go:noinline
func (s *store) lockAndLoad() {
	s.mu.Lock()
	owns(unsafe.Pointer(&s.mu))
	sleep()
	s.rows["load"]++
}

//go:noinline
func (s *store) loaded() {
	s.lockAndLoad()
	s.rows["loaded"]++
	s.unlock()
}

// past has an owner whose helper has locked.
func past() {
	s := newStore()
	go s.loaded()
	settle(50 * time.Millisecond)
	blocked(2, func() { s.get("x") })
}

// gossip unlocks in a branch before it waits and begins again.
//
//go:noinline
func (s *store) gossip(inbox chan int) {
	for {
		s.mu.Lock()
		if len(s.rows) == 0 {
			s.mu.Unlock()
			<-inbox
			continue
		}
		delete(s.rows, "gossip")
		s.mu.Unlock()
		sleep()
	}
}

func continues() {
	s, inbox := newStore(), make(chan int)
	for i := 0; i < 2; i++ {
		go s.gossip(inbox)
	}
	settle(50 * time.Millisecond)
	go s.hold()
	settle(50 * time.Millisecond)
	blocked(2, func() { s.get("x") })
}

// fill unlocks in the branch in which it uses the other one.
//
//go:noinline
func (s *store) fill(other *store, ready func()) {
	s.mu.Lock()
	if len(s.rows) == 0 {
		s.mu.Unlock()
		ready()
		n := other.get("x")
		s.rows["fill"] = n
		return
	}
	s.rows["fill"]++
	s.mu.Unlock()
}

// next locks if it is told to.
//
//go:noinline
func (s *store) next(lock bool, values chan int) {
	if lock {
		s.mu.Lock()
	}
	n := <-values
	s.rows["next"] += n
	if lock {
		s.mu.Unlock()
	}
}

// Two have not been told to.
func onDemand() {
	s, values := heldStore(), make(chan int)
	for i := 0; i < 2; i++ {
		go s.next(false, values)
	}
	settle(50 * time.Millisecond)
	blocked(2, func() { s.get("x") })
}

// try does without what it cannot lock.
//
//go:noinline
func (s *store) try() {
	if !s.mu.TryLock() {
		sleep()
		s.rows["try"]++
		return
	}
	s.rows["tried"]++
	s.mu.Unlock()
}

// tryAndHold has locked what it has tried to.
//
//go:noinline
func (s *store) tryAndHold() {
	if s.mu.TryLock() {
		owns(unsafe.Pointer(&s.mu))
		sleep()
		s.rows["try"]++
		s.mu.Unlock()
	}
}

// One has tried and has it, the other one has not.
func tried() {
	s := newStore()
	go s.tryAndHold()
	settle(50 * time.Millisecond)
	go s.try()
	settle(50 * time.Millisecond)
	blocked(2, func() { s.get("x") })
}

// serve unlocks in one of many cases, for which the compiler makes a table.
//
//go:noinline
func (s *store) serve(kind int, values chan int) {
	s.mu.Lock()
	switch kind {
	case 0:
		s.mu.Unlock()
		s.rows["none"] += <-values
		return
	case 1:
		s.rows["one"]++
	case 2:
		s.rows["two"]++
	case 3:
		s.rows["three"]++
	case 4:
		s.rows["four"]++
	case 5:
		s.rows["five"]++
	case 6:
		s.rows["six"]++
	case 7:
		s.rows["seven"]++
	case 8:
		s.rows["eight"]++
	case 9:
		s.rows["nine"]++
	}
	s.mu.Unlock()
}

func inCases() {
	s, values := newStore(), make(chan int)
	for i := 0; i < 2; i++ {
		go s.serve(0, values)
	}
	settle(50 * time.Millisecond)
	go s.hold()
	settle(50 * time.Millisecond)
	blocked(2, func() { s.get("x") })
}

type job struct {
	wg   sync.WaitGroup
	rows map[string]int
}

//go:noinline
func (j *job) work(name string) {
	sleep()
	j.rows[name]++
	j.finish()
}

//go:noinline
func (j *job) finish() {
	if len(j.rows) > 0 {
		j.wg.Done()
	}
}

// busyGroup waits for three workers that reach it through their job.
func busyGroup() {
	j := &job{rows: map[string]int{}}
	j.wg.Add(3)
	for _, name := range []string{"a", "b", "c"} {
		go j.work(name)
	}
	blocked(1, j.wg.Wait)
}

// both captures two stores, and unlocks one of them.
//
//go:noinline
func (s *store) both(other *store, ready func()) {
	s.mu.Lock()
	owns(unsafe.Pointer(&s.mu))
	defer func() {
		other.rows["both"]++
		s.mu.Unlock()
	}()
	ready()
	sleep()
	s.rows["both"]++
}

// captured has an owner whose deferred call has a pointer to another lock, too,
// which somebody else holds.
func captured() {
	a, b := newStore(), heldStore()
	var ready sync.WaitGroup
	ready.Add(1)
	go a.both(b, ready.Done)
	ready.Wait()
	blocked(2, func() { a.get("x") })
	blocked(2, func() { b.get("x") })
	settle(50 * time.Millisecond)
}

// report is deferred before the lock is taken, so that it runs behind the Unlock.
//
//go:noinline
func (s *store) report(ready func()) {
	ready()
	s.mu.Lock()
	s.rows["report"]++
	s.mu.Unlock()
}

//go:noinline
func (s *store) reported(ready func()) {
	defer s.report(ready)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows["reported"]++
}

// taken lets use go on to wait for a lock when somebody else holds it.
func taken(hold func(), use func(ready func())) {
	here, gone := make(chan bool), make(chan bool)
	go use(func() {
		here <- true
		<-gone
	})
	<-here
	go hold()
	settle(50 * time.Millisecond)
	close(gone)
	settle(50 * time.Millisecond)
}

// afterwards has a deferred Unlock that has run, and whose closure is still in
// its slot.
func afterwards() {
	s := newStore()
	taken(s.hold, s.reported)
}

var hookMutex sync.Mutex

//go:noinline
func hook(ready func()) {
	hookMutex.Unlock()
	ready()
	hookMutex.Lock()
}

//go:noinline
func callHook(h func(func()), ready func()) {
	hookMutex.Lock()
	h(ready)
	hookMutex.Unlock()
}

//go:noinline
func holdHookMutex() {
	hookMutex.Lock()
	owns(unsafe.Pointer(&hookMutex))
	sleep()
	count++
	hookMutex.Unlock()
}

// hooked has a package-level lock that a function unlocks for its caller.
func hooked() {
	taken(holdHookMutex, func(ready func()) { callHook(hook, ready) })
}

//go:noinline
func (s *store) letTwo() { s.letOne() }

//go:noinline
func (s *store) letOne() { s.mu.Unlock() }

//go:noinline
func (s *store) guardedBy(ready func()) {
	locked := true
	s.mu.Lock()
	defer func() {
		if locked {
			s.mu.Unlock()
		}
	}()
	s.letTwo()
	locked = false
	ready()
	s.get("x")
}

// byVariable has a deferred Unlock that depends on a variable.
func byVariable() {
	s := newStore()
	taken(s.hold, s.guardedBy)
}

//go:noinline
func (s *store) deferBoth(other *store, l sync.Locker, ready func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer other.mu.Unlock()
	ready()
	l.Lock()
	other.rows["both"]++
}

// twoDefers has deferred an Unlock before it locks, by an interface.
func twoDefers() {
	s, other := newStore(), newStore()
	taken(other.hold, func(ready func()) {
		s.deferBoth(other, &other.mu, ready)
	})
}

type countingLocker struct {
	mu *sync.Mutex
	n  int
}

//go:noinline
func (l *countingLocker) Lock() {
	l.mu.Lock()
	l.n++
}

//go:noinline
func (l *countingLocker) Unlock() {
	l.n--
	l.mu.Unlock()
}

//go:noinline
func (b *bell) waitBy(ready func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ready()
	for b.n == 0 {
		b.ring.Wait()
	}
}

// ownLocker has a condition whose lock is of a type of its own.
func ownLocker() {
	b := &bell{}
	b.ring = sync.NewCond(&countingLocker{mu: &b.mu, n: 1})
	go b.waitBy(func() {})
	settle(50 * time.Millisecond)
	go b.hold()
	settle(50 * time.Millisecond)
}

//go:noinline
func letTwoDeep() { letOneDeep() }

//go:noinline
func letOneDeep() { hookMutex.Unlock() }

//go:noinline
func lockTwoDeep() { lockOneDeep() }

//go:noinline
func lockOneDeep() { hookMutex.Lock() }

//go:noinline
func letGoBetween(ready func()) {
	hookMutex.Lock()
	letTwoDeep()
	ready()
	lockTwoDeep()
	count++
	hookMutex.Unlock()
}

//go:noinline
func holdByInterface(l sync.Locker) {
	l.Lock()
	owns(unsafe.Pointer(&hookMutex))
	sleep()
	l.Unlock()
}

// letDeep has a call that unlocks, two calls deep.
func letDeep() {
	taken(func() { holdByInterface(&hookMutex) }, letGoBetween)
}

//go:noinline
func without(ready func()) {
	unlock, lock := hookMutex.Unlock, hookMutex.Lock
	unlock()
	ready()
	lock()
}

//go:noinline
func callWithout(ready func()) {
	hookMutex.Lock()
	without(ready)
	hookMutex.Unlock()
}

// byMethod has methods as values that unlock and lock.
func byMethod() {
	taken(func() { holdByInterface(&hookMutex) }, callWithout)
}
