/* SPDX-License-Identifier: Apache-2.0 */
/**
 * kept_by_c: the Go objects that are kept for C by a cgo.Handle or a
 * runtime.Pinner, and what would be garbage without these references.
 */
#ifndef GR_KEPT_BY_C_H
#define GR_KEPT_BY_C_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/gaps.h"

struct gr_scan;

/** References of one kind to objects of one type. */
struct gr_kept_by_c_group {
	const char *by; /**< "cgo.Handle" or "runtime.Pinner" */
	/** That of the value of a handle, or of a pinned object as the histogram
	 * has it. */
	const char *type;
	uint64_t references; /**< Handles, or pins. */
	/** The objects of Go that these lead to, each once: a handle may be of a
	 * value that has none. */
	uint64_t objects, bytes;
	/** Go and C: these would be garbage without these references. The table
	 * and the Pinners themselves are not counted. */
	uint64_t retained_bytes;
	uint64_t retained_c_bytes; /**< The part in blocks of C. */
	uint64_t example;	   /**< Address of one of the objects, or 0. */
};

/** The answer. It belongs to the caller. */
struct gr_kept_by_c {
	/** False: the program uses cgo.Handle, and where its table lies or how it
	 * is read is not known. */
	bool is_known;
	uint64_t references;
	uint64_t objects, bytes; /**< Each once, whatever the groups. */
	/** These would be garbage without all of the references. */
	uint64_t retained_bytes, retained_c_bytes;
	uint64_t all_groups;
	struct gr_kept_by_c_group *groups; /**< Most retained first; 1000 at
						most. */
	size_t ngroups;
	struct gr_gaps gaps;
};

struct gr_error *gr_scan_kept_by_c(struct gr_scan *scan,
				   struct gr_kept_by_c **ret) GR_MUST_CHECK;
void gr_kept_by_c_destroy(struct gr_kept_by_c *kept);

#endif /* GR_KEPT_BY_C_H */
