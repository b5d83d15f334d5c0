// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks that were freed and look in use: those in the fast bins of an arena,
 * and those in the cache of a thread (tcache_perthread_struct), which a
 * variable of the thread names. All threads have this variable at the same
 * distance from their fs_base; it is found by what it leads to. A chunk of the
 * same size that no thread names is a block like any other.
 *
 * From 2.32 on, links are mangled: a link is XORed with its own address / 4096.
 * A block in such a cache also has a key in its second word. The key alone says
 * nothing: it stays where a block is given back and allocated again.
 */
#include "native/allocators/glibc.h"

#include "base/bitmap.h"
#include "base/cleanup.h"

enum {
	TLS_BYTES = 64 << 10, /* below fs_base, where variables may be */
	VOTERS = 64,	      /* threads that choose the variable */
	MAX_CANDIDATES = 64,
	MAX_VOTE_STEPS = 1024, /* along one list */
	ALL_VOTE_STEPS = 1 << 22,
	NBINS = 64, /* TCACHE_MAX_BINS */
	MOST_CACHE_BYTES = 640,
};
#define ANY_ARENA UINT32_MAX

/** Where a cache has its lists: 2.30 made the counts wider. */
struct cache_layout {
	uint16_t chunk_bytes, entries;
	uint8_t count_bytes;
};
static const struct cache_layout cache_layouts[] = {
	{ 0x290, 128, 2 },
	{ 0x250, 64, 1 },
};

/** A distance at which threads have what looks like a cache. */
struct candidate {
	uint64_t distance;
	unsigned int used, empty; /* caches with blocks, and without */
};

struct finder {
	struct gr_glibc *g;
	uint64_t *dropped;
	struct candidate candidates[MAX_CANDIDATES];
	size_t ncandidates;
	bool is_mangled;
	/** Lists that end as they should, with plain and with mangled links. */
	unsigned int votes[2];
	uint64_t vote_steps; /* of all lists that have voted */
	/** Links in arenas that are not checked, of which no blocks are known. */
	uint64_t blind_steps;
	bool has_failed; /* nothing is checked */
};

static void drop(struct finder *f, uint32_t block)
{
	gr_bitmap_set(f->dropped, block);
	gr_reader_count_cached(f->g->r, &f->g->blocks.list.data[block]);
}

/* The block that begins at @p addr, or GR_BLOCK_NONE. */
static uint32_t block_at(struct finder *f, uint64_t addr)
{
	uint32_t i = gr_blocks_find(&f->g->blocks, addr);

	return i != GR_BLOCK_NONE && f->g->blocks.list.data[i].addr == addr ?
		       i :
		       GR_BLOCK_NONE;
}

/* Read the link at @p at. *@p ret is the block's address less @p off, and 0 at
 * the end of a list; false if it is not at hand. */
static bool read_link(struct finder *f, uint64_t at, bool is_mangled,
		      uint64_t *ret)
{
	if (!gr_view_word(&f->g->r->view, at, ret))
		return false;
	// A mangled link is never far from a plain one where addresses are
	// small, so that each link alone does not tell.
	if (is_mangled)
		*ret ^= at >> 12;
	return true;
}

/* Does the list end as it should? */
static bool has_end(struct finder *f, uint32_t block, uint64_t off,
		    bool is_mangled)
{
	uint64_t link;

	for (unsigned int i = 0; i < MAX_VOTE_STEPS && block != GR_BLOCK_NONE &&
				 f->vote_steps < ALL_VOTE_STEPS;
	     i++, f->vote_steps++) {
		if (!read_link(f, f->g->blocks.list.data[block].addr,
			       is_mangled, &link))
			return false;
		if (!link)
			return true;
		block = block_at(f, link + off);
	}
	return false;
}

static void vote_link(struct finder *f, uint32_t block, uint64_t off)
{
	f->votes[0] += has_end(f, block, off, false);
	f->votes[1] += has_end(f, block, off, true);
}

/* Bytes of the chunks in a fast bin, or in a list of a cache: from 32 on. */
static uint64_t bytes_of_bin(unsigned int bin)
{
	return (uint64_t)(bin + 2) * GR_CHUNK_ALIGN;
}

/** A list of blocks of one size. */
struct list {
	uint64_t off;	/* from what a link says to the block */
	uint64_t bytes; /* of each block */
	uint32_t arena; /* of each block; ANY_ARENA: caches have all */
	uint64_t count; /* the blocks that were passed */
	bool is_whole;	/* it ended as it should */
};

/* May a block of an arena that is not checked be at @p addr? */
static bool is_blind(struct finder *f, uint64_t addr)
{
	const struct gr_glibc_region *region = gr_glibc_region_at(f->g, addr);

	return region &&
	       !f->g->r->native->arenas.data[region->arena].is_checked &&
	       f->blind_steps++ < ALL_VOTE_STEPS;
}

/* May the block be of the list? */
static bool is_listed(const struct finder *f, uint32_t block,
		      const struct list *list)
{
	const struct gr_block *b = &f->g->blocks.list.data[block];

	return !gr_bitmap_test(f->dropped, block) &&
	       gr_block_bytes(b) == list->bytes &&
	       (list->arena == ANY_ARENA || list->arena == b->arena);
}

/* Drop the blocks of a list, to the first of which @p link leads, until it ends
 * or something else is in it. */
static struct gr_error *drop_list(struct finder *f, uint64_t link,
				  struct list *list)
{
	struct gr_error *err = NULL;

	list->is_whole = true;
	// Bounded by the blocks, each of which is dropped once, and by
	// is_blind().
	for (; !err && link; list->count++) {
		uint64_t addr = link + list->off;
		uint32_t block = block_at(f, addr);
		bool is_good = block == GR_BLOCK_NONE ?
				       is_blind(f, addr) :
				       is_listed(f, block, list);

		if (is_good && block != GR_BLOCK_NONE)
			drop(f, block);
		if (!is_good || !read_link(f, addr, f->is_mangled, &link)) {
			list->is_whole = false;
			break;
		}
		err = gr_runtime_step(f->g->r->spec->rt, 2);
	}
	return err;
}

/* Drop the blocks of a fast bin. */
static struct gr_error *drop_fast(struct finder *f, uint32_t arena,
				  unsigned int bin, uint64_t first)
{
	struct list list = { .off = GR_CHUNK_USER,
			     .bytes = bytes_of_bin(bin),
			     .arena = arena };
	struct gr_error *err = drop_list(f, first, &list);

	if (!err && !list.is_whole)
		gr_arena_fail(&f->g->r->native->arenas.data[arena],
			      "a list of its free chunks is damaged");
	return err;
}

/* Let the fast bins vote how links are written, or drop their blocks. */
static struct gr_error *pass_fast_bins(struct finder *f, bool is_vote)
{
	struct gr_native_arena_vector *arenas = &f->g->r->native->arenas;
	struct gr_error *err = NULL;

	for (size_t i = f->g->first_arena; !err && i < arenas->size; i++)
		for (unsigned int k = 0; !err && k < GR_GLIBC_NFASTBINS; k++) {
			struct gr_native_arena *arena = &arenas->data[i];
			uint64_t at = arena->addr + GR_GLIBC_FASTBINS + 8 * k;
			uint64_t first = 0;

			if (!arena->addr ||
			    !gr_view_word(&f->g->r->view, at, &first) || !first)
				continue;
			if (is_vote)
				vote_link(f, block_at(f, first + GR_CHUNK_USER),
					  GR_CHUNK_USER);
			else
				err = drop_fast(f, i, k, first);
			if (!err)
				err = gr_runtime_step(f->g->r->spec->rt, 8);
		}
	return err;
}

// ---------------------------------------------------------- caches of threads

/* The layout of caches that are as large as the block, which also has a rest
 * that was too small for a chunk, if any. */
static const struct cache_layout *layout_of(const struct gr_block *block)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(cache_layouts); i++)
		if (gr_block_bytes(block) - cache_layouts[i].chunk_bytes <=
		    GR_CHUNK_ALIGN)
			return &cache_layouts[i];
	return NULL;
}

static uint64_t count_at(const struct cache_layout *layout,
			 const uint8_t *cache, unsigned int bin)
{
	uint64_t count = 0;

	memcpy(&count, cache + bin * layout->count_bytes, layout->count_bytes);
	return count;
}

/* Does the block have lists of blocks of the right sizes? @param[out] nlists How
 * many are not empty. */
static bool is_cache(struct finder *f, uint32_t block, unsigned int *nlists)
{
	const struct gr_block *b = &f->g->blocks.list.data[block];
	const struct cache_layout *layout = layout_of(b);
	uint8_t cache[MOST_CACHE_BYTES];

	*nlists = 0;
	if (!layout || !gr_view_copy(&f->g->r->view, b->addr, cache,
				     layout->entries + NBINS * GR_WORD_BYTES))
		return false;
	for (unsigned int i = 0; i < NBINS; i++) {
		uint64_t first = gr_load_u64(cache + layout->entries + 8 * i);
		uint32_t of = first ? block_at(f, first) : GR_BLOCK_NONE;

		// The thread may be about to count.
		if (!first && count_at(layout, cache, i) <= 1)
			continue;
		if (of == GR_BLOCK_NONE ?
			    !first || !is_blind(f, first) :
			    gr_block_bytes(&f->g->blocks.list.data[of]) !=
				    bytes_of_bin(i))
			return false;
		++*nlists;
	}
	return true;
}

static void vote(struct finder *f, uint64_t distance, bool is_used)
{
	size_t i = 0;

	while (i < f->ncandidates && f->candidates[i].distance != distance)
		i++;
	if (i == MAX_CANDIDATES)
		return;
	if (i == f->ncandidates)
		f->candidates[f->ncandidates++] =
			(struct candidate){ .distance = distance };
	if (is_used)
		f->candidates[i].used++;
	else
		f->candidates[i].empty++;
}

/* The address of the first block of a list of a cache; 0: it is empty. */
static uint64_t first_cached(struct finder *f, const struct gr_block *cache,
			     const struct cache_layout *layout,
			     unsigned int bin)
{
	uint64_t at = cache->addr + layout->entries + 8 * bin, first;

	return gr_view_word(&f->g->r->view, at, &first) ? first : 0;
}

/* Let the lists of a cache vote how links are written. */
static void vote_cache(struct finder *f, uint32_t block)
{
	const struct gr_block *b = &f->g->blocks.list.data[block];
	const struct cache_layout *layout = layout_of(b);

	for (unsigned int i = 0; i < NBINS; i++)
		vote_link(f, block_at(f, first_cached(f, b, layout, i)), 0);
}

/* Look at the variables of one thread. */
static struct gr_error *vote_of(struct finder *f, uint64_t fs_base)
{
	struct gr_view *view = &f->g->r->view;
	uint64_t at = fs_base > TLS_BYTES ? fs_base - TLS_BYTES : 0;
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err && at < fs_base &&
	       gr_view_piece(view, at, fs_base, &piece)) {
		for (at = piece.start; at < piece.end; at += GR_WORD_BYTES) {
			uint32_t block =
				block_at(f, gr_load_u64(piece.host +
							(at - piece.start)));
			unsigned int nlists;

			if (block == GR_BLOCK_NONE ||
			    !is_cache(f, block, &nlists))
				continue;
			vote(f, fs_base - at, nlists);
			vote_cache(f, block);
			err = gr_runtime_step(view->rt, GR_POLL_STEPS / 8);
			if (err)
				return err;
		}
		err = gr_runtime_step(view->rt,
				      (piece.end - piece.start) / 64 + 1);
	}
	return err;
}

/* The distance of the variable from fs_base; 0: not found. */
static uint64_t elected(const struct finder *f)
{
	const struct candidate *best = NULL;

	for (size_t i = 0; i < f->ncandidates; i++) {
		const struct candidate *c = &f->candidates[i];

		if (!best || c->used > best->used ||
		    (c->used == best->used && c->empty > best->empty))
			best = c;
	}
	// An empty cache may be any block of zeros.
	return best && best->used ? best->distance : 0;
}

/* The blocks of a cache that cannot be read look as if they were in use. */
static void fail_all(struct finder *f)
{
	struct gr_native_arena_vector *arenas = &f->g->r->native->arenas;

	for (size_t i = f->g->first_arena; !f->has_failed && i < arenas->size;
	     i++)
		gr_arena_fail(&arenas->data[i],
			      "the cache of a thread could not be read");
	f->has_failed = true;
}

/* Drop the blocks of a list of a cache, which counts them. */
static struct gr_error *drop_bin(struct finder *f, const struct gr_block *cache,
				 const struct cache_layout *layout,
				 unsigned int bin)
{
	struct list list = { .bytes = bytes_of_bin(bin), .arena = ANY_ARENA };
	uint8_t counts[NBINS * 2];
	struct gr_error *err =
		drop_list(f, first_cached(f, cache, layout, bin), &list);

	if (err)
		return err;
	if (!list.is_whole || !gr_view_copy(&f->g->r->view, cache->addr, counts,
					    layout->entries)) {
		fail_all(f);
		return NULL;
	}
	uint64_t count = count_at(layout, counts, bin);
	// The thread may be about to count.
	if (list.count > count + 1 || count > list.count + 1)
		fail_all(f);
	return NULL;
}

/* Drop a cache and the blocks that it has. */
static struct gr_error *drop_cache(struct finder *f, uint32_t block)
{
	struct gr_native_arena *arena =
		&f->g->r->native->arenas
			 .data[f->g->blocks.list.data[block].arena];
	const struct gr_block *b = &f->g->blocks.list.data[block];
	const struct cache_layout *layout = layout_of(b);
	uint64_t chunk = b->addr - GR_CHUNK_USER;
	struct gr_error *err = NULL;

	if (gr_bitmap_test(f->dropped, block))
		return NULL;
	gr_bitmap_set(f->dropped, block);
	arena->in_use_blocks--;
	arena->in_use_bytes -= gr_block_bytes(b);
	err = gr_reader_add_other(f->g->r, b->arena, chunk,
				  chunk + gr_block_bytes(b));
	for (unsigned int i = 0; !err && i < NBINS; i++)
		err = drop_bin(f, b, layout, i);
	return err;
}

/* Record the counts of a cache, which told that it is one. */
static void record_cache(struct finder *f, uint32_t block)
{
	struct gr_recorder *recorder = f->g->r->spec->rt->recorder;
	const struct gr_block *b = &f->g->blocks.list.data[block];

	if (recorder)
		gr_recorder_add(recorder, b->addr, layout_of(b)->entries);
}

/* Drop the cache of the thread whose variable is at @p variable. A thread that
 * has not allocated anything has none, nor may one that is gone. */
static struct gr_error *drop_at(struct finder *f, uint64_t variable,
				bool is_running)
{
	uint64_t addr = 0;
	unsigned int nlists;
	uint32_t block = gr_view_word(&f->g->r->view, variable, &addr) ?
				 block_at(f, addr) :
				 GR_BLOCK_NONE;

	// A cache has one thread, and is in no list.
	if (block == GR_BLOCK_NONE || gr_bitmap_test(f->dropped, block) ||
	    !is_cache(f, block, &nlists)) {
		if (addr && is_running)
			fail_all(f);
		return NULL;
	}
	record_cache(f, block);
	return drop_cache(f, block);
}

/* Where fs_base is not known: caches by what they have, unless it is nothing.
 * They vote how links are written, or are dropped. */
static struct gr_error *pass_by_shape(struct finder *f, bool is_vote)
{
	const struct gr_block_vector *list = &f->g->blocks.list;
	struct gr_error *err = NULL;
	unsigned int nlists;

	for (size_t i = 0; !err && i < list->size; i++) {
		bool is_one = layout_of(&list->data[i]) &&
			      is_cache(f, i, &nlists) && nlists;

		if (is_one && is_vote)
			vote_cache(f, i);
		if (is_one && !is_vote) {
			record_cache(f, i);
			err = drop_cache(f, i);
		}
		if (!err)
			err = gr_runtime_step(f->g->r->spec->rt, 1);
	}
	return err;
}

/* Find the variable of threads, and how links are written. *@p ret is how many
 * threads were asked. */
static struct gr_error *vote_all(struct finder *f, size_t *ret)
{
	size_t nthreads;
	const struct gr_target_thread *threads =
		gr_image_threads(f->g->r->spec->rt->image, &nthreads);
	struct gr_error *err = pass_fast_bins(f, true);

	*ret = 0;
	for (size_t i = 0; !err && i < nthreads && *ret < VOTERS; i++)
		if (threads[i].regs.fs_base) {
			err = vote_of(f, threads[i].regs.fs_base);
			++*ret;
		}
	if (!err && !*ret)
		err = pass_by_shape(f, true);
	f->is_mangled = f->votes[1] > f->votes[0];
	return err;
}

static struct gr_error *drop_caches(struct finder *f, uint64_t distance)
{
	size_t nthreads;
	const struct gr_target_thread *threads =
		gr_image_threads(f->g->r->spec->rt->image, &nthreads);
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && distance && i < nthreads; i++) {
		if (threads[i].regs.fs_base)
			err = drop_at(f, threads[i].regs.fs_base - distance,
				      true);
		if (!err)
			err = gr_runtime_step(f->g->r->spec->rt, 64);
	}
	return err;
}

/* Has the cache a list with as many blocks as it counts? */
static bool counts_blocks(struct finder *f, uint32_t block)
{
	const struct gr_block *b = &f->g->blocks.list.data[block];
	const struct cache_layout *layout = layout_of(b);
	uint8_t counts[NBINS * 2];

	if (!gr_view_copy(&f->g->r->view, b->addr, counts, layout->entries))
		return false;
	for (unsigned int i = 0; i < NBINS; i++) {
		uint64_t link = first_cached(f, b, layout, i), n = 0;
		uint64_t count = count_at(layout, counts, i);
		uint32_t of;

		while (link && n < count && f->vote_steps < ALL_VOTE_STEPS &&
		       (of = block_at(f, link)) != GR_BLOCK_NONE &&
		       read_link(f, f->g->blocks.list.data[of].addr,
				 f->is_mangled, &link)) {
			f->vote_steps++;
			n++;
		}
		if (n && n == count && !link)
			return true;
	}
	return false;
}

/* Look for a cache that no thread names: its thread is missing, or a variable is
 * damaged. Others may only look like one: @p for_sure passes these. */
static struct gr_error *find_unclaimed(struct finder *f, bool for_sure,
				       bool *ret)
{
	const struct gr_block_vector *list = &f->g->blocks.list;
	struct gr_error *err = NULL;
	unsigned int nlists;

	*ret = false;
	for (size_t i = 0; !err && !*ret && i < list->size; i++) {
		*ret = layout_of(&list->data[i]) &&
		       !gr_bitmap_test(f->dropped, i) &&
		       is_cache(f, i, &nlists) && nlists &&
		       (!for_sure || counts_blocks(f, i));
		err = gr_runtime_step(f->g->r->spec->rt, 1);
	}
	return err;
}

/* Drop the caches of threads that a child of fork() does not have. */
static struct gr_error *drop_gone(struct finder *f, uint64_t distance)
{
	_cleanup_(gr_addr_vector_deinit) struct gr_addr_vector bases = { 0 };
	struct gr_error *err = gr_glibc_find_threads(f->g, &bases);

	for (size_t i = 0; !err && i < bases.size; i++) {
		err = drop_at(f, bases.data[i] - distance, false);
		if (!err)
			err = gr_runtime_step(f->g->r->spec->rt, 64);
	}
	return err;
}

/* No cache may be left. */
static struct gr_error *check_unclaimed(struct finder *f, uint64_t distance)
{
	bool is_left = false;
	struct gr_error *err = find_unclaimed(f, false, &is_left);

	if (!err && is_left && distance)
		err = drop_gone(f, distance);
	if (!err && is_left)
		err = find_unclaimed(f, true, &is_left);
	if (!err && is_left)
		fail_all(f);
	return err;
}

struct gr_error *gr_glibc_find_cached(struct gr_glibc *g, uint64_t *dropped)
{
	struct finder f = { .g = g, .dropped = dropped };
	size_t voters;
	struct gr_error *err = vote_all(&f, &voters);
	uint64_t distance = elected(&f);

	g->r->view.is_recording = true;
	if (!err)
		err = pass_fast_bins(&f, false);
	if (!err)
		err = voters ? drop_caches(&f, distance) :
			       pass_by_shape(&f, false);
	if (!err && voters)
		err = check_unclaimed(&f, distance);
	g->r->view.is_recording = false;
	return err;
}
