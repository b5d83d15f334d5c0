// SPDX-License-Identifier: Apache-2.0
#include "goroutines/call_match.h"

#include "goroutines/goroutine_places.h"
#include "goruntime/layout/inline.h"

/** Properties of the calls at a pc. */
enum {
	HAS_MATCH = 1,
	/* None of the calls inside the one that matches is the user's. */
	HAS_TOP_MATCH = 2,
	HAS_USER = 4,
};

/** In the keys of pcs, where frames have whether theirs is exact. */
enum { IS_LONE_PC = 2 };

void gr_call_match_deinit(struct gr_call_match *match)
{
	gr_keys_deinit(&match->names);
	gr_keys_deinit(&match->pcs);
}

bool gr_name_matches_pattern(const char *name, const char *pattern)
{
	const char *star = NULL, *from = name;

	// If the rest does not match, the last star takes one character more:
	// an earlier one need not.
	while (*name) {
		if (*pattern == '*') {
			star = pattern++;
			from = name;
		} else if (*pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star + 1;
			name = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* A name has one address, in the module's table of names. */
static struct gr_error *match_name(struct gr_call_match *match,
				   const char *name, bool *ret)
{
	uint64_t key = (uintptr_t)name;
	uint32_t known = gr_keys_find(&match->names, key, 0);

	*ret = known == 1;
	if (known != UINT32_MAX)
		return NULL;
	uint64_t steps = match->is_whole ? strlen(match->text) : 1;
	struct gr_error *err =
		gr_runtime_step(match->rt, 1 + strlen(name) * steps / 64);
	if (err)
		return err;
	*ret = match->is_whole ? gr_name_matches_pattern(name, match->text) :
				 strstr(name, match->text) != NULL;
	return gr_keys_add(&match->names, key, 0, *ret) ? NULL : &gr_enomem;
}

static struct gr_error *read_flags(struct gr_call_match *match,
				   const struct gr_frame *frame, uint32_t *ret)
{
	struct gr_logical_frame calls[GR_MAX_INLINED];
	size_t n = 0;
	struct gr_error *err = gr_inline_frames(
		match->rt, frame->func, gr_frame_call_pc(frame), calls, &n);

	*ret = 0;
	for (size_t i = 0; !err && i < n; i++) {
		bool matches;

		err = match_name(match, calls[i].function, &matches);
		if (!err && matches)
			*ret |= *ret & HAS_USER ? HAS_MATCH :
						  HAS_MATCH | HAS_TOP_MATCH;
		if (gr_is_user_call(calls[i].function))
			*ret |= HAS_USER;
	}
	return err;
}

/* The flags of a frame's pc, which is read once. */
static struct gr_error *find_flags(struct gr_call_match *match,
				   const struct gr_frame *frame, uint32_t *ret)
{
	struct gr_error *err = gr_runtime_step(match->rt, 1);

	*ret = gr_keys_find(&match->pcs, frame->pc, frame->is_exact_pc);
	if (err || *ret != UINT32_MAX)
		return err;
	err = read_flags(match, frame, ret);
	if (err)
		return err;
	return gr_keys_add(&match->pcs, frame->pc, frame->is_exact_pc, *ret) ?
		       NULL :
		       &gr_enomem;
}

struct gr_error *gr_call_match_any(struct gr_call_match *match,
				   const struct gr_goroutine *g, bool *ret)
{
	struct gr_error *err = NULL;
	uint32_t flags = 0;

	*ret = false;
	for (size_t i = 0; !err && !*ret && i < g->nframes; i++) {
		err = find_flags(match, &g->frames[i], &flags);
		*ret = !err && flags & HAS_MATCH;
	}
	return err;
}

struct gr_error *gr_call_match_top(struct gr_call_match *match,
				   const struct gr_goroutine *g, bool *ret)
{
	struct gr_error *err = NULL;
	uint32_t flags = 0;

	*ret = false;
	for (size_t i = 0;
	     !err && !*ret && !(flags & HAS_USER) && i < g->nframes; i++) {
		err = find_flags(match, &g->frames[i], &flags);
		*ret = !err && flags & HAS_TOP_MATCH;
	}
	return err;
}

struct gr_error *gr_call_match_pc(struct gr_call_match *match, uint64_t pc,
				  bool *ret)
{
	struct gr_logical_frame calls[GR_MAX_INLINED];
	uint32_t known = gr_keys_find(&match->pcs, pc, IS_LONE_PC);
	struct gr_func func;
	size_t n = 0;

	*ret = known == HAS_MATCH;
	if (known != UINT32_MAX || !pc || !gr_func_find(match->rt, pc, &func))
		return NULL;
	struct gr_error *err = gr_inline_frames(
		match->rt, &func, pc == func.entry ? pc : pc - 1, calls, &n);
	if (!err && n)
		err = match_name(match, calls[0].function, ret);
	if (err)
		return err;
	return gr_keys_add(&match->pcs, pc, IS_LONE_PC, *ret ? HAS_MATCH : 0) ?
		       NULL :
		       &gr_enomem;
}
