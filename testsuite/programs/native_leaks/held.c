// SPDX-License-Identifier: Apache-2.0

// Blocks that C code holds in each kind of place.
#define _GNU_SOURCE
#include "plant.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record.h"
#include "threads.h"

enum {
	GLOBAL_BLOCKS = 150,
	LIST_BLOCKS = 80,
	ODD_BLOCKS = 10,
	KEPT_WORDS = 8,
	PAGES = 3 << 12, // of a mapping
	INSIDE = 40,
	TO_THE_END = 280,
};

struct node {
	struct node *next;
	char rest[56];
};

// They are volatile, or the compiler would leave out those that nobody reads.
static void *volatile global_blocks[GLOBAL_BLOCKS];
static void *volatile odd_blocks[ODD_BLOCKS];
static volatile uintptr_t *volatile kept_words[KEPT_WORDS];
static char *volatile inside, *volatile end;
static struct node *volatile list;
static void *volatile *own_mapping, *volatile *shared_mapping;
static __thread void *volatile of_thread;
static pthread_key_t key;
static int waiting;

static void hold_by_variables(void)
{
	for (int i = 0; i < GLOBAL_BLOCKS; i++)
		global_blocks[i] = take(HELD, "globals", 24 + i % 9 * 56);
	for (int i = 0; i < ODD_BLOCKS; i++)
		odd_blocks[i] = take(HELD, "640", 640);
	for (int i = 0; i < LIST_BLOCKS; i++) {
		struct node *node = take(HELD, "list", sizeof(*node));

		node->next = list;
		list = node;
	}
	inside = (char *)take(HELD, "interior", 200) + INSIDE;
	// Malloc gives no byte more: the next header begins there.
	end = (char *)take(HELD, "end", TO_THE_END) + TO_THE_END;
}

static void *map(int how)
{
	void *area = mmap(NULL, PAGES, PROT_READ | PROT_WRITE,
			  how | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		abort();
	return area;
}

static void hold_by_mappings(void)
{
	own_mapping = map(MAP_PRIVATE);
	own_mapping[1000] = take(HELD, "mapping", 104);
	shared_mapping = map(MAP_SHARED);
	shared_mapping[1001] = take(HELD, "shared", 120);
}

static void hold_by_library(const char *path)
{
	void *library = *path ? dlopen(path, RTLD_NOW) : NULL;
	void **variable = library ? dlsym(library, "held_by_library") : NULL;

	if (variable)
		*variable = take(HELD, "library", 136);
}

static void stay_with_variable(void)
{
	of_thread = take(HELD, "tls", 152);
	thread_ready();
	for (;;)
		pause();
}

static void stay_with_key(void)
{
	pthread_setspecific(key, take(HELD, "key", 168));
	thread_ready();
	for (;;)
		pause();
}

static void stay_with_frame(void)
{
	void *volatile block = take(HELD, "frame", 184);

	thread_ready();
	while (block)
		pause();
}

#ifdef __x86_64__
// Functions that have returned leave words below the stack pointer.
static inline void clear_red_zone(void)
{
	long count = 128 / 8, zero = 0;
	void *at;

	asm volatile("lea -128(%%rsp), %0\n\trep stosq"
		     : "=&D"(at), "+c"(count)
		     : "a"(zero)
		     : "memory");
}
#endif

// The kernel keeps all registers but those that the instruction changes.
static void pause_with(void *block)
{
#ifdef __x86_64__
	register void *kept asm("r12") = block;

	clear_red_zone();
	for (;;) {
		long call = 34; // pause()

		asm volatile("syscall"
			     : "+a"(call), "+r"(kept)
			     :
			     : "rcx", "r11", "memory");
	}
#else
	void *volatile kept = block;

	while (kept)
		pause();
#endif
}

static void stay_with_register(void)
{
	void *block = take(HELD, "register", 200);

	thread_ready();
	pause_with(block);
}

void hold_blocks(const char *library)
{
	hold_by_variables();
	hold_by_mappings();
	hold_by_library(library);
	of_thread = take(HELD, "main tls", 152);
	if (pthread_key_create(&key, NULL))
		abort();
	thread_stays(stay_with_variable);
	thread_stays(stay_with_key);
	thread_stays(stay_with_frame);
	thread_stays(stay_with_register);
}

void keep_word(const char *kind, uintptr_t word)
{
	static int count;

	kept_words[count] = take(HELD, kind, 64);
	kept_words[count][2] = word;
	count++;
}

void wait_with_frame(void)
{
	void *volatile block = take(HELD, "frame of caller", 216);

	__atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
	while (block)
		pause();
}

void wait_with_register(void)
{
	void *block = take(HELD, "register of caller", 232);

	__atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
	pause_with(block);
}

int waiting_callers(void)
{
	return __atomic_load_n(&waiting, __ATOMIC_SEQ_CST);
}
