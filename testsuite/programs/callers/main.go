// SPDX-License-Identifier: Apache-2.0
// Callers: threads whose callers are known at every moment.
//
// One goroutine waits in C that it called. Another one waits in C that Go called
// in a callback from C. Others work all the time: in C without frame pointers, in
// Go, and in the allocator, which goes to the system stack. The functions of each
// are those of its chain, outermost first.
package main

/*
#cgo CFLAGS: -O2 -fomit-frame-pointer
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void callersBack(int);
static volatile int sink;
static int waiting;

__attribute__((noinline)) static void c_wait(void) {
	char wide[256];
	memset(wide, 1, sizeof(wide));
	sink += wide[sink & 1];
	__atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}
__attribute__((noinline)) static void c_outer(void) { c_wait(); sink++; }

__attribute__((noinline)) static void c_call_back(int kind) {
	char room[300];
	memset(room, kind, sizeof(room));
	callersBack(kind);
	sink += room[kind];
}

static int c_waiting(void) { return __atomic_load_n(&waiting, __ATOMIC_SEQ_CST); }

static int c_compare(const void *a, const void *b) {
	sink++;
	return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static void c_work(void) {
	int numbers[512];
	for (int i = 0; i < 512; i++)
		numbers[i] = (i * 37) % 512;
	qsort(numbers, 512, sizeof(int), c_compare);
	char *p = malloc(1 << 20);
	memset(p, 1, 1 << 20);
	sink += p[5];
	free(p);
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
)

var keep [][]byte

//export callersBack
func callersBack(kind C.int) {
	if kind == 1 {
		C.c_outer()
	}
	total := 0
	for i := 0; i < 20000; i++ {
		total += i % (i + 3)
	}
	if total == 7 {
		println(total)
	}
}

//go:noinline
func deep(depth int, leaf func()) {
	if depth > 0 {
		deep(depth-1, leaf)
		depth++
	} else {
		leaf()
	}
	if depth == -5 {
		println(depth)
	}
}

func waitInC()        { C.c_outer() }
func waitInCallback() { C.c_call_back(1) }

func workInC() {
	for {
		C.c_work()
	}
}

func workInCallback() {
	for {
		C.c_call_back(2)
	}
}

func workInAllocator() {
	for {
		keep = nil
		for i := 0; i < 100; i++ {
			keep = append(keep, make([]byte, 100000+i))
		}
	}
}

//go:noinline
func grows(n int) int {
	var room [128]int
	if n == 0 {
		return 0
	}
	room[n%128] = grows(n - 1)
	return room[n%128] + n
}

func workInStack() {
	for {
		done := make(chan int)
		go func() { done <- grows(200) }()
		<-done
	}
}

// A goroutine that ends with its thread locked takes the thread with it.
func workInThreads() {
	for {
		done := make(chan int)
		go func() {
			runtime.LockOSThread()
			close(done)
		}()
		<-done
	}
}

func start(leaf func()) { go deep(10, leaf) }

func main() {
	start(waitInC)
	start(waitInCallback)
	for C.c_waiting() < 2 {
		runtime.Gosched()
	}
	start(workInC)
	start(workInCallback)
	start(workInAllocator)
	start(workInStack)
	start(workInThreads)
	fmt.Println("{}")
	var b [1]byte
	os.Stdin.Read(b[:])
}
