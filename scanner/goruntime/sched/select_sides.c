// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/select_sides.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "goruntime/sched/channel.h"

enum { CASE_STEPS = 4 };

/** A case of a select. */
struct select_case {
	uint64_t chan;
	uint64_t sudog;
	struct gr_wait *row;
};
GR_VECTOR(case_vector, struct select_case);

/** The cases that wait for one channel, by sudog. */
struct finder {
	const struct gr_sched *sched;
	struct case_vector cases;
	struct select_case *of_channel;
	size_t count;
	uint64_t left; /* sudogs that queues may still have */
};

static void finder_deinit(struct finder *f)
{
	case_vector_deinit(&f->cases);
}

/* By channel, then by sudog. */
static int compare_cases(const void *a, const void *b)
{
	const struct select_case *x = a, *y = b;

	if (x->chan != y->chan)
		return x->chan < y->chan ? -1 : 1;
	return (x->sudog > y->sudog) - (x->sudog < y->sudog);
}

static struct gr_error *collect(struct finder *f, struct gr_wait_vector *rows)
{
	struct gr_runtime *rt = f->sched->rt;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < rows->size; i++) {
		struct gr_wait *row = &rows->data[i];

		err = gr_runtime_step(rt, 1);
		if (err || row->kind != GR_WAIT_SELECT_RECEIVE || !row->sudog)
			continue;
		if (!case_vector_append(
			    &f->cases,
			    (struct select_case){ row->key, row->sudog, row }))
			return &gr_enomem;
	}
	return err ? err :
		     gr_sort(f->cases.data, f->cases.size,
			     sizeof(*f->cases.data), compare_cases, rt->poll,
			     rt->poll_ctx);
}

/* A sudog in the queue of senders. */
static struct gr_error *visit_sender(void *ctx, const struct gr_sudog *sudog)
{
	struct finder *f = ctx;
	size_t n = gr_count_before(f->count, i,
				   f->of_channel[i].sudog <= sudog->addr);

	if (n && f->of_channel[n - 1].sudog == sudog->addr)
		f->of_channel[n - 1].row->kind = GR_WAIT_SELECT_SEND;
	return NULL;
}

static struct gr_error *read_channel(struct finder *f)
{
	struct gr_runtime *rt = f->sched->rt;
	struct gr_channel channel;
	struct gr_error *err =
		gr_channel_read(rt, f->of_channel->chan, &channel);

	if (gr_error_catch(&err, GR_ERROR_FAULT)) {
		gr_gap_broken_list(rt->gaps, "the queue of a channel");
		return NULL;
	}
	if (!err)
		err = gr_channel_walk(rt, channel.addr, channel.sendq, &f->left,
				      visit_sender, f);
	return err;
}

struct gr_error *gr_select_sides(const struct gr_sched *sched,
				 struct gr_wait_vector *rows)
{
	_cleanup_(finder_deinit) struct finder f = {
		.sched = sched,
		.left = gr_sudogs_limit(sched),
	};
	struct gr_error *err = collect(&f, rows);

	for (size_t i = 0; !err && i < f.cases.size; i += f.count) {
		f.of_channel = &f.cases.data[i];
		f.count = 1;
		while (i + f.count < f.cases.size &&
		       f.of_channel[f.count].chan == f.of_channel->chan)
			f.count++;
		err = gr_runtime_step(sched->rt, CASE_STEPS * f.count);
		if (!err)
			err = read_channel(&f);
	}
	return err;
}
