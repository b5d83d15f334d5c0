// SPDX-License-Identifier: Apache-2.0

// Memory of C: glibc's main heap, an arena of another thread, the stack of that
// thread, blocks that have mappings of their own, and memory that the program
// maps itself, each with known pages that were touched. The program prints how
// many and where, and then waits for the end of its input.
package main

/*
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	BLOCK = 65536, MAIN_BLOCKS = 48, ARENA_BLOCKS = 32, STACK_PAGES = 40,
	LARGE_BLOCKS = 8, OWN_BYTES = 3 << 20, // also between the blocks
};

static char *main_blocks[MAIN_BLOCKS], *arena_blocks[ARENA_BLOCKS];
static long large_bytes, own_bytes;
static char *stack_area;
static volatile int ready;

static void fill(char **blocks, int count)
{
	for (int i = 0; i < count; i++) {
		blocks[i] = malloc(BLOCK);
		memset(blocks[i], i + 1, BLOCK);
	}
}

static void *second(void *unused)
{
	volatile char area[STACK_PAGES * 4096];

	fill(arena_blocks, ARENA_BLOCKS);
	for (int i = 0; i < STACK_PAGES; i++)
		area[i * 4096] = 1;
	stack_area = (char *)area;
	ready = 1;
	for (;;)
		pause();
	return unused;
}

static void map_own(void)
{
	char *own = mmap(NULL, OWN_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(own, 1, OWN_BYTES);
	own_bytes += OWN_BYTES;
}

static void take_large_blocks(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	for (int i = 0; i < LARGE_BLOCKS; i++) {
		char *block = malloc((150 << 10) + i * 40000);

		// Its header is in its first page.
		large_bytes += malloc_usable_size(block) + 16;
		memset(block, i + 1, malloc_usable_size(block));
		if (i == LARGE_BLOCKS / 2)
			map_own();
	}
	map_own();
}

static void take_memory(void)
{
	pthread_t thread;

	// The kernel would make huge pages of it at any time (khugepaged).
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	take_large_blocks();
	// All others come from the heaps.
	mallopt(M_MMAP_THRESHOLD, 1 << 24);
	fill(main_blocks, MAIN_BLOCKS);
	pthread_create(&thread, NULL, second, NULL);
	while (!ready)
		usleep(1000);
}

// The main heap is the one that sbrk() moves the end of.
static int in_main_heap(void)
{
	char *end = sbrk(0);
	int count = 0;

	for (int i = 0; i < MAIN_BLOCKS; i++)
		count += main_blocks[i] < end &&
			 end - main_blocks[i] < 64 << 20;
	return count;
}

static unsigned long address(int what)
{
	return (unsigned long)(what == 0 ? main_blocks[0] :
			       what == 1 ? arena_blocks[0] : stack_area);
}

static long bytes_of(int what)
{
	return what == 0 ? large_bytes : own_bytes;
}
*/
import "C"

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
)

func init() {
	runtime.LockOSThread() // main() runs on the thread with the main heap
}

func main() {
	C.take_memory()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"main_bytes":  int(C.in_main_heap()) * C.BLOCK,
		"arena_bytes": C.ARENA_BLOCKS * C.BLOCK,
		"stack_bytes": C.STACK_PAGES * 4096,
		"large_bytes": int(C.bytes_of(0)),
		"own_bytes":   int(C.bytes_of(1)),
		"main":        fmt.Sprintf("%#x", uint64(C.address(0))),
		"arena":       fmt.Sprintf("%#x", uint64(C.address(1))),
		"stack":       fmt.Sprintf("%#x", uint64(C.address(2))),
	})
	io.Copy(io.Discard, os.Stdin)
}
