/* SPDX-License-Identifier: Apache-2.0 */
/** wait_words: what is said of a thing that goroutines wait for, and of its
 * owners. Texts belong to the scan or are static. */
#ifndef GR_WAIT_WORDS_H
#define GR_WAIT_WORDS_H

#include "goroutines/wait_table.h"

struct gr_runtime;
struct gr_sched;

/** "mutex", "chan send" ... */
const char *gr_awaited_kind(uint8_t kind);

/** The state by its own words: `locked`, `counter 1`, `full, 10 of 10`; or "".
 * NULL: no memory. */
const char *gr_awaited_state(struct gr_runtime *rt,
			     const struct gr_primitive *p);

/** Does something speak for the owner, besides a pointer? */
bool gr_owner_is_likely(const struct gr_owner *owner);

/**
 * If nobody is a likely owner, what was seen, or what the heap mark proves;
 * else "".
 *
 * @param states By goroutine: enum gr_leak_state. NULL: there is no graph.
 */
const char *gr_awaited_verdict(const struct gr_wait_table *table,
			       const uint8_t *states,
			       const struct gr_primitive *p);

/** Why a goroutine may be the owner: a sentence without a subject. NULL: no
 * memory. */
const char *gr_owner_evidence(struct gr_sched *sched,
			      const struct gr_primitive *p,
			      const struct gr_owner *owner);

#endif /* GR_WAIT_WORDS_H */
