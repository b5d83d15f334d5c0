/* SPDX-License-Identifier: Apache-2.0 */
/**
 * marking: the result of one walk. A marking is a value: one heap may have
 * several, and none of them changes the heap.
 */
#ifndef GR_MARKING_H
#define GR_MARKING_H

#include "goruntime/heap/heap.h"
#include "mark/ledger.h"
#include "mark/parents.h"
#include "mark/tree.h"

/**
 * The state of an object. The flags fit in one byte, so a visit reads one byte
 * and compares it with one value.
 */
enum gr_object_state {
	GR_OBJECT_ALLOCATED = 1, /**< The slot is in use. */
	GR_OBJECT_COUNTED = 2,	 /**< The walk has counted it. */
	/** A type that covers the object was queued, or it has no pointers. */
	GR_OBJECT_WHOLE = 4,
	GR_OBJECT_SCHEDULER = 8, /**< Not followed before the last tier. */
	GR_OBJECT_UNTYPED = 16,	 /**< Counted, but its type is not known yet. */
	GR_OBJECT_PART = 32, /**< Untyped, but the type of a part is known. */
	GR_OBJECT_DEFERRED = 64, /**< A visit of it is kept for later. */
};

GR_VECTOR(gr_total_vector, struct gr_total);

struct gr_marking {
	const struct gr_heap *heap;
	uint8_t *states;     /**< enum gr_object_state of each object. */
	struct gr_tree tree; /**< The nodes that objects are billed to. */
	struct gr_total_vector type_totals; /**< Indexed by type id. */
	struct gr_total untyped_total;
	struct gr_parents *parents; /**< NULL: they were not kept. */
	struct gr_free_slot free_slots[GR_FREE_SLOTS_MAX]; /**< The first. */
	size_t nfree_slots;
};

/**
 * Initialise a marking in which nothing of @p heap is reached. It needs
 * gr_marking_deinit() even if this fails.
 */
struct gr_error *gr_marking_init(struct gr_marking *m,
				 const struct gr_heap *heap, uint32_t max_depth,
				 uint32_t max_nodes) GR_MUST_CHECK;
void gr_marking_deinit(struct gr_marking *m);

static inline bool gr_marking_is_reached(const struct gr_marking *m, gr_obj obj)
{
	return m->states[obj] & GR_OBJECT_COUNTED;
}

/** A new bitmap of the slots that are reached, for free(); NULL: no memory. */
uint64_t *gr_marking_reached_bits(const struct gr_marking *m);

/** Prefetch the state of the object that @p addr may lie in. */
static inline void gr_marking_prefetch(const struct gr_marking *m,
				       uint64_t addr)
{
	const struct gr_heap *heap = m->heap;
	uint64_t i = (addr >> GR_ARENA_SHIFT) - heap->first_chunk;

	if (GR_UNLIKELY(i >= heap->nchunks))
		return;
	const struct gr_page *page =
		&heap->chunks[i]->pages[gr_page_in_chunk(addr)];
	gr_prefetch(&m->states[page->first_obj +
			       ((uint64_t)gr_page_off(page, addr) *
					heap->kinds[page->kind].magic >>
				32)]);
}

#endif /* GR_MARKING_H */
