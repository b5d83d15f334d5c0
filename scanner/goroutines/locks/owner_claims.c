// SPDX-License-Identifier: Apache-2.0
/*
 * Two things speak for an owner: the lines of a frame that has a pointer to the
 * lock, and a deferred call that will unlock it. A lock that was unlocked by
 * hand, or in a call that has not returned, is held by nobody there; one that
 * such a call is about to lock is not held yet.
 */
#include "goroutines/locks/owner_search.h"

#include "goroutines/locks/lock_flow.h"
#include "goroutines/locks/owner_list.h"
#include "scan/stop.h"

enum { SITE_STEPS = 16 }; /* pairs of sites in the time of a step */

// --------------------------------------------------------------------- lines

static struct gr_error *need_calls(struct gr_owner_search *s)
{
	if (s->ncalls)
		return NULL;
	return gr_inline_frames(&s->stop->program->rt, s->frame->func,
				gr_frame_call_pc(s->frame), s->calls,
				&s->ncalls);
}

/* Is the frame's call one of package sync, in which the goroutine waits? */
static bool is_locking(const struct gr_owner_search *s)
{
	const char *callee;

	if (s->frame_index != s->user_frame || !s->user_frame)
		return false;
	callee = s->g->frames[s->user_frame - 1].func->name;
	return !strncmp(callee, "sync.", 5) ||
	       !strncmp(callee, "internal/sync.", 14);
}

static struct gr_lock_question question_on(const struct gr_owner_search *s,
					   size_t i, uint8_t class,
					   const struct gr_lock_at *at)
{
	return (struct gr_lock_question){
		.function = s->calls[i].function,
		.line = s->calls[i].line,
		.pc = gr_frame_call_pc(s->frame),
		.is_locking = is_locking(s),
		.is_in_call = s->frame_index > 0,
		.class = class,
		.at = *at,
	};
}

/* Ask the lines of one of the frame's calls about a lock, and the branches of
 * its function. */
static struct gr_lock_lines ask_call(const struct gr_owner_search *s, size_t i,
				     uint8_t class, const struct gr_lock_at *at,
				     const struct gr_lock_ways *ways)
{
	const struct gr_lock_question question = question_on(s, i, class, at);
	struct gr_lock_lines lines = gr_lock_ask(s->code, &question);

	gr_lock_lines_follow(&lines, s->code, &question, ways);
	return lines;
}

/* Ask the branches of the frame's function. */
static struct gr_error *ask_ways(struct gr_owner_search *s, uint8_t class,
				 const struct gr_lock_at *at,
				 struct gr_lock_ways *ret)
{
	const struct gr_lock_question question = question_on(s, 0, class, at);

	*ret = (struct gr_lock_ways){ 0 };
	return s->ncalls ? gr_lock_flow_ask(&s->stop->program->rt,
					    s->code->flow, &question, ret) :
			   NULL;
}

/* Each line is summed up by all sites. */
static struct gr_error *prepare(struct gr_owner_search *s)
{
	struct gr_error *err = need_calls(s);

	return err ? err :
		     gr_runtime_step(&s->stop->program->rt,
				     (uint64_t)s->code->nsites *
					     s->code->nsites / SITE_STEPS);
}

static int count_lines(const struct gr_lock_lines *lines)
{
	return (lines->locked != 0) + (lines->unlocked != 0);
}

/* Does a call say more than the one inside it? What branches say is the same for
 * all calls of a frame. */
static bool says_more(const struct gr_lock_lines *lines,
		      const struct gr_lock_lines *inner)
{
	return lines->is_followed ? count_lines(lines) > count_lines(inner) :
				    lines->is_between || (lines->is_before &&
							  !inner->is_before);
}

/* Ask the lines of the frame's calls about a lock: the innermost call that is
 * between Lock and Unlock, else the innermost one that will lock. */
static struct gr_error *ask_lines(struct gr_owner_search *s, uint8_t class,
				  const struct gr_lock_at *at,
				  struct gr_owner *ret)
{
	struct gr_lock_ways ways;
	struct gr_error *err = prepare(s);

	if (!err)
		err = ask_ways(s, class, at, &ways);
	for (size_t i = 0; !err && i < s->ncalls; i++) {
		if (gr_lock_is_internal(s->calls[i].function))
			continue;
		struct gr_lock_lines lines = ask_call(s, i, class, at, &ways);
		if (!ret->function || says_more(&lines, &ret->lines)) {
			ret->function = s->calls[i].function;
			ret->line = s->calls[i].line;
			ret->lines = lines;
		}
		if (lines.is_between && !lines.is_followed)
			break;
	}
	return err;
}

/* Ask the lines of the frame's function about a lock, those that are inlined
 * there included. */
static struct gr_error *ask_function(struct gr_owner_search *s, uint8_t class,
				     const struct gr_lock_at *at,
				     struct gr_lock_lines *ret)
{
	struct gr_lock_ways ways;
	struct gr_error *err = prepare(s);

	*ret = (struct gr_lock_lines){ 0 };
	if (!err)
		err = ask_ways(s, class, at, &ways);
	if (!err && s->ncalls)
		*ret = ask_call(s, s->ncalls - 1, class, at, &ways);
	return err;
}

// --------------------------------------------------------------- inner frames

/* Has the frame unlocked what a caller has locked? */
static bool unlocks_for_caller(const struct gr_lock_lines *lines)
{
	return lines->before < 0 && !lines->is_between;
}

struct gr_error *gr_owner_note_unlocks(struct gr_owner_search *s)
{
	const struct gr_lock_at any = { GR_ANY_ADDR, GR_ANY_DISTANCE };
	struct gr_error *err = NULL;

	for (uint8_t class = 0;
	     !err && s->code->nsites && class < GR_NLOCK_CLASSES; class ++) {
		struct gr_lock_lines lines;

		if (s->unlocks_inside[class] != UINT32_MAX)
			continue;
		err = ask_function(s, class, &any, &lines);
		if (!err && unlocks_for_caller(&lines))
			s->unlocks_inside[class] = s->frame_index;
	}
	return err;
}

/* Note what the frame does to the primitive for its callers. */
static void note_inner(const struct gr_owner_search *s, struct gr_primitive *p,
		       const struct gr_lock_lines *lines)
{
	struct gr_inner_frames *inner = &p->inner;

	if (inner->goroutine != s->index + 1)
		*inner = (struct gr_inner_frames){ s->index + 1, UINT32_MAX,
						   UINT32_MAX, false };
	if (unlocks_for_caller(lines) && inner->unlocks == UINT32_MAX)
		inner->unlocks = s->frame_index;
	if (lines->before > 0 && inner->locks == UINT32_MAX)
		inner->locks = s->frame_index;
	if (s->frame_index == s->user_frame)
		inner->is_paired = lines->unlocked ||
				   s->frame->func->deferreturn;
}

/* Has a call that has not returned let go of it? */
static bool is_let_go(const struct gr_owner_search *s,
		      const struct gr_primitive *p)
{
	return p->object == s->let_go ||
	       // The lock of the condition may be of a type of its own.
	       (gr_owner_is_waiter(s, p) && s->cond_frame < s->frame_index) ||
	       (p->inner.goroutine == s->index + 1 &&
		p->inner.unlocks < s->frame_index);
}

/* Has a call that has not returned locked it? */
static bool is_locked_inside(const struct gr_owner_search *s,
			     const struct gr_primitive *p)
{
	return p->inner.goroutine == s->index + 1 &&
	       p->inner.locks < s->frame_index;
}

// --------------------------------------------------------------------- claims

/* The helper that the frame calls has locked it already. */
static void add_helper(const struct gr_owner_search *s,
		       const struct gr_primitive *p, struct gr_owner *owner)
{
	struct gr_lock_lines *lines = &owner->lines;

	if (!lines->is_in_progress || lines->is_between ||
	    (lines->locked && !lines->is_followed) || !lines->unlocked ||
	    !is_locked_inside(s, p))
		return;
	lines->locked = owner->line;
	lines->is_between = true;
}

/* Whoever waits for a lock has it only if it has locked it before: that is sure
 * of one that the code names, not of one of several that it has pointers to. */
static bool may_have_twice(const struct gr_lock_at *at,
			   const struct gr_lock_lines *lines)
{
	return at->addr && lines->is_between &&
	       (lines->is_followed || !lines->is_in_progress);
}

/* A goroutine that waits for a lock may have it by an outer frame. That frame
 * calls a function that would lock it again, and unlock it: one that only locks
 * may lock for its callers what they have let go of. */
static bool has_by_frame(const struct gr_owner_search *s,
			 const struct gr_primitive *p)
{
	return s->frame_index > s->user_frame &&
	       p->inner.goroutine == s->index + 1 && p->inner.is_paired;
}

static struct gr_error *note_lock(struct gr_owner_search *s,
				  struct gr_primitive *p,
				  const struct gr_lock_at *at,
				  struct gr_owner *owner)
{
	uint8_t class = gr_primitive_class(p);
	struct gr_lock_lines lines;
	struct gr_error *err = ask_lines(s, class, at, owner);

	if (!err)
		err = ask_function(s, class, at, &lines);
	if (err)
		return err;
	add_helper(s, p, owner);
	if (owner->lines.is_between && !is_let_go(s, p))
		owner->rank = GR_OWNER_BETWEEN;
	else if (owner->lines.may_hold && !is_let_go(s, p))
		owner->rank = GR_OWNER_MAY;
	else if (owner->lines.is_before)
		owner->rank = GR_OWNER_LATER;
	note_inner(s, p, &lines);
	if (!gr_owner_is_waiter(s, p) ||
	    (owner->rank == GR_OWNER_BETWEEN &&
	     (has_by_frame(s, p) ||
	      (s->frame_index == s->user_frame && lines.before > 0)) &&
	     may_have_twice(at, &owner->lines)))
		gr_owner_add(s->table, p, owner);
	return NULL;
}

struct gr_error *gr_owner_note_reach(struct gr_owner_search *s,
				     struct gr_primitive *p,
				     const struct gr_lock_at *at,
				     bool is_pointer)
{
	bool is_waiter = gr_owner_is_waiter(s, p);
	struct gr_owner owner = {
		.goroutine = s->index,
		.frame = s->frame_index,
		.rank = GR_OWNER_REACHES,
		.is_pointer = is_pointer,
	};

	if (is_waiter && s->frame_index < s->user_frame)
		return NULL;
	if (gr_primitive_class(p) < GR_LOCK_POOLED)
		return note_lock(s, p, at, &owner);
	if (!is_waiter)
		gr_owner_add(s->table, p, &owner);
	return NULL;
}

static bool names_lock(const struct gr_lock_code *code, uint64_t addr)
{
	for (size_t i = 0; i < code->nsites; i++)
		if (code->sites[i].at.addr == addr)
			return true;
	return false;
}

/* The frame's own function, not one that is inlined there, has the deferred
 * call. Which lock its lines are about is known only of a variable that it
 * names: pointers may lead to any. */
static struct gr_error *ask_deferring(struct gr_owner_search *s,
				      const struct gr_primitive *p,
				      uint8_t class, struct gr_lock_lines *ret)
{
	bool is_named = names_lock(s->code, p->object);
	const struct gr_lock_at at = { is_named ? p->object : 0,
				       GR_ANY_DISTANCE };

	return ask_function(s, class, &at, ret);
}

/* Is what the deferred call will unlock locked now? A deferred Done needs no
 * call before it. */
static bool is_still_locked(const struct gr_owner_search *s,
			    const struct gr_primitive *p, uint8_t class,
			    const struct gr_lock_lines *lines)
{
	if (class == GR_LOCK_GROUP)
		return true;
	if (is_let_go(s, p))
		return false;
	// Its caller may have locked it, or a call that is no site.
	return lines->before > 0 ||
	       (!lines->unlocks_before && !lines->is_before &&
		(!lines->is_in_progress || is_locked_inside(s, p)));
}

/* A program that unlocks what is not locked ends. So the goroutine has it if it
 * has locked it before, nothing has unlocked it since, and no line behind locks
 * it, before the deferred call runs. */
static bool is_proof(const struct gr_owner_search *s, uint8_t class,
		     const struct gr_lock_lines *lines)
{
	uint32_t locked = lines->before > 0 ? (uint32_t)lines->before :
					      lines->may_hold;

	if (class == GR_LOCK_GROUP)
		return true;
	// One of two deferred calls may be about what is not locked yet.
	return locked && locked >= s->ndeferred[class] &&
	       !lines->unlocks_before && !lines->locks_next &&
	       !lines->is_in_progress && s->cond_frame >= s->frame_index &&
	       s->unlocks_inside[class] >= s->frame_index;
}

/* Has the frame locked something before the goroutine began to wait? */
static bool is_outside(const struct gr_owner_search *s,
		       const struct gr_primitive *p, uint8_t class,
		       const struct gr_lock_lines *lines)
{
	if (s->frame_index == s->user_frame)
		return lines->before > 0;
	return s->frame_index > s->user_frame &&
	       (class >= GR_LOCK_GROUP || has_by_frame(s, p));
}

struct gr_error *gr_owner_note_defer(struct gr_owner_search *s,
				     struct gr_primitive *p, uint8_t class,
				     bool is_pointer)
{
	bool is_waiter = gr_owner_is_waiter(s, p);
	struct gr_owner owner = {
		.goroutine = s->index,
		.frame = s->frame_index,
		.rank = GR_OWNER_DEFERS,
		.is_pointer = is_pointer,
	};
	struct gr_lock_lines lines;
	struct gr_error *err = ask_deferring(s, p, class, &lines);

	// `defer mu.Unlock(); mu.Lock()` does not own it yet.
	if (err || !is_still_locked(s, p, class, &lines) ||
	    (is_waiter && !is_outside(s, p, class, &lines)))
		return err;
	// To receive from an empty channel ends no program.
	owner.is_proven = is_pointer && class < GR_LOCK_SLOT &&
			  is_proof(s, class, &lines);
	gr_owner_add(s->table, p, &owner);
	return NULL;
}
