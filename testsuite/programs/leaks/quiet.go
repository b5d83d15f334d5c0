// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
)

var (
	packageChannel = make(chan int) // nobody sends
	packageMutex   sync.Mutex
	packageRW      = new(sync.RWMutex)
	packageGroup   sync.WaitGroup
	packageCond    = sync.NewCond(&sync.Mutex{})
	inMap          = map[string]chan int{"a": make(chan int)}
)

// Each of these goroutines waits for something that somebody can still do.
func quiet() {
	packageVariables()
	timers()
	network()
	holders()
	for _, f := range newer {
		f()
	}
}

func packageVariables() {
	packageMutex.Lock()
	packageRW.Lock()
	packageGroup.Add(1)
	begin("mutex", 2, 0, func() { ready(); packageMutex.Lock() })
	begin("rwmutex", 2, 0, func() { ready(); packageRW.RLock() })
	begin("group", 2, 0, func() { ready(); packageGroup.Wait() })
	begin("cond", 2, 0, func() {
		packageCond.L.Lock()
		ready()
		packageCond.Wait()
	})
	begin("receive", 2, 0, func() { ready(); <-packageChannel })
	begin("map", 2, 0, func() { ready(); inMap["a"] <- 1 })
	begin("select", 2, 0, func() {
		own := make(chan int)
		ready()
		select {
		case <-own:
		case <-packageChannel:
		}
	})
	// Only one that waits for the package's channel knows this one.
	inner := make(chan int)
	begin("known", 1, 0, func() { ready(); <-packageChannel; inner <- 1 })
	begin("indirect", 2, 0, func() { ready(); <-inner })
}

func timers() {
	begin("after", 2, 0, func() { ready(); <-time.After(time.Hour) })
	begin("ticker", 2, 0, func() {
		ticker := time.NewTicker(time.Hour)
		ready()
		<-ticker.C
	})
	begin("tick", 2, 0, func() {
		c := time.NewTimer(time.Hour).C
		ready()
		select {
		case <-c:
		case <-make(chan int):
		}
	})
	begin("afterfunc", 2, 0, func() {
		c := make(chan int)
		time.AfterFunc(time.Hour, func() { close(c) })
		ready()
		<-c
	})
	begin("deadline", 2, 0, func() {
		ctx, cancel := context.WithTimeout(
			context.Background(), time.Hour)
		defer cancel()
		ready()
		<-ctx.Done()
	})
	begin("deadline of a child", 2, 0, func() {
		ctx, cancel := context.WithTimeout(
			context.Background(), time.Hour)
		defer cancel()
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		ready()
		<-child.Done()
	})
}

func network() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	accepted := make(chan net.Conn)
	begin("accept", 1, 0, func() {
		ready()
		conn, _ := listener.Accept()
		accepted <- conn
	})
	begin("accepted", 2, 0, func() { ready(); <-accepted })
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGUSR2)
	begin("signal", 1, 0, func() { ready(); <-caught })
}

// A goroutine that sleeps, runs or is in a system call, or a finalizer, knows
// the other side.
func holders() {
	woken := make(chan int)
	begin("sleeper", 1, 0, func() {
		ready()
		time.Sleep(time.Hour)
		woken <- 1
	})
	begin("woken", 2, 0, func() { ready(); <-woken })

	locked := make(chan int)
	begin("locked", 1, 0, func() {
		runtime.LockOSThread()
		ready()
		<-packageChannel
		locked <- 1
	})
	begin("by a locked thread", 2, 0, func() { ready(); <-locked })

	pipe := make([]int, 2)
	if err := syscall.Pipe(pipe); err != nil {
		panic(err)
	}
	read := make(chan int)
	begin("system call", 1, 0, func() {
		ready()
		syscall.Read(pipe[0], make([]byte, 1))
		close(read)
	})
	begin("by a system call", 2, 0, func() { ready(); <-read })

	type watched struct{ name string }
	gone := make(chan int)
	object := &watched{"kept"}
	runtime.SetFinalizer(object, func(*watched) { close(gone) })
	begin("finalizer", 2, 0, func() { ready(); <-gone })
	kept = object
}

var (
	kept  any
	newer []func()
)
