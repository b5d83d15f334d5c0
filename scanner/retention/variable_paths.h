/* SPDX-License-Identifier: Apache-2.0 */
/**
 * variable_paths: the shortest ways from package variables to many objects.
 *
 * A way leads neither over the runtime's own objects nor over timers
 * (owner_types.h), and it has few steps: a long one is no name.
 *
 * One search of the graph serves all objects. Then the words of each vertex on
 * their ways are read once, however many ways lead through it, as through the
 * map of a registry. The time is linear.
 */
#ifndef GR_VARIABLE_PATHS_H
#define GR_VARIABLE_PATHS_H

#include "base/text.h"
#include "naming/link.h"
#include "retention/owner_types.h"

struct gr_answers;

enum {
	/** Pointers that a name leads over, without those inside a container. */
	GR_MAX_NAME_STEPS = 4,
};

/** One edge of a way. */
struct gr_variable_hop {
	struct gr_link link;
	bool is_read; /**< The word of the link is known. */
	gr_vertex root;
	uint32_t depth; /**< Edges from the root on, 1 and more. */
	uint32_t steps; /**< The same without those inside a container. */
};
GR_VECTOR(gr_variable_hop_vector, struct gr_variable_hop);

struct gr_variable_paths {
	struct gr_answers *answers;
	struct gr_owner_types types;
	/** By vertex: the one before it on its way; GR_VERTEX_NONE: there is no
	 * way. NULL before the search. */
	gr_vertex *parent;
	/** By vertex: the hop that leads to it; UINT32_MAX: not wanted yet. */
	uint32_t *hop_of;
	struct gr_variable_hop_vector hops;
};

/** Search the graph, which has been made. */
struct gr_error *
gr_variable_paths_find(struct gr_answers *answers,
		       struct gr_variable_paths *ret) GR_MUST_CHECK;
void gr_variable_paths_deinit(struct gr_variable_paths *paths);

/** The way to @p object will be asked for. */
struct gr_error *gr_variable_paths_want(struct gr_variable_paths *paths,
					gr_vertex object) GR_MUST_CHECK;

/** The steps of the way to an object that is wanted; UINT32_MAX: there is no
 * way, or it is too long for a name. */
uint32_t gr_variable_paths_steps(const struct gr_variable_paths *paths,
				 gr_vertex object);

/** Read the words of all ways that will be asked for. */
struct gr_error *
gr_variable_paths_read(struct gr_variable_paths *paths) GR_MUST_CHECK;

/** Where a way ends. */
struct gr_variable_way {
	/** The last pointer points to this, by its own type: one value, or the
	 * elements of a slice; or GR_TYPE_NONE. */
	gr_type_id pointee;
	bool is_slice;
	uint64_t pointee_off; /**< From the object's first byte. */
};

/**
 * Append the name of a link: a field or an element. Pieces of a map or a channel
 * have no name in Go: the element that follows is that of the whole.
 *
 * @param holder As of gr_link_name().
 * @param[in,out] way Where the link before leads to, and then this one;
 *	GR_TYPE_NONE as its pointee if there is none.
 */
struct gr_error *
gr_variable_way_put_link(const struct gr_owner_types *types,
			 const struct gr_link *link, gr_vertex holder,
			 struct gr_text *text,
			 struct gr_variable_way *way) GR_MUST_CHECK;

/** Append the way to @p object, as in `main.store.sessions["a"]`; nothing if
 * there is none, or if it is too long for a name. */
struct gr_error *
gr_variable_paths_put(struct gr_variable_paths *paths, gr_vertex object,
		      struct gr_text *text,
		      struct gr_variable_way *ret) GR_MUST_CHECK;

/** Append the name of what holds an object, itself an object that is wanted or a
 * root; nothing if it leads from no variable, or if one more step would make the
 * way too long. */
struct gr_error *
gr_variable_paths_put_holder(struct gr_variable_paths *paths, gr_vertex holder,
			     struct gr_text *text) GR_MUST_CHECK;

#endif /* GR_VARIABLE_PATHS_H */
