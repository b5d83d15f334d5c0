/* SPDX-License-Identifier: Apache-2.0 */
/** goroutine_places: where a goroutine that waits is in its own code. */
#ifndef GR_GOROUTINE_PLACES_H
#define GR_GOROUTINE_PLACES_H

#include "goroutine_list.h"
#include "goruntime/sched/goroutine.h"
#include "graph/keys.h"

/** The pcs of which it is known whether they lie in a caller's code. The owner
 * sets the runtime. */
struct gr_user_pcs {
	struct gr_runtime *rt;
	struct gr_keys known; /* of frames: 0 or 1 by (pc, is exact) */
};
void gr_user_pcs_deinit(struct gr_user_pcs *pcs);

/**
 * The innermost frame with a call that is neither the runtime's nor package
 * sync's, inlined calls included. If there is none, the innermost frame; NULL
 * without frames.
 */
struct gr_error *gr_user_frame(struct gr_user_pcs *pcs,
			       const struct gr_goroutine *g,
			       const struct gr_frame **ret) GR_MUST_CHECK;

/** That call. pc is 0 without frames. */
struct gr_error *gr_user_place(struct gr_user_pcs *pcs,
			       const struct gr_goroutine *g,
			       struct gr_source_place *ret) GR_MUST_CHECK;

#endif /* GR_GOROUTINE_PLACES_H */
