// SPDX-License-Identifier: Apache-2.0

// Memory that grows on request: each word of its input names a kind of memory,
// of which the program then takes a known amount and touches all of it. It
// answers each word with a line of JSON: where that memory is and how much.
package main

/*
#cgo CFLAGS: -O1 -g
#cgo LDFLAGS: -lpthread
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	BSS_BYTES = 2 << 20,
	BLOCK_BYTES = 4000,
	NBLOCKS = 512,
	STACK_BYTES = 1 << 20,
};

static char table[BSS_BYTES];
static void *blocks[NBLOCKS]; // C keeps them
static void *volatile chunk;
static char *deepest;
static pthread_barrier_t touched;

static void *touch_table(void)
{
	memset(table, 1, sizeof(table));
	return table;
}

static void *take_blocks(void)
{
	for (int i = 0; i < NBLOCKS; i++)
		memset(blocks[i] = malloc(BLOCK_BYTES), 1, BLOCK_BYTES);
	return blocks[0];
}

// malloc maps it alone.
static void *take_chunk(size_t bytes)
{
	memset(chunk = malloc(bytes), 1, bytes);
	return chunk;
}

// Nobody keeps it.
static void lose_chunk(size_t bytes)
{
	volatile char *at = malloc(bytes);

	for (size_t i = 0; i < bytes; i++)
		at[i] = 1;
}

static void *take_mapping(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(at, 1, bytes);
	return at;
}

// The first page is not touched.
static void *take_guarded(size_t bytes)
{
	char *at = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(at + 4096, 1, bytes);
	return at;
}

static char *volatile pool; // C keeps it

static void *take_pool(size_t bytes)
{
	return pool = take_mapping(bytes);
}

// A word of a file keeps it, too, at an address before those of the executable.
static void *take_paged(const char *path, size_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	void **word = (void **)0x200000;

	if (fd < 0 || ftruncate(fd, 4096) ||
	    mmap(word, 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) != word)
		return NULL;
	close(fd);
	return *word = take_pool(bytes);
}

static void *take_file(const char *path, size_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	volatile char *at;

	if (ftruncate(fd, bytes))
		abort();
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (size_t i = 0; i < bytes; i += 4096)
		at[i] = 1;
	return (void *)at;
}

static void *run(void *unused)
{
	char room[STACK_BYTES];

	memset(room, 1, sizeof(room));
	deepest = room;
	pthread_barrier_wait(&touched);
	for (;;)
		pause();
	return unused;
}

static void *take_stack(void)
{
	pthread_t thread;

	pthread_barrier_init(&touched, NULL, 2);
	if (pthread_create(&thread, NULL, run, NULL))
		abort();
	pthread_barrier_wait(&touched);
	return deepest;
}
*/
import "C"

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"unsafe"
)

const (
	objects     = 1000
	objectBytes = 4096
	mapBytes    = 3 << 20
	goroutines  = 100
)

type taken struct {
	Start string `json:"start"`
	Bytes int    `json:"bytes"`
}

var (
	kept   = make([][]byte, 0, 2*objects) // it does not grow
	silent = make(chan int)
	buffer unsafe.Pointer
	// A pointer to a page that is not touched.
	guarded unsafe.Pointer
)

//go:linkname getLabels runtime/pprof.runtime_getProfLabel
func getLabels() unsafe.Pointer

func at(start unsafe.Pointer, bytes int) taken {
	return taken{fmt.Sprintf("%#x", uintptr(start)), bytes}
}

func takeObjects() taken {
	for i := 0; i < objects; i++ {
		object := make([]byte, objectBytes)
		for j := range object {
			object[j] = 1
		}
		kept = append(kept, object)
	}
	return at(unsafe.Pointer(&kept[len(kept)-1][0]), objects*objectBytes)
}

func takeLarge() taken {
	object := make([]byte, mapBytes)
	for i := range object {
		object[i] = 1
	}
	kept = append(kept, object)
	return at(unsafe.Pointer(&object[0]), mapBytes)
}

//go:noinline
func deep(n int, started *sync.WaitGroup) int {
	var room [128]byte
	room[n%128] = 1
	if n == 0 {
		started.Done()
		<-silent
	} else {
		room[0] += byte(deep(n-1, started))
	}
	return int(room[0])
}

func growStacks() taken {
	var started sync.WaitGroup
	started.Add(goroutines)
	for i := 0; i < goroutines; i++ {
		go deep(100, &started)
	}
	started.Wait()
	return taken{}
}

func label() (labels taken) {
	set := pprof.Labels("tenant", "acme", "route", "/v1/pay")
	pprof.Do(context.Background(), set, func(context.Context) {
		labels = at(getLabels(), 0)
		go func(context.Context) { <-silent }(context.Background())
	})
	return labels
}

type call struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
}

// The compiler makes this part of calls(), as it does with middle().
func innermost(pcs []uintptr) int { return runtime.Callers(1, pcs) }

func middle(pcs []uintptr) int {
	return innermost(pcs)
}

// The pc of a call, and what the runtime says of it.
//
//go:noinline
func calls() any {
	pcs := make([]uintptr, 8)
	frames := runtime.CallersFrames(pcs[:middle(pcs)])
	var found []call
	for more := true; more && len(found) < 3; {
		var frame runtime.Frame
		frame, more = frames.Next()
		found = append(found, call{frame.Function, frame.File, frame.Line})
	}
	return map[string]any{"pc": pcs[0] - 1, "calls": found}
}

func take(kind string) any {
	switch kind {
	case "objects":
		return takeObjects()
	case "large":
		return takeLarge()
	case "goroutines":
		return growStacks()
	case "calls":
		return calls()
	case "labels":
		return label()
	case "blocks":
		return at(C.take_blocks(), C.NBLOCKS*C.BLOCK_BYTES)
	case "chunk":
		return at(C.take_chunk(mapBytes), mapBytes)
	case "lost":
		C.lose_chunk(mapBytes)
		return taken{}
	case "mapping":
		return at(C.take_mapping(mapBytes), mapBytes)
	case "pool":
		return at(C.take_pool(mapBytes), mapBytes)
	case "buffer":
		buffer = C.take_mapping(mapBytes)
		return at(buffer, mapBytes)
	case "guarded":
		guarded = C.take_guarded(mapBytes)
		return at(unsafe.Add(guarded, 4096), mapBytes)
	case "paged":
		return at(C.take_paged(C.CString("paged"), mapBytes), mapBytes)
	case "file":
		return at(C.take_file(C.CString("mapped"), mapBytes), mapBytes)
	case "stack":
		return at(C.take_stack(), C.STACK_BYTES)
	case "bss":
		return at(C.touch_table(), C.BSS_BYTES)
	}
	panic(kind)
}

func main() {
	forbidHugePages()
	debug.SetGCPercent(-1) // nothing is freed beside what grows
	runtime.LockOSThread() // blocks come from the main heap of C
	fmt.Println(`{"held": {}, "places": {}}`)
	words := bufio.NewScanner(os.Stdin)
	for words.Scan() {
		json.NewEncoder(os.Stdout).Encode(take(words.Text()))
	}
}
