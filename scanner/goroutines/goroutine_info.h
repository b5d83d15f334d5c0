/* SPDX-License-Identifier: Apache-2.0 */
/** goroutine_info: one goroutine, with the places where it is and began. */
#ifndef GR_GOROUTINE_INFO_H
#define GR_GOROUTINE_INFO_H

#include "goroutines/goroutine_list.h"
#include "goruntime/sched/goroutine.h"
#include "graph/keys.h"

struct gr_stop;

/** The calls of a pc of a frame: the innermost call, and the user's own one. */
struct gr_pc_places {
	struct gr_source_place current;
	struct gr_source_place user; /* pc 0: none of the calls is the user's */
};
GR_VECTOR(gr_pc_places_vector, struct gr_pc_places);

/** Describes many goroutines: each pc is read once. The owner sets the stop. */
struct gr_goroutine_describer {
	struct gr_stop *stop;
	struct gr_keys by_pc; /**< (pc, is exact) -> index in places */
	struct gr_pc_places_vector places;
};

struct gr_error *
gr_goroutine_describe(struct gr_goroutine_describer *d,
		      const struct gr_goroutine *g,
		      struct gr_goroutine_info *ret) GR_MUST_CHECK;
void gr_goroutine_describer_deinit(struct gr_goroutine_describer *d);

/** Describe one goroutine alone. */
struct gr_error *
gr_goroutine_info_read(struct gr_stop *stop, const struct gr_goroutine *g,
		       struct gr_goroutine_info *ret) GR_MUST_CHECK;

#endif /* GR_GOROUTINE_INFO_H */
