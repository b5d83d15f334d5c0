// SPDX-License-Identifier: Apache-2.0

// A program at rest whose goroutines wait in C, in Go called by C's own
// threads, and in both by turns. Each has a function of its own and holds a
// known number of objects that nobody else holds.
package main

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

void enterGo(int);

static int waiting;

static void waitInC(void)
{
	__sync_fetch_and_add(&waiting, 1);
	for (;;)
		pause();
}

static int countWaiting(void)
{
	return __sync_fetch_and_add(&waiting, 0);
}

static void callGo(int what)
{
	enterGo(what);
}

static void *threadMain(void *what)
{
	enterGo((int)(intptr_t)what);
	waitInC();
	return NULL;
}

static int startThread(int what)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, threadMain, (void *)(intptr_t)what);
}
*/
import "C"

import (
	"sync"
	"time"
	"unsafe"
)

const (
	inThread = iota
	inThreadAndC
	inThreadAndBack
	inNested
)

var (
	cGlobal  *Leaf
	cNever   = make(chan int)
	cEntered sync.WaitGroup
	cSink    uint64
)

//go:noinline
func use(leaves []*Leaf) {
	for _, l := range leaves {
		cSink += l.A
	}
}

// A goroutine that waits in C.
func holdInC() {
	leaves := newLeaves(10)
	where("holdInC", unsafe.Pointer(leaves[9]))
	C.waitInC()
	use(leaves)
}

// Go, C, Go, C: two pieces of one stack.
func holdOuter() {
	leaves := newLeaves(11)
	C.callGo(inNested)
	use(leaves)
}

func holdInner() {
	leaves := newLeaves(12)
	C.waitInC()
	use(leaves)
}

// A thread of C's that waits in Go.
func holdInThread() {
	leaves := newLeaves(13)
	where("holdInThread", unsafe.Pointer(leaves[9]))
	cEntered.Done()
	<-cNever
	use(leaves)
}

// A thread of C's in Go that waits in C.
func holdInThreadAndC() {
	leaves := newLeaves(14)
	C.waitInC()
	use(leaves)
}

func main() {
	reserve()
	cGlobal = newLeaf()
	known("cGlobal", 1, uint64(unsafe.Sizeof(*cGlobal)))
	cEntered.Add(2)
	go holdInC()
	go holdOuter()
	for what := inThread; what <= inThreadAndBack; what++ {
		if C.startThread(C.int(what)) != 0 {
			panic("no thread")
		}
	}
	cEntered.Wait()
	// Two goroutines, a thread in Go and C, a thread that has left Go.
	for C.countWaiting() < 4 {
		time.Sleep(time.Millisecond)
	}
	known("holdInC.", 11, 0)
	known("holdOuter.", 12, 0)
	known("holdInner.", 13, 0)
	known("holdInThread.", 14, 0)
	known("holdInThreadAndC.", 15, 0)
	tell()
	wait()
}
