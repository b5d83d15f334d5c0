/* SPDX-License-Identifier: Apache-2.0 */
/**
 * type_holders: for each of many types, the roots that hold its objects.
 *
 * Each object counts for one root: the one that `scan' bills, which is that of
 * the nearest path. So the rows of a type add up to its objects.
 */
#ifndef GR_TYPE_HOLDERS_H
#define GR_TYPE_HOLDERS_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/gaps.h"

struct gr_scan;

/** The objects of one type that roots of one name and kind hold. */
struct gr_type_holder {
	const char *name;
	const char *kind; /**< "global", "local" ... */
	uint64_t objects, bytes;
};

/** One type. Strings belong to the scan. */
struct gr_type_holding {
	const char *type;
	uint64_t objects, bytes; /**< All of them. */
	/** Most bytes first. */
	struct gr_type_holder *holders;
	size_t nholders;
	uint64_t left_out; /**< Holders behind these. */
	uint64_t left_out_objects, left_out_bytes;
};

/** The types in the order in which they were asked for. */
struct gr_type_holders {
	struct gr_type_holding *types;
	size_t ntypes;
	struct gr_gaps gaps;
};

/**
 * Find who holds the objects of @p ntypes types, in time that is linear in the
 * heap.
 *
 * @param types Names of rows of a histogram by type.
 * @param max_holders Of a type; the rest is counted.
 * @param[out] ret For gr_type_holders_destroy().
 */
struct gr_error *
gr_scan_type_holders(struct gr_scan *scan, const char *const *types,
		     uint32_t ntypes, uint32_t max_holders,
		     struct gr_type_holders **ret) GR_MUST_CHECK;

void gr_type_holders_destroy(struct gr_type_holders *holders);

#endif /* GR_TYPE_HOLDERS_H */
