/* SPDX-License-Identifier: Apache-2.0 */
/** progress: what a scan does just now, and how far it is. */
#ifndef GR_PROGRESS_H
#define GR_PROGRESS_H

#include <stdint.h>

#define GR_SCAN_STEPS(X)                        \
	X(NONE, "")                             \
	X(WALK, "walking the heap")             \
	X(WALK_AGAIN, "walking the heap again") \
	X(REFERENCES, "collecting references")  \
	X(PATHS, "finding shortest paths")      \
	X(DOMINATORS, "computing dominators")

/** A step of a scan that may take long. */
enum gr_scan_step {
#define X(id, name) GR_SCAN_STEP_##id,
	GR_SCAN_STEPS(X)
#undef X
};

/** done of total units of work. The total of some steps is an estimate: done
 * may exceed it. total is 0 if it is not known. */
struct gr_progress {
	enum gr_scan_step step;
	uint64_t done, total;
};

/** Its name, as people read it. */
const char *gr_scan_step_name(enum gr_scan_step step);

/** Begin a step. @p progress may be NULL. */
static inline void gr_progress_begin(struct gr_progress *progress,
				     enum gr_scan_step step, uint64_t total)
{
	if (progress)
		*progress = (struct gr_progress){ step, 0, total };
}

/** The step is over, and none follows at once. */
static inline void gr_progress_end(struct gr_progress *progress)
{
	gr_progress_begin(progress, GR_SCAN_STEP_NONE, 0);
}

#endif /* GR_PROGRESS_H */
