/* SPDX-License-Identifier: Apache-2.0 */
/** primitive_path: the paths of names by which channels and locks are known. */
#ifndef GR_PRIMITIVE_PATH_H
#define GR_PRIMITIVE_PATH_H

#include "goroutines/wait_table.h"
#include "retention/data_variables.h"
#include "retention/near_holders.h"
#include "retention/variable_paths.h"

struct gr_answers;

/** Strings belong to the scan and are never NULL. */
struct gr_awaited_name {
	/**
	 * From a package variable on, over few pointers, and none of them in the
	 * runtime's own structures: `main.store.sessions.mu`. Else from the
	 * nearest object with a type on: `(*main.Store)(0xc000012340).mu`. Else
	 * the type and the address of the primitive, or "".
	 */
	const char *path;
	/** A channel's is `chan T`, as the channel itself says; a lock's is
	 * that of the object or variable it lies in. Or "". */
	const char *type;
	/** The path begins with a variable, or the root of one, and has all its
	 * steps. */
	bool is_of_variable;
	/** The path is only the type and the address of the primitive. */
	bool is_bare;
};

/** The sources of names of primitives. */
struct gr_awaited_names {
	struct gr_answers *answers;
	struct gr_variable_paths paths; /**< If there is a graph. */
	struct gr_near_holders holders; /**< The same. */
	struct gr_data_variables variables;
};

void gr_awaited_names_deinit(struct gr_awaited_names *names);

/**
 * Get ready to name primitives, with the object graph, if it has been
 * made. What serves all of them is made once, so that the time is linear.
 */
struct gr_error *
gr_awaited_names_make(struct gr_answers *answers,
		      const struct gr_primitive *const *wanted, size_t nwanted,
		      struct gr_awaited_names *ret) GR_MUST_CHECK;

/** Name one of the primitives that were wanted. */
struct gr_error *
gr_awaited_find_name(struct gr_awaited_names *names,
		     const struct gr_primitive *primitive,
		     struct gr_awaited_name *ret) GR_MUST_CHECK;

/** An object that goroutines wait for, and its name for people. */
struct gr_awaited_path {
	uint64_t object;
	struct gr_awaited_name name;
};
GR_VECTOR(gr_awaited_path_vector, struct gr_awaited_path);

/**
 * Name all that goroutines of the program wait for; the rows rise by their
 * objects. Bare names are left out. Makes the object graph, and drops it again
 * if there was none: the names do not need it. Fails as the graph does, for want
 * of memory too.
 */
struct gr_error *
gr_awaited_paths_make(struct gr_answers *answers,
		      struct gr_awaited_path_vector *ret) GR_MUST_CHECK;

#endif /* GR_PRIMITIVE_PATH_H */
