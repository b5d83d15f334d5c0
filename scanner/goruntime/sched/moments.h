/* SPDX-License-Identifier: Apache-2.0 */
/**
 * moments: moments of the program's clock (nanotime) that its memory tells, and
 * how long a goroutine has waited for at least.
 *
 * A collection that scans the stack of a goroutine that waits sets g.waitsince
 * to work.tstart. That is a moment of the collection *before* it, whose mark
 * termination began then. The goroutine may have begun to wait later, but
 * waited before the collection that scanned it ended: before the second end of
 * a collection after waitsince. Source: runtime/mgcmark.go (markroot),
 * runtime/mgc.go (gcMark), runtime/mstats.go, runtime/proc.go (sysmon).
 */
#ifndef GR_MOMENTS_H
#define GR_MOMENTS_H

#include "goruntime/sched/goroutine.h"

struct gr_moments {
	/** The latest one: the stop was at this moment or later. 0: none. */
	uint64_t latest;
	uint64_t *ends; /**< The last collections, 256 at most; sorted. */
	size_t nends;
};

struct gr_error *gr_moments_read(const struct gr_sched *sched,
				 struct gr_moments *ret) GR_MUST_CHECK;
void gr_moments_deinit(struct gr_moments *moments);

/** Nanoseconds that a goroutine has waited for at least, by its g.waitsince; 0:
 * nothing is known. */
uint64_t gr_moments_waited(const struct gr_moments *moments,
			   uint64_t waitsince);

#endif /* GR_MOMENTS_H */
