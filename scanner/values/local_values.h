/* SPDX-License-Identifier: Apache-2.0 */
/** local_values: the arguments and local variables of a call, for scripts. */
#ifndef GR_LOCAL_VALUES_H
#define GR_LOCAL_VALUES_H

#include "base/base.h"
#include "base/error.h"

struct gr_scan;

/** A variable, and where its value lies. Strings belong to the scan. */
struct gr_local_value {
	uint32_t call; /**< 0: the innermost. */
	const char *name;
	uint32_t type; /**< Its id; GR_TYPE_NONE: not known. */
	/** "there"; "optimized out"; "unreadable": it was moved to the heap, and
	 * the pointer to it cannot be read. */
	const char *state;
	uint64_t addr; /**< 0: in registers, in pieces, or not there. */
	/** The bytes that were in registers or in pieces, or NULL. */
	uint8_t *bytes;
	uint64_t nbytes;
	bool is_argument;
	uint32_t line; /**< Where it is declared; 0: not known. */
};

/** The variables of some calls, call by call. Belongs to the caller. */
struct gr_local_values {
	struct gr_local_value *values;
	size_t count;
};

/**
 * The variables of the calls [@p first, @p first + @p count) of a goroutine, in
 * the order of their declaration, arguments first. The goroutine may have fewer
 * calls.
 *
 * @param[out] ret Needs gr_local_values_deinit() even if this fails.
 * @return GR_ERROR_NOT_FOUND if there is no such goroutine;
 *	GR_ERROR_NOT_SAVED if a file was saved without values.
 */
struct gr_error *
gr_scan_local_values(struct gr_scan *scan, uint64_t goroutine_id,
		     uint32_t first, uint32_t count,
		     struct gr_local_values *ret) GR_MUST_CHECK;
void gr_local_values_deinit(struct gr_local_values *values);

#endif /* GR_LOCAL_VALUES_H */
