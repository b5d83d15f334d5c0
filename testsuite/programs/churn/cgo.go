// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

void enterGo(int);

static void napInC(int microseconds)
{
	usleep(microseconds);
}

static void spinInC(int n)
{
	for (volatile int i = 0; i < n; i++)
		continue;
}

static void callGo(int seed)
{
	enterGo(seed);
}

static void *threadMain(void *seed)
{
	for (int i = (int)(intptr_t)seed;; i += 7) {
		enterGo(i);
		usleep(200);
	}
	return NULL;
}

static void startThread(int seed)
{
	pthread_t thread;

	pthread_create(&thread, NULL, threadMain, (void *)(intptr_t)seed);
}
*/
import "C"

// enterGo is called by C, in C's own threads and below goroutines; there it
// moves the stack that the frames of its callers are on, too.
//
//export enterGo
func enterGo(seed C.int) {
	r := rng(uint64(seed)*2654435761 + 88172645463325252)
	t := newTree(&r, 4)
	walk(t, r.next(1000), nil)
	kTrees[4].Store(t)
}

// viaC holds the token in a frame of Go's below C.
func viaC(r *rng, t *Token) *Token {
	inC(r)
	return t
}

func inC(r *rng) {
	switch r.next(3) {
	case 0:
		C.napInC(C.int(r.next(500)))
	case 1:
		C.spinInC(C.int(r.next(200000)))
	default:
		C.callGo(C.int(r.next(1 << 20)))
	}
}

func startC() {
	for i := 0; i < 3; i++ {
		C.startThread(C.int(i))
	}
}
