/* SPDX-License-Identifier: Apache-2.0 */
/**
 * mimalloc: the steps of gr_allocator_mimalloc. Source: include/mimalloc/types.h
 * (mi_heap_t, mi_tld_t, mi_segment_t, mi_page_t), src/segment.c, src/page.c.
 *
 * A segment begins at a multiple of 32 MiB, and says so by the cookie of the
 * main heap. It is cut into slices of 64 KiB, and these are joined to pages,
 * each of which has blocks of one size. A thread owns segments; those of threads
 * that have ended are abandoned.
 */
#ifndef GR_MIMALLOC_H
#define GR_MIMALLOC_H

#include "inferior/elf.h"
#include "native/allocators/reader.h"

enum {
	GR_MIMALLOC_NQUEUES = 75,
	GR_MIMALLOC_QUEUE_BYTES = 24, /* mi_page_queue_t */
	GR_MIMALLOC_BLOCK_SIZE = 16,  /* of it */
	GR_MIMALLOC_SLICE_BYTES = 1 << 16,
	GR_MIMALLOC_SEGMENT_BYTES = 1 << 25,
	GR_MIMALLOC_NSLICES = 512,
	GR_MIMALLOC_MOST_BLOCKS = 1 << 16, /* of a page */
	/* mi_tld_t */
	GR_MIMALLOC_TLD_BACKING = 16,
	GR_MIMALLOC_TLD_HEAPS = 24,
	GR_MIMALLOC_TLD_COUNT = 896,
	GR_MIMALLOC_TLD_SIZE = 912,
};

/** mi_heap_t of some versions, without padding. */
struct gr_mimalloc_heap_layout {
	/** The versions that have it: those whose pages or segments are old,
	 * too, and the others. NULL: there are none. */
	const char *early, *late;
	uint64_t medium; /**< Larger blocks are in the huge queue. */
	uint16_t direct; /**< pages_free_direct */
	uint16_t delayed, thread_id, cookie, keys, page_count, next;
	/** Padding moves the fields behind pages_free_direct. */
	bool is_direct_first;
	/** Bytes that MI_GUARDED adds before pages_free_direct. */
	uint8_t guards[2];
};

/** mi_segment_t of some versions. */
struct gr_mimalloc_segment_layout {
	uint16_t abandoned_next; /**< 0: there is none. */
	uint16_t subproc;	 /**< 0: there is none. */
	uint16_t abandoned, used, cookie, segment_slices, info_slices, kind;
	uint16_t entries, thread_id, slices;
};

/** Where the blocks of a page begin. */
enum gr_mimalloc_starts {
	GR_MIMALLOC_STARTS_209,	  /**< As in 2.0.9. */
	GR_MIMALLOC_STARTS_210,	  /**< As from 2.1.0 on. */
	GR_MIMALLOC_STARTS_FIELD, /**< It is a field of the page. */
};

/** mi_page_t of some versions and build options. */
struct gr_mimalloc_page_layout {
	bool is_old; /**< The block's size is a half of a word. */
	bool has_keys;
	bool is_encoded; /**< The links of its lists are. */
	enum gr_mimalloc_starts starts;
};

/** A heap that proves to be the main one of a copy of mimalloc. */
struct gr_mimalloc_root {
	uint64_t addr;
	const struct gr_mimalloc_heap_layout *layout;
	uint16_t guard;	  /**< Bytes of MI_GUARDED. */
	uint16_t padding; /**< 8: each block ends with a word of the allocator. */
};
GR_VECTOR(gr_mimalloc_root_vector, struct gr_mimalloc_root);

/** A segment. */
struct gr_mimalloc_segment {
	uint64_t addr, end;
	uint64_t thread_id; /**< 0: it is abandoned. */
	uint64_t used, abandoned;
	uint64_t subproc;
	uint32_t entries, info_slices;
	uint32_t owner; /**< Index. */
	bool is_huge;
	bool is_damaged; /**< Its fields make no sense. */
	bool is_missing; /**< Not all of them are at hand. */
	bool is_dead;	 /**< It was freed, and is kept to be used again. */
};
GR_VECTOR(gr_mimalloc_segment_vector, struct gr_mimalloc_segment);

/** A page in use. */
struct gr_mimalloc_page {
	uint64_t addr; /**< Its structure's. */
	uint64_t span, span_end;
	uint64_t start; /**< Its first block. */
	uint64_t block_bytes;
	uint64_t heap; /**< 0: it is abandoned. */
	uint64_t free, local_free, thread_free, next, prev;
	uint64_t keys[2];
	uint32_t used, capacity, reserved;
	uint32_t owner; /**< Index. */
};
GR_VECTOR(gr_mimalloc_page_vector, struct gr_mimalloc_page);

/** A thread with segments, or all that have none any more. */
struct gr_mimalloc_owner {
	uint64_t thread_id; /**< 0: none. */
	uint64_t tld;	    /**< 0: not known. */
	uint64_t segments, bytes;
};
GR_VECTOR(gr_mimalloc_owner_vector, struct gr_mimalloc_owner);

/** A copy of the allocator as it is found. */
struct gr_mimalloc {
	struct gr_native_reader *r;
	uint32_t version;     /**< 209; 0: it is not known. */
	uint32_t first_arena; /**< That of the first owner. */
	struct gr_mimalloc_root root;
	uint64_t cookie;
	const struct gr_mimalloc_segment_layout *segment;
	struct gr_mimalloc_page_layout page;
	/** It is known how pages look; or no page is in use. */
	bool has_page_layout;
	/** The first mapping of a file, or none, that may meet the next
	 * segment. */
	size_t mapping;
	struct gr_mimalloc_segment_vector segments; /**< By address. */
	struct gr_mimalloc_page_vector pages;	    /**< By address. */
	struct gr_mimalloc_owner_vector owners;	    /**< By thread. */
	struct gr_blocks blocks;		    /**< Those of all owners. */
	/** The blocks of one page that its lists have. */
	uint64_t listed[GR_MIMALLOC_MOST_BLOCKS / 64 + 1];
};

/** The arena of an owner. */
static inline struct gr_native_arena *
gr_mimalloc_arena(const struct gr_mimalloc *m, uint32_t owner)
{
	return &m->r->native->arenas.data[m->first_arena + owner];
}

/** How many words pages_free_direct has. */
static inline uint64_t gr_mimalloc_ndirect(const struct gr_mimalloc_root *root)
{
	return 129 + root->padding / GR_WORD_BYTES;
}

/** The address of a field of a heap, of which the layout says @p off. */
static inline uint64_t gr_mimalloc_field(const struct gr_mimalloc_root *root,
					 uint64_t heap, uint16_t off)
{
	return heap + off + (root->layout->is_direct_first ? root->padding : 0);
}

/** The address of the queues of a heap. */
static inline uint64_t gr_mimalloc_queues(const struct gr_mimalloc_root *root)
{
	return root->addr + root->layout->direct + root->guard +
	       gr_mimalloc_ndirect(root) * GR_WORD_BYTES;
}

/** Decode a link of a list that ends with @p null. */
static inline uint64_t gr_mimalloc_decode(uint64_t word, uint64_t null,
					  const uint64_t keys[2])
{
	unsigned int n = keys[0] % 64;
	uint64_t x = word - keys[0];

	x = (n ? x >> n | x << (64 - n) : x) ^ keys[1];
	return x == null ? 0 : x;
}

/** mimalloc_find: find the main heaps of all copies in data of files. */
struct gr_error *
gr_mimalloc_find(struct gr_native_reader *r,
		 struct gr_mimalloc_root_vector *ret) GR_MUST_CHECK;

/** mimalloc_find: find the segments of the copy. None: it was never used, or it
 * is a heap of a thread. What they are found by is recorded. */
struct gr_error *gr_mimalloc_find_segments(struct gr_mimalloc *m) GR_MUST_CHECK;

/** mimalloc_find: is all memory mapped that the page has given out? */
bool gr_mimalloc_is_mapped(const struct gr_mimalloc *m,
			   const struct gr_mimalloc_page *page);

/** mimalloc_pages: find out how pages look, from the version and from those in
 * use. */
struct gr_error *
gr_mimalloc_find_page_layout(struct gr_mimalloc *m) GR_MUST_CHECK;

/** mimalloc_pages: walk a segment; append its pages and blocks in use. */
struct gr_error *
gr_mimalloc_walk(struct gr_mimalloc *m,
		 const struct gr_mimalloc_segment *segment) GR_MUST_CHECK;

/** mimalloc_heaps: check the heaps of all threads, and drop the blocks that other
 * threads have given back to them. */
struct gr_error *gr_mimalloc_check_heaps(struct gr_mimalloc *m) GR_MUST_CHECK;

#endif /* GR_MIMALLOC_H */
