/* SPDX-License-Identifier: Apache-2.0 */
/** blocked_places: how many goroutines wait in one line for the same reason. */
#ifndef GR_BLOCKED_PLACES_H
#define GR_BLOCKED_PLACES_H

#include "base/vector.h"
#include "goroutines/goroutine_list.h"
#include "graph/keys.h"

struct gr_stop;

/** Goroutines that wait for the same reason in the same line. Strings belong to
 * the scan. */
struct gr_blocked_place {
	struct gr_source_place at; /**< The innermost call that is the user's. */
	const char *wait_reason;
	uint64_t goroutines;
	uint64_t leaked; /**< Those that leaked. */
};
GR_VECTOR(gr_blocked_place_vector, struct gr_blocked_place);

/** Places while they are counted. The owner sets the scan. */
struct gr_blocked_places {
	struct gr_stop *stop;
	struct gr_keys by_pc;	/* (hash of pc and reason, is exact) -> row */
	struct gr_keys by_text; /* place and reason as interned text -> row */
	struct gr_blocked_place_vector rows;
};
void gr_blocked_places_deinit(struct gr_blocked_places *places);

/** Count a goroutine whose frame @p frame has the user's call; NULL: it has no
 * frames. Each pc is read once. */
struct gr_error *gr_blocked_places_add(struct gr_blocked_places *places,
				       const struct gr_goroutine *g,
				       const struct gr_frame *frame,
				       bool is_leaked) GR_MUST_CHECK;

/** Sort the rows: most goroutines first. */
void gr_blocked_places_sort(struct gr_blocked_places *places);

#endif /* GR_BLOCKED_PLACES_H */
