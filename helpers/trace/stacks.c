// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/stacks.h"

#include "base/hash.h"
#include "base/vector.h"

/* Frames of all stacks together: 64 MiB. */
enum { MAX_PCS = 1 << 23 };

/** A stack that was seen. */
struct gr_stack {
	uint64_t generation;
	uint32_t hash, start; /**< Its pcs begin there. */
	uint16_t count;
	bool is_finished;
};

GR_VECTOR(gr_stack_vector, struct gr_stack);
GR_VECTOR(gr_pc_vector, uint64_t);

struct gr_stacks {
	uint32_t max, mask; /**< Slots - 1: twice the stacks, or more. */
	uint32_t *slots;    /**< Id; 0: free. */
	struct gr_stack_vector list;
	struct gr_pc_vector pcs;
};

struct gr_stacks *gr_stacks_new(uint32_t max_stacks)
{
	struct gr_stacks *stacks = calloc(1, sizeof(*stacks));
	uint32_t slots = 2;

	while (slots / 2 < max_stacks && slots < UINT32_C(1) << 31)
		slots *= 2;
	if (!stacks)
		return NULL;
	stacks->max = max_stacks < slots / 2 ? max_stacks : slots / 2;
	stacks->mask = slots - 1;
	stacks->slots = calloc(slots, sizeof(*stacks->slots));
	if (stacks->slots)
		return stacks;
	free(stacks);
	return NULL;
}

void gr_stacks_destroy(struct gr_stacks *stacks)
{
	if (!stacks)
		return;
	gr_stack_vector_deinit(&stacks->list);
	gr_pc_vector_deinit(&stacks->pcs);
	free(stacks->slots);
	free(stacks);
}

static bool is_equal(const struct gr_stacks *stacks, const struct gr_stack *a,
		     const struct gr_walked *b, uint32_t hash)
{
	return a->hash == hash && a->count == b->count &&
	       a->generation == b->generation &&
	       a->is_finished == b->is_finished &&
	       !memcmp(stacks->pcs.data + a->start, b->pc,
		       b->count * sizeof(*b->pc));
}

static bool add(struct gr_stacks *stacks, const struct gr_walked *walked,
		uint32_t hash)
{
	size_t start = stacks->pcs.size;
	struct gr_stack stack = {
		.generation = walked->generation,
		.hash = hash,
		.start = start,
		.count = walked->count,
		.is_finished = walked->is_finished,
	};

	if (stacks->list.size >= stacks->max ||
	    start + walked->count > MAX_PCS ||
	    !gr_pc_vector_reserve(&stacks->pcs, start + walked->count) ||
	    !gr_stack_vector_append(&stacks->list, stack))
		return false;
	if (walked->count)
		memcpy(stacks->pcs.data + start, walked->pc,
		       walked->count * sizeof(*walked->pc));
	stacks->pcs.size += walked->count;
	return true;
}

bool gr_stacks_intern(struct gr_stacks *stacks, const struct gr_walked *walked,
		      uint32_t *id, bool *is_new)
{
	uint32_t hash =
		gr_hash_bytes(walked->pc, walked->count * sizeof(*walked->pc));
	uint32_t i = hash & stacks->mask;

	*is_new = false;
	// Bounded by the slots: half of them are free.
	for (; (*id = stacks->slots[i]); i = (i + 1) & stacks->mask)
		if (is_equal(stacks, &stacks->list.data[*id - 1], walked, hash))
			return true;
	if (!add(stacks, walked, hash))
		return false;
	*is_new = true;
	*id = stacks->slots[i] = stacks->list.size;
	return true;
}
