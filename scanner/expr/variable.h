/* SPDX-License-Identifier: Apache-2.0 */
/** variable: the objects and blocks that a variable points to, without a walk. */
#ifndef GR_VARIABLE_H
#define GR_VARIABLE_H

#include "expr/place.h"

struct gr_scan;

/** A pointer in a variable, to an object of the heap or a block of C. */
struct gr_held {
	const char *name; /**< `main.v.Left`, as an expression. */
	const char *type; /**< Type of the field or element: "*main.T". */
	uint64_t addr;	  /**< The pointer. */
	/** The memory of the object, without its malloc header; of a block, as
	 * its allocator counts it. */
	uint64_t base_addr, bytes;
	bool is_c; /**< A block of C. */
};

/** A variable. Belongs to the caller; names belong to the scan. */
struct gr_variable {
	const char *name, *type;
	uint64_t addr, bytes;
	struct gr_held *held;
	size_t nheld;
	uint64_t nothers; /**< Pointers beyond those in held. */
	bool is_cut;	  /**< Some words were not read. */
};

/**
 * Find the heap objects and the blocks of C that pointers of the variable at
 * @p place point to, or those of static memory behind its pointers and
 * interfaces. At most @p max of them are listed with names. Fails with
 * GR_ERROR_ARGUMENT if the place is not a variable or its type is not known.
 */
struct gr_error *gr_scan_read_variable(struct gr_scan *scan,
				       const struct gr_place *place, size_t max,
				       struct gr_variable **ret) GR_MUST_CHECK;
void gr_variable_destroy(struct gr_variable *variable);

#endif /* GR_VARIABLE_H */
