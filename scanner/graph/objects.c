// SPDX-License-Identifier: Apache-2.0
/*
 * Dense numbers by rank and select over a bitmap: Jacobson, "Space-efficient
 * static trees and graphs" (1989). Rank counts the bits before a place, select
 * finds the n-th bit.
 */
#include "graph/objects.h"

#include <assert.h>

void gr_objects_destroy(struct gr_objects *objects)
{
	if (!objects)
		return;
	gr_array_free(objects->runs);
	gr_array_free(objects->slots);
	gr_array_free(objects->ranks);
	gr_array_free(objects->type);
	free(objects);
}

/* Fill ranks, count and the runs' first numbers from the bits. */
static void count_ranks(struct gr_objects *o)
{
	gr_vertex count = 0;

	for (uint32_t word = 0; word <= o->nslots / GR_RANK_SLOTS; word++) {
		o->ranks[word] = count;
		count += gr_popcount(o->slots[word]);
	}
	for (uint32_t run = 0; run <= o->nruns; run++)
		o->runs[run].first =
			gr_objects_rank(o, o->runs[run].first_slot);
	o->count = count;
	assert(o->runs[o->nruns].first == count);
}

static bool arrays_alloc(struct gr_objects *o, struct gr_budget *budget,
			 uint32_t nruns, uint64_t nslots)
{
	uint64_t nwords = nslots / GR_RANK_SLOTS + 1;

	o->nruns = nruns;
	o->nslots = nslots;
	o->runs =
		gr_array_calloc(budget, (uint64_t)nruns + 1, sizeof(*o->runs));
	o->slots = gr_array_calloc(budget, nwords, sizeof(*o->slots));
	o->ranks = gr_array_alloc(budget, nwords, sizeof(*o->ranks));
	return o->runs && o->slots && o->ranks;
}

static void fill_runs(struct gr_objects *o, const struct gr_run_spec *specs)
{
	uint32_t slot = 0;

	for (uint32_t i = 0; i < o->nruns; i++) {
		assert(specs[i].elem_bytes);
		assert(!i || i == o->nfirst ||
		       specs[i - 1].base + specs[i - 1].elem_bytes *
						   specs[i - 1].nslots <
			       specs[i].base + specs[i - 1].elem_bytes);
		o->runs[i] = (struct gr_slot_run){
			.base = specs[i].base,
			.elem_bytes = specs[i].elem_bytes,
			.head_bytes = specs[i].head_bytes,
			.first_slot = slot,
		};
		slot += specs[i].nslots;
	}
	o->runs[o->nruns] = (struct gr_slot_run){ .base = UINT64_MAX,
						  .elem_bytes = 1,
						  .first_slot = slot };
}

struct gr_error *gr_objects_create(struct gr_budget *budget,
				   const struct gr_run_spec *runs,
				   uint32_t nfirst, uint32_t nruns,
				   const uint64_t *slots,
				   struct gr_objects **ret)
{
	_cleanup_(gr_cleanup_objects) struct gr_objects *o =
		calloc(1, sizeof(*o));
	uint64_t nslots = 0;

	for (uint32_t i = 0; i < nruns; i++)
		nslots += runs[i].nslots;
	if (nslots >= GR_VERTEX_NONE)
		return gr_error_format(GR_ERROR_LIMIT,
				       "the heap has too many object slots for "
				       "an object graph: %llu",
				       (unsigned long long)nslots);
	if (!o)
		return &gr_enomem;
	if (!arrays_alloc(o, budget, nruns, nslots))
		return gr_budget_error(budget);
	o->nfirst = nfirst;
	memcpy(o->slots, slots, gr_bitmap_words(nslots) * sizeof(*slots));
	if (nslots % 64)
		o->slots[nslots / 64] &= (UINT64_C(1) << (nslots % 64)) - 1;
	fill_runs(o, runs);
	count_ranks(o);
	*ret = steal_ptr(o);
	return NULL;
}

struct gr_error *gr_objects_add_types(struct gr_objects *o,
				      struct gr_budget *budget)
{
	if (!o->type)
		o->type = gr_array_calloc(budget, o->count, sizeof(*o->type));
	return o->type ? NULL : gr_budget_error(budget);
}

// ----------------------------------------------------------------- look-ups

/* The object at @p addr in the runs [first, end). */
static gr_vertex find_between(const struct gr_objects *o, uint32_t first,
			      uint32_t end, uint64_t addr)
{
	size_t n = gr_count_before(end - first, i,
				   o->runs[first + i].base <= addr);

	if (!n)
		return GR_VERTEX_NONE;
	const struct gr_slot_run *run = &o->runs[first + n - 1];
	uint64_t index = (addr - run->base) / run->elem_bytes;
	if (index >= run[1].first_slot - run->first_slot ||
	    !gr_bitmap_test(o->slots, run->first_slot + index))
		return GR_VERTEX_NONE;
	return gr_objects_rank(o, run->first_slot + index);
}

gr_vertex gr_objects_find(const struct gr_objects *o, uint64_t addr)
{
	gr_vertex v = find_between(o, 0, o->nfirst, addr);

	return v != GR_VERTEX_NONE ? v :
				     find_between(o, o->nfirst, o->nruns, addr);
}

const struct gr_slot_run *gr_objects_run(const struct gr_objects *o,
					 gr_vertex object)
{
	assert(object < o->count);
	// Runs without objects have the number of their successor: the last
	// one that begins at or before this object has it.
	return &o->runs[gr_count_before(o->nruns, i, o->runs[i].first <= object) -
			1];
}

/* Place of the set bit number @p n of @p word, which has more than n. */
static unsigned int select_bit(uint64_t word, unsigned int n)
{
	while (n--)
		word &= word - 1;
	return __builtin_ctzll(word);
}

uint32_t gr_objects_slot(const struct gr_objects *o, gr_vertex object)
{
	const struct gr_slot_run *run = gr_objects_run(o, object);
	size_t low = run->first_slot / GR_RANK_SLOTS;
	size_t nwords = run[1].first_slot / GR_RANK_SLOTS + 1 - low;
	size_t n = gr_count_before(nwords, i, o->ranks[low + i] <= object);

	// Words without bits have the rank of their successor: the last one
	// whose rank is not greater has the object.
	assert(n);
	size_t word = low + n - 1;
	return word * GR_RANK_SLOTS +
	       select_bit(o->slots[word], object - o->ranks[word]);
}

uint64_t gr_objects_addr(const struct gr_objects *o, gr_vertex object)
{
	const struct gr_slot_run *run = gr_objects_run(o, object);
	uint64_t index = gr_objects_slot(o, object) - run->first_slot;

	return run->base + index * run->elem_bytes + run->head_bytes;
}

uint64_t gr_objects_bytes(const struct gr_objects *o, gr_vertex object)
{
	return gr_objects_run(o, object)->elem_bytes;
}
