/* SPDX-License-Identifier: Apache-2.0 */
/**
 * graph: objects and roots as numbers, who points to whom, and what follows
 * from that: shortest paths, referrers, dominators, retained sizes.
 *
 * This room knows base: neither gdb, nor Go, nor the walk. Arrays come in
 * (edges.h, objects.h) and arrays go out. All results are the same in every run
 * and with any number of threads that made the edges.
 *
 * A vertex is an object, a root, a group of roots, or the top, in this order of
 * numbers. Edges lead from the top to groups, from groups to roots and groups,
 * from roots to objects, and from objects to objects.
 *
 * The forward edges stay as long as the graph. All other arrays are *parts*:
 * made when a question needs them (gr_graph_need()), dropped when memory is
 * short (gr_graph_drop()), and equal when they are made again.
 */
#ifndef GR_GRAPH_GRAPH_H
#define GR_GRAPH_GRAPH_H

#include "graph/budget.h"
#include "graph/edges.h"
#include "graph/objects.h"
#include "graph/poll.h"

enum gr_vertex_kind {
	GR_VERTEX_OBJECT,
	GR_VERTEX_ROOT,
	GR_VERTEX_GROUP,
	GR_VERTEX_TOP,
};

/** The parts of a graph; bits of a set. */
enum gr_graph_part {
	GR_PART_NEAREST = 1,	/**< parent, order, crossed. */
	GR_PART_REVERSE = 2,	/**< rfirst, from. */
	GR_PART_DOMINATORS = 4, /**< idom, retained, retained_second. */
	GR_PART_CHILDREN = 8,	/**< cfirst, child. */
	GR_PART_ALL = 15,
};

/** Roots have ranks from 0 to GR_RANKS - 1. */
enum { GR_RANKS = 3 };

/**
 * Arrays that are no part yet are NULL. None may be changed from outside.
 *
 * A vertex is *reached* if a path leads to it from the top; all others are
 * garbage. Invariants: first and rfirst have nvertices + 1 rising elements, and
 * the last one is the number of edges.
 */
struct gr_graph {
	struct gr_budget *budget;
	struct gr_objects *objects; /**< Owned. */
	gr_vertex nobjects;
	gr_vertex nroots;
	gr_vertex ngroups;
	gr_vertex nvertices; /**< nobjects + nroots + ngroups + 1. */

	/** The edges of v lead to to[first[v] .. first[v + 1]). */
	uint32_t *first;
	gr_vertex *to;

	/** By root: paths from roots of a lower rank are preferred, however
	 * long they are. NULL: all have rank 0. */
	uint8_t *ranks;

	/** By object: its size (gr_graph_weigh()). NULL: all sizes are bytes,
	 * those of the slots. */
	uint32_t *weights;

	/** Next vertex on a shortest path to the top among the paths from roots
	 * of the lowest rank; the top is its own parent; GR_VERTEX_NONE for
	 * garbage. */
	gr_vertex *parent;
	/** The nreached vertices by rank, then by their distance from the top;
	 * it is first. A group has the rank 0. */
	gr_vertex *order;
	gr_vertex nreached;
	/** A bit a vertex: an end of an edge that is in no tree of parents. */
	uint64_t *crossed;
	/** Edges of reached vertices that are not the first to their targets,
	 * without loops from a vertex to itself. */
	uint32_t nextra;

	/** The edges to v come from from[rfirst[v] .. rfirst[v + 1]), which
	 * rises; garbage has edges, too. */
	uint32_t *rfirst;
	gr_vertex *from;

	/** The last vertex before v on all paths to it; the top is its own,
	 * garbage has GR_VERTEX_NONE. */
	gr_vertex *idom;
	/** Sizes of what would be garbage without v, its own included; 0 if it
	 * is garbage already. */
	uint64_t *retained;
	/** The part of it in objects of the second sequence of runs; NULL if
	 * there are none. */
	uint64_t *retained_second;

	/** The vertices that v dominates directly are
	 * child[cfirst[v] .. cfirst[v + 1]): most retained bytes first, then
	 * by number. */
	uint32_t *cfirst;
	gr_vertex *child;
};

/** The input of a graph. */
struct gr_graph_spec {
	struct gr_budget *budget;   /**< Outlives the graph. */
	struct gr_objects *objects; /**< Taken over. */
	/** Edges of all objects, then of all roots; taken over (edges.h). */
	struct gr_edges *parts;
	size_t nparts;
	gr_vertex nroots;
	gr_vertex ngroups;
	/** The group of each root, then of each group: a vertex with a number
	 * greater than its own, the top included. Copied. */
	const gr_vertex *holders;
	/** The rank of each root (@ref gr_graph.ranks), copied; or NULL. */
	const uint8_t *ranks;
};

/**
 * Make a graph. Objects and parts are taken over in any case.
 *
 * @return GR_ERROR_LIMIT if there are 2^32 - 1 vertices or edges or more;
 *	GR_ERROR_NO_MEMORY.
 */
struct gr_error *gr_graph_create(const struct gr_graph_spec *spec,
				 struct gr_graph **ret) GR_MUST_CHECK;

void gr_graph_destroy(struct gr_graph *graph);
GR_DEFINE_CLEANUP(graph, struct gr_graph, gr_graph_destroy)

static inline gr_vertex gr_graph_top(const struct gr_graph *graph)
{
	return graph->nvertices - 1;
}

/** The first root; objects have smaller numbers. */
static inline gr_vertex gr_graph_first_root(const struct gr_graph *graph)
{
	return graph->nobjects;
}

/** The first group; objects and roots have smaller numbers. */
static inline gr_vertex gr_graph_first_group(const struct gr_graph *graph)
{
	return graph->nobjects + graph->nroots;
}

enum gr_vertex_kind gr_graph_kind(const struct gr_graph *graph, gr_vertex v);

/** The size of a vertex itself; 0 for all that are no objects. */
uint64_t gr_graph_own_bytes(const struct gr_graph *graph, gr_vertex v);

/** Sizes of objects, and the part of them in those of the second sequence of
 * runs. They are bytes, unless the graph has weights. */
struct gr_sizes {
	uint64_t bytes, second;
};

static inline struct gr_sizes gr_sizes_add(struct gr_sizes a, struct gr_sizes b)
{
	return (struct gr_sizes){ a.bytes + b.bytes, a.second + b.second };
}

static inline struct gr_sizes gr_sizes_sub(struct gr_sizes a, struct gr_sizes b)
{
	return (struct gr_sizes){ a.bytes - b.bytes, a.second - b.second };
}

/** The sizes of a vertex itself. */
struct gr_sizes gr_graph_own(const struct gr_graph *graph, gr_vertex v);

/** The part of what @p v retains in objects of the second sequence of runs; 0
 * before dominators are made. */
static inline uint64_t gr_graph_retained_second(const struct gr_graph *graph,
						gr_vertex v)
{
	return graph->retained_second ? graph->retained_second[v] : 0;
}

/** The sizes of all that @p v retains. Needs GR_PART_DOMINATORS. */
static inline struct gr_sizes gr_graph_retained(const struct gr_graph *graph,
						gr_vertex v)
{
	return (struct gr_sizes){ graph->retained[v],
				  gr_graph_retained_second(graph, v) };
}

/** The rank of a root. */
static inline uint8_t gr_graph_rank(const struct gr_graph *graph,
				    gr_vertex root)
{
	return graph->ranks ? graph->ranks[root - gr_graph_first_root(graph)] :
			      0;
}

/** Is there a path from the top? Needs GR_PART_NEAREST. */
static inline bool gr_graph_is_reached(const struct gr_graph *graph,
				       gr_vertex v)
{
	return graph->parent[v] != GR_VERTEX_NONE;
}

/**
 * Make the @p parts (bits of gr_graph_part) that are not there, and those that
 * they are made from. If memory is short, parts that were not asked for are
 * dropped, and it is tried once more.
 *
 * @return GR_ERROR_NO_MEMORY, or what @p poll returned. Then each part is there
 *	whole or not at all.
 */
struct gr_error *gr_graph_need(struct gr_graph *graph, unsigned int parts,
			       const struct gr_poll *poll) GR_MUST_CHECK;

/**
 * Take sizes of objects over, for gr_array_free(), in the place of those that
 * the graph has. NULL: the sizes are the bytes of slots. What vertices retain
 * is summed again; who dominates whom does not change. A part that cannot be
 * kept is dropped.
 *
 * @return what @p poll returned; the graph has the sizes nevertheless.
 */
struct gr_error *gr_graph_weigh(struct gr_graph *graph, uint32_t *weights,
				const struct gr_poll *poll) GR_MUST_CHECK;

/** Free @p parts. Those that are not there are no error. */
void gr_graph_drop(struct gr_graph *graph, unsigned int parts);

/** The parts that are there. */
unsigned int gr_graph_parts(const struct gr_graph *graph);

#endif /* GR_GRAPH_GRAPH_H */
