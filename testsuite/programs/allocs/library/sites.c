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

/* The operators of C++, which the allocator or libstdc++ defines. */
static void *(*operator_new)(size_t bytes);
static void (*operator_delete)(void *block);

static __attribute__((constructor)) void find_operators(void)
{
	if (!dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL))
		return;
	operator_new = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znwm");
	operator_delete = (void (*)(void *))dlsym(RTLD_DEFAULT, "_ZdlPv");
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
SITE(newed, operator_new(bytes))
SITE(mapped, map(bytes))

static void *(*const sites[])(size_t) = {
	NAME(leak_a), NAME(leak_b),  NAME(held),	  NAME(grown),
	NAME(zeroed), NAME(aligned), NAME(posix_aligned), NAME(memaligned),
	NAME(array),  NAME(newed),   NAME(mapped),
};
enum { NEWED = 9, MAPPED };

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
	if (site == NEWED)
		operator_delete(block);
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
