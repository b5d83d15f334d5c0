/* SPDX-License-Identifier: Apache-2.0 */
/**
 * lock_flow: whether a frame has locked something at a place, on all ways that
 * lead there from the function's start or on some of them, and what comes next.
 *
 * It counts Lock less Unlock along the ways (forward), and looks for the next
 * one (backward), over the blocks of the function. Calls come back. Deferred
 * calls are none of the ways: they run at the function's end.
 */
#ifndef GR_LOCK_FLOW_H
#define GR_LOCK_FLOW_H

#include "goroutines/locks/code_blocks.h"
#include "goroutines/locks/lock_code.h"
#include "goruntime/layout/runtime.h"

/** An instruction that locks or unlocks: an atomic one of an inlined call, or a
 * call. */
struct gr_lock_effect {
	uint64_t pc;
	const char *function; /**< The caller, perhaps itself inlined. */
	uint32_t line;
	uint8_t class; /**< enum gr_lock_class */
	bool unlocks;
	bool is_call;
	bool is_maybe; /**< A call that does not always do it. */
	bool is_try;   /**< The same of TryLock, which tells. */
	/** A piece of an inlined call, perhaps itself a call: an atomic
	 * instruction elsewhere has the effect. */
	bool is_slow;
	bool is_whole; /**< A call of a method of the same name. */
	struct gr_lock_at at;
};

GR_VECTOR(gr_lock_effect_vector, struct gr_lock_effect);

enum gr_lock_verdict {
	GR_LOCK_UNKNOWN, /**< The ways are not known. */
	GR_LOCK_NOT,	 /**< On no way has the frame locked it. */
	GR_LOCK_MAY,	 /**< On some ways. */
	/** On all ways; or on some, and on all ways on it is unlocked next. */
	GR_LOCK_HELD,
};

/** The answer of the ways to a place, and on from there. */
struct gr_lock_ways {
	uint8_t verdict; /**< enum gr_lock_verdict */
	bool is_below;	 /**< It may have unlocked what its caller locked. */
	bool unlocks_before; /**< On some way to the place. */
	bool unlocks_next;   /**< On some way, before it locks. */
	bool locks_next;     /**< On some way, before it unlocks. */
	bool must_lock_next; /**< On all ways. */
};

/** The ways of one function, with answers that were given. */
struct gr_lock_flow;

/**
 * Read the ways of a function. The effects belong to the flow then.
 *
 * @param[out] ret NULL: they are not known.
 */
struct gr_error *gr_lock_flow_create(struct gr_code_reader *reader,
				     const uint8_t *code, uint64_t nbytes,
				     uint64_t addr,
				     struct gr_lock_effect_vector *effects,
				     struct gr_lock_flow **ret) GR_MUST_CHECK;
void gr_lock_flow_destroy(struct gr_lock_flow *flow);

/** The verdict of a flow that is NULL is GR_LOCK_UNKNOWN. */
struct gr_error *gr_lock_flow_ask(struct gr_runtime *rt,
				  struct gr_lock_flow *flow,
				  const struct gr_lock_question *question,
				  struct gr_lock_ways *ret) GR_MUST_CHECK;

/** Does the function return with more Locks (or Unlocks) of the lock at @p at than
 * it was called with, on all ways? False, too, if the ways are not known. */
struct gr_error *gr_lock_flow_always(struct gr_runtime *rt,
				     struct gr_lock_flow *flow, uint8_t class,
				     const struct gr_lock_at *at, bool unlocks,
				     bool *ret) GR_MUST_CHECK;

#endif /* GR_LOCK_FLOW_H */
