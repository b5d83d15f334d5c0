/* SPDX-License-Identifier: Apache-2.0 */
/** internal: the steps of gr_heap_graph_create(). */
#ifndef GR_HEAPGRAPH_INTERNAL_H
#define GR_HEAPGRAPH_INTERNAL_H

#include "graph/keys.h"
#include "heapgraph/heapgraph.h"

/** An edge from a root. */
struct gr_root_edge {
	uint32_t root; /**< Index among gr_heap_graph.roots. */
	gr_vertex to;
};

/** A list on account of the graph's budget. Zero-initialised, it is empty. */
struct gr_root_edges {
	struct gr_root_edge *data;
	size_t size, capacity;
};

/** An exact pointer to the start of a block: it may tell the block's type. */
struct gr_block_seed {
	gr_vertex from; /**< GR_VERTEX_NONE: a root of the type @ref type. */
	gr_type_id type;
	uint32_t block;
	uint64_t off_bytes; /**< The word's, in the object or variable. */
};

/** A list like gr_root_edges; each thread may fill one. */
struct gr_block_seeds {
	struct gr_block_seed *data;
	size_t size, capacity;
};

/** A word of data of C that leads to the start of a block. */
struct gr_c_seed {
	uint64_t addr;
	uint32_t block;
};
GR_VECTOR(gr_c_seeds, struct gr_c_seed);

/** The state that the steps share. */
struct gr_graph_maker {
	const struct gr_heap_graph_spec *spec;
	struct gr_heap_graph *hg;
	struct gr_objects *objects;
	uint64_t *words; /**< Pointer bits (gr_ptrmap_build()). */
	/** A bit a slot: a g or sudog to which only its goroutine leads. */
	uint64_t *owned;
	struct gr_root_edges root_edges;
	struct gr_block_seeds seeds; /**< In the order of their sources. */
	struct gr_c_seeds c_seeds;   /**< In the order of addresses. */
	/** By the address of a variable's name: its index in roots->list. */
	struct gr_keys variables;
	/** By that index: the static group of the variable. */
	struct gr_keys static_groups;
};

/**
 * Sweep the edges of all objects, with spec->nthreads threads, each into one
 * part. @p parts has that many elements, which must be zeroed.
 */
struct gr_error *gr_graph_sweep(struct gr_graph_maker *maker,
				struct gr_edges *parts) GR_MUST_CHECK;

/** Fill maker->owned. */
struct gr_error *
gr_graph_find_owned(struct gr_graph_maker *maker) GR_MUST_CHECK;

/** Fill the edges of all blocks. @p part is zeroed. */
struct gr_error *gr_graph_sweep_blocks(struct gr_graph_maker *maker,
				       struct gr_edges *part) GR_MUST_CHECK;

/** Give blocks types, when the graph has been made. */
struct gr_error *
gr_graph_type_blocks(struct gr_graph_maker *maker) GR_MUST_CHECK;

/** Add the roots of C, and their edges, behind those of Go. */
struct gr_error *
gr_graph_add_c_roots(struct gr_graph_maker *maker) GR_MUST_CHECK;

/** Add words of frames of Go as roots of the blocks that nothing else holds.
 * @p parts: the edges of objects, and behind these @p nparts those of blocks. */
struct gr_error *gr_graph_add_frames(struct gr_graph_maker *maker,
				     const struct gr_edges *parts,
				     size_t nparts) GR_MUST_CHECK;

/** The blocks to which edges may lead, or NULL. */
static inline struct gr_blocks *gr_graph_blocks(const struct gr_graph_maker *m)
{
	return m->hg->native ? &m->hg->native->blocks : NULL;
}

/** Add an edge from the vertex of hg->roots that was appended last. */
struct gr_error *gr_graph_add_root_edge(struct gr_graph_maker *maker,
					gr_vertex to) GR_MUST_CHECK;

/** Append a vertex to hg->roots. */
struct gr_error *
gr_graph_add_root_vertex(struct gr_graph_maker *maker,
			 struct gr_root_vertex vertex) GR_MUST_CHECK;

/** Append a seed; false if there is no memory (gr_budget_error()). */
static inline bool gr_block_seeds_append(struct gr_block_seeds *seeds,
					 struct gr_budget *budget,
					 struct gr_block_seed seed)
{
	if (!gr_array_grow(budget, (void **)&seeds->data, &seeds->capacity,
			   seeds->size + 1, sizeof(seed)))
		return false;
	seeds->data[seeds->size++] = seed;
	return true;
}

/** Fill hg->roots and maker->root_edges. */
struct gr_error *gr_graph_add_roots(struct gr_graph_maker *maker) GR_MUST_CHECK;

#endif /* GR_HEAPGRAPH_INTERNAL_H */
