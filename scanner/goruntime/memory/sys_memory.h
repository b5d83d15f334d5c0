/* SPDX-License-Identifier: Apache-2.0 */
/**
 * sys_memory: which memory outside of its heap the runtime has taken for
 * itself, and what for. The kinds are those that runtime.mstats counts
 * (mspan_sys, mcache_sys, buckhash_sys, gcMiscSys), the last one by structure.
 * Source: runtime/mheap.go, mpagealloc.go, malloc.go (persistentalloc),
 * mprof.go.
 */
#ifndef GR_SYS_MEMORY_H
#define GR_SYS_MEMORY_H

#include "base/vector.h"
#include "goruntime/heap/heap_arenas.h"

enum gr_sys_kind {
	GR_SYS_SPANS,	/**< mspan records */
	GR_SYS_CACHES,	/**< mcache records */
	GR_SYS_ARENAS,	/**< heapArena records, and the index of them */
	GR_SYS_PAGES,	/**< the page allocator's summaries and bits */
	GR_SYS_GC_BITS, /**< mark and allocation bits of spans */
	GR_SYS_PROFILE, /**< buckets of profiles, and their table */
	GR_SYS_OTHER,	/**< the rest of the runtime's chunks; allspans */
	GR_SYS_NONE,	/**< Not the runtime's, as far as it tells. */
};

/** Target range [start, end). */
struct gr_sys_range {
	uint64_t start, end;
	enum gr_sys_kind kind;
};
GR_VECTOR(gr_sys_vector, struct gr_sys_range);

/** Zero-initialised, nothing is known. */
struct gr_sys_memory {
	bool is_known; /**< The debug information tells where to look. */
	/** Areas of kinds that are told apart, and GR_SYS_OTHER around them.
	 * Both are sorted, without overlaps, once gr_sys_memory_sort() ran. */
	struct gr_sys_vector records, chunks;
};

void gr_sys_memory_deinit(struct gr_sys_memory *sys);

/**
 * Read where the runtime's memory is. The image is lazy, or that of a core. A
 * part that cannot be read is left out.
 */
struct gr_error *gr_sys_memory_read(struct gr_types *types,
				    struct gr_sys_memory *ret) GR_MUST_CHECK;

/**
 * Add the records of the heap's arenas, and sort all, when the heap is known.
 * May be called again.
 */
struct gr_error *gr_sys_memory_sort(const struct gr_heap *heap,
				    const struct gr_heap_arenas *arenas,
				    struct gr_sys_memory *sys) GR_MUST_CHECK;

/** The kind of the memory at @p addr. @param[out] stop All of [addr, *stop) is
 * of that kind; at most @p end, which is larger than @p addr. */
enum gr_sys_kind gr_sys_memory_at(const struct gr_sys_memory *sys,
				  uint64_t addr, uint64_t end, uint64_t *stop);

#endif /* GR_SYS_MEMORY_H */
