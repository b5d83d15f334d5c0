/* SPDX-License-Identifier: Apache-2.0 */
/**
 * mappings: what is mapped where, with file names and permissions.
 *
 * Filled from a core's segments and NT_FILE note, or from /proc/PID/maps. Says
 * nothing about whether the bytes can be had.
 */
#ifndef GR_MAPPINGS_H
#define GR_MAPPINGS_H

#include "base/arena.h"
#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/vector.h"

/** Target range [start, end). Never empty. */
struct gr_mapping {
	uint64_t start, end;
	uint64_t file_off; /**< Of `start` in the file; 0 if there is none. */
	uint32_t flags;	   /**< PF_R, PF_W, PF_X; 0 if not known. */
	/** NULL if none; without a final " (deleted)". */
	const char *path;
};

GR_VECTOR(gr_mapping_vector, struct gr_mapping);

/** Zero-initialised is empty. In the order of the source. */
struct gr_mappings {
	struct gr_mapping_vector list;
	struct gr_arena arena; /**< Paths. */
};

void gr_mappings_deinit(struct gr_mappings *mappings);

/** Append one; an empty range is left out. @p path (may be NULL) is copied. */
struct gr_error *gr_mappings_add(struct gr_mappings *mappings,
				 struct gr_mapping mapping) GR_MUST_CHECK;

/** Append those of an NT_FILE note, as far as the note makes sense. */
struct gr_error *gr_mappings_add_note(struct gr_mappings *mappings,
				      struct gr_bytes desc) GR_MUST_CHECK;

/** Append those of a process. */
struct gr_error *gr_mappings_add_process(struct gr_mappings *mappings,
					 int32_t pid) GR_MUST_CHECK;

/** The first mapping that holds @p addr, or NULL. */
const struct gr_mapping *gr_mappings_find(const struct gr_mappings *mappings,
					  uint64_t addr);

/**
 * The first mapping of file @p path at file offset @p off, or NULL. A mapping
 * of the same path comes before one that has only the last component of it.
 */
const struct gr_mapping *
gr_mappings_find_file(const struct gr_mappings *mappings, const char *path,
		      uint64_t off);

#endif /* GR_MAPPINGS_H */
