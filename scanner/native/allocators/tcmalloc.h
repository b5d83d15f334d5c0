/* SPDX-License-Identifier: Apache-2.0 */
/**
 * tcmalloc: the steps of gr_allocator_tcmalloc, which reads gperftools' tcmalloc.
 * Source: the classes Span, PageHeap, PageMap2, CentralFreeList, SizeMap and
 * ThreadCache. The structures are those of 64-bit processors.
 *
 * One page heap has all memory, as spans of pages; the pagemap leads from the
 * number of a page to its span. A span is free, or one large block, or it has
 * slots of one size class. A slot is free if it is in the list of its span, in a
 * transfer slot of its class, or in the cache of a thread.
 */
#ifndef GR_TCMALLOC_H
#define GR_TCMALLOC_H

#include "native/allocators/reader.h"

enum {
	GR_TCMALLOC_MOST_CLASSES = 128,
	GR_TCMALLOC_LOOKUP_BYTES = 2169, /* SizeMap::class_array_ */
	GR_TCMALLOC_MOST_SMALL_BYTES = 256 << 10,
	/* Span */
	GR_TCMALLOC_SPAN_BYTES = 48,
	/* CentralFreeList */
	GR_TCMALLOC_SPAN_COUNT = 112,	   /* num_spans_ */
	GR_TCMALLOC_FREE_COUNT = 120,	   /* counter_ */
	GR_TCMALLOC_TRANSFERS = 128,	   /* tc_slots_ */
	GR_TCMALLOC_NTRANSFERS = 64,	   /* kMaxNumTransferEntries */
	GR_TCMALLOC_LIST_BYTES = 1216,	   /* one of the padded array */
	GR_TCMALLOC_SLOW_LIST_BYTES = 192, /* without transfer slots */
	/* ThreadCache::FreeList */
	GR_TCMALLOC_CACHE_LIST_BYTES = 32,
	/* StackTrace */
	GR_TCMALLOC_STACK_BYTES = 264,
};

/** Where the structures of a version have what. */
struct gr_tcmalloc_layout {
	const char *version;
	uint8_t classes; /**< kClassSizesMax */
	/** SizeMap has min_span_size_in_pages_, and PageHeap its own lock. */
	bool has_min_span;
	uint16_t next; /**< ThreadCache::next_; prev_ is behind it. */
};

/** The size classes (SizeMap). */
struct gr_tcmalloc_sizes {
	uint32_t count; /**< num_size_classes; class 0 is not used. */
	uint32_t bytes[GR_TCMALLOC_MOST_CLASSES];
	uint32_t batch[GR_TCMALLOC_MOST_CLASSES];
	uint64_t pages[GR_TCMALLOC_MOST_CLASSES];
	uint64_t min_span; /**< Spans have a multiple of so many pages. */
	uint8_t class_of[GR_TCMALLOC_LOOKUP_BYTES];
};

/** The page heap (PageHeap). */
struct gr_tcmalloc_heap {
	uint64_t free;	       /**< free_; 0: it was not found. */
	unsigned int shift;    /**< Bits of an address in a page. */
	unsigned int levels;   /**< The pagemap has 2 or 3. */
	unsigned int top_bits; /**< Bits of a page number for the root. */
	unsigned int mid_bits; /**< Those for nodes; 0: there are none. */
	unsigned int leaf_bits;
	uint64_t start, end; /**< The structure, its root included. */
	uint64_t root;	     /**< pagemap_.root_ */
	/** Stats */
	uint64_t system_bytes, free_bytes, unmapped_bytes;
	bool is_torn; /**< Its own counters or lists contradict each other. */
};

/** Where a span is. */
enum gr_tcmalloc_place {
	GR_TCMALLOC_IN_USE,
	GR_TCMALLOC_NORMAL,
	GR_TCMALLOC_RETURNED, /**< To the system. */
};

struct gr_tcmalloc_span {
	uint64_t at;	/**< The Span. */
	uint64_t start; /**< Its memory; bytes are whole pages. */
	uint64_t bytes;
	uint64_t objects;    /**< The first free slot; or a StackTrace. */
	uint32_t first_slot; /**< Its number among all slots. */
	uint32_t slots;	     /**< 0: it is one block, or free. */
	uint16_t refcount;
	uint8_t size_class;
	uint8_t place; /**< enum gr_tcmalloc_place */
	bool is_sampled;
};
GR_VECTOR(gr_tcmalloc_span_vector, struct gr_tcmalloc_span);

/** One instance, as it is found. */
struct gr_tcmalloc {
	struct gr_native_reader *r;
	const char *path; /**< The file that has it. */
	const char *version;
	const struct gr_tcmalloc_layout *layout;
	uint32_t arena;		/**< Its index. */
	uint64_t central;	/**< central_cache_ */
	uint32_t central_bytes; /**< The size of one list of it. */
	bool is_central_torn;	/**< A list of spans is damaged. */
	struct gr_tcmalloc_sizes sizes;
	uint64_t size_map; /**< 0: it was not found. */
	struct gr_tcmalloc_heap heap;
	uint64_t heap_lock; /**< The word of its lock; 0: unknown. */
	bool has_caches;    /**< They were found, be there any or not. */
	struct gr_addr_vector caches; /**< The caches of threads. */
	/** Leaves and nodes of the pagemap. */
	struct gr_native_range_vector tables;
	struct gr_tcmalloc_span_vector spans; /**< By address. */
	uint64_t span_bytes[3];		      /**< By place. */
	uint64_t nslots;
	uint64_t *is_free; /**< A bit for each slot. */
	/** By class: spans, and slots in the lists of these. */
	uint64_t nspans[GR_TCMALLOC_MOST_CLASSES];
	uint64_t nfree[GR_TCMALLOC_MOST_CLASSES];
	struct gr_blocks blocks;
};

static inline struct gr_native_arena *
gr_tcmalloc_arena(const struct gr_tcmalloc *t)
{
	return &t->r->native->arenas.data[t->arena];
}

/** A central_cache_ that was found. */
struct gr_tcmalloc_instance {
	uint64_t central;
	uint32_t list_bytes;
	bool is_torn;
	const char *path; /**< The file that has it. */
};

/** A function for each word of data of files. */
typedef struct gr_error *gr_tcmalloc_word(void *ctx, uint64_t at,
					  uint64_t word);

/** tcmalloc: does an allocator that was read before have memory in
 * [@p start, @p end)? The arena fails then. */
bool gr_tcmalloc_meets_taken(struct gr_tcmalloc *t, uint64_t start,
			     uint64_t end);

/** tcmalloc_find: call a function with each word of data of the file @p path that
 * is at hand. */
struct gr_error *gr_tcmalloc_each_word(struct gr_native_reader *r,
				       const char *path, gr_tcmalloc_word *fn,
				       void *ctx) GR_MUST_CHECK;

/** tcmalloc_find: find the central_cache_ of each file. At most @p most of them
 * are returned. */
struct gr_error *gr_tcmalloc_find_central(struct gr_native_reader *r,
					  struct gr_tcmalloc_instance *ret,
					  size_t most,
					  size_t *count) GR_MUST_CHECK;

/** tcmalloc_find: record what an instance was found by. */
void gr_tcmalloc_record_central(struct gr_native_reader *r,
				const struct gr_tcmalloc_instance *at);

/** tcmalloc_find: find the size classes and the page heap of an instance. */
struct gr_error *gr_tcmalloc_find(struct gr_tcmalloc *t) GR_MUST_CHECK;

/** tcmalloc_cached: find the caches of threads. */
struct gr_error *gr_tcmalloc_find_caches(struct gr_tcmalloc *t) GR_MUST_CHECK;

/** tcmalloc_spans: append all spans. */
struct gr_error *gr_tcmalloc_walk(struct gr_tcmalloc *t) GR_MUST_CHECK;

/** tcmalloc_spans: add the memory of the spans, and that of tcmalloc's own
 * structures. */
struct gr_error *gr_tcmalloc_add_memory(struct gr_tcmalloc *t) GR_MUST_CHECK;

/** tcmalloc_cached: mark and count the slots that are free, and compare all
 * counters with what was found. */
struct gr_error *gr_tcmalloc_find_free(struct gr_tcmalloc *t) GR_MUST_CHECK;

#endif /* GR_TCMALLOC_H */
