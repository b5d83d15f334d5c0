/* SPDX-License-Identifier: Apache-2.0 */
/** merged_types: the paths to all objects of one type, merged. */
#ifndef GR_MERGED_TYPES_H
#define GR_MERGED_TYPES_H

#include "base/base.h"
#include "base/error.h"
#include "naming/vertex.h"

struct gr_scan;

/** A branch: vertices of one type below the same branch. */
struct gr_merged_branch {
	uint32_t parent; /**< Index of the branch above; of the first: 0. */
	uint32_t depth;
	/** Type of its objects; the root; the group of roots. */
	struct gr_vertex_info example;
	/** Field or element by which the example is referred to, without
	 * indexes; "" if that is not known. */
	const char *field;
	uint64_t vertices;
	uint64_t objects; /**< Those of the type, here and below. */
	uint64_t bytes;	  /**< Own bytes of these objects. */
	uint64_t cut;	  /**< Objects below without a branch of their own. */
};

/** The answer. Belongs to the caller. */
struct gr_merged_types {
	const char *type;
	uint64_t objects; /**< Reached objects of the type. */
	uint64_t bytes;
	uint64_t unreached;		   /**< Only over what was left out. */
	struct gr_merged_branch *branches; /**< The first one is the top. */
	size_t nbranches;
};

/**
 * Merge a shortest path to each reached object of a type, from the top on.
 *
 * @param type As in naming/type_filter.h.
 * @param max Branches at most, 1 and more.
 * @param exclude_weak Leave out weak edges (weak.h).
 * @return GR_ERROR_NOT_FOUND if no reached object has that type.
 */
struct gr_error *gr_scan_merge_type(struct gr_scan *scan, const char *type,
				    uint32_t max, bool exclude_weak,
				    struct gr_merged_types **ret) GR_MUST_CHECK;
void gr_merged_types_destroy(struct gr_merged_types *merged);

#endif /* GR_MERGED_TYPES_H */
