// SPDX-License-Identifier: Apache-2.0

// A small program with memory of C in each way that malloc keeps it: arenas of
// two threads, free chunks in caches, fast bins and bins, mapped chunks, blocks
// that Go holds, that C holds, and that nothing holds. It then dumps core.
package main

/*
#cgo LDFLAGS: -lpthread
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

struct node {
	struct node *next, **others;
	void *data;
};

static struct node *chain;
static void *volatile lost;
static pthread_barrier_t built;

static void fill(int seed)
{
	void *free_later[400];

	for (int i = 0; i < 400; i++)
		free_later[i] = malloc(16 + (i * 37 + seed) % 3000);
	for (int i = 0; i < 400; i += 1 + i % 3)
		free(free_later[i]);
	for (int i = 0; i < 4; i++)
		lost = malloc(200000);
}

static void *run(void *unused)
{
	fill(7);
	pthread_barrier_wait(&built);
	pthread_barrier_wait(&built);
	return unused;
}

static void start(void)
{
	pthread_t thread;

#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 150000);
#endif
	pthread_barrier_init(&built, NULL, 2);
	pthread_create(&thread, NULL, run, NULL);
	pthread_barrier_wait(&built);
}

static struct node *make(void)
{
	struct node *node = calloc(1, sizeof(*node));

	node->others = calloc(5, sizeof(*node->others));
	node->data = malloc(640);
	return node;
}

static void keep(void)
{
	for (int i = 0; i < 30; i++) {
		struct node *node = make();

		node->next = chain;
		node->others[0] = chain;
		chain = node;
		make();
	}
}
*/
import "C"

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

type holder struct {
	node *C.struct_node
	name string
}

var holders []*holder

func main() {
	runtime.LockOSThread()
	C.start()
	C.fill(3)
	C.keep()
	for i := 0; i < 30; i++ {
		holders = append(holders, &holder{C.make(), "node"})
	}
	runtime.GC()
	runtime.GC()
	syscall.Kill(os.Getpid(), syscall.SIGABRT)
	time.Sleep(time.Minute)
	runtime.KeepAlive(holders)
}
