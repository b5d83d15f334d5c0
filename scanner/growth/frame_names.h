/* SPDX-License-Identifier: Apache-2.0 */
/** frame_names: the names of what a running process did: the Go calls at its
 * pcs, and the labels of its goroutines. */
#ifndef GR_FRAME_NAMES_H
#define GR_FRAME_NAMES_H

#include "base/arena.h"
#include "base/vector.h"
#include "goruntime/layout/inline.h"
#include "goruntime/sched/labels.h"

struct gr_scan;

GR_VECTOR(gr_logical_frame_vector, struct gr_logical_frame);
GR_VECTOR(gr_frame_end_vector, size_t);

/** The Go calls at several pcs. Owner zeroes it. Strings belong to the scan. */
struct gr_frame_names {
	struct gr_logical_frame_vector frames;
	/** Those of pc i are frames [ends[i - 1], ends[i]), the innermost first;
	 * none if it is not in Go code. */
	struct gr_frame_end_vector ends;
};

void gr_frame_names_deinit(struct gr_frame_names *names);

/**
 * Name the calls at @p npcs pcs.
 *
 * @param pcs Each an instruction of a call: for a return address, the byte
 *	before.
 */
struct gr_error *gr_scan_name_frames(struct gr_scan *scan, const uint64_t *pcs,
				     size_t npcs,
				     struct gr_frame_names *ret) GR_MUST_CHECK;

/** The labels at @p addr, which g.labels of a goroutine was; *@p ret is NULL if
 * there are none, or if these cannot be read any more. */
struct gr_error *
gr_scan_labels_at(struct gr_scan *scan, uint64_t addr, struct gr_arena *arena,
		  const struct gr_label_set **ret) GR_MUST_CHECK;

#endif /* GR_FRAME_NAMES_H */
