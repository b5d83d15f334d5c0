// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks in caches of threads. Each arena has a ring of the caches of its
 * threads, and of those that a program has made. A cache has a stack for each
 * size class. The stacks lie in a block that the allocator has taken from itself.
 * That block is no block of the program, and no root: old slots keep addresses of
 * blocks that the program has got since then.
 *
 * Without statistics the rings are empty. After fork() those of the child have
 * its only thread; what the others had in their caches belongs to nobody. Both
 * times the caches themselves are looked for, in variables of threads.
 */
#include "native/allocators/jemalloc.h"

#include "base/bitmap.h"
#include "base/chain.h"
#include "base/cleanup.h"
#include "base/sort.h"

enum {
	MAX_CACHES = 1 << 20,
	STACK_MOST_BYTES = 1 << 16,
	FAR_BYTES = 4096, /* from a cache to its slow part, at most */
	BIN_BYTES = 24,	  /* cache_bin_t */
	/* 5.3: tcache_t begins with the address of its slow part. */
	FAST_BINS = 8,
	DESCRIPTOR_PREVIOUS = 8,
	/* 5.2: tcache_t */
	SMALL_BINS = 16,
	LARGE_BINS = 1000,
	MOST_TRIED_WORDS = 1 << 22,
};
static const uint64_t first_mark = UINT64_C(0x7a7a7a7a7a7a7a7a);
static const char damaged[] = "the cache of a thread could not be read";

struct finder {
	struct gr_jemalloc *j;
	uint64_t *dropped;
	/** The smallest block with stacks; 0: there is none. */
	uint64_t least_own_bytes;
	/** Caches that the search passes, because rings have them. */
	size_t nsorted;
	uint64_t tried; /* words of stacks that the search has looked at */
	bool is_quiet;	/* look at a cache, but drop nothing */
	bool is_bad;	/* it is none */
};

static void fail(struct finder *f)
{
	f->is_bad = true;
	if (!f->is_quiet)
		gr_jemalloc_fail_all(f->j, damaged);
}

static bool read_word(struct finder *f, uint64_t at, uint64_t *ret)
{
	return gr_view_word(&f->j->r->view, at, ret);
}

static bool has_word(struct finder *f, uint64_t at, uint64_t value)
{
	return gr_view_has(&f->j->r->view, at, value);
}

/* Does a block of these bytes have the size class? */
static bool is_of_class(const struct finder *f, uint64_t bytes,
			unsigned int szind)
{
	if (f->j->layout->has_exact_large && szind >= GR_JE_NBINS)
		return bytes <= gr_jemalloc_class_bytes(szind) &&
		       bytes > gr_jemalloc_class_bytes(szind - 1);
	return bytes == gr_jemalloc_class_bytes(szind);
}

/* Drop the blocks whose addresses are in [at, at + 8 * count). */
static struct gr_error *drop_words(struct finder *f, unsigned int szind,
				   uint64_t at, uint64_t count)
{
	struct gr_jemalloc *j = f->j;
	struct gr_error *err = NULL;
	uint64_t addr;

	// Bounded by the stack, and by the blocks, each of which is dropped
	// once.
	for (uint64_t i = 0; !err && !f->is_bad && i < count; i++) {
		uint32_t block = GR_BLOCK_NONE;

		if (read_word(f, at + i * GR_WORD_BYTES, &addr))
			block = gr_blocks_find(&j->blocks, addr);
		if (block == GR_BLOCK_NONE ||
		    j->blocks.list.data[block].addr != addr ||
		    !is_of_class(f, gr_block_bytes(&j->blocks.list.data[block]),
				 szind) ||
		    gr_bitmap_test(f->dropped, block)) {
			fail(f);
		} else if (!f->is_quiet) {
			gr_bitmap_set(f->dropped, block);
			gr_reader_count_cached(j->r,
					       &j->blocks.list.data[block]);
		}
		if (f->is_quiet && f->tried++ >= MOST_TRIED_WORDS)
			fail(f);
		err = gr_runtime_step(j->r->spec->rt, 2);
	}
	return err;
}

/* Drop the block that has the stacks at @p at; base memory may have them. */
static struct gr_error *drop_own(struct finder *f, uint64_t at)
{
	struct gr_jemalloc *j = f->j;
	uint32_t block = gr_blocks_find(&j->blocks, at);

	if (block == GR_BLOCK_NONE && gr_jemalloc_in_base(j, 0, at, 8))
		return NULL;
	if (block == GR_BLOCK_NONE || gr_bitmap_test(f->dropped, block)) {
		fail(f);
		return NULL;
	}
	if (f->is_quiet)
		return NULL;
	const struct gr_block *b = &j->blocks.list.data[block];
	struct gr_native_arena *arena = &j->r->native->arenas.data[b->arena];
	uint64_t bytes = gr_block_bytes(b);

	gr_bitmap_set(f->dropped, block);
	arena->in_use_blocks--;
	arena->in_use_bytes -= bytes;
	j->arenas.data[b->arena - j->first_arena].own_bytes += bytes;
	if (!f->least_own_bytes || bytes < f->least_own_bytes)
		f->least_own_bytes = bytes;
	return gr_reader_add_other(j->r, b->arena, b->addr, b->addr + bytes);
}

// ----------------------------------------------------------------------- 5.3

/** A stack (cache_bin_t): it grows down from its end, to its head. */
struct stack {
	uint64_t head, end;
	uint64_t cached; /* words from its head on */
	uint64_t stashed; /* words from its start on: freed, but not given back */
	bool is_off;
};

/* Read stack number @p i of a cache, which begins at @p low. */
static bool read_stack(struct finder *f, uint64_t fast, unsigned int i,
		       uint64_t low, struct stack *ret)
{
	uint64_t at = fast + FAST_BINS + i * BIN_BYTES, bits;

	if (!read_word(f, at, &ret->head) || !read_word(f, at + 16, &bits))
		return false;
	uint16_t full = bits >> 16, empty = bits >> 32, most = bits >> 48;

	ret->cached = (uint16_t)(empty - ret->head) / GR_WORD_BYTES;
	ret->stashed = (uint16_t)(full - low) / GR_WORD_BYTES;
	ret->end = ret->head + ret->cached * GR_WORD_BYTES;
	ret->is_off = f->j->layout->cache_nbins && full == empty && !most;
	if (ret->is_off)
		return true;
	return ret->head % GR_WORD_BYTES == 0 &&
	       ret->head - low <= STACK_MOST_BYTES &&
	       ret->head - low >= ret->stashed * GR_WORD_BYTES &&
	       ret->end - low <= STACK_MOST_BYTES &&
	       (!f->j->layout->cache_nbins ||
		ret->end - low == most * UINT64_C(8));
}

/* Drop the blocks in all stacks, the first of which begins at @p low. */
static struct gr_error *drop_stacks(struct finder *f, uint64_t slow,
				    uint64_t fast, uint64_t low)
{
	const struct gr_jemalloc_layout *layout = f->j->layout;
	uint64_t nbins = GR_JE_NSIZES;
	struct gr_error *err = NULL;
	struct stack stack;

	if (layout->cache_nbins &&
	    !read_word(f, slow + layout->cache_nbins, &nbins))
		fail(f);
	nbins = (uint32_t)nbins;
	for (unsigned int i = 0; !err && !f->is_bad; i++) {
		bool is_end = layout->cache_nbins ?
				      i >= nbins :
				      has_word(f, low, layout->last_mark);

		if (is_end || i >= GR_JE_NSIZES)
			break;
		if (!read_stack(f, fast, i, low, &stack)) {
			fail(f);
			break;
		}
		if (stack.is_off)
			continue;
		err = drop_words(f, i, stack.head, stack.cached);
		if (!err)
			err = drop_words(f, i, low, stack.stashed);
		low = stack.end;
	}
	if (!err && !f->is_bad && !has_word(f, low, layout->last_mark))
		fail(f);
	return err;
}

/* Read a cache of 5.3 by its slow part. */
static struct gr_error *read_pair(struct finder *f, uint64_t slow)
{
	const struct gr_jemalloc_layout *layout = f->j->layout;
	uint64_t fast, stacks;

	if (!read_word(f, slow + layout->cache_fast, &fast) ||
	    !has_word(f, fast, slow) ||
	    !read_word(f, slow + layout->cache_stacks, &stacks) ||
	    !has_word(f, stacks, first_mark)) {
		fail(f);
		return NULL;
	}
	struct gr_error *err = drop_own(f, stacks);
	return err ? err : drop_stacks(f, slow, fast, stacks + GR_WORD_BYTES);
}

// ----------------------------------------------------------------------- 5.2

/* The address of bin @p i of a cache of 5.2. */
static uint64_t old_bin(uint64_t cache, unsigned int i)
{
	return i < GR_JE_NBINS ?
		       cache + SMALL_BINS + i * BIN_BYTES :
		       cache + LARGE_BINS + (i - GR_JE_NBINS) * BIN_BYTES;
}

/* Read a cache of 5.2. Its stacks lie one behind the other, and each ends where
 * its bin says; bins that are not set up end the cache. */
static struct gr_error *read_old(struct finder *f, uint64_t cache)
{
	struct gr_error *err = NULL;
	uint64_t start = 0, counts, end;

	for (unsigned int i = 0; !err && !f->is_bad && i < GR_JE_NSIZES; i++) {
		uint64_t at = old_bin(cache, i);

		if (!read_word(f, at, &counts) ||
		    !read_word(f, at + 16, &end)) {
			fail(f);
			break;
		}
		if (!end && i >= GR_JE_NBINS)
			break;
		if (!i) {
			uint32_t block = gr_blocks_find(&f->j->blocks,
							end - GR_WORD_BYTES);

			err = drop_own(f, end - GR_WORD_BYTES);
			if (!err && block != GR_BLOCK_NONE)
				start = f->j->blocks.list.data[block].addr;
		}
		uint64_t count = counts >> 32;
		int32_t low_water = (int32_t)counts;

		if (err || f->is_bad)
			break;
		if (end % GR_WORD_BYTES || end <= start || !start ||
		    (i && end - start > STACK_MOST_BYTES) ||
		    count > (end - start) / GR_WORD_BYTES || low_water < -1 ||
		    low_water > (int64_t)count) {
			fail(f);
			break;
		}
		err = drop_words(f, i, end - count * GR_WORD_BYTES, count);
		start = end;
	}
	return err;
}

// --------------------------------------------------------------------- rings

/* Read a cache: 5.3 names it by its slow part. */
static struct gr_error *read_cache(struct finder *f, uint64_t cache)
{
	struct gr_jemalloc *j = f->j;
	struct gr_error *err = j->layout->is_52 ? read_old(f, cache) :
						  read_pair(f, cache);

	if (!err && !f->is_quiet)
		err = gr_runtime_append(j->r->spec->rt, gr_addr_vector,
					&j->caches, cache);
	return err ? err : gr_runtime_step(j->r->spec->rt, 64);
}

/* Read the caches in the ring of an arena. */
static struct gr_error *read_ring(struct finder *f,
				  const struct gr_jemalloc_arena *arena)
{
	const struct gr_jemalloc_layout *layout = f->j->layout;
	struct gr_chain chain = { .limit = MAX_CACHES };
	struct gr_error *err = NULL;
	uint64_t first, at, next;

	if (!read_word(f, arena->addr + layout->arena_descriptors, &first)) {
		fail(f);
		return NULL;
	}
	for (at = first; !err && at && !f->is_bad; at = next) {
		uint64_t cache = at - layout->cache_descriptor;

		if (!gr_chain_step(&chain, at) ||
		    f->j->caches.size >= MAX_CACHES ||
		    !has_word(f, cache + layout->cache_arena, arena->addr) ||
		    !read_word(f, at, &next) ||
		    !has_word(f, next + DESCRIPTOR_PREVIOUS, at)) {
			fail(f);
			break;
		}
		err = read_cache(f, cache);
		if (next == first)
			break;
	}
	return err;
}

// -------------------------------------------------------------------- search

static int compare_addrs(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Was the cache read already? */
static bool is_read(const struct finder *f, uint64_t cache)
{
	const struct gr_addr_vector *list = &f->j->caches;
	size_t n = gr_count_before(f->nsorted, i, list->data[i] < cache);

	return n < f->nsorted && list->data[n] == cache;
}

static bool is_arena(const struct gr_jemalloc *j, uint64_t addr)
{
	// Arenas have no order by address; most words are not in base memory.
	size_t n =
		gr_count_before(j->bases.size, i, j->bases.data[i].end <= addr);

	if (n >= j->bases.size || j->bases.data[n].start > addr)
		return false;
	size_t arena = gr_jemalloc_arena_at(j, j->bases.data[n].arena);
	return j->arenas.data[arena].addr == addr;
}

/* May a cache have the word at @p at? *@p ret is then its address. */
static bool may_be_cache(struct finder *f, uint64_t at, uint64_t word,
			 uint64_t *ret)
{
	const struct gr_jemalloc_layout *layout = f->j->layout;
	uint64_t arena, stacks;

	if (layout->is_52) {
		*ret = at - layout->cache_arena;
		return word % 64 == 0 && is_arena(f->j, word);
	}
	*ret = word;
	return word - (at - FAR_BYTES) <= 2 * FAR_BYTES &&
	       word % GR_WORD_BYTES == 0 &&
	       has_word(f, word + layout->cache_fast, at) &&
	       read_word(f, word + layout->cache_arena, &arena) &&
	       is_arena(f->j, arena) &&
	       read_word(f, word + layout->cache_stacks, &stacks) &&
	       has_word(f, stacks, first_mark);
}

/* Read the cache that has the word at @p at, if it is one. */
static struct gr_error *look_at(struct finder *f, uint64_t at, uint64_t word)
{
	struct gr_view *view = &f->j->r->view;
	struct gr_error *err = NULL;
	uint64_t cache;

	if (!may_be_cache(f, at, word, &cache) || is_read(f, cache))
		return NULL;
	// Other words lead to arenas, too.
	f->is_quiet = f->j->layout->is_52;
	if (f->is_quiet)
		err = read_cache(f, cache);
	bool is_none = f->is_bad;
	if (f->is_quiet)
		f->is_bad = false;
	f->is_quiet = false;
	if (err || is_none)
		return err;
	view->is_recording = true;
	if (has_word(f, at, word) && may_be_cache(f, at, word, &cache))
		err = read_cache(f, cache);
	view->is_recording = false;
	return err;
}

static struct gr_error *search_range(struct finder *f, uint64_t start,
				     uint64_t end)
{
	struct gr_view *view = &f->j->r->view;
	struct gr_error *err = NULL;
	struct gr_range piece;

	for (; !err && !f->is_bad && gr_view_part(view, start, end, &piece);
	     start = piece.end) {
		uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

		for (uint64_t i = 0; !err && !f->is_bad && i < n; i++) {
			uint64_t word =
				gr_load_u64(piece.host + i * GR_WORD_BYTES);

			if (word)
				err = look_at(f,
					      piece.start + i * GR_WORD_BYTES,
					      word);
		}
		if (!err)
			err = gr_runtime_step(view->rt, n / 8 + 1);
	}
	return err;
}

/* Search [start, end) where jemalloc has no memory. */
static struct gr_error *search_outside(struct finder *f,
				       const struct gr_native_range_vector *own,
				       uint64_t start, uint64_t end)
{
	size_t i = gr_count_before(own->size, k, own->data[k].end <= start);
	struct gr_error *err = NULL;

	for (; !err && i < own->size && own->data[i].start < end; i++) {
		err = search_range(f, start, own->data[i].start);
		start = own->data[i].end;
		if (!err)
			err = gr_runtime_step(f->j->r->spec->rt, 1);
	}
	return err ? err : search_range(f, start, end);
}

/* Search a mapping outside of the heap of Go. */
static struct gr_error *search_mapping(struct finder *f,
				       const struct gr_native_range_vector *own,
				       const struct gr_mapping *m)
{
	struct gr_error *err = NULL;
	uint64_t stop, next;

	// Bounded by the arenas of Go.
	for (uint64_t at = m->start; !err && at < m->end; at = next) {
		gr_heap_arenas_before(f->j->r->spec->go_arenas, at, m->end,
				      &stop, &next);
		err = search_outside(f, own, at, stop);
		if (!err)
			err = gr_runtime_step(f->j->r->spec->rt, 1);
	}
	return err;
}

static void deinit_ranges(struct gr_native_range_vector *list)
{
	gr_native_range_vector_deinit(list);
}

/* Look for caches in variables of threads. */
static struct gr_error *search_memory(struct finder *f)
{
	_cleanup_(deinit_ranges) struct gr_native_range_vector own = { 0 };
	const struct gr_native_reader *r = f->j->r;
	const struct gr_mapping_vector *list =
		&r->spec->residency->mappings.list;
	struct gr_runtime *rt = r->spec->rt;
	struct gr_error *err = NULL;
	uint64_t end = 0;

	for (size_t i = f->j->first_memory; !err && i < r->native->memory.size;
	     i++)
		err = gr_runtime_append(rt, gr_native_range_vector, &own,
					r->native->memory.data[i]);
	if (!err)
		err = gr_native_sort_ranges(rt, &own);
	for (size_t i = 0; !err && i < list->size; i++) {
		struct gr_mapping m = list->data[i];

		if (gr_native_may_hold(&m) && gr_mapping_begin_at(&m, &end))
			err = search_mapping(f, &own, &m);
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	return err;
}

/* Look for caches that a program has made: in blocks of arena 0, behind their
 * stacks; in 5.2, before these. */
static struct gr_error *search_blocks(struct finder *f)
{
	struct gr_jemalloc *j = f->j;
	struct gr_error *err = NULL;
	uint64_t word;

	for (size_t i = 0; !err && !f->is_bad && i < j->blocks.list.size; i++) {
		const struct gr_block *b = &j->blocks.list.data[i];
		uint64_t at = b->addr + j->layout->cache_arena;

		err = gr_runtime_step(j->r->spec->rt, 1);
		if (err || b->arena != j->first_arena ||
		    gr_block_bytes(b) <= LARGE_BINS)
			continue;
		if (!j->layout->is_52 && has_word(f, b->addr, first_mark))
			err = search_range(f, b->addr,
					   b->addr + gr_block_bytes(b));
		else if (j->layout->is_52 && read_word(f, at, &word))
			err = look_at(f, at, word);
	}
	return err;
}

/* May there be caches that are in no ring? The allocator counts the bytes of
 * those blocks that it has taken from itself. */
static bool are_missing(struct finder *f)
{
	struct gr_jemalloc *j = f->j;
	uint64_t least = f->least_own_bytes ? f->least_own_bytes : 1, bytes;

	for (size_t i = 0; i < j->arenas.size; i++) {
		const struct gr_jemalloc_arena *arena = &j->arenas.data[i];

		if (read_word(f, arena->addr + j->layout->arena_internal,
			      &bytes) &&
		    bytes > arena->own_bytes &&
		    bytes - arena->own_bytes >= least)
			return true;
	}
	return !j->has_stats;
}

/* Drop the blocks in caches, and those that have the caches. */
static struct gr_error *find_cached(struct gr_jemalloc *j, uint64_t *dropped)
{
	struct finder f = { .j = j, .dropped = dropped };
	struct gr_runtime *rt = j->r->spec->rt;
	struct gr_error *err = NULL;

	j->r->view.is_recording = true;
	for (size_t i = 0; !err && !f.is_bad && i < j->arenas.size; i++)
		err = read_ring(&f, &j->arenas.data[i]);
	bool is_left = !err && !f.is_bad && are_missing(&f);
	j->r->view.is_recording = false;
	if (err || !is_left)
		return err;
	err = gr_sort(j->caches.data, j->caches.size, sizeof(*j->caches.data),
		      compare_addrs, rt->poll, rt->poll_ctx);
	f.nsorted = j->caches.size;
	if (!err)
		err = search_memory(&f);
	return err ? err : search_blocks(&f);
}

struct gr_error *gr_jemalloc_drop_cached(struct gr_jemalloc *j)
{
	struct gr_runtime *rt = j->r->spec->rt;
	uint64_t overlapping = 0;
	struct gr_error *err = gr_blocks_index(&j->blocks, rt, &overlapping);

	if (!err && overlapping)
		gr_jemalloc_fail_all(j, "its blocks overlap each other");
	if (!err)
		err = gr_image_want(rt->image, j->blocks.list.size / 8);
	if (err)
		return err;
	_cleanup_free_ uint64_t *dropped =
		gr_bitmap_alloc(j->blocks.list.size + 1);

	if (!dropped)
		return &gr_enomem;
	err = find_cached(j, dropped);
	return err ? err : gr_reader_keep_blocks(j->r, &j->blocks, dropped);
}
