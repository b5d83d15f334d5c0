/* SPDX-License-Identifier: Apache-2.0 */
/** timer_cuts: the cuts that take a timer from the runtime. */
#ifndef GR_TIMER_CUTS_H
#define GR_TIMER_CUTS_H

#include "waste/checks/cut_sets.h"

/** A root of a timer: the timer, or a word of it. */
struct gr_timer_root {
	uint64_t addr;
	gr_vertex vertex;
};
GR_VECTOR(gr_timer_root_vector, struct gr_timer_root);

/** Who leads to timers. */
struct gr_timer_cuts {
	struct gr_waste_run *run;
	struct gr_timer_root_vector roots; /**< By address. */
	struct gr_cut_vector slots;	   /**< From heaps of Ps, by vertex. */
};

/** Find them; the object graph has been made. @p ret needs
 * gr_timer_cuts_deinit() even if this fails. */
struct gr_error *gr_timer_cuts_init(struct gr_waste_run *run,
				    struct gr_timer_cuts *ret) GR_MUST_CHECK;
void gr_timer_cuts_deinit(struct gr_timer_cuts *timers);

/** Add the cuts of the timer in an object to a set. */
struct gr_error *gr_timer_cuts_add(struct gr_timer_cuts *timers, gr_obj timer,
				   struct gr_cut_sets *sets,
				   uint32_t set) GR_MUST_CHECK;

#endif /* GR_TIMER_CUTS_H */
