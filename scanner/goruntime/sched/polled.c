// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/polled.h"

#include "goruntime/layout/names.h"
#include "goruntime/sched/live_words.h"
#include "inferior/recorder.h"

enum {
	MAX_FRAMES = 12, /* from the runtime's to the user's call */
	WORD_STEPS = 4,
	MAX_DESCRIPTOR = 1 << 30,
};

/* Read a word that lies outside of the heap. The copy of a process that goes on
 * has it if a timer for a deadline is beside it (roots/root_lists.c). */
static struct gr_error *read_late(const struct gr_sched *sched, uint64_t addr,
				  uint64_t *ret)
{
	uint8_t word[GR_WORD_BYTES] = { 0 };
	struct gr_error *err =
		gr_image_read_late(sched->rt->image, addr, word, sizeof(word));

	*ret = gr_load_u64(word);
	return err;
}

/* Does the pollDesc lead to the goroutine? *@p is_known is false if it cannot be
 * read. */
static struct gr_error *prove(const struct gr_sched *sched,
			      const struct gr_goroutine *g,
			      struct gr_polled *polled, bool *is_known)
{
	const typeof(sched->rt->layout.poll_desc) *f =
		&sched->rt->layout.poll_desc;
	uint64_t addr = polled->poll_desc, rg = 0, wg = 0, deadline = 0;
	struct gr_error *err = read_late(sched, addr + f->rg.off, &rg);

	if (!err)
		err = read_late(sched, addr + f->wg.off, &wg);
	// A file has the pollDesc that led to a goroutine, and no other one.
	if (gr_error_catch(&err, GR_ERROR_NOT_SAVED)) {
		*is_known = true;
		return NULL;
	}
	*is_known = !gr_error_catch(&err, GR_ERROR_FAULT) && !err;
	polled->is_proven = *is_known && (rg == g->addr || wg == g->addr);
	polled->is_write = polled->is_proven && rg != g->addr;
	if (!polled->is_proven || !gr_field_is_present(f->rd) ||
	    !gr_field_is_present(f->wd))
		return err;
	err = read_late(sched, addr + (polled->is_write ? f->wd : f->rd).off,
			&deadline);
	gr_error_catch(&err, GR_ERROR_FAULT);
	// Negative: it has passed, and the goroutine is being woken.
	polled->deadline = !err && deadline <= INT64_MAX ? deadline : 0;
	return err;
}

/* Could there be a poll.FD at @p addr? */
static struct gr_error *read_fd(const struct gr_sched *sched, uint64_t addr,
				struct gr_polled *ret, bool *found)
{
	const struct gr_layout *layout = &sched->rt->layout;
	uint64_t number = 0, desc = 0;
	struct gr_error *err;

	*found = false;
	if (addr % GR_WORD_BYTES ||
	    (sched->is_heap && !sched->is_heap(sched->is_heap_ctx, addr)))
		return NULL;
	err = gr_image_read_u64(sched->rt->image,
				addr + layout->poll_fd.sysfd.off, &number);
	if (!err)
		err = gr_image_read_u64(sched->rt->image,
					addr + layout->poll_fd.pd.off, &desc);
	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED) || err)
		return err;
	*found = number < MAX_DESCRIPTOR && desc && desc % GR_WORD_BYTES == 0 &&
		 (!sched->is_heap || !sched->is_heap(sched->is_heap_ctx, desc));
	ret->fd = addr;
	ret->poll_desc = desc;
	return NULL;
}

/* Does @p word lead to a poll.FD? Then *@p found is true. One that cannot be
 * proven counts only if @p may_be_unproven. */
static struct gr_error *try_word(const struct gr_sched *sched,
				 const struct gr_goroutine *g, uint64_t word,
				 bool may_be_unproven, struct gr_polled *polled,
				 bool *found)
{
	size_t mark = gr_recorder_search(sched->rt->recorder);
	bool is_known = false;
	struct gr_error *err = read_fd(sched, word, polled, found);

	if (!err && *found)
		err = prove(sched, g, polled, &is_known);
	*found = !err && *found &&
		 (polled->is_proven ||
		  (may_be_unproven && !is_known &&
		   gr_image_is_mapped(sched->rt->image, polled->poll_desc)));
	gr_recorder_end_search(sched->rt->recorder, mark, *found);
	return err;
}

/* Look at the live words of a frame; the first candidate that cannot be proven
 * is kept for the case that none can. */
static struct gr_error *find_in_frame(const struct gr_sched *sched,
				      const struct gr_goroutine *g,
				      const struct gr_frame *frame,
				      struct gr_polled *ret)
{
	struct gr_live_words words = gr_live_words(g, frame);
	// A netFD begins with its poll.FD, whose methods may be inlined.
	bool waits = gr_name_has(frame->func->name, GR_NAME_WAITS_FOR_POLLER) ||
		     gr_name_has(frame->func->name, GR_NAME_OF_SOCKET);
	struct gr_error *err = NULL;
	uint64_t word;

	while (!err && !ret->is_proven && gr_live_words_next(&words, &word)) {
		struct gr_polled polled = { .frame = frame };
		bool found = false;

		err = gr_runtime_step(sched->rt, WORD_STEPS);
		if (!err)
			err = try_word(sched, g, word, waits && !ret->fd,
				       &polled, &found);
		if (found)
			*ret = polled;
	}
	return err;
}

struct gr_error *gr_polled_find(const struct gr_sched *sched,
				const struct gr_goroutine *g,
				struct gr_polled *ret)
{
	const struct gr_layout *layout = &sched->rt->layout;
	struct gr_error *err = NULL;

	*ret = (struct gr_polled){ .fd = 0 };
	if (!gr_field_is_present(layout->poll_fd.sysfd) ||
	    !gr_field_is_present(layout->poll_fd.pd) ||
	    !gr_field_is_present(layout->poll_desc.rg) ||
	    !gr_field_is_present(layout->poll_desc.wg))
		return NULL;
	for (size_t i = 0;
	     !err && !ret->is_proven && i < g->nframes && i < MAX_FRAMES; i++)
		err = find_in_frame(sched, g, &g->frames[i], ret);
	if (!err && ret->fd && !ret->is_proven)
		ret->is_write = strstr(ret->frame->func->name, "Write");
	return err;
}
