/* SPDX-License-Identifier: Apache-2.0 */
/** kept_walk: the walk with parents, made when a question first needs it, and
 * kept for the next ones. */
#ifndef GR_KEPT_WALK_H
#define GR_KEPT_WALK_H

#include "mark/walk.h"

struct gr_answers;

/** A finished walk that knows how each object was reached. */
struct gr_kept_walk {
	enum gr_attribution attribution;
	struct gr_gaps gaps; /**< Gaps of the target and of the walk. */
	struct gr_marking m; /**< With parents, without states. */
};

/** Make answers->kept_walk, unless it is there already. */
struct gr_error *
gr_kept_walk_need(struct gr_answers *answers,
		  enum gr_attribution attribution) GR_MUST_CHECK;

/** Free the kept walk, to have memory for another walk. */
void gr_kept_walk_drop(struct gr_answers *answers);

#endif /* GR_KEPT_WALK_H */
