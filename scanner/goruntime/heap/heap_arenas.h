/* SPDX-License-Identifier: Apache-2.0 */
/**
 * heap_arenas: which parts of the address space are the heap's, whatever lies
 * there: objects, stacks, or only free pages. Source: runtime/mheap.go
 * (mheap.arenas, arenaIndex).
 */
#ifndef GR_HEAP_ARENAS_H
#define GR_HEAP_ARENAS_H

#include "base/vector.h"
#include "goruntime/heap/heap.h"

/** 64 MiB of address space that the heap has. */
struct gr_heap_arena {
	uint64_t index;	 /**< Address >> GR_ARENA_SHIFT. */
	uint64_t record; /**< Address of the runtime.heapArena. */
};
/** In the order of addresses. */
GR_VECTOR(gr_heap_arenas, struct gr_heap_arena);

/** Are pages and arenas as large as this program takes them to be? */
struct gr_error *
gr_heap_check_geometry(const struct gr_layout *layout) GR_MUST_CHECK;

/** The runtime.heapArena of an address; 0 if the runtime has none for it. The
 * geometry was checked. */
struct gr_error *gr_heap_arena_record(struct gr_runtime *rt, uint64_t addr,
				      uint64_t *ret) GR_MUST_CHECK;

/**
 * Add the arenas in [start, end). Calls come in the order of addresses. The
 * image is lazy, or that of a file.
 */
struct gr_error *gr_heap_arenas_read(struct gr_runtime *rt, uint64_t start,
				     uint64_t end,
				     struct gr_heap_arenas *ret) GR_MUST_CHECK;

/** Does an arena hold @p addr? */
bool gr_heap_arenas_have(const struct gr_heap_arenas *arenas, uint64_t addr);

/**
 * The memory from *@p start on, and below @p end, up to the next arena: it is
 * [*@p start, *@p stop), and may be empty. *@p next is the end of that arena, or
 * @p end: calls that go on there find all that no arena has.
 */
void gr_heap_arenas_before(const struct gr_heap_arenas *arenas, uint64_t start,
			   uint64_t end, uint64_t *stop, uint64_t *next);

#endif /* GR_HEAP_ARENAS_H */
