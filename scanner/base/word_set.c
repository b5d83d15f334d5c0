// SPDX-License-Identifier: Apache-2.0
#include "base/word_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/hash.h"

#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION GR_UTHASH_FUNCTION
#include <uthash.h>

enum {
	STRETCH_SHIFT = 26,
	STRETCH_PAGES = (1 << STRETCH_SHIFT) / GR_SET_PAGE_BYTES,
	STRETCH_WORDS = (1 << STRETCH_SHIFT) / 8,
};

struct gr_word_stretch {
	uint64_t number; /* address >> STRETCH_SHIFT */
	uint64_t *bits;	 /* STRETCH_WORDS bits */
	UT_hash_handle hh;
};

void gr_word_set_deinit(struct gr_word_set *set)
{
	struct gr_word_stretch *stretch, *next;

	HASH_ITER(hh, set->stretches, stretch, next) {
		HASH_DEL(set->stretches, stretch);
		free(stretch->bits);
		free(stretch);
	}
	memset(set, 0, sizeof(*set));
}

static struct gr_word_stretch *find(struct gr_word_set *set, uint64_t number)
{
	struct gr_word_stretch *stretch =
		__atomic_load_n(&set->last, __ATOMIC_RELAXED);

	if (stretch && stretch->number == number)
		return stretch;
	HASH_FIND(hh, set->stretches, &number, sizeof(number), stretch);
	if (stretch)
		__atomic_store_n(&set->last, stretch, __ATOMIC_RELAXED);
	return stretch;
}

static struct gr_word_stretch *make(struct gr_word_set *set, uint64_t number)
{
	struct gr_word_stretch *stretch = find(set, number);

	if (stretch)
		return stretch;
	stretch = calloc(1, sizeof(*stretch));
	if (!stretch)
		return NULL;
	stretch->number = number;
	stretch->bits = calloc(STRETCH_WORDS / 64, sizeof(*stretch->bits));
	if (stretch->bits)
		HASH_ADD(hh, set->stretches, number, sizeof(number), stretch);
	// Without memory, uthash leaves the entry out.
	if (!stretch->bits || !stretch->hh.tbl) {
		free(stretch->bits);
		free(stretch);
		return NULL;
	}
	set->last = stretch;
	return stretch;
}

/* The words [*first, *end) of a stretch that [addr, last] touches. */
static void words_in(uint64_t number, uint64_t addr, uint64_t last,
		     uint64_t *first, uint64_t *end)
{
	const uint64_t mask = (UINT64_C(1) << STRETCH_SHIFT) - 1;

	*first = addr >> STRETCH_SHIFT == number ? (addr & mask) / 8 : 0;
	*end = last >> STRETCH_SHIFT == number ? (last & mask) / 8 + 1 :
						 STRETCH_WORDS;
}

bool gr_word_set_add(struct gr_word_set *set, uint64_t addr, uint64_t bytes)
{
	uint64_t last = addr + bytes - 1, first, end;

	if (!bytes)
		return true;
	for (uint64_t n = addr >> STRETCH_SHIFT; n <= last >> STRETCH_SHIFT;
	     n++) {
		struct gr_word_stretch *stretch = make(set, n);

		if (!stretch)
			return false;
		words_in(n, addr, last, &first, &end);
		gr_bitmap_set_range(stretch->bits, first, end);
	}
	return true;
}

bool gr_word_set_has(struct gr_word_set *set, uint64_t addr, uint64_t bytes)
{
	uint64_t last = addr + bytes - 1, first, end;

	if (!bytes)
		return true;
	for (uint64_t n = addr >> STRETCH_SHIFT; n <= last >> STRETCH_SHIFT;
	     n++) {
		const struct gr_word_stretch *stretch = find(set, n);

		if (!stretch)
			return false;
		words_in(n, addr, last, &first, &end);
		if (gr_bitmap_count(stretch->bits, first, end) != end - first)
			return false;
	}
	return true;
}

static uint64_t *page_of(struct gr_word_stretch *stretch, uint64_t page)
{
	uint64_t in_stretch = page & ((UINT64_C(1) << STRETCH_SHIFT) - 1);

	return stretch->bits +
	       in_stretch / GR_SET_PAGE_BYTES * GR_SET_PAGE_BITMAP;
}

uint64_t *gr_word_set_page(struct gr_word_set *set, uint64_t page)
{
	struct gr_word_stretch *stretch = find(set, page >> STRETCH_SHIFT);

	return stretch ? page_of(stretch, page) : NULL;
}

uint64_t *gr_word_set_make_page(struct gr_word_set *set, uint64_t page)
{
	struct gr_word_stretch *stretch = make(set, page >> STRETCH_SHIFT);

	return stretch ? page_of(stretch, page) : NULL;
}

static int compare(const struct gr_word_stretch *a,
		   const struct gr_word_stretch *b)
{
	return a->number < b->number ? -1 : a->number > b->number;
}

void gr_word_set_sort(struct gr_word_set *set)
{
	HASH_SORT(set->stretches, compare);
}

static bool is_empty(const uint64_t *bits)
{
	uint64_t all = 0;

	for (int i = 0; i < GR_SET_PAGE_BITMAP; i++)
		all |= bits[i];
	return !all;
}

bool gr_word_set_next_page(const struct gr_word_set *set,
			   struct gr_word_set_pages *at, uint64_t *page,
			   const uint64_t **bits)
{
	if (!at->stretch && !at->page)
		at->stretch = set->stretches;
	while (at->stretch) {
		uint32_t i = at->page;

		if (i == STRETCH_PAGES) {
			at->stretch = at->stretch->hh.next;
			// Not 0: the end is no start.
			at->page = at->stretch ? 0 : 1;
			continue;
		}
		at->page++;
		*bits = at->stretch->bits + (size_t)i * GR_SET_PAGE_BITMAP;
		if (is_empty(*bits))
			continue;
		*page = (at->stretch->number << STRETCH_SHIFT) +
			(uint64_t)i * GR_SET_PAGE_BYTES;
		return true;
	}
	return false;
}
