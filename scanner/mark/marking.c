// SPDX-License-Identifier: Apache-2.0
#include "mark/marking.h"

#include "base/huge.h"

/* Set the initial states of objects: allocated or free. */
static void set_allocated(uint8_t *states, const uint64_t *bits, uint64_t count)
{
	// Bounded by the objects, which have a bit each.
	for (uint64_t i = 0; i < count; i += 64) {
		uint64_t word = bits[i / 64];
		if (word == UINT64_MAX)
			memset(states + i, GR_OBJECT_ALLOCATED, 64);
		else
			for (; word; word &= word - 1)
				states[i + __builtin_ctzll(word)] =
					GR_OBJECT_ALLOCATED;
	}
}

struct gr_error *gr_marking_init(struct gr_marking *m,
				 const struct gr_heap *heap, uint32_t max_depth,
				 uint32_t max_nodes)
{
	memset(m, 0, sizeof(*m));
	m->heap = heap;
	m->states = gr_huge_calloc((size_t)heap->nobjs + 1, 1);
	if (!m->states)
		return &gr_enomem;
	set_allocated(m->states, heap->allocated, heap->nobjs);
	return gr_tree_init(&m->tree, max_depth, max_nodes);
}

void gr_marking_deinit(struct gr_marking *m)
{
	free(m->states);
	gr_tree_deinit(&m->tree);
	gr_total_vector_deinit(&m->type_totals);
	gr_parents_destroy(m->parents);
	memset(m, 0, sizeof(*m));
}

uint64_t *gr_marking_reached_bits(const struct gr_marking *m)
{
	gr_obj n = m->heap->nobjs;
	uint64_t *bits = gr_bitmap_alloc(n);

	for (gr_obj obj = 0; bits && obj < n; obj++)
		bits[obj / 64] |= (uint64_t)gr_marking_is_reached(m, obj)
				  << (obj % 64);
	return bits;
}
