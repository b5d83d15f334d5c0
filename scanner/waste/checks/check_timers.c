// SPDX-License-Identifier: Apache-2.0
/*
 * far-timers: what only timers hold that fire in more than an hour. Source:
 * runtime/time.go (timer), time/sleep.go (goFunc, sendTime).
 */
#include "base/cleanup.h"
#include "goruntime/layout/pclntab.h"
#include "naming/memory_name.h"
#include "retention/type_text.h"
#include "scan/answers.h"
#include "scan/goroutine_counts.h"
#include "waste/checks/checks.h"
#include "waste/checks/cut_sets.h"
#include "waste/checks/timer_cuts.h"

#define FAR_NS (UINT64_C(3600) * 1000000000)

/** A timer that fires in the far future. */
struct far_timer {
	gr_obj obj;
	uint32_t set;
};
GR_VECTOR(far_vector, struct far_timer);
GR_VECTOR(row_vector, struct gr_finding);

struct finder {
	struct gr_waste_run *run;
	struct gr_runtime *rt;
	uint64_t now; /* at least */
	struct far_vector timers;
	struct gr_keys by_call; /* pc or label -> set */
	struct row_vector rows; /* by set */
	struct gr_cut_sets sets;
};

static void finder_deinit(struct finder *f)
{
	far_vector_deinit(&f->timers);
	gr_keys_deinit(&f->by_call);
	row_vector_deinit(&f->rows);
	gr_cut_sets_deinit(&f->sets);
}

// ------------------------------------------------------------------ the timers

static struct gr_error *read_word(struct finder *f, uint64_t addr,
				  uint64_t *ret)
{
	struct gr_error *err = gr_image_read_u64(f->rt->image, addr, ret);

	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED))
		*ret = 0;
	return err;
}

/* Read the time at which a timer fires; 0: never, or not known. Until Go 1.22,
 * a timer has a status, and a timer that was stopped or moved keeps its place
 * in the heap of its P. Source: runtime/time.go (timerWaiting and the other
 * states). */
static struct gr_error *read_moment(struct finder *f, uint64_t timer,
				    uint64_t *ret)
{
	const typeof(f->rt->layout.timer) *at = &f->rt->layout.timer;
	const typeof(f->rt->layout.consts) *consts = &f->rt->layout.consts;
	struct gr_error *err = read_word(f, timer + at->when.off, ret);
	uint64_t next, status;

	if (err || !at->nextwhen.bytes || !at->status.bytes)
		return err;
	err = read_word(f, timer + at->nextwhen.off, &next);
	if (!err)
		err = read_word(f, timer + at->status.off, &status);
	if (err)
		return err;
	status &= UINT32_MAX;
	if (status == (uint64_t)consts->timer_modified_earlier ||
	    status == (uint64_t)consts->timer_modified_later)
		*ret = next;
	else if (status != (uint64_t)consts->timer_waiting)
		*ret = 0;
	return NULL;
}

/* Does it fire in the far future? */
static struct gr_error *is_far(struct finder *f, uint64_t timer, bool *ret)
{
	uint64_t when = 0;
	struct gr_error *err = read_moment(f, timer, &when);

	*ret = when > f->now + FAR_NS && when <= INT64_MAX;
	return err;
}

/* The function of a funcval at @p closure; "": none. */
static struct gr_error *read_function(struct finder *f, uint64_t closure,
				      uint64_t *pc, const char **ret)
{
	struct gr_func func;
	struct gr_error *err = read_word(f, closure, pc);

	*ret = !err && *pc && gr_func_find(f->rt, *pc, &func) ? func.name : "";
	return err;
}

/*
 * Find the function that a timer calls. time.AfterFunc() makes a timer that
 * starts its argument, time.NewTimer() one that sends on a channel: *@p pc is 0
 * then. "": it is the runtime's own.
 */
static struct gr_error *find_call(struct finder *f, uint64_t timer,
				  uint64_t *pc, const char **ret)
{
	const typeof(f->rt->layout.timer) *at = &f->rt->layout.timer;
	uint64_t closure = 0;
	struct gr_error *err = read_word(f, timer + at->f.off, &closure);

	*ret = "";
	if (!err && closure)
		err = read_function(f, closure, pc, ret);
	if (err)
		return err;
	if (!strcmp(*ret, "time.goFunc")) {
		// The argument is an interface with a func().
		err = read_word(f, timer + at->arg.off + GR_WORD_BYTES,
				&closure);
		return err || !closure ? err :
					 read_function(f, closure, pc, ret);
	}
	if (strcmp(*ret, "time.sendTime") != 0)
		*ret = "";
	*pc = 0;
	return NULL;
}

/* The set of timers with the same call, or of the same type. */
static struct gr_error *find_set(struct finder *f, struct far_timer *timer,
				 uint64_t addr, uint64_t pc,
				 const char *function)
{
	struct gr_program *program = f->run->answers->stop->program;
	uint32_t label = gr_parents_label(f->run->parents, timer->obj);

	timer->set = gr_keys_find(&f->by_call, pc ?: label, !pc);
	if (timer->set != UINT32_MAX)
		return NULL;
	const char *name = pc ? function : gr_memory_name(program, label);

	if (!*name)
		name = GR_TYPE_UNKNOWN;
	const struct gr_finding row = {
		.check = GR_WASTE_FAR_TIMERS,
		.key = pc ?: label,
		.example = addr,
		.type = gr_arena_intern(&program->arena, name, strlen(name)),
		.field = "",
	};
	timer->set = f->rows.size;
	if (!row.type ||
	    !gr_keys_add(&f->by_call, pc ?: label, !pc, timer->set))
		return &gr_enomem;
	return gr_runtime_append(f->rt, row_vector, &f->rows, row);
}

static struct gr_error *add_timer(struct finder *f, const struct gr_root *root,
				  gr_obj obj)
{
	struct far_timer timer = { .obj = obj };
	const char *function;
	uint64_t pc = 0;
	bool is_late;
	struct gr_error *err = is_far(f, root->addr, &is_late);

	if (err || !is_late)
		return err;
	err = find_call(f, root->addr, &pc, &function);
	if (err || !*function)
		return err;
	err = find_set(f, &timer, root->addr, pc, function);
	if (err)
		return err;
	struct gr_finding *row = &f->rows.data[timer.set];
	row->count++;
	if (root->addr < row->example)
		row->example = root->addr;
	return gr_runtime_append(f->rt, far_vector, &f->timers, timer);
}

/* The timers lie in the heap; those of deadlines do not. */
static struct gr_error *find_timers(struct finder *f)
{
	const struct gr_root_list *list = &f->run->answers->stop->roots.list;
	const struct gr_span *span;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < list->size; i++) {
		const struct gr_root *root = &list->data[i];

		err = gr_runtime_step(f->rt, 1);
		if (err || root->kind != GR_ROOT_TIMER ||
		    root->form != GR_ROOT_VALUE)
			continue;
		gr_obj obj = gr_heap_object_at(f->run->heap, root->addr, &span);
		if (obj != GR_OBJ_NONE && gr_parents_has(f->run->parents, obj))
			err = add_timer(f, root, obj);
	}
	return err;
}

// ------------------------------------------------------------------- the bytes

static struct gr_error *cut_timers(struct finder *f)
{
	_cleanup_(gr_timer_cuts_deinit) struct gr_timer_cuts cuts;
	struct gr_error *err = gr_timer_cuts_init(f->run, &cuts);

	for (size_t i = 0; !err && i < f->timers.size; i++)
		err = gr_timer_cuts_add(&cuts, f->timers.data[i].obj, &f->sets,
					f->timers.data[i].set);
	return err;
}

static struct gr_error *add_rows(struct finder *f)
{
	_cleanup_free_ struct gr_kept *kept =
		calloc(f->rows.size + 1, sizeof(*kept));
	struct gr_error *err = kept ? NULL : &gr_enomem;

	if (!err)
		err = gr_cut_sets_weigh(f->run, &f->sets, f->rows.size, kept);
	for (size_t i = 0; !err && i < f->rows.size; i++) {
		struct gr_finding *row = &f->rows.data[i];

		row->bytes = kept[i].bytes;
		if (row->bytes && row->bytes >= gr_waste_min_bytes(f->run))
			err = gr_cut_sets_finish(f->run, &f->sets, i, *row);
	}
	return err;
}

// ------------------------------------------------------------------ the answer

/* Say why the check was not answered. */
static void give_up(struct gr_waste_run *run, const char *why)
{
	const char *name = gr_waste_check_name(GR_WASTE_FAR_TIMERS);

	for (size_t i = 0; i < run->waste->nasked; i++)
		if (!strcmp(run->waste->asked[i].check, name))
			run->waste->asked[i].why_not = why;
}

static struct gr_error *find(struct gr_waste_run *run)
{
	const struct gr_layout *layout = &run->heap->rt->layout;
	_cleanup_(finder_deinit) struct finder f = { .run = run,
						     .rt = run->heap->rt };
	const struct gr_moments *moments;
	bool is_enough = false;
	struct gr_error *err = gr_stop_moments(run->answers->stop, &moments);

	if (err)
		return err;
	f.now = moments->latest;
	if (!f.now || layout->timer.when.bytes != GR_WORD_BYTES) {
		give_up(run, f.now ? "the moments of timers are not known" :
				     "the program's clock is not known");
		return NULL;
	}
	err = find_timers(&f);
	if (!err && f.timers.size)
		err = gr_roots_may_hold_enough(run, 1u << GR_ROOT_TIMER,
					       &is_enough);
	if (err || !is_enough)
		return err;
	err = gr_answers_need_graph(run->answers, 0);
	if (!err)
		err = cut_timers(&f);
	return err ? err : add_rows(&f);
}

const struct gr_check gr_check_timers = {
	.id = GR_WASTE_FAR_TIMERS,
	.advice = "Stop timers that are no longer needed, or make their "
		  "functions refer to less.",
	.find = find,
};
