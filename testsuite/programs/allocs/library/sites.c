// SPDX-License-Identifier: Apache-2.0
/*
 * A library with one function for each way to allocate. Tests build it twice:
 * with and without frame pointers. -DPREFIX is the beginning of the names of
 * its functions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(name) JOIN(PREFIX, name)
#define EXPORT __attribute__((visibility("default")))
#define APART __attribute__((noinline, noclone, noipa))

enum { DEPTH = 3, ALIGNMENT = 64, FIRST = 24 };

/* Functions that the allocator or libstdc++ may define. A function that takes
 * fewer arguments ignores the second one. */
enum { PLAIN, ARRAY, NOTHROW, ALIGNED, OWN, WAYS };

typedef void *take_function(size_t bytes, uintptr_t second);
typedef void give_function(void *block, uintptr_t second);

static struct {
	take_function *take;
	give_function *give;
} ways[WAYS];

static const struct {
	int way;
	const char *take, *give;
} names[] = {
	{ PLAIN, "_Znwm", "_ZdlPvm" },
	{ ARRAY, "_Znam", "_ZdaPv" },
	{ NOTHROW, "_ZnwmRKSt9nothrow_t", "_ZdlPv" },
	{ ALIGNED, "_ZnwmSt11align_val_t", "_ZdlPvSt11align_val_t" },
	{ OWN, "malloc", "free" },
	{ OWN, "mallocx", "dallocx" },
	{ OWN, "tc_malloc", "tc_free" },
	{ OWN, "mi_malloc", "mi_free" },
};

static __attribute__((constructor)) void find_functions(void)
{
	void *take, *give;

	if (!dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL))
		abort();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		take = dlsym(RTLD_DEFAULT, names[i].take);
		give = dlsym(RTLD_DEFAULT, names[i].give);
		if (!take || !give)
			continue;
		ways[names[i].way].take = (take_function *)take;
		ways[names[i].way].give = (give_function *)give;
	}
}

/* The second argument of a way. mallocx() has flags: none. */
static uintptr_t second(int way, size_t bytes)
{
	if (way == PLAIN)
		return bytes;
	if (way == NOTHROW)
		return (uintptr_t)dlsym(RTLD_DEFAULT, "_ZSt7nothrow");
	return way == ALIGNED ? ALIGNMENT : 0;
}

static void *or_abort(void *block)
{
	if (!block || block == MAP_FAILED)
		abort();
	return block;
}

/* No words of former blocks stay in a block: they could look like pointers. The
 * asm keeps the call above from being the last thing a function does. */
#define SITE(name, call)                            \
	static APART void *NAME(name)(size_t bytes) \
	{                                           \
		void *block = or_abort(call);       \
                                                    \
		memset(block, 1, bytes);            \
		__asm__ volatile("" : "+r"(block)); \
		return block;                       \
	}

static void *posix(size_t bytes)
{
	void *block = NULL;

	return posix_memalign(&block, ALIGNMENT, bytes) ? NULL : block;
}

static inline void *grow(size_t bytes)
{
	void *block = or_abort(malloc(FIRST));

	for (size_t size = 2 * FIRST; size < bytes; size *= 2)
		block = or_abort(realloc(block, size));
	return realloc(block, bytes);
}

static void *map(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

SITE(leak_a, malloc(bytes))
SITE(leak_b, malloc(bytes))
SITE(held, malloc(bytes))
SITE(grown, grow(bytes))
SITE(zeroed, calloc(1, bytes))
SITE(aligned, aligned_alloc(ALIGNMENT, bytes))
SITE(posix_aligned, posix(bytes))
SITE(memaligned, memalign(ALIGNMENT, bytes))
SITE(array, reallocarray(NULL, 1, bytes))
SITE(valloced, valloc(bytes))
SITE(newed, ways[PLAIN].take(bytes, 0))
SITE(new_array, ways[ARRAY].take(bytes, 0))
SITE(new_nothrow, ways[NOTHROW].take(bytes, second(NOTHROW, bytes)))
SITE(new_aligned, ways[ALIGNED].take(bytes, ALIGNMENT))
SITE(own, ways[OWN].take(bytes, 0))
SITE(mapped, map(bytes))

static void *(*const sites[])(size_t) = {
	NAME(leak_a),	     NAME(leak_b),	NAME(held),
	NAME(grown),	     NAME(zeroed),	NAME(aligned),
	NAME(posix_aligned), NAME(memaligned),	NAME(array),
	NAME(valloced),	     NAME(newed),	NAME(new_array),
	NAME(new_nothrow),   NAME(new_aligned), NAME(own),
	NAME(mapped),
};
enum { NEWED = 10, MAPPED = NEWED + WAYS };

static APART void *NAME(deep)(int site, size_t bytes, int depth)
{
	volatile char local[48];
	void *block;

	memset((char *)local, depth, sizeof(local));
	block = depth ? NAME(deep)(site, bytes, depth - 1) : sites[site](bytes);
	local[0]++;
	return block;
}

/* A block of a site, by a chain of calls. */
EXPORT APART void *NAME(make)(int site, size_t bytes)
{
	void *block = NAME(deep)(site, bytes, DEPTH);

	__asm__ volatile("" : "+r"(block));
	return block;
}

EXPORT APART void NAME(drop)(int site, void *block, size_t bytes)
{
	if (site >= NEWED && site < NEWED + WAYS)
		ways[site - NEWED].give(block, second(site - NEWED, bytes));
	else if (site == MAPPED)
		munmap(block, bytes);
	else
		free(block);
	__asm__ volatile("");
}

/* A block that lives for a moment. */
EXPORT APART void NAME(churn)(size_t bytes)
{
	volatile char *block = or_abort(malloc(bytes));

	*block = 1;
	free((char *)block);
	__asm__ volatile("");
}
