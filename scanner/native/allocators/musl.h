/* SPDX-License-Identifier: Apache-2.0 */
/**
 * musl: the allocator of musl's libc from 1.2.1 on, which is called mallocng
 * (malloc/mallocng/meta.h, malloc/mallocng/malloc.c). A group has up to 32 slots
 * of one size. Its meta tells where it is, and which of its slots are free. Metas
 * lie in meta areas of one page, and each area begins with a secret that
 * malloc_context has, too. A slot may hold a smaller group, and so on.
 *
 * No field of these structures has changed since 1.2.1, and each proves itself.
 * Tested with 1.2.1 to 1.2.5 on x86-64; the offsets are the same on aarch64.
 */
#ifndef GR_MUSL_H
#define GR_MUSL_H

#include "native/allocators/reader.h"

enum {
	GR_MUSL_UNIT = 16,	   /**< Addresses are multiples of it. */
	GR_MUSL_GROUP_BYTES = 16,  /**< The header of a group. */
	GR_MUSL_HEADER_BYTES = 4,  /**< That of a block, before its address. */
	GR_MUSL_AREA_BYTES = 4096, /**< On all machines. */
	GR_MUSL_AREA_CHECK = 0,	   /**< The secret. */
	GR_MUSL_AREA_NEXT = 8,
	GR_MUSL_AREA_NSLOTS = 16, /**< An int. */
	GR_MUSL_AREA_METAS = 24,
	GR_MUSL_NMETAS = 101, /**< In each area. */
	GR_MUSL_META_BYTES = 40,
	GR_MUSL_META_PREV = 0,
	GR_MUSL_META_NEXT = 8,
	GR_MUSL_META_MEM = 16,
	GR_MUSL_META_AVAIL = 24, /**< Two masks of 32 bits. */
	GR_MUSL_META_BITS = 32,
	GR_MUSL_NCLASSES = 48,
	GR_MUSL_NO_CLASS = 63, /**< A block that is mapped on its own. */
	GR_MUSL_MOST_CONTEXTS = 8,
};

/** The words of malloc_context (malloc/mallocng/meta.h). */
enum gr_musl_word {
	GR_MUSL_SECRET = 0,
	GR_MUSL_INIT_DONE = 1, /**< And mmap_counter, in the upper half. */
	GR_MUSL_FREE_META_HEAD = 2,
	GR_MUSL_AVAIL_META = 3,
	GR_MUSL_AVAIL_META_COUNT = 4,
	GR_MUSL_META_AREA_HEAD = 7,
	GR_MUSL_META_AREA_TAIL = 8,
	GR_MUSL_ACTIVE = 10,
	GR_MUSL_USAGE_BY_CLASS = 58,
	GR_MUSL_NWORDS = 116,
};

enum gr_musl_kind {
	GR_MUSL_MAPPED,	 /**< It has pages of its own. */
	GR_MUSL_NESTED,	 /**< It is in a slot of another one. */
	GR_MUSL_DONATED, /**< It is the rest of a page of a file's data. */
};

/** A group. Its slots are [mem + GR_MUSL_GROUP_BYTES, end). */
struct gr_musl_group {
	uint64_t meta;
	uint64_t mem, end;
	uint64_t memory_end; /**< That of its pages; or the same as end. */
	uint64_t stride;     /**< Bytes of a slot. */
	uint64_t next;	     /**< In the ring of its class, a meta; or 0. */
	uint32_t free;	     /**< A bit for each slot. */
	uint8_t nslots, size_class;
	uint8_t last_active; /**< The slots behind it were never used. */
	enum gr_musl_kind kind : 8;
	bool is_in_ring;
	bool is_placed; /**< Its memory is known to be its own. */
};
GR_VECTOR(gr_musl_group_vector, struct gr_musl_group);

/** Where a group, or an area, begins. */
struct gr_musl_place {
	uint64_t start, end;
	uint32_t group; /**< Its index; UINT32_MAX: an area. */
};
GR_VECTOR(gr_musl_place_vector, struct gr_musl_place);

/** A malloc_context that was found. */
struct gr_musl_hit {
	uint64_t addr;
	const char *path; /**< The file's in whose data it is. */
};

struct gr_musl_hits {
	struct gr_musl_hit data[GR_MUSL_MOST_CONTEXTS];
	size_t count;
};

/** The state while one malloc is read. Indexes have 32 bits: an area, which
 * is a page of memory, has 101 groups. */
struct gr_musl {
	struct gr_native_reader *r;
	struct gr_view view;  /**< It records. */
	struct gr_view quiet; /**< It does not. */
	uint64_t addr;	      /**< That of malloc_context. */
	uint64_t context[GR_MUSL_NWORDS];
	uint32_t arena;
	struct gr_addr_vector areas;	    /**< Sorted. */
	struct gr_musl_group_vector groups; /**< By the address of the meta. */
	struct gr_musl_place_vector nested; /**< By address. */
	uint64_t far_steps;		    /**< See musl_slots. */
	/** Slots that are in use and have no block: free() is not done with
	 * them yet; and those that malloc() is not done with, as it seems. */
	uint64_t nleaving, ncoming;
	/** Blocks whose headers malloc() may not have written yet. A header of
	 * zeros is a valid one, so it does not tell. */
	uint64_t nfresh;
	struct gr_blocks blocks;
};

/** The arena. Others may be appended, and move it. */
static inline struct gr_native_arena *gr_musl_arena(const struct gr_musl *m)
{
	return &m->r->native->arenas.data[m->arena];
}

/** musl_find: find each malloc_context, and record what it was found
 * by. */
struct gr_error *gr_musl_find(struct gr_native_reader *r,
			      struct gr_musl_hits *ret) GR_MUST_CHECK;

/** musl_find: the version of the library; "" in a static program. */
struct gr_error *gr_musl_find_version(struct gr_native_reader *r,
				      const struct gr_musl_hit *hit,
				      const char **ret) GR_MUST_CHECK;

/** musl_find: refuse the malloc that musl had before 1.2.1, if it is there. */
struct gr_error *gr_musl_find_old(struct gr_native_reader *r) GR_MUST_CHECK;

/** musl_groups: is there a meta area at @p addr, with the secret of the
 * context? */
bool gr_musl_is_area(struct gr_view *view, uint64_t addr, uint64_t secret);

/** musl_groups: find the areas and the groups, and check them against each other
 * and the allocator's counters. Their memory is not looked at. */
struct gr_error *gr_musl_read_groups(struct gr_musl *m) GR_MUST_CHECK;

/** musl_slots: append the memory of all groups, and their blocks. */
struct gr_error *gr_musl_read_slots(struct gr_musl *m) GR_MUST_CHECK;

#endif /* GR_MUSL_H */
