// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/parked.h"

#include "base/sort.h"
#include "goruntime/layout/names.h"
#include "goruntime/sched/live_words.h"
#include "goruntime/sched/wait_kind.h"
#include "inferior/recorder.h"

enum {
	MAX_PARK_FRAMES = 8, /* gopark, goparkunlock, semacquire1 */
	WORD_STEPS = 4,
};

static bool may_be_sudog(const struct gr_sched *sched, uint64_t addr)
{
	return addr % GR_WORD_BYTES == 0 &&
	       (!sched->is_heap || sched->is_heap(sched->is_heap_ctx, addr));
}

/* Find a live word of the frame that leads to a sudog of @p g. */
static struct gr_error *find_in_frame(const struct gr_sched *sched,
				      const struct gr_goroutine *g,
				      const struct gr_frame *frame,
				      struct gr_sudog *ret, bool *found)
{
	struct gr_live_words words = gr_live_words(g, frame);
	struct gr_error *err = NULL;
	uint64_t word;

	*found = false;
	while (!err && !*found && gr_live_words_next(&words, &word)) {
		if (!may_be_sudog(sched, word))
			continue;
		size_t mark = gr_recorder_search(sched->rt->recorder);
		err = gr_runtime_step(sched->rt, WORD_STEPS);
		if (!err)
			err = gr_sudog_read(sched->rt, word, ret);
		*found = !err && ret->g == g->addr;
		gr_recorder_end_search(sched->rt->recorder, mark, *found);
		gr_error_catch(&err, GR_ERROR_FAULT);
		gr_error_catch(&err, GR_ERROR_NOT_SAVED);
	}
	return err;
}

static bool parks(const struct gr_frame *frame)
{
	return gr_name_has(frame->func->name, GR_NAME_PARKS_ON_SEMAPHORE) ||
	       gr_name_has(frame->func->name, GR_NAME_PARKS_ON_LIST);
}

struct gr_error *gr_parked_find(const struct gr_sched *sched,
				const struct gr_goroutine *g,
				struct gr_sudog *ret,
				const struct gr_frame **frame)
{
	bool found = false;

	*frame = NULL;
	for (size_t i = 0; i < g->nframes && i < MAX_PARK_FRAMES; i++) {
		if (!parks(&g->frames[i]))
			continue;
		struct gr_error *err =
			find_in_frame(sched, g, &g->frames[i], ret, &found);
		if (found)
			*frame = &g->frames[i];
		return err;
	}
	return NULL;
}

// ------------------------------------------------------------- notify lists

static int compare_waiters(const void *a, const void *b)
{
	const struct gr_cond_waiter *x = a, *y = b;

	return (x->sudog > y->sudog) - (x->sudog < y->sudog);
}

/* The waiter with a sudog, unless it is known in which list that is. */
static struct gr_cond_waiter *find_waiter(struct gr_cond_waiters *waiters,
					  uint64_t sudog)
{
	size_t n = gr_count_before(waiters->size, i,
				   waiters->data[i].sudog <= sudog);

	return n && waiters->data[n - 1].sudog == sudog &&
			       !waiters->data[n - 1].list ?
		       &waiters->data[n - 1] :
		       NULL;
}

/* Note the list at @p list for all goroutines in it. */
static struct gr_error *walk_list(const struct gr_sched *sched,
				  struct gr_cond_waiters *waiters,
				  uint64_t list)
{
	struct gr_runtime *rt = sched->rt;
	struct gr_cond_waiter *waiter;
	struct gr_sudog sudog;
	uint64_t addr = 0;
	size_t mark = gr_recorder_search(rt->recorder);
	struct gr_error *err = gr_image_read_u64(
		rt->image, list + rt->layout.notify_list.head.off, &addr);
	bool found = false;

	// Bounded by the waiters, each of which is found once.
	while (!err && addr && (waiter = find_waiter(waiters, addr))) {
		found = true;
		waiter->list = list;
		err = gr_runtime_step(rt, WORD_STEPS);
		if (!err)
			err = gr_sudog_read(rt, addr, &sudog);
		addr = err ? 0 : sudog.next;
	}
	gr_recorder_end_search(rt->recorder, mark, found);
	gr_error_catch(&err, GR_ERROR_FAULT);
	gr_error_catch(&err, GR_ERROR_NOT_SAVED);
	return err;
}

static struct gr_error *find_list(const struct gr_sched *sched,
				  struct gr_cond_waiters *waiters,
				  struct gr_cond_waiter *waiter)
{
	const struct gr_goroutine *g = &sched->goroutines[waiter->goroutine];
	struct gr_live_words words =
		gr_live_words(g, &g->frames[waiter->caller]);
	struct gr_error *err = NULL;
	uint64_t word;

	while (!err && !waiter->list && gr_live_words_next(&words, &word)) {
		err = gr_runtime_step(sched->rt, WORD_STEPS);
		if (!err)
			err = walk_list(
				sched, waiters,
				word + gr_wait_key_offset(&sched->rt->layout,
							  GR_WAIT_COND));
	}
	return err;
}

struct gr_error *gr_parked_find_lists(const struct gr_sched *sched,
				      struct gr_cond_waiters *waiters)
{
	struct gr_runtime *rt = sched->rt;
	struct gr_error *err = NULL;

	if (!waiters->size || !gr_field_is_present(rt->layout.notify_list.head))
		return NULL;
	err = gr_sort(waiters->data, waiters->size, sizeof(*waiters->data),
		      compare_waiters, rt->poll, rt->poll_ctx);
	for (size_t i = 0; !err && i < waiters->size; i++)
		if (!waiters->data[i].list)
			err = find_list(sched, waiters, &waiters->data[i]);
	return err;
}
