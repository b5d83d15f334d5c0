/* SPDX-License-Identifier: Apache-2.0 */
/** call_match: goroutines by the functions on their stacks. */
#ifndef GR_CALL_MATCH_H
#define GR_CALL_MATCH_H

#include "goruntime/sched/goroutine.h"
#include "graph/keys.h"

/**
 * A text to compare with names of functions, and a cache of the results: each
 * name is compared once, and each pc is read once. The owner sets the first
 * three fields.
 */
struct gr_call_match {
	struct gr_runtime *rt;
	const char *text;
	/** The text is the whole name, in which `*' stands for any characters,
	 * itself included. Else it is any part of the name. */
	bool is_whole;
	struct gr_keys names; /* by address: 0 or 1 */
	struct gr_keys pcs;   /* of frames: flags by (pc, is exact) */
};
void gr_call_match_deinit(struct gr_call_match *match);

/** Is a call of the stack one of such a function, inlined or not? Linear in the
 * frames. */
struct gr_error *gr_call_match_any(struct gr_call_match *match,
				   const struct gr_goroutine *g,
				   bool *ret) GR_MUST_CHECK;

/** The same of the innermost calls, up to the first one that is the user's
 * (gr_is_user_call()). */
struct gr_error *gr_call_match_top(struct gr_call_match *match,
				   const struct gr_goroutine *g,
				   bool *ret) GR_MUST_CHECK;

/** Does the innermost call at the return address @p pc match: the function of
 * a go statement? False if no function is there. */
struct gr_error *gr_call_match_pc(struct gr_call_match *match, uint64_t pc,
				  bool *ret) GR_MUST_CHECK;

/** Is @p name all of @p pattern, in which `*' stands for any characters? */
bool gr_name_matches_pattern(const char *name, const char *pattern);

#endif /* GR_CALL_MATCH_H */
