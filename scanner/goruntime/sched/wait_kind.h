/* SPDX-License-Identifier: Apache-2.0 */
/**
 * wait_kind: the kind of a wait by the runtime's text for it, or by the
 * functions on the stack where that text only says `semacquire`. Source:
 * runtime/runtime2.go (waitReasonStrings).
 */
#ifndef GR_WAIT_KIND_H
#define GR_WAIT_KIND_H

#include "goruntime/sched/waits.h"

/**
 * The kind for a text of the runtime. A select is GR_WAIT_SELECT_RECEIVE, and
 * `semacquire` is GR_WAIT_SEMAPHORE. "" is GR_WAIT_UNKNOWN.
 */
enum gr_wait_kind gr_wait_kind_of_reason(const char *reason);

/** Kinds by pc, which are the same for all goroutines of a pile-up. */
struct gr_callers {
	struct {
		uint64_t pc;
		uint8_t kind;
	} seen[64];
};

/**
 * The kind of lock that a goroutine waits for, by the functions that called
 * runtime.semacquire1: GR_WAIT_SEMAPHORE if they are none of package sync.
 */
struct gr_error *
gr_wait_kind_of_semaphore(struct gr_runtime *rt, const struct gr_goroutine *g,
			  struct gr_callers *callers,
			  enum gr_wait_kind *ret) GR_MUST_CHECK;

/** Is it a wait for a semaphore (runtime.semacquire1)? */
bool gr_wait_kind_is_semaphore(enum gr_wait_kind kind);

/** Does a goroutine that seems to be in a system call sleep in os/signal until a
 * signal comes? Nobody waits for that: it is idle. */
bool gr_waits_for_signal(const struct gr_layout *layout,
			 const struct gr_goroutine *g);

/** The runtime's text for the reason why a goroutine waits, or ""; "signal wait"
 * of the one in os/signal, which the runtime takes for a system call. */
const char *gr_goroutine_wait_reason(const struct gr_runtime *rt,
				     const struct gr_goroutine *g);

/** Bytes from the start of the primitive to its semaphore or notify list;
 * UINT64_MAX if the kind has no such primitive. */
uint64_t gr_wait_key_offset(const struct gr_layout *layout,
			    enum gr_wait_kind kind);

#endif /* GR_WAIT_KIND_H */
