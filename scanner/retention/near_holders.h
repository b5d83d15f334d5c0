/* SPDX-License-Identifier: Apache-2.0 */
/**
 * near_holders: who points to some objects, and who to these, a few steps up.
 *
 * Each step passes all edges once, and reads each object that points to a wanted
 * one once, however many objects are wanted. It keeps the first few that point
 * to each wanted object. The time is linear.
 */
#ifndef GR_NEAR_HOLDERS_H
#define GR_NEAR_HOLDERS_H

#include "base/text.h"
#include "graph/keys.h"
#include "naming/link.h"
#include "retention/owner_types.h"
#include "retention/variable_paths.h"

/** A word that leads to an object that was wanted. */
struct gr_near_link {
	struct gr_link link;
	uint8_t class; /**< enum gr_owner_class of link.from. */
	uint32_t next; /**< To the same object; UINT32_MAX: none. */
};
GR_VECTOR(gr_near_link_vector, struct gr_near_link);

/** An object that was wanted. */
struct gr_near_object {
	gr_vertex object;
	uint32_t first;	    /**< Its first link; UINT32_MAX: none. */
	uint32_t ntaken[2]; /**< Referrers; [1]: those of GR_OWNER_NAMED. */
	uint32_t nlinks[2];
};
GR_VECTOR(gr_near_object_vector, struct gr_near_object);
GR_VECTOR(gr_near_vertices, gr_vertex);

struct gr_near_holders {
	const struct gr_owner_types *types;
	struct gr_keys rows; /**< From an object to its row. */
	struct gr_near_object_vector objects;
	struct gr_near_link_vector links;
};

void gr_near_holders_deinit(struct gr_near_holders *holders);

/** The links to an object will be asked for. */
struct gr_error *gr_near_holders_want(struct gr_near_holders *holders,
				      gr_vertex object) GR_MUST_CHECK;

/** Find the links to all that are wanted, and upwards from there until a struct
 * of the program is met. */
struct gr_error *
gr_near_holders_find(struct gr_near_holders *holders) GR_MUST_CHECK;

/** The first link to an object; NULL: none is known. */
const struct gr_near_link *
gr_near_holders_links(const struct gr_near_holders *holders, gr_vertex object);

/** The next link to the same object, or NULL: bounded by 32 links an object. */
const struct gr_near_link *
gr_near_holders_next(const struct gr_near_holders *holders,
		     const struct gr_near_link *link);

/**
 * Append a name of what leads to @p object, from the nearest struct of the
 * program on: `(*main.Conn)(0xc000012340).ctx.done`. If none is near, it begins
 * with one of package sync or context. Nothing: there is neither.
 */
struct gr_error *gr_near_holders_put(const struct gr_near_holders *holders,
				     gr_vertex object, struct gr_text *text,
				     struct gr_variable_way *ret) GR_MUST_CHECK;

#endif /* GR_NEAR_HOLDERS_H */
