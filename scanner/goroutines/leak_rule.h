/* SPDX-License-Identifier: Apache-2.0 */
/**
 * leak_rule: which goroutines have leaked, by the rule of the runtime's own
 * goroutineleak profile. Source: runtime/mgc.go (findGoroutineLeaks,
 * isMaybeRunnable), runtime/mgcmark.go (internalBlocked).
 *
 * A goroutine is a *candidate* if it waits for a channel, in a select, or for a
 * lock, a WaitGroup or a Cond of package sync. A mark begins at all roots but
 * the stacks of candidates, and does not follow a candidate's own record of
 * what it awaits. A candidate whose channel or lock is marked, or is no object
 * of the heap, can still be woken: the mark goes on through its stack. The
 * candidates that are left have leaked.
 */
#ifndef GR_LEAK_RULE_H
#define GR_LEAK_RULE_H

#include "goroutines/leaks.h"
#include "scan/answers.h"

/**
 * Decide about all goroutines. The graph has been made. Takes time linear in the
 * graph and in what is awaited, but for sorting.
 *
 * @param[out] states An enum gr_leak_state for each goroutine.
 */
struct gr_error *gr_leak_rule_apply(struct gr_answers *answers,
				    uint8_t *states) GR_MUST_CHECK;

/** May pointers be missing from the graph? Then what nothing leads to is not
 * proven. */
bool gr_leak_rule_lacks_memory(const struct gr_answers *answers);

#endif /* GR_LEAK_RULE_H */
