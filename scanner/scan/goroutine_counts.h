/* SPDX-License-Identifier: Apache-2.0 */
/** goroutine_counts: goroutines by what they do, and since when. */
#ifndef GR_GOROUTINE_COUNTS_H
#define GR_GOROUTINE_COUNTS_H

#include "goruntime/sched/goroutine.h"
#include "goruntime/sched/moments.h"

struct gr_stop;

/** Read the moments of the program's clock, once; the goroutines are known. */
struct gr_error *gr_stop_moments(struct gr_stop *stop,
				 const struct gr_moments **ret) GR_MUST_CHECK;

/** Fill the goroutines of the stop's information, by state. */
struct gr_error *gr_stop_count_goroutines(struct gr_stop *stop) GR_MUST_CHECK;

#endif /* GR_GOROUTINE_COUNTS_H */
