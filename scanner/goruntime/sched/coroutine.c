// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/coroutine.h"

#include "goruntime/layout/names.h"
#include "goruntime/sched/live_words.h"
#include "inferior/recorder.h"

enum { WORD_STEPS = 4 };

bool gr_coroutine_began_with(const struct gr_runtime *rt,
			     const struct gr_goroutine *g)
{
	struct gr_func func;

	return g->startpc && gr_func_find(rt, g->startpc, &func) &&
	       gr_name_has(func.name, GR_NAME_STARTS_COROUTINE);
}

/* Has the frame a live word that leads to a coro with this gp? */
static struct gr_error *has_coro(const struct gr_sched *sched,
				 const struct gr_goroutine *g,
				 const struct gr_frame *frame, uint64_t gp,
				 bool *found)
{
	struct gr_field field = sched->rt->layout.coro.gp;
	struct gr_live_words words = gr_live_words(g, frame);
	struct gr_error *err = NULL;
	uint64_t word, value;

	*found = false;
	while (!err && !*found && gr_live_words_next(&words, &word)) {
		err = gr_runtime_step(sched->rt, WORD_STEPS);
		if (err || word % GR_WORD_BYTES ||
		    (sched->is_heap &&
		     !sched->is_heap(sched->is_heap_ctx, word)))
			continue;
		size_t mark = gr_recorder_search(sched->rt->recorder);
		err = gr_image_read_u64(sched->rt->image, word + field.off,
					&value);
		*found = !err && value == gp;
		gr_recorder_end_search(sched->rt->recorder, mark, *found);
		gr_error_catch(&err, GR_ERROR_FAULT);
		gr_error_catch(&err, GR_ERROR_NOT_SAVED);
	}
	return err;
}

/* Does the coroutine that began with @p g have @p gp as its other side? */
static struct gr_error *is_awaited_by(const struct gr_sched *sched,
				      const struct gr_goroutine *g, uint64_t gp,
				      bool *ret)
{
	*ret = false;
	for (size_t i = g->nframes; i > 0; i--) {
		const struct gr_frame *frame = &g->frames[i - 1];

		if (gr_name_has(frame->func->name, GR_NAME_STARTS_COROUTINE))
			return has_coro(sched, g, frame, gp, ret);
		// Only runtime.goexit is further out.
		if (g->nframes - i > 1)
			return NULL;
	}
	return NULL;
}

struct gr_error *gr_coroutine_awaited(const struct gr_sched *sched,
				      const struct gr_goroutine *g,
				      const struct gr_goroutine **ret)
{
	struct gr_error *err = NULL;
	bool found = false;

	*ret = NULL;
	if (!gr_field_is_present(sched->rt->layout.coro.gp))
		return NULL;
	for (size_t i = 0; !err && !found && i < sched->ngoroutines; i++) {
		const struct gr_goroutine *other = &sched->goroutines[i];

		err = gr_runtime_step(sched->rt, 1);
		if (err || other == g || other->is_g0)
			continue;
		err = is_awaited_by(sched, other, g->addr, &found);
		if (found)
			*ret = other;
	}
	return err;
}
