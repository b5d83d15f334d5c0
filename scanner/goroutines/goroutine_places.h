/* SPDX-License-Identifier: Apache-2.0 */
/** goroutine_places: where a goroutine is in the user's own code. */
#ifndef GR_GOROUTINE_PLACES_H
#define GR_GOROUTINE_PLACES_H

#include "goruntime/sched/goroutine.h"
#include "graph/keys.h"

/**
 * Is the call of a function the user's: not the runtime's, nor package sync's,
 * which waits on behalf of its caller, nor that of a package that only the
 * library uses? The innermost such call is where a goroutine is (userloc).
 * Delve (proc.G.UserCurrent) takes exported functions of runtime and all of
 * package sync for the user's: of thousands who wait for a lock, it names the
 * line in package sync.
 */
bool gr_is_user_call(const char *function);

/** The pcs of which it is known whether they lie in a caller's code. The owner
 * sets the runtime. */
struct gr_user_pcs {
	struct gr_runtime *rt;
	struct gr_keys known; /* of frames: 0 or 1 by (pc, is exact) */
};
void gr_user_pcs_deinit(struct gr_user_pcs *pcs);

/** The innermost frame with a call that is the user's, inlined calls included.
 * If there is none, the innermost frame; NULL without frames. */
struct gr_error *gr_user_frame(struct gr_user_pcs *pcs,
			       const struct gr_goroutine *g,
			       const struct gr_frame **ret) GR_MUST_CHECK;

#endif /* GR_GOROUTINE_PLACES_H */
