/* SPDX-License-Identifier: Apache-2.0 */
/**
 * jemalloc: the steps of gr_allocator_jemalloc. Source: src/arena.c, src/base.c,
 * src/rtree.c, src/tcache.c (arena_t, base_t, extent_t or edata_t, rtree_t,
 * cache_bin_t). The structures are those of 64-bit processors with pages of 4096
 * bytes.
 *
 * All memory of an arena lies in extents, which the page tree (rtree) leads to:
 * slabs, which have regions of one size class; large ones, which have a block
 * each; and free ones. Its own structures lie in base blocks.
 */
#ifndef GR_JEMALLOC_H
#define GR_JEMALLOC_H

#include "inferior/elf.h"
#include "native/allocators/reader.h"

enum {
	GR_JE_NSIZES = 232, /* size classes; as a number, it means none */
	GR_JE_NBINS = 36,   /* those that slabs have */
	GR_JE_NLARGE = GR_JE_NSIZES - GR_JE_NBINS,
	GR_JE_MOST_ARENAS = 4095,
	GR_JE_MOST_SHARDS = 64,
	GR_JE_MOST_REGIONS = 512,   /* of a slab */
	GR_JE_BASE_BYTES = 2 << 20, /* base blocks are aligned to it */
	GR_JE_MOST_KNOWN = 64,
	GR_JE_MOST_BLOCKS = 1 << 16, /* of one base */
	GR_JE_MOST_OWN_PAGES = 16,   /* those of a thread's cache */
	GR_JE_MAP_WORDS = GR_JE_MOST_REGIONS / 64,
	/* extent_t, edata_t */
	GR_JE_EXTENT_ADDR = 8,
	GR_JE_EXTENT_SIZE = 16,
	GR_JE_EXTENT_PS = 24,  /* the page slab, in 5.3 */
	GR_JE_EXTENT_MAP = 64, /* a bit for each region that is free */
	GR_JE_EXTENT_BYTES = 128,
	/* states of extents; those behind are in between */
	GR_JE_ACTIVE = 0,
	GR_JE_DIRTY = 1,
	GR_JE_MUZZY = 2,
	GR_JE_RETAINED = 3,
	GR_JE_NSTATES = 4,
};

/** Where a version has its fields: offsets in bytes. */
struct gr_jemalloc_layout {
	const char *version;
	/** 5.2: arenas lead to their bins, and caches of threads (tcache_t) are
	 * no pairs with a slow part. */
	bool is_52;
	/** Large blocks have all of their extent but for a pad. */
	bool has_exact_large;
	uint32_t base_blocks, base_mapped;
	uint32_t arena_ind; /**< 0: only the base has it. */
	uint32_t arena_base, arena_bins;
	uint32_t arena_internal, arena_lstats, lstat_bytes;
	uint32_t arena_descriptors, arena_large, arena_large_mutex;
	uint32_t arena_nactive;
	/** By state from GR_JE_DIRTY on: its extents; in these, two counts of
	 * pages. 0: there is one. */
	uint32_t arena_extents[3], extents_npages[2];
	uint32_t bin_bytes, bin_slabcur, bin_full, bin_stats;
	uint32_t mutex_word, mutex_locked;
	/** The array of nodes in rtree_t, which begins with the base of arena 0
	 * in 5.3. */
	uint32_t rtree_root;
	uint32_t extent_align;
	/** Bits of the first word of an extent. */
	uint8_t state_bit, state_mask, szind_bit, nfree_bit, shard_bit;
	/** In a cache, or in its slow part: its descriptor and arena. */
	uint32_t cache_descriptor, cache_arena;
	/** In the slow part: the stacks, the cache, and the number of bins (0:
	 * marks end them). */
	uint32_t cache_stacks, cache_fast, cache_nbins;
	uint64_t last_mark; /**< The word behind the stacks of a cache. */
};

/** Which levels the page tree has: the build decides, not the version. */
struct gr_jemalloc_shape {
	uint8_t levels; /**< 2 or 3 */
	uint8_t bits;	/**< From an address, at each level. */
	uint8_t root_bit;
	uint8_t entry_bytes; /**< In a leaf. */
};

struct gr_jemalloc_bin {
	uint32_t slab_bytes, nregs, nshards;
	uint32_t first; /**< Number of its first shard among those of all. */
};

struct gr_jemalloc_arena {
	uint64_t addr, base;
	uint32_t ind;
	uint64_t base_bytes;
	uint64_t own_bytes; /**< Blocks that have caches of threads. */
	/** Pages of extents by state; large ones and slabs are active. */
	uint64_t pages[GR_JE_NSTATES];
	/** By bin and shard: regions in use, and slabs. Then large extents by
	 * size class. They are in gr_jemalloc.counts. */
	uint32_t *regions, *slabs, *large;
};
GR_VECTOR(gr_jemalloc_arena_vector, struct gr_jemalloc_arena);

struct gr_jemalloc_extent {
	uint64_t start, bytes; /**< Whole pages. */
	uint64_t addr;	       /**< Its block, or its first region. */
	uint64_t bits, at;     /**< Its structure. */
	uint32_t szind;	       /**< As the page tree says. */
	bool is_slab;	       /**< The same. */
};
GR_VECTOR(gr_jemalloc_extent_vector, struct gr_jemalloc_extent);

/** A slab that a bin names. */
struct gr_jemalloc_known {
	uint64_t extent, addr;
};

/** One jemalloc of the program. */
struct gr_jemalloc {
	struct gr_native_reader *r;
	const struct gr_jemalloc_layout *layout;
	const char *path;	/**< The file that it lies in. */
	uint64_t base, base_at; /**< The base of arena 0, and a word with it. */
	uint64_t arenas_at, bins_at;
	struct gr_jemalloc_arena_vector arenas; /**< By ind; the first has 0. */
	struct gr_jemalloc_bin bins[GR_JE_NBINS];
	uint32_t nbins; /**< With all shards. */
	/** Base blocks, by address; their arena is an ind. */
	struct gr_native_range_vector bases;
	struct gr_jemalloc_known known[GR_JE_MOST_KNOWN];
	size_t nknown;
	uint64_t root; /**< The array of nodes of the page tree. */
	const struct gr_jemalloc_shape *shape;
	struct gr_jemalloc_extent_vector extents; /**< By address. */
	struct gr_blocks blocks;
	uint32_t *counts;
	uint32_t first_arena;	      /**< Index among gr_native.arenas. */
	size_t first_memory;	      /**< Index among gr_native.memory. */
	uint64_t pad_bytes;	      /**< In a large extent. */
	bool has_stats;		      /**< It was built with statistics. */
	uint64_t base_steps;	      /**< Along chains of base blocks. */
	unsigned int tries;	      /**< Arrays that looked like roots. */
	unsigned int root_tries;      /**< Addresses where one might be. */
	uint64_t cached;	      /**< Words in caches of threads. */
	struct gr_addr_vector caches; /**< Those that were read. */
	bool has_failed;	      /**< Nothing is checked. */
};

/** A word in data of a file that may lead to the base of arena 0. */
struct gr_jemalloc_base {
	const char *path;
	uint64_t addr, at;
};
GR_VECTOR(gr_jemalloc_base_vector, struct gr_jemalloc_base);

/** Bytes of a size class: 8, 16, 32, 48, ... 128, then four for each doubling. */
static inline uint64_t gr_jemalloc_class_bytes(unsigned int szind)
{
	uint64_t group;

	if (szind < 9)
		return szind ? szind * UINT64_C(16) : 8;
	group = UINT64_C(128) << (szind - 9) / 4;
	return group + ((szind - 9) % 4 + 1) * (group / 4);
}

static inline unsigned int gr_jemalloc_state(const struct gr_jemalloc *j,
					     uint64_t bits)
{
	return bits >> j->layout->state_bit & j->layout->state_mask;
}

static inline unsigned int gr_jemalloc_szind(const struct gr_jemalloc *j,
					     uint64_t bits)
{
	return bits >> j->layout->szind_bit & 0xff;
}

/** The extent that an entry of a leaf leads to, by its first word. */
static inline uint64_t
gr_jemalloc_extent_of(const struct gr_jemalloc *j,
		      const struct gr_jemalloc_shape *shape, uint64_t word)
{
	if (shape->entry_bytes == GR_WORD_BYTES)
		word = word << 16 >> 16 &
		       ~(uint64_t)(j->layout->extent_align - 1);
	return word;
}

/** The number of an arena by its ind; SIZE_MAX: there is none. */
static inline size_t gr_jemalloc_arena_at(const struct gr_jemalloc *j,
					  uint64_t ind)
{
	const struct gr_jemalloc_arena_vector *list = &j->arenas;
	size_t n = gr_count_before(list->size, i, list->data[i].ind < ind);

	return n < list->size && list->data[n].ind == ind ? n : SIZE_MAX;
}

static inline struct gr_native_arena *
gr_jemalloc_native(const struct gr_jemalloc *j, size_t arena)
{
	return &j->r->native->arenas.data[j->first_arena + arena];
}

/** Does a base block of arena @p ind have [addr, addr + bytes)? */
static inline bool gr_jemalloc_in_base(const struct gr_jemalloc *j,
				       uint64_t ind, uint64_t addr,
				       uint64_t bytes)
{
	const struct gr_native_range_vector *list = &j->bases;
	size_t n = gr_count_before(list->size, i, list->data[i].end <= addr);

	return n < list->size && list->data[n].arena == ind &&
	       list->data[n].start <= addr && list->data[n].end - addr >= bytes;
}

/** The address of a bin; 0: it is not at hand. */
static inline uint64_t gr_jemalloc_bin_at(const struct gr_jemalloc *j,
					  uint64_t arena, unsigned int bin,
					  unsigned int shard)
{
	const struct gr_jemalloc_layout *layout = j->layout;
	uint64_t at = arena + layout->arena_bins;

	if (!layout->is_52)
		return at + (uint64_t)layout->bin_bytes *
				    (j->bins[bin].first + shard);
	if (!gr_view_word(&j->r->view, at + bin * GR_WORD_BYTES, &at) || !at)
		return 0;
	return at + (uint64_t)layout->bin_bytes * shard;
}

/** Note that no arena is checked. */
static inline void gr_jemalloc_fail_all(struct gr_jemalloc *j,
					const char *reason)
{
	for (size_t i = 0; !j->has_failed && i < j->arenas.size; i++)
		gr_arena_fail(gr_jemalloc_native(j, i), reason);
	j->has_failed = true;
}

/** Record [at, at + bytes) while the target is saved. */
static inline void gr_jemalloc_record(const struct gr_jemalloc *j, uint64_t at,
				      uint64_t bytes)
{
	struct gr_recorder *recorder = j->r->spec->rt->recorder;

	if (recorder)
		gr_recorder_add(recorder, at, bytes);
}

/** Is all of the range memory that the program may write? Bounded by the mappings
 * in it. */
static inline bool gr_jemalloc_is_mapped(const struct gr_jemalloc *j,
					 const struct gr_native_range *range)
{
	const struct gr_mapping_vector *list =
		&j->r->spec->residency->mappings.list;
	uint64_t at = range->start;

	for (size_t i = gr_count_before(list->size, k, list->data[k].end <= at);
	     i < list->size && at < range->end && list->data[i].start <= at &&
	     (list->data[i].flags & PF_W);
	     i++)
		at = list->data[i].end > at ? list->data[i].end : at;
	return at >= range->end;
}

/** Has the program nothing of it, beside the cache of a thread, so that no slab
 * tells which array is the root of the page tree? */
static inline bool gr_jemalloc_is_unused(struct gr_jemalloc *j)
{
	uint64_t pages, sum = 0;

	// Bounded by the arenas: GR_JE_MOST_ARENAS.
	for (size_t i = 0; i < j->arenas.size; i++) {
		if (!gr_view_word(&j->r->view,
				  j->arenas.data[i].addr +
					  j->layout->arena_nactive,
				  &pages) ||
		    pages > GR_JE_MOST_OWN_PAGES)
			return false;
		sum += pages;
	}
	return j->bins_at && !j->nknown && sum <= GR_JE_MOST_OWN_PAGES;
}

/** jemalloc_find: append the words in data of files that may lead to the base of
 * arena 0 of a jemalloc, whatever its version. */
struct gr_error *
gr_jemalloc_find_bases(struct gr_native_reader *r,
		       struct gr_jemalloc_base_vector *ret) GR_MUST_CHECK;

/** jemalloc_find: record the words that a base was told by, for one that is not
 * read any further. */
void gr_jemalloc_record_base(struct gr_native_reader *r,
			     const struct gr_jemalloc_base *base);

/** jemalloc_find: find the arenas of a base by the layout. */
struct gr_error *gr_jemalloc_find_arenas(struct gr_jemalloc *j) GR_MUST_CHECK;

/** jemalloc_find: find the bins and the page tree, and record what the searches
 * have found. The root is 0 if there is none. */
struct gr_error *gr_jemalloc_find_tree(struct gr_jemalloc *j) GR_MUST_CHECK;

/** jemalloc_extents: collect the base blocks of all arenas. Their chains were
 * followed before. */
struct gr_error *
gr_jemalloc_find_base_blocks(struct gr_jemalloc *j) GR_MUST_CHECK;

/** jemalloc_extents: append the extents of the page tree, their memory and
 * blocks. */
struct gr_error *gr_jemalloc_read_extents(struct gr_jemalloc *j) GR_MUST_CHECK;

/** jemalloc_cached: index the blocks, drop those in caches of threads and those
 * that have the caches, and keep the others. */
struct gr_error *gr_jemalloc_drop_cached(struct gr_jemalloc *j) GR_MUST_CHECK;

#endif /* GR_JEMALLOC_H */
