/* SPDX-License-Identifier: Apache-2.0 */
/** finalizers: what queued finalizers and cleanups hold, and those that can never
 * run because their object is kept alive by what they need. */
#ifndef GR_FINALIZERS_H
#define GR_FINALIZERS_H

#include "base/base.h"
#include "base/error.h"

struct gr_answers;

/** Objects of one type with finalizers, or with cleanups, that can never run. */
struct gr_stuck_group {
	const char *kind; /**< "finalizer" or "cleanup" */
	const char *type; /**< As of the histogram; belongs to the scan. */
	uint64_t objects;
	/** These would be garbage without this group; and the part of them in
	 * blocks of C. */
	uint64_t retained_bytes, retained_objects, retained_c_bytes;
	uint64_t example; /**< Address of one of the objects. */
	uint32_t set;	  /**< See gr_finalizers.stuck_set. */
};

struct gr_finalizers {
	uint64_t queued_finalizers, queued_cleanups;
	/** Only the queue holds these; and the part of them in blocks of C. */
	uint64_t queue_bytes, queue_objects, queue_c_bytes;
	/** All objects that are reached, blocks of C included. */
	uint64_t heap_bytes, heap_c_bytes;
	uint64_t stuck; /**< Objects of all groups. */
	/** These would be garbage without all groups. */
	uint64_t stuck_bytes, stuck_c_bytes;
	struct gr_stuck_group *groups; /**< Most bytes first; at most 100. */
	size_t ngroups;
	/** The roots of all groups, as vertices of the graph, and the set of
	 * each. */
	uint32_t *stuck_roots, *stuck_set;
	size_t nstuck_roots;
};

/** Answer for the graph, which is made. @p ret needs gr_finalizers_deinit() even
 * if this fails. */
struct gr_error *gr_finalizers_find(struct gr_answers *answers,
				    struct gr_finalizers *ret) GR_MUST_CHECK;
void gr_finalizers_deinit(struct gr_finalizers *f);

#endif /* GR_FINALIZERS_H */
