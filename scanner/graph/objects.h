/* SPDX-License-Identifier: Apache-2.0 */
/**
 * objects: the heap's objects under dense numbers, in the order of addresses.
 *
 * Memory is divided into runs of slots of one size (the runtime's spans). A bit
 * a slot says whether it has a number; numbers count the bits that are set. An
 * emptied heap has many slots and few objects: 0.19 bytes a slot is all that
 * its size costs.
 */
#ifndef GR_GRAPH_OBJECTS_H
#define GR_GRAPH_OBJECTS_H

#include "base/bitmap.h"
#include "graph/budget.h"

/** A vertex of the graph: objects first, then roots, groups, and the top. */
typedef uint32_t gr_vertex;
#define GR_VERTEX_NONE UINT32_MAX

/** Slots that one rank covers: a word of bits. */
enum { GR_RANK_SLOTS = 64 };

/** Slots of one size, [base, base + elem_bytes * number of slots). */
struct gr_slot_run {
	uint64_t base;	     /**< Target address of the first slot. */
	uint64_t elem_bytes; /**< Bytes of a slot, not 0. */
	uint32_t head_bytes; /**< From a slot to its object's first byte. */
	uint32_t first_slot; /**< Number of the first slot. */
	gr_vertex first;     /**< Number of the first object. */
};

/**
 * There may be two sequences of runs, as of two heaps: each rises by itself.
 *
 * Invariants: the slots of the runs [0, nfirst) rise by address, and so do those
 * of [nfirst, nruns). Only the last slot of a run may reach into the next run,
 * whose bytes these are: a block of C may have a header before its address,
 * where its slot begins. runs[nruns] is an end mark with first_slot == nslots
 * and first == count; type is NULL or has count elements.
 */
struct gr_objects {
	uint32_t count; /**< Objects: slots that have a number. */
	uint32_t nslots;
	uint32_t nruns;
	uint32_t nfirst; /**< Runs of the first sequence. */

	struct gr_slot_run *runs;
	uint64_t *slots;  /**< A bit a slot: it has a number. */
	gr_vertex *ranks; /**< Numbers before each word of slots. */
	uint32_t *type;	  /**< The owner's type ids, or NULL. */
};

/** A run, as gr_objects_create() takes it. */
struct gr_run_spec {
	uint64_t base;
	uint64_t elem_bytes;
	uint32_t head_bytes;
	uint32_t nslots;
};

/**
 * Number the slots of @p runs. The first @p nfirst rise by address, and so do
 * those behind them; only a last slot may reach into the next run.
 *

 * @param slots A bit for each slot of all runs: it becomes an object. Copied.
 * @return GR_ERROR_LIMIT if there are 2^32 - 1 slots or more.
 */
struct gr_error *gr_objects_create(struct gr_budget *budget,
				   const struct gr_run_spec *runs,
				   uint32_t nfirst, uint32_t nruns,
				   const uint64_t *slots,
				   struct gr_objects **ret) GR_MUST_CHECK;

/** The first object of the second sequence of runs; count if it has none. */
static inline gr_vertex gr_objects_second(const struct gr_objects *objects)
{
	return objects->runs[objects->nfirst].first;
}

void gr_objects_destroy(struct gr_objects *objects);
GR_DEFINE_CLEANUP(objects, struct gr_objects, gr_objects_destroy)

/** Allocate the array of types, zeroed, unless it is there. */
struct gr_error *gr_objects_add_types(struct gr_objects *objects,
				      struct gr_budget *budget) GR_MUST_CHECK;

/**
 * Number of the object in @p slot, or that of the first one behind it. The
 * result is the number of objects before this slot.
 */
static inline gr_vertex gr_objects_rank(const struct gr_objects *objects,
					uint32_t slot)
{
	uint32_t word = slot / GR_RANK_SLOTS;
	uint64_t before = (UINT64_C(1) << (slot % GR_RANK_SLOTS)) - 1;

	return objects->ranks[word] +
	       gr_popcount(objects->slots[word] & before);
}

/**
 * The object whose slot has the byte at @p addr: interior addresses count.
 *
 * @return GR_VERTEX_NONE if there is none.
 */
gr_vertex gr_objects_find(const struct gr_objects *objects, uint64_t addr);

/** The run of an object; binary search. */
const struct gr_slot_run *gr_objects_run(const struct gr_objects *objects,
					 gr_vertex object);

/** Slot number of an object. */
uint32_t gr_objects_slot(const struct gr_objects *objects, gr_vertex object);

/** Target address of an object's first byte, behind its slot's head. */
uint64_t gr_objects_addr(const struct gr_objects *objects, gr_vertex object);

/** Bytes of an object: those of its slot. */
uint64_t gr_objects_bytes(const struct gr_objects *objects, gr_vertex object);

/** Goes from object to object in the order of numbers, and so of addresses. */
struct gr_object_iterator {
	const struct gr_objects *objects;
	const struct gr_slot_run *end; /**< Behind the last run. */
	uint32_t next_slot;	       /**< The next object is not before it. */
	gr_vertex next;
	/** The object that gr_objects_next() found. */
	const struct gr_slot_run *run;
	uint32_t slot;
	gr_vertex vertex;
	uint64_t addr;	/**< Its first byte, behind its slot's head. */
	uint64_t bytes; /**< From there to the end of its slot. */
};

/** An iterator in front of the first object of the run number @p first, up to the
 * last one of the run before @p end. */
static inline struct gr_object_iterator
gr_objects_between(const struct gr_objects *objects, uint32_t first,
		   uint32_t end)
{
	const struct gr_slot_run *run = &objects->runs[first];

	return (struct gr_object_iterator){
		.objects = objects,
		.end = &objects->runs[end],
		.next_slot = run->first_slot,
		.next = run->first,
		.run = run,
	};
}

/** An iterator in front of the first object. */
static inline struct gr_object_iterator
gr_objects_begin(const struct gr_objects *objects)
{
	return gr_objects_between(objects, 0, objects->nruns);
}

/** Go to the next object; false: there is none. */
static inline bool gr_objects_next(struct gr_object_iterator *c)
{
	while (c->run < c->end && c->next == c->run[1].first)
		c->next_slot = (++c->run)->first_slot;
	if (c->run >= c->end)
		return false;
	c->slot = gr_bitmap_next(c->objects->slots, c->next_slot,
				 c->objects->nslots);
	c->next_slot = c->slot + 1;
	c->vertex = c->next++;
	c->bytes = c->run->elem_bytes - c->run->head_bytes;
	c->addr = c->run->base + c->run->head_bytes +
		  (c->slot - c->run->first_slot) * c->run->elem_bytes;
	return true;
}

#endif /* GR_GRAPH_OBJECTS_H */
