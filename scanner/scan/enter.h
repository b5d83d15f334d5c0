/* SPDX-License-Identifier: Apache-2.0 */
/** enter: how a question begins. It gets the parts of a scan that it reads. */
#ifndef GR_ENTER_H
#define GR_ENTER_H

#include "base/cleanup.h"
#include "inferior/sigbus.h"
#include "scan/answers.h"

struct gr_scan;

/**
 * Begin a question: the guard against files that shrink, before any use of the
 * target's memory, and all stages. The caller needs gr_sigbus_guard_end() even
 * if this fails.
 */
struct gr_error *gr_scan_enter(struct gr_scan *scan,
			       struct gr_sigbus_guard *guard,
			       struct gr_answers **ret) GR_MUST_CHECK;

/** gr_scan_enter() for questions whose sizes count something else than bytes,
 * in the graph that there is and in one that is made. */
struct gr_error *gr_scan_enter_weighing(struct gr_scan *scan,
					enum gr_weight weight,
					struct gr_sigbus_guard *guard,
					struct gr_answers **ret) GR_MUST_CHECK;

/** gr_scan_enter() for questions that need goroutines, but no heap. */
struct gr_error *gr_scan_enter_goroutines(struct gr_scan *scan,
					  struct gr_sigbus_guard *guard,
					  struct gr_stop **ret) GR_MUST_CHECK;

/** gr_scan_enter() for questions on the runtime's buckets, which are read by
 * the question itself. */
struct gr_error *gr_scan_enter_buckets(struct gr_scan *scan,
				       struct gr_sigbus_guard *guard,
				       struct gr_stop **ret) GR_MUST_CHECK;

/** Begin a question on a process that runs, of a scan that is prepared and not
 * finished. What was read of the process before is forgotten. */
struct gr_error *gr_scan_enter_running(struct gr_scan *scan,
				       struct gr_sigbus_guard *guard,
				       struct gr_stop **ret) GR_MUST_CHECK;

/** The answers that were made so far, for a question that does not enter: it
 * reads no memory of the target, or only goroutines. */
struct gr_answers *gr_scan_answers(struct gr_scan *scan);

#endif /* GR_ENTER_H */
