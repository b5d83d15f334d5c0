// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/waits.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "goruntime/sched/channel.h"
#include "goruntime/sched/parked.h"
#include "goruntime/sched/select_sides.h"
#include "goruntime/sched/semaphores.h"
#include "goruntime/sched/wait_kind.h"

enum {
	GOROUTINE_STEPS = 4,
	/* Bytes around a semaphore in the types of package sync: in a RWMutex,
	 * 12 before it and 20 from it on at most. */
	BEFORE_SEMAPHORE = 16,
	FROM_SEMAPHORE = 24,
};

GR_VECTOR(own_sudog_vector, struct gr_own_sudog);

struct reader {
	struct gr_runtime *rt;
	const struct gr_sched *sched;
	struct gr_wait_vector rows;
	struct own_sudog_vector sudogs;
	struct gr_cond_waiters cond_waiters;
	struct gr_callers callers;
	uint64_t left; /* sudogs that may still follow */
};

static void reader_deinit(struct reader *r)
{
	gr_wait_vector_deinit(&r->rows);
	own_sudog_vector_deinit(&r->sudogs);
	gr_cond_waiters_deinit(&r->cond_waiters);
}

bool gr_status_is_waiting(const struct gr_layout *layout, uint32_t status)
{
	return status == layout->consts.gwaiting ||
	       (layout->has.gleaked && status == layout->consts.gleaked);
}

// ------------------------------------------------------------- capture plan

static struct gr_error *plan_semaphore(struct gr_runtime *rt, uint64_t addr)
{
	return addr > BEFORE_SEMAPHORE && addr < UINT64_MAX - FROM_SEMAPHORE ?
		       gr_image_plan(rt->image, addr - BEFORE_SEMAPHORE,
				     addr + FROM_SEMAPHORE) :
		       NULL;
}

static struct gr_error *plan_root(void *ctx, const struct gr_sudog *first)
{
	const struct gr_sched *sched = ctx;

	return plan_semaphore(sched->rt, first->elem);
}

/* Is what the goroutine waits for perhaps not in the table of semaphores? */
static bool may_wait_elsewhere(const struct gr_sched *sched,
			       const struct gr_goroutine *g)
{
	return !sched->rt->layout.vars.semtable ||
	       !gr_wait_kind_is_semaphore(
		       gr_wait_kind_of_reason(g->wait_reason));
}

static struct gr_error *plan_goroutine(const struct gr_sched *sched,
				       const struct gr_goroutine *g,
				       uint64_t *left)
{
	struct gr_sudog_walk walk = gr_sudog_walk(sched->rt, g, left);
	struct gr_error *err;
	struct gr_sudog sudog;
	bool found;

	walk.gaps = NULL; // gr_waits_read() counts them.
	do {
		err = gr_sudog_walk_next(&walk, &sudog, &found);
		if (err || !found)
			break;
		if (sudog.chan)
			err = gr_channel_plan(sched->rt, sudog.chan);
		else if (sudog.elem)
			err = plan_semaphore(sched->rt, sudog.elem);
	} while (!err);
	return err;
}

struct gr_error *gr_waits_plan(const struct gr_sched *sched)
{
	uint64_t left = gr_sudogs_limit(sched);
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < sched->ngoroutines; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];

		err = gr_runtime_step(sched->rt, 1);
		if (!err && g->waiting_addr && may_wait_elsewhere(sched, g))
			err = plan_goroutine(sched, g, &left);
	}
	return err ? err : gr_semaphores_walk(sched, plan_root, (void *)sched);
}

// --------------------------------------------------------------------- rows

static struct gr_error *add_row(struct reader *r, struct gr_wait row)
{
	uint64_t off = gr_wait_key_offset(&r->rt->layout, row.kind);

	if (row.key && !row.object && off <= row.key)
		row.object = row.key - off;
	return gr_wait_vector_append(&r->rows, row) ? NULL : &gr_enomem;
}

/* The kind of a wait for a channel, before the side of a select is known.
 * Without the text, a lone wait is taken for a select of one case. */
static uint8_t channel_kind(enum gr_wait_kind by_reason)
{
	return by_reason == GR_WAIT_CHAN_SEND ||
			       by_reason == GR_WAIT_CHAN_RECEIVE ?
		       by_reason :
		       GR_WAIT_SELECT_RECEIVE;
}

/* Which lock is it, if the text for the reason does not say it? */
static struct gr_error *refine_kind(struct reader *r,
				    const struct gr_goroutine *g,
				    enum gr_wait_kind *kind)
{
	enum gr_wait_kind found = *kind;
	struct gr_error *err = NULL;

	if (*kind == GR_WAIT_SEMAPHORE || *kind == GR_WAIT_UNKNOWN)
		err = gr_wait_kind_of_semaphore(r->rt, g, &r->callers, &found);
	if (found != GR_WAIT_SEMAPHORE)
		*kind = found;
	return err;
}

/* Has a waiter of a Cond been notified? The list counts the tickets that it has
 * called (runtime/sema.go: less). */
static struct gr_error *is_notified(struct reader *r,
				    const struct gr_sudog *sudog, bool *ret)
{
	const struct gr_layout *layout = &r->rt->layout;
	struct gr_field notify = layout->notify_list.notify;
	uint64_t called = 0;

	*ret = false;
	if (!sudog->elem || !gr_field_is_present(notify) ||
	    !gr_field_is_present(layout->sudog.ticket))
		return NULL;
	struct gr_error *err = gr_image_read_uint(r->rt->image,
						  sudog->elem + notify.off,
						  sizeof(uint32_t), &called);
	if (!gr_error_catch(&err, GR_ERROR_FAULT) && !err)
		*ret = (int32_t)(sudog->ticket - (uint32_t)called) < 0;
	return err;
}

/* Has somebody taken the goroutine out of the queue already? Then the channel
 * has left its sudog in the g, and the semaphore has cleared its address. */
static struct gr_error *is_woken(struct reader *r, const struct gr_goroutine *g,
				 enum gr_wait_kind kind,
				 const struct gr_sudog *sudog, bool *ret)
{
	*ret = sudog->chan ? g->param : !sudog->elem;
	return !sudog->chan && kind == GR_WAIT_COND ?
		       is_notified(r, sudog, ret) :
		       NULL;
}

static struct gr_error *add_sudog(struct reader *r, uint32_t index,
				  enum gr_wait_kind kind,
				  const struct gr_sudog *sudog)
{
	const struct gr_goroutine *g = &r->sched->goroutines[index];
	struct gr_wait row = {
		.goroutine = index,
		.kind = sudog->chan ? channel_kind(kind) : kind,
		.sudog = sudog->addr,
		.key = sudog->chan ? sudog->chan : sudog->elem,
		.object = sudog->chan,
		.elem = sudog->chan ? sudog->elem : 0,
	};
	struct gr_error *err = is_woken(r, g, kind, sudog, &row.is_woken);

	return err ? err : add_row(r, row);
}

/* Read the list of sudogs that the g leads to. */
static struct gr_error *read_own(struct reader *r, uint32_t index,
				 bool is_waiting, enum gr_wait_kind kind)
{
	const struct gr_goroutine *g = &r->sched->goroutines[index];
	struct gr_sudog_walk walk = gr_sudog_walk(r->rt, g, &r->left);
	struct gr_error *err;
	struct gr_sudog sudog;
	bool found;

	for (;;) {
		err = gr_sudog_walk_next(&walk, &sudog, &found);
		if (err || !found)
			return err;
		struct gr_own_sudog own = { sudog.addr, sudog.chan, sudog.elem,
					    index };
		if (!own_sudog_vector_append(&r->sudogs, own))
			return &gr_enomem;
		if (is_waiting)
			err = add_sudog(r, index, kind, &sudog);
		if (err)
			return err;
	}
}

static struct gr_error *note_cond_waiter(struct reader *r, uint32_t index,
					 const struct gr_frame *frame,
					 uint64_t sudog)
{
	const struct gr_goroutine *g = &r->sched->goroutines[index];
	struct gr_cond_waiter waiter = {
		.sudog = sudog,
		.goroutine = index,
		.caller = frame - g->frames + 1,
	};

	return waiter.caller >= g->nframes ||
			       gr_cond_waiters_append(&r->cond_waiters,
						      waiter) ?
		       NULL :
		       &gr_enomem;
}

/* A goroutine that waits, and to whose sudog no g leads. */
static struct gr_error *read_parked(struct reader *r, uint32_t index,
				    enum gr_wait_kind kind)
{
	const struct gr_goroutine *g = &r->sched->goroutines[index];
	struct gr_wait row = { .goroutine = index, .kind = kind };
	const struct gr_frame *frame = NULL;
	struct gr_sudog sudog;
	struct gr_error *err = NULL;

	// A select whose channels are all nil.
	if (kind == GR_WAIT_SELECT_RECEIVE && !g->waiting_addr)
		row.kind = GR_WAIT_EMPTY_SELECT;
	if (kind == GR_WAIT_COND || gr_wait_kind_is_semaphore(kind))
		err = gr_parked_find(r->sched, g, &sudog, &frame);
	if (!err && frame) {
		const struct gr_own_sudog own = { .addr = sudog.addr,
						  .goroutine = index };
		row.sudog = sudog.addr;
		row.key = sudog.elem;
		row.is_woken = kind != GR_WAIT_COND && !sudog.elem;
		if (!own_sudog_vector_append(&r->sudogs, own))
			return &gr_enomem;
	}
	if (!err && frame && kind == GR_WAIT_COND && !row.key)
		err = note_cond_waiter(r, index, frame, sudog.addr);
	return err ? err : add_row(r, row);
}

static struct gr_error *read_goroutine(struct reader *r, uint32_t index)
{
	const struct gr_goroutine *g = &r->sched->goroutines[index];
	const struct gr_layout *layout = &r->rt->layout;
	bool is_waiting = gr_status_is_waiting(layout, g->status);
	size_t before = r->rows.size;
	enum gr_wait_kind kind = gr_wait_kind_of_reason(g->wait_reason);
	struct gr_error *err = NULL;

	if (g->is_g0)
		return NULL;
	if (is_waiting)
		err = refine_kind(r, g, &kind);
	if (!err)
		err = read_own(r, index, is_waiting, kind);
	if (err || r->rows.size > before)
		return err;
	if (is_waiting)
		return read_parked(r, index, kind);
	if (g->status != layout->consts.gsyscall)
		return NULL;
	kind = gr_waits_for_signal(layout, g) ? GR_WAIT_SIGNAL :
						GR_WAIT_SYSCALL;
	return add_row(r, (struct gr_wait){ .goroutine = index, .kind = kind });
}

/* Note the addresses of Conds in the rows of their waiters. */
static struct gr_error *place_conds(struct reader *r, const uint32_t *first)
{
	struct gr_error *err = gr_parked_find_lists(r->sched, &r->cond_waiters);

	for (size_t i = 0; !err && i < r->cond_waiters.size; i++) {
		const struct gr_cond_waiter *waiter = &r->cond_waiters.data[i];
		struct gr_wait *row = &r->rows.data[first[waiter->goroutine]];

		row->key = waiter->list;
		if (row->key)
			row->object =
				row->key - gr_wait_key_offset(&r->rt->layout,
							      GR_WAIT_COND);
	}
	return err;
}

static struct gr_error *read_all(struct reader *r, uint32_t *first)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < r->sched->ngoroutines; i++) {
		first[i] = r->rows.size;
		err = gr_runtime_step(r->rt, GOROUTINE_STEPS);
		if (!err)
			err = read_goroutine(r, i);
	}
	first[r->sched->ngoroutines] = r->rows.size;
	if (!err)
		err = place_conds(r, first);
	return err ? err : gr_select_sides(r->sched, &r->rows);
}

void gr_waits_destroy(struct gr_waits *waits)
{
	if (!waits)
		return;
	free(waits->rows);
	free(waits->first);
	free(waits->sudogs);
	free(waits->waiters);
	free(waits);
}
GR_DEFINE_CLEANUP(waits, struct gr_waits, gr_waits_destroy)

struct gr_error *gr_waits_read(const struct gr_sched *sched,
			       struct gr_waits **ret)
{
	_cleanup_(reader_deinit) struct reader r = {
		.rt = sched->rt,
		.sched = sched,
		.left = gr_sudogs_limit(sched),
	};
	_cleanup_(gr_cleanup_waits) struct gr_waits *waits =
		calloc(1, sizeof(*waits));
	struct gr_error *err;

	if (!waits)
		return &gr_enomem;
	waits->first = calloc(sched->ngoroutines + 1, sizeof(*waits->first));
	if (!waits->first)
		return &gr_enomem;
	err = read_all(&r, waits->first);
	if (err)
		return err;
	waits->nrows = r.rows.size;
	waits->rows = steal_ptr(r.rows.data);
	waits->nsudogs = r.sudogs.size;
	waits->sudogs = steal_ptr(r.sudogs.data);
	*ret = steal_ptr(waits);
	return NULL;
}

// -------------------------------------------------------------------- counts

/** A row, to be sorted by what it waits for. */
struct keyed_row {
	uint64_t key;
	uint32_t row;
};

/* By key, then by row: the rows of a goroutine stay together. */
static int compare_keyed(const void *a, const void *b)
{
	const struct keyed_row *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* Count the goroutines of rows with one key. A select may have it twice. */
static uint32_t count_goroutines(const struct gr_waits *waits,
				 const struct keyed_row *rows, size_t n)
{
	uint32_t last = UINT32_MAX, count = 0;

	for (size_t i = 0; i < n; i++) {
		const struct gr_wait *row = &waits->rows[rows[i].row];

		count += !row->is_woken && row->goroutine != last;
		last = row->goroutine;
	}
	return count;
}

static void count_all(const struct gr_waits *waits,
		      const struct keyed_row *rows, uint32_t *counts)
{
	size_t n;

	for (size_t i = 0; i < waits->nrows; i += n) {
		n = 1;
		while (i + n < waits->nrows && rows[i + n].key == rows[i].key)
			n++;
		uint32_t count = count_goroutines(waits, &rows[i], n);
		for (size_t j = i; j < i + n; j++)
			counts[rows[j].row] = count;
	}
}

struct gr_error *gr_waits_count(const struct gr_sched *sched)
{
	struct gr_waits *waits = sched->waits;
	_cleanup_free_ struct keyed_row *rows = NULL;
	_cleanup_free_ uint32_t *counts = NULL;

	if (waits->waiters)
		return NULL;
	rows = calloc(waits->nrows + 1, sizeof(*rows));
	counts = calloc(waits->nrows + 1, sizeof(*counts));
	if (!rows || !counts)
		return &gr_enomem;
	for (size_t i = 0; i < waits->nrows; i++)
		rows[i] = (struct keyed_row){ waits->rows[i].key, i };
	struct gr_error *err = gr_sort(rows, waits->nrows, sizeof(*rows),
				       compare_keyed, sched->rt->poll,
				       sched->rt->poll_ctx);
	if (err)
		return err;
	count_all(waits, rows, counts);
	waits->waiters = steal_ptr(counts);
	return NULL;
}
