// SPDX-License-Identifier: Apache-2.0

// A small program with one of everything that the heap walk has to follow:
// the base of the fuzzers' inputs. It dumps core when all is built.
package main

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

type Node struct {
	Next  *Node
	Name  string
	Args  []any
	Owner fmt.Stringer
}

type User struct {
	Name  string
	Nodes []*Node
	Log   map[string]int
}

func (u *User) String() string { return u.Name }

type Pair[K comparable, V any] struct {
	Key   K
	Value V
}

var (
	users   = map[string]*User{}
	byID    = map[int]Pair[string, *Node]{}
	wide    = map[[40]byte][20]*Node{}
	shared  sync.Map
	pool    sync.Pool
	queue   = make(chan *Node, 8)
	lock    sync.Mutex
	signal  = sync.NewCond(&lock)
	rwlock  sync.RWMutex
	group   sync.WaitGroup
	once    sync.Once
	big     *[5000]*Node
	hooks   []func() string
	timer   *time.Timer
	values  []reflect.Value
	builder strings.Builder
)

//go:noinline
func newNode(i int, u *User) *Node {
	n := &Node{Name: fmt.Sprintf("node number %d of the user", i), Owner: u}
	n.Args = []any{i, n.Name, u, []*Node{n}, map[string]*User{"u": u}}
	u.Log[n.Name] = i
	return n
}

func build() {
	big = new([5000]*Node)
	for i := 0; i < 12; i++ {
		u := &User{Name: fmt.Sprint("user ", i), Log: map[string]int{}}
		for j := 0; j < 4; j++ {
			n := newNode(j, u)
			if j > 0 {
				n.Next = u.Nodes[j-1]
			}
			u.Nodes = append(u.Nodes, n)
			big[i*100+j] = n
			byID[i*10+j] = Pair[string, *Node]{n.Name, n}
		}
		users[u.Name] = u
		shared.Store(u.Name, u)
		pool.Put(u)
		hooks = append(hooks, u.String, func() string { return u.Name + u.Nodes[0].Name })
		wide[[40]byte{byte(i)}] = [20]*Node{u.Nodes[0]}
		values = append(values, reflect.ValueOf(u))
	}
	queue <- users["user 1"].Nodes[0]
	builder.WriteString(strings.Repeat("x", 100))
	runtime.SetFinalizer(newNode(1, users["user 2"]), func(n *Node) { n.Next = nil })
	timer = time.AfterFunc(time.Hour, func() { users["user 3"] = nil })
}

//go:noinline
func deep(n int, u *User, done chan int) int {
	var local [3]*User
	local[n%3] = u
	defer func() { local[0] = nil }()
	if n == 0 {
		return <-done
	}
	return deep(n-1, local[n%3], done) + len(local)
}

type account struct {
	sync.Mutex
	sum int
}

//go:noinline
func transfer(from, to *account, both *sync.WaitGroup) {
	from.Lock()
	defer from.Unlock()
	both.Done()
	both.Wait()
	to.Lock()
	to.sum++
	to.Unlock()
}

// hang leaves goroutines waiting in all ways, some of them for each other.
func hang() {
	a, b := &account{}, &account{}
	both := &sync.WaitGroup{}
	both.Add(2)
	go transfer(a, b, both)
	go transfer(b, a, both)
	group.Add(1)
	rwlock.RLock()
	go func() { rwlock.Lock() }()
	go group.Wait()
	go once.Do(group.Wait)
	go once.Do(func() {})
	for i := 0; i < 3; i++ {
		c, d := make(chan *Node), make(chan int)
		go func() { c <- <-c }()
		go func() {
			defer func() {
				defer func() { <-d }()
				panic(recover())
			}()
			panic("deep")
		}()
	}
}

func main() {
	build()
	hang()
	for i := 0; i < 6; i++ {
		go deep(i*3, users[fmt.Sprint("user ", i)], make(chan int))
	}
	go func() { lock.Lock(); signal.Wait() }()
	go func() {
		select {
		case <-queue:
		case <-time.After(time.Hour):
		}
		select {}
	}()
	time.Sleep(20 * time.Millisecond)
	runtime.GC()
	runtime.GC()
	garbage := newNode(7, users["user 4"])
	syscall.Kill(os.Getpid(), syscall.SIGABRT)
	time.Sleep(time.Minute)
	runtime.KeepAlive(garbage)
}
