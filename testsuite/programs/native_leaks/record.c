// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "record.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_RECORDS = 8192,
	MOST_NAMES = 32,
	LONGEST_NAME = 32,
	FAR = 64 << 10,
	IS_MMAPPED = 2,
};

// The functions of glibc, also if another malloc() is loaded before it, and those
// of a jemalloc that is linked beside glibc.
static void *(*libc_malloc)(size_t size);
static void (*libc_free)(void *block);
extern void *je_malloc(size_t size) __attribute__((weak));
extern void je_free(void *block) __attribute__((weak));
extern size_t je_malloc_usable_size(void *block) __attribute__((weak));

static struct record records[MOST_RECORDS];
static long count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum mode mode;
static unsigned int taken;

enum mode choose_mode(const char *name)
{
	mode = !strcmp(name, "other") ? OTHER :
	       !strcmp(name, "both")  ? BOTH :
					GLIBC;
	if (mode == BOTH && !je_malloc) {
		void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

		if (!libc)
			abort();
		libc_malloc = dlsym(libc, "malloc");
		libc_free = dlsym(libc, "free");
	}
	return mode;
}

int malloc_is_glibc(void)
{
	return mode == GLIBC || (mode == BOTH && je_malloc);
}

static size_t usable_size(void *block, int is_glibc)
{
	size_t head;

	if (!is_glibc)
		return mode == BOTH && je_malloc ?
			       je_malloc_usable_size(block) :
			       malloc_usable_size(block);
	head = ((size_t *)block)[-1];
	return (head & ~(size_t)7) - (head & IS_MMAPPED ? 16 : 8);
}

static void record_as(enum fate fate, const char *kind, void *block,
		      int is_glibc)
{
	size_t bytes = usable_size(block, is_glibc);

	if (is_glibc)
		bytes += ((size_t *)block)[-1] & IS_MMAPPED ? 16 : 8;
	pthread_mutex_lock(&lock);
	if (count == MOST_RECORDS)
		abort();
	records[count++] = (struct record){
		fate, kind, ~(uintptr_t)block, bytes, is_glibc,
	};
	pthread_mutex_unlock(&lock);
}

void record(enum fate fate, const char *kind, void *block)
{
	record_as(fate, kind, block, malloc_is_glibc());
}

// The allocator that is not malloc()'s, of two.
static void *take_beside(size_t size)
{
	return je_malloc ? je_malloc(size) : libc_malloc(size);
}

void *take(enum fate fate, const char *kind, size_t size)
{
	int is_beside = mode == BOTH &&
			__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED) % 2;
	int is_glibc = is_beside ? !malloc_is_glibc() : malloc_is_glibc();
	void *block = is_beside ? take_beside(size) : malloc(size);

	if (!block)
		abort();
	// Words of a block that was here before would hold what they name.
	memset(block, 0x11, usable_size(block, is_glibc));
	record_as(fate, kind, block, is_glibc);
	return block;
}

void give_back(void *block)
{
	long i = count;

	while (i-- && records[i].hidden != ~(uintptr_t)block)
		;
	if (i < 0)
		abort();
	if (records[i].is_glibc == malloc_is_glibc())
		free(block);
	else if (records[i].is_glibc)
		libc_free(block);
	else
		je_free(block);
}

const char *kept_name(const char *name, size_t length)
{
	static char names[MOST_NAMES][LONGEST_NAME];

	if (length >= LONGEST_NAME)
		abort();
	for (int i = 0; i < MOST_NAMES; i++) {
		if (!names[i][0])
			memcpy(names[i], name, length);
		if (strlen(names[i]) == length &&
		    !memcmp(names[i], name, length))
			return names[i];
	}
	abort();
}

long record_count(void)
{
	return count;
}

struct record record_at(long i)
{
	return records[i];
}

// malloc() may leave the address of a block in a register that it need not
// restore.
static void clear_scratch_registers(void)
{
#ifdef __x86_64__
	asm volatile("xorl %%eax, %%eax\n\t"
		     "xorl %%ecx, %%ecx\n\t"
		     "xorl %%edx, %%edx\n\t"
		     "xorl %%esi, %%esi\n\t"
		     "xorl %%edi, %%edi\n\t"
		     "xorl %%r8d, %%r8d\n\t"
		     "xorl %%r9d, %%r9d\n\t"
		     "xorl %%r10d, %%r10d\n\t"
		     "xorl %%r11d, %%r11d"
		     :
		     :
		     : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
		       "r11");
#endif
}

__attribute__((noinline)) void far_below(void (*call)(void))
{
	volatile char distance[FAR];

	distance[0] = 0;
	call();
	distance[FAR - 1] = 0;
	clear_scratch_registers();
}

static struct {
	const char *kind;
	size_t size;
	uintptr_t hidden;
} wanted;

static void take_wanted(void)
{
	wanted.hidden = ~(uintptr_t)take(HELD, wanted.kind, wanted.size);
}

static void overwrite_stack(void)
{
	volatile char area[FAR];

	for (int i = 0; i < FAR; i++)
		area[i] = 0;
}

uintptr_t take_hidden(const char *kind, size_t size)
{
	wanted.kind = kind;
	wanted.size = size;
	far_below(take_wanted);
	far_below(overwrite_stack);
	return wanted.hidden;
}
