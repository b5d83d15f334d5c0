/* SPDX-License-Identifier: Apache-2.0 */
/**
 * suspects: the few parts of the dominator tree that hold most.
 *
 * From the top down, each heavy path (accumulate.h) leads to the place where
 * bytes come together. What branches off on the way, and retains enough, is a
 * suspect of its own. Therefore suspects do not overlap. Vertices that are
 * small alone, and have a key in common, are a suspect together.
 */
#ifndef GR_GRAPH_SUSPECTS_H
#define GR_GRAPH_SUSPECTS_H

#include "graph/accumulate.h"
#include "graph/children.h"

/** How a vertex puts together what it holds. */
enum gr_vertex_form {
	GR_FORM_PARTS,	   /**< Has distinct parts, such as fields. */
	GR_FORM_CONTAINER, /**< Has parts of one kind, such as elements. */
	GR_FORM_OPEN,	   /**< Only puts things together: the top, a group. */
	GR_FORM_IGNORED,   /**< Is not looked at. */
};

struct gr_suspect_question {
	/** That a suspect retains; 1 and more. It should be a fair share of
	 * the whole: large vertices are compared with their siblings. */
	uint64_t min_bytes;
	enum gr_vertex_form (*form)(void *ctx, gr_vertex v);
	/** Alike vertices share this, such as their type. 0: it is not known;
	 * such vertices are no group below open ones. */
	uint64_t (*key)(void *ctx, gr_vertex v);
	void *ctx;
};

struct gr_suspect {
	/** The first vertex that holds nothing but this suspect; for a group,
	 * the member that retains most. */
	gr_vertex holder;
	/** Where it accumulates; not set for a group. */
	struct gr_accumulation at;
	struct gr_sizes retained;
	bool is_group; /**< Members of one key below open vertices. */
	uint64_t key;
	uint32_t vertices; /**< Members of a group; 1. */
};

/** Most retained bytes first, then by holder. */
struct gr_suspects {
	struct gr_suspect *suspects;
	uint32_t count;
	/** The part or group that retains most, whether that is enough for a
	 * suspect or not. Without any: retains 0 bytes. */
	struct gr_suspect largest;
};

/** Find all suspects. Needs GR_PART_CHILDREN. */
struct gr_error *gr_graph_suspects(const struct gr_graph *graph,
				   const struct gr_suspect_question *question,
				   const struct gr_poll *poll,
				   struct gr_suspects *ret) GR_MUST_CHECK;

void gr_suspects_deinit(struct gr_suspects *suspects);

/**
 * Group by key what accumulates: the children of the accumulation point, the
 * elements of a chain with what hangs on each, or the members of a group.
 * Children of the same key as the point itself are seen through (pieces of one
 * map, nodes of one tree): they are a group that has only their own bytes.
 * Roots and goroutines count with what they hold. Suspects of their own are
 * left out. The groups do not overlap.
 */
struct gr_error *
gr_graph_suspect_contents(const struct gr_graph *graph,
			  const struct gr_suspect_question *question,
			  const struct gr_suspect *suspect,
			  const struct gr_poll *poll,
			  struct gr_child_groups *ret) GR_MUST_CHECK;

/** Set the bits of a group's members in @p bits, a bit a vertex. */
struct gr_error *
gr_graph_suspect_members(const struct gr_graph *graph,
			 const struct gr_suspect_question *question,
			 const struct gr_suspect *suspect,
			 const struct gr_poll *poll,
			 uint64_t *bits) GR_MUST_CHECK;

#endif /* GR_GRAPH_SUSPECTS_H */
