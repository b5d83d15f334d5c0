// SPDX-License-Identifier: Apache-2.0

// These cases look like deadlocks, and go on by themselves.
package main

import (
	"context"
	"net"
	"os"
	"sync"
	"time"
)

func init() {
	modes["slowio"] = slowIO
	modes["network"] = network
	modes["sleeper"] = sleeper
	modes["timer"] = timer
	modes["ticker"] = ticker
	modes["livecase"] = liveCase
	modes["workers"] = workers
	modes["reader"] = reader
	modes["group"] = group
	modes["condition"] = condition
	modes["deadline"] = deadline
	modes["chain"] = chain
	modes["computes"] = computes
	modes["afterfunc"] = afterFunc
}

// Someone reads a pipe under a lock.
func slowIO() {
	s := &store{rows: map[string]int{}}
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		r.Read(make([]byte, 1))
		w.Close()
	}()
	settle(50 * time.Millisecond)
	blocked(3, func() { s.get("x") })
}

func network() {
	s := &store{rows: map[string]int{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		l.Accept()
	}()
	settle(50 * time.Millisecond)
	blocked(3, func() { s.get("x") })
}

func sleeper() {
	a, b := &account{}, &account{}
	go func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		b.add(1)
		sleep()
	}()
	settle(50 * time.Millisecond)
	go func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		a.add(1)
	}()
	settle(50 * time.Millisecond)
	blocked(3, func() { b.add(1) })
}

func timer() {
	c := make(chan int)
	for i := 0; i < 2; i++ {
		go func() {
			select {
			case <-c:
			case <-time.After(time.Hour):
				c <- 1
			}
		}()
	}
}

func ticker() {
	c := make(chan int)
	t := time.NewTicker(time.Hour)
	go func() {
		for range t.C {
			c <- 1
		}
	}()
	go func() { <-c }()
}

// One of two channels that nobody else has belongs to someone who sleeps.
func liveCase() {
	a, b := make(chan int), make(chan int)
	for i := 0; i < 2; i++ {
		go func() {
			select {
			case x := <-a:
				b <- x
			case x := <-b:
				a <- x
			}
		}()
	}
	go func() {
		sleep()
		b <- 1
	}()
}

var jobs = make(chan int)

func workers() {
	results := make(chan int)
	for i := 0; i < 4; i++ {
		go func() {
			for job := range jobs {
				results <- job
			}
		}()
	}
	go func() {
		for range results {
		}
	}()
}

func reader() {
	s := &store{rows: map[string]int{}}
	go s.readLong()
	settle(50 * time.Millisecond)
	blocked(2, func() { s.change("x") })
	blocked(2, func() { s.read() })
}

func group() {
	var g sync.WaitGroup
	g.Add(2)
	for i := 0; i < 2; i++ {
		go func() {
			defer g.Done()
			sleep()
		}()
	}
	blocked(1, g.Wait)
}

func condition() {
	c := sync.NewCond(new(sync.Mutex))
	for i := 0; i < 3; i++ {
		go func() {
			c.L.Lock()
			defer c.L.Unlock()
			c.Wait()
		}()
	}
	go func() {
		sleep()
		c.Broadcast()
	}()
}

func deadline() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	c := make(chan int)
	for i := 0; i < 2; i++ {
		go func() {
			defer cancel()
			select {
			case <-ctx.Done():
			case x := <-c:
				c <- x
			}
		}()
	}
}

// Each holds a lock that the one before waits for; the last one sleeps.
func chain() {
	accounts := []*account{{}, {}, {}, {}}
	for i := len(accounts) - 1; i >= 0; i-- {
		i := i
		go func() {
			accounts[i].mu.Lock()
			defer accounts[i].mu.Unlock()
			if i+1 == len(accounts) {
				sleep()
			}
			accounts[i+1].add(1)
		}()
		settle(20 * time.Millisecond)
	}
}

func computes() {
	a, b := &account{}, &account{}
	go func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		for i := 1; i != 0; i++ {
			b.add(i)
			a.sum += i & 1
		}
	}()
	settle(50 * time.Millisecond)
	blocked(3, func() { a.add(1) })
}

func afterFunc() {
	a, b := make(chan int), make(chan int)
	time.AfterFunc(time.Hour, func() { a <- 1 })
	go pass(a, b, func() {})
	go pass(b, a, func() {})
}
