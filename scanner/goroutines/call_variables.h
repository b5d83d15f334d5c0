/* SPDX-License-Identifier: Apache-2.0 */
/** call_variables: arguments and local variables of the calls of a backtrace. */
#ifndef GR_CALL_VARIABLES_H
#define GR_CALL_VARIABLES_H

#include "goroutines/backtrace.h"
#include "scan/program.h"

/**
 * Add the variables of the calls that the query asks for, as text. Which they are
 * is described in call_values.h.
 */
struct gr_error *
gr_call_variables_add(struct gr_program *program, const struct gr_goroutine *g,
		      const struct gr_backtrace_query *query,
		      struct gr_backtrace *backtrace) GR_MUST_CHECK;

/** Free the variables of a call. */
void gr_call_variables_free(struct gr_backtrace_call *call);

#endif /* GR_CALL_VARIABLES_H */
