// SPDX-License-Identifier: Apache-2.0
#include "goroutines/waits/wait_words.h"

#include "goroutines/leaks.h"
#include "goruntime/sched/goroutine.h"

#include <inttypes.h>

const char *gr_awaited_kind(uint8_t kind)
{
	switch (kind) {
	case GR_WAIT_CHAN_SEND:
		return "chan send";
	case GR_WAIT_CHAN_RECEIVE:
		return "chan receive";
	case GR_WAIT_SELECT_SEND:
	case GR_WAIT_SELECT_RECEIVE:
		return "select";
	case GR_WAIT_NIL_CHAN:
		return "nil chan";
	case GR_WAIT_EMPTY_SELECT:
		return "empty select";
	case GR_WAIT_MUTEX:
		return "mutex";
	case GR_WAIT_RWMUTEX_READ:
		return "read lock";
	case GR_WAIT_RWMUTEX_WRITE:
		return "write lock";
	case GR_WAIT_WAITGROUP:
		return "wait group";
	case GR_WAIT_COND:
		return "condition";
	default:
		return "semaphore";
	}
}

/* The fill of a channel. */
static const char *channel_text(struct gr_runtime *rt, uint64_t chan)
{
	const typeof(rt->layout.hchan) *f = &rt->layout.hchan;
	uint64_t count = 0, size = 0;
	struct gr_error *err =
		gr_image_read_u64(rt->image, chan + f->qcount.off, &count);

	if (!err)
		err = gr_image_read_u64(rt->image, chan + f->dataqsiz.off,
					&size);
	if (err) {
		gr_error_destroy(err);
		return "";
	}
	if (!size)
		return "unbuffered";
	return gr_arena_internf(rt->arena, "%s%" PRIu64 " of %" PRIu64,
				count >= size ? "full, " :
				!count	      ? "empty, " :
						"",
				count, size);
}

const char *gr_awaited_state(struct gr_runtime *rt,
			     const struct gr_primitive *p)
{
	if (gr_wait_kind_is_channel(p->kind))
		return channel_text(rt, p->object);
	if (!p->is_state_known)
		return "";
	switch (p->kind) {
	case GR_WAIT_MUTEX:
		return p->is_unlocked ? "unlocked" : "locked";
	case GR_WAIT_RWMUTEX_WRITE:
		return gr_arena_internf(rt->arena, "%" PRId32 " reader%s",
					p->count, p->count == 1 ? "" : "s");
	case GR_WAIT_WAITGROUP:
		return gr_arena_internf(rt->arena, "counter %" PRId32,
					p->count);
	default:
		return "";
	}
}

bool gr_owner_is_likely(const struct gr_owner *owner)
{
	return owner->rank >= GR_OWNER_ALONE;
}

const char *gr_awaited_verdict(const struct gr_wait_table *table,
			       const uint8_t *states,
			       const struct gr_primitive *p)
{
	bool is_out = states &&
		      states[table->waiters[p->first_waiter]] == GR_LEAK_LEAKED;

	if (p->nowners && gr_owner_is_likely(&p->owners[0]))
		return "";
	switch (p->kind) {
	case GR_WAIT_NIL_CHAN:
	case GR_WAIT_EMPTY_SELECT:
		return "nothing can ever wake them";
	case GR_WAIT_MUTEX:
		if (p->is_state_known && p->is_unlocked)
			return "it is free: a waiter is about to take it";
		// fallthrough
	case GR_WAIT_RWMUTEX_READ:
	case GR_WAIT_RWMUTEX_WRITE:
		return is_out ?
			       "no goroutine that can still run reaches it: it "
			       "stays locked" :
			       "no goroutine is seen to hold it";
	case GR_WAIT_WAITGROUP:
		return is_out ?
			       "no goroutine that can still run reaches it: no "
			       "Done will come" :
			       "no goroutine is seen to call Done later";
	default:
		if (is_out)
			return "no goroutine that can still run reaches it";
		return p->nowners || p->kind != GR_WAIT_CHAN_SEND ?
			       "" :
			       "no goroutine but its waiters has it on its "
			       "stack";
	}
}

static const char *lines_text(struct gr_runtime *rt,
			      const struct gr_owner *owner, bool is_group,
			      bool is_slot)
{
	const struct gr_lock_lines *lines = &owner->lines;

	if (is_slot)
		return gr_arena_internf(
			rt->arena,
			"is at line %" PRIu32 " of %s, which sends to it at "
			"line %" PRIu32 " and receives at line %" PRIu32,
			owner->line, owner->function, lines->locked,
			lines->unlocked);
	if (!is_group && !lines->unlocked)
		return gr_arena_internf(rt->arena,
					"is at line %" PRIu32 " of %s, which "
					"locks it at line %" PRIu32,
					owner->line, owner->function,
					lines->locked);
	if (!is_group)
		return gr_arena_internf(
			rt->arena,
			"is at line %" PRIu32 " of %s, which locks it at line "
			"%" PRIu32 " and unlocks it at line %" PRIu32,
			owner->line, owner->function, lines->locked,
			lines->unlocked);
	return gr_arena_internf(rt->arena,
				"is at line %" PRIu32
				" of %s, which calls Done at line %" PRIu32,
				owner->line, owner->function, lines->unlocked);
}

const char *gr_owner_evidence(struct gr_sched *sched,
			      const struct gr_primitive *p,
			      const struct gr_owner *owner)
{
	struct gr_arena *arena = sched->rt->arena;
	const struct gr_goroutine *g = &sched->goroutines[owner->goroutine];
	const char *frame = owner->frame < g->nframes ?
				    g->frames[owner->frame].func->name :
				    "?";
	bool is_group = p->kind == GR_WAIT_WAITGROUP;

	switch ((enum gr_owner_rank)owner->rank) {
	case GR_OWNER_EXACT:
		return owner->function ?
			       "is inside the call that sync.Once makes" :
			       "has locked it, and waits for its readers";
	case GR_OWNER_DEFERS:
		return gr_arena_internf(arena, "has deferred %s in %s",
					is_group	? "Done" :
					p->is_semaphore ? "a receive from it" :
					p->is_pool	? "a send to it" :
							  "its unlocking",
					frame);
	case GR_OWNER_BETWEEN:
		return lines_text(sched->rt, owner, is_group, p->is_semaphore);
	case GR_OWNER_ALONE:
		return "no other goroutine can reach it";
	case GR_OWNER_MAY:
		return gr_arena_internf(arena,
					"may have locked it at line %" PRIu32
					", on one way to line %" PRIu32
					" of %s",
					owner->lines.locked, owner->line,
					owner->function);
	case GR_OWNER_REACHES:
		if (owner->frame == UINT32_MAX)
			return "can reach it from its stack";
		return gr_arena_internf(arena, "has a pointer to it in %s",
					frame);
	case GR_OWNER_LATER:
		return gr_arena_internf(arena, "will lock it in %s", frame);
	}
	return "";
}
