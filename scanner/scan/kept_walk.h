/* SPDX-License-Identifier: Apache-2.0 */
/** kept_walk: the walk with parents, made when a question first needs it, and
 * kept for the next ones. */
#ifndef GR_KEPT_WALK_H
#define GR_KEPT_WALK_H

#include "mark/walk.h"

struct gr_answers;

/** A finished walk that knows how each object was reached. */
struct gr_chains {
	enum gr_attribution attribution;
	struct gr_gaps gaps; /**< Gaps of the target and of the walk. */
	struct gr_marking m; /**< With parents, without states. */
};

/** Make answers->chains, unless they are there already. */
struct gr_error *
gr_scan_need_chains(struct gr_answers *answers,
		    enum gr_attribution attribution) GR_MUST_CHECK;

/** Free the chains of `why`, to have memory for another walk. */
void gr_scan_drop_chains(struct gr_answers *answers);

#endif /* GR_KEPT_WALK_H */
