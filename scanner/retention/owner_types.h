/* SPDX-License-Identifier: Apache-2.0 */
/** owner_types: which objects may stand in the name of something else. */
#ifndef GR_OWNER_TYPES_H
#define GR_OWNER_TYPES_H

#include "goruntime/types/types.h"
#include "graph/paths.h"

struct gr_answers;

/** Classes of objects: how well they tell who owns what they point to. */
enum gr_owner_class {
	GR_OWNER_UNKNOWN,   /**< No type, or none with fields. */
	GR_OWNER_NAMED,	    /**< A struct of the program or a dependency. */
	GR_OWNER_GENERAL,   /**< A type of package sync or context. */
	GR_OWNER_CONTAINER, /**< Elements of a slice or a map; a closure. */
	GR_OWNER_TIMER,	    /**< time.Timer or time.Ticker: has a channel. */
	GR_OWNER_RUNTIME,   /**< The runtime's own: runtime.p, runtime.timer. */
	GR_OWNER_VARIABLE,  /**< A root: a package variable of the program. */
	GR_OWNER_ROOT,	    /**< Another root: a frame, a timer. */
};

struct gr_owner_types {
	struct gr_answers *answers;
	uint8_t *class_of; /**< By type id, enum gr_owner_class. */
	size_t ntypes;
};

/** Look at all types once. The graph has been made. */
struct gr_error *gr_owner_types_make(struct gr_answers *answers,
				     struct gr_owner_types *ret) GR_MUST_CHECK;
void gr_owner_types_deinit(struct gr_owner_types *types);

/** The class of a type, which may be newer than the table; or of none. */
enum gr_owner_class gr_owner_class_of_type(const struct gr_owner_types *types,
					   gr_type_id id);

/** The class of an object or a root. */
enum gr_owner_class gr_owner_class_of(const struct gr_owner_types *types,
				      gr_vertex v);

/** Is this an object of the runtime, or what a timer calls? A name that leads
 * over it says nothing of the program. */
bool gr_owner_is_blind(const struct gr_owner_types *types, gr_vertex from,
		       gr_vertex to);

/**
 * A filter that lets through the edges over which a path from a package variable
 * of the program may lead: no other roots, no objects of the runtime, not the
 * functions of timers. @p types outlives it.
 */
struct gr_edge_filter gr_owner_variables_filter(struct gr_owner_types *types);

#endif /* GR_OWNER_TYPES_H */
