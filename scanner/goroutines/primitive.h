/* SPDX-License-Identifier: Apache-2.0 */
/** primitive: what a person calls the lock or channel that goroutines wait for. */
#ifndef GR_PRIMITIVE_H
#define GR_PRIMITIVE_H

#include "base/base.h"
#include "base/error.h"

struct gr_answers;

/** The name of a primitive. Strings belong to the scan and are never NULL. */
struct gr_primitive_name {
	/** `sync.Mutex`, `chan main.Job`; "": not known. */
	const char *type;
	/**
	 * From a package variable: `main.store.mu`, `main.sessions["a"].lock`.
	 * If only stacks lead to it, from the root over which a walk bills the
	 * object: `main.serve.s.lock`. No path leads over many pointers, or over
	 * the runtime's own structures: then it begins with the nearest object
	 * with a type, `(*main.Store)(0xc000012340).lock`. "": not even that is
	 * known.
	 */
	const char *path;
	/** Type of the object or variable that has it: `main.Store`; "": the
	 * primitive is all of it, or that is not known. */
	const char *holder_type;
	/** The field of the holder: `.mu`, or "". */
	const char *field;
	/** The type of package sync that uses the primitive as its lock:
	 * `sync.RWMutex`, `sync.Once`; or "". */
	const char *part_of;
};

/**
 * Name the primitive at @p addr.
 *
 * @param type The type of a lock, which tells the field: `sync.Mutex`; for a
 *	channel, `chan T`.
 * @param is_channel The object at @p addr is a channel as a whole.
 * @param may_walk Without a walk, only package variables and their pointers
 *	lead to it. The first question takes a walk and makes the object graph,
 *	if there is memory for it, and later ones use what these found.
 */
struct gr_error *
gr_primitive_find_name(struct gr_answers *answers, uint64_t addr,
		       const char *type, bool is_channel, bool may_walk,
		       struct gr_primitive_name *ret) GR_MUST_CHECK;

#endif /* GR_PRIMITIVE_H */
