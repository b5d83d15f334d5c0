// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

/*
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void close_handle(void)
{
	for (;;)
		pause();
}

struct blocks {
	size_t size, *bytes;
	void **ret;
};

static void *fill_blocks(void *arg)
{
	struct blocks *b = arg;
	void **first = calloc(1, b->size), **second = calloc(1, 2 * b->size);

	if (!first || !second)
		abort();
	*first = second;
	*b->bytes = malloc_usable_size(first) + malloc_usable_size(second) + 16;
	*b->ret = first;
	return NULL;
}

// Two blocks, one behind the other; and the bytes of their chunks. An old word
// of a stack would hold a block, too, and so would a number that is the address
// of one. So a thread that then ends allocates them: its stack is gone, and its
// arena is far above the numbers that a program has.
static void make_blocks(size_t size, void **ret, size_t *bytes)
{
	struct blocks b = { size, bytes, ret };
	pthread_t thread;

	if (pthread_create(&thread, NULL, fill_blocks, &b) ||
	    pthread_join(thread, NULL))
		abort();
}
*/
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Conn has memory of Go and of C.
type Conn struct {
	next  *Conn
	data  *[1024]uint64
	block unsafe.Pointer
}

const blockBytes = 1000

// It is behind each Conn in the queue, and alive.
var common *Conn

func newConn() *Conn {
	var bytes C.size_t
	conn := &Conn{data: new([1024]uint64)}
	C.make_blocks(blockBytes, &conn.block, &bytes)
	cBytes = int(bytes)
	return conn
}

func queueConns() {
	common = newConn()
	aside(func() {
		for i := 0; i < handles; i++ {
			conn := newConn()
			conn.next = common
			runtime.SetFinalizer(conn, func(conn *Conn) {
				atomic.AddInt32(&entered, 1)
				mutex.Lock()
				mutex.Unlock()
				runtime.KeepAlive(conn)
			})
		}
	})
	runtime.GC()
	waitEntered()
}

// ringConns leaves rings of two with finalizers, which never run.
func ringConns() {
	aside(func() {
		for i := 0; i < rings; i++ {
			conn := newConn()
			conn.next = newConn()
			conn.next.next = conn
			runtime.SetFinalizer(conn, func(*Conn) {})
		}
	})
	runtime.GC()
}

func poolConns() {
	aside(func() {
		for i := 0; i < buffers; i++ {
			conns.Put(newConn())
		}
	})
}

var conns sync.Pool

// Releases that have cleanups set it.
var cleanConns func()

func more(what string) {
	switch what {
	case "c":
		queueFinalizers(func(h *Handle) {
			atomic.AddInt32(&entered, 1)
			C.close_handle()
			runtime.KeepAlive(h)
		})
	case "c-blocks":
		queueConns()
	case "c-rings":
		ringConns()
	case "c-cleanups":
		cleanConns()
	case "c-pool":
		poolConns()
	default:
		if !cleanups(what) {
			panic(what)
		}
	}
}
