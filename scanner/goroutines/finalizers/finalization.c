// SPDX-License-Identifier: Apache-2.0
/* Finalizers, cleanups and pools, and the goroutines that run finalizers and
 * cleanups. Source: runtime/mfinal.go (runfinq, later runFinalizers),
 * runtime/mcleanup.go (runCleanups). */
#include "goroutines/finalizers/finalization.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "goroutines/goroutine_info.h"
#include "goroutines/goroutine_places.h"
#include "goroutines/wait_table.h"
#include "goruntime/layout/inline.h"
#include "goruntime/layout/names.h"
#include "goruntime/sched/channel.h"
#include "scan/enter.h"

enum {
	MAX_RUNNERS = 64,
	MAX_ASKED = 4, /* runners whose waits are described */
	MAX_IDS = 8,
};

GR_VECTOR(runner_vector, struct gr_finalizer_runner);
GR_DEFINE_CLEANUP(finalization, struct gr_finalization, gr_finalization_destroy)

static void free_groups(struct gr_wait_group *groups, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(groups[i].ids);
		free(groups[i].owners);
	}
	free(groups);
}

void gr_finalization_destroy(struct gr_finalization *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nrunners; i++)
		free_groups(f->runners[i].awaits, f->runners[i].nawaits);
	free(f->runners);
	gr_finalizers_deinit(&f->finalizers);
	gr_pools_deinit(&f->pools);
	free(f);
}

static const char *state_name(enum gr_runner_state state)
{
	static const char *const names[] = {
#define X(id, name) [GR_RUNNER_##id] = name,
		GR_RUNNER_STATES(X)
#undef X
	};

	return names[state];
}

// --------------------------------------------------------------------- runners

/* The call that the runtime has made: the outermost one outside of it. */
static struct gr_error *find_call(struct gr_runtime *rt,
				  const struct gr_goroutine *g,
				  struct gr_source_place *ret)
{
	struct gr_logical_frame calls[GR_MAX_INLINED];
	struct gr_error *err = NULL;

	*ret = (struct gr_source_place){ 0, "", "", 0 };
	for (size_t i = g->nframes; !err && i-- > 0 && !ret->pc;) {
		const struct gr_frame *frame = &g->frames[i];
		size_t n;
		err = gr_inline_frames(rt, frame->func, gr_frame_call_pc(frame),
				       calls, &n);
		if (!err)
			err = gr_runtime_step(rt, 1);
		while (!err && n-- > 0 && !ret->pc)
			if (gr_is_user_call(calls[n].function))
				*ret = (struct gr_source_place){
					frame->pc, calls[n].function,
					calls[n].file, calls[n].line
				};
	}
	return err;
}

/* Is what it waits for a channel that a timer sends to? */
static bool is_for_timer(struct gr_runtime *rt, const struct gr_wait *wait)
{
	struct gr_channel channel;
	struct gr_error *err;

	if (!gr_wait_kind_is_channel(wait->kind) || !wait->object)
		return false;
	err = gr_channel_read(rt, wait->object, &channel);
	bool ret = !err && channel.timer;
	gr_error_destroy(err);
	return ret;
}

static enum gr_runner_state state_of_wait(struct gr_runtime *rt,
					  const struct gr_goroutine *g,
					  const struct gr_wait *wait)
{
	static const bool blocks[GR_NWAIT_KINDS] = {
		[GR_WAIT_CHAN_SEND] = true,	[GR_WAIT_CHAN_RECEIVE] = true,
		[GR_WAIT_SELECT_SEND] = true,	[GR_WAIT_SELECT_RECEIVE] = true,
		[GR_WAIT_NIL_CHAN] = true,	[GR_WAIT_EMPTY_SELECT] = true,
		[GR_WAIT_MUTEX] = true,		[GR_WAIT_RWMUTEX_READ] = true,
		[GR_WAIT_RWMUTEX_WRITE] = true, [GR_WAIT_WAITGROUP] = true,
		[GR_WAIT_COND] = true,		[GR_WAIT_SEMAPHORE] = true,
	};

	if (wait->kind == GR_WAIT_SYSCALL)
		return g->nframes && gr_name_has(g->frames[0].func->name,
						 GR_NAME_CALLS_C) ?
			       GR_RUNNER_IN_C :
			       GR_RUNNER_IN_SYSCALL;
	return blocks[wait->kind] && !is_for_timer(rt, wait) ?
		       GR_RUNNER_BLOCKED :
		       GR_RUNNER_WAITING;
}

/* The state of a goroutine, by the best that its waits say: a select with a timer
 * goes on. */
static enum gr_runner_state state_of(struct gr_stop *stop, size_t index,
				     bool is_in_call)
{
	const struct gr_waits *waits = stop->sched.waits;
	const struct gr_goroutine *g = &stop->sched.goroutines[index];
	enum gr_runner_state state = GR_RUNNER_RUNNING;
	uint32_t first = waits->first[index], end = waits->first[index + 1];

	if (first < end && !is_in_call)
		return GR_RUNNER_IDLE;
	for (uint32_t i = first; i < end; i++) {
		enum gr_runner_state next =
			state_of_wait(&stop->program->rt, g, &waits->rows[i]);
		if (waits->rows[i].is_woken)
			return GR_RUNNER_RUNNING;
		if (i == first || next < state)
			state = next;
	}
	return state;
}

/* Is the entry that a goroutine runs still in its queue? Cleanups that are
 * records are cleared before they are called, all others afterwards. */
static bool keeps_running(const struct gr_layout *layout, bool is_of_cleanups)
{
	return !is_of_cleanups || !layout->cleanup_fn.size_bytes;
}

/* Do not count the entry that a goroutine runs. Before it calls a finalizer, it
 * gets to a function that lays out the arguments; a cleanup has none. */
static void take_running(const struct gr_goroutine *g,
			 struct gr_finalization *f)
{
	const char *inner =
		g->nframes > 2 ? g->frames[g->nframes - 3].func->name : "";
	bool is_finalizer = gr_has_prefix(inner, "runtime.call");

	if (is_finalizer && f->queued_finalizers)
		f->queued_finalizers--;
	else if (!is_finalizer && f->queued_cleanups)
		f->queued_cleanups--;
}

static struct gr_error *add_runner(struct gr_stop *stop, size_t index,
				   const char *start, struct gr_finalization *f,
				   struct runner_vector *ret)
{
	const struct gr_goroutine *g = &stop->sched.goroutines[index];
	bool is_of_cleanups = gr_name_has(start, GR_NAME_RUNS_CLEANUPS);
	struct gr_finalizer_runner runner = {
		.index = index,
		.runs = is_of_cleanups ? "cleanups" : "finalizers",
	};
	struct gr_error *err =
		gr_goroutine_info_read(stop, g, &runner.goroutine);

	if (!err)
		err = find_call(&stop->program->rt, g, &runner.call);
	if (err)
		return err;
	runner.state = state_of(stop, index, runner.call.pc);
	runner.doing = state_name(runner.state);
	if (runner.call.pc &&
	    keeps_running(&stop->program->rt.layout, is_of_cleanups))
		take_running(g, f);
	return ret->size == MAX_RUNNERS || runner_vector_append(ret, runner) ?
		       NULL :
		       &gr_enomem;
}

static int compare_runners(const void *a, const void *b)
{
	const struct gr_finalizer_runner *x = a, *y = b;

	if (x->state != y->state)
		return x->state > y->state ? -1 : 1;
	return (x->goroutine.id > y->goroutine.id) -
	       (x->goroutine.id < y->goroutine.id);
}

struct gr_error *gr_finalization_find_runners(struct gr_stop *stop,
					      struct gr_finalization *f)
{
	_cleanup_(runner_vector_deinit) struct runner_vector runners = { 0 };
	struct gr_runtime *rt = &stop->program->rt;
	struct gr_error *err = NULL;
	struct gr_func start;

	for (size_t i = 0; !err && i < stop->sched.ngoroutines; i++) {
		const struct gr_goroutine *g = &stop->sched.goroutines[i];
		err = gr_runtime_step(rt, 1);
		if (!err && !g->is_g0 && gr_func_find(rt, g->startpc, &start) &&
		    gr_name_calls_back(start.name))
			err = add_runner(stop, i, start.name, f, &runners);
	}
	if (err)
		return err;
	f->nrunners = runners.size;
	f->runners = steal_ptr(runners.data);
	if (f->nrunners)
		qsort(f->runners, f->nrunners, sizeof(*f->runners),
		      compare_runners);
	return NULL;
}

/* Does a goroutine wait for the thing of a group? The report also has what it may
 * own, and not the ids of all waiters. */
static bool awaits(const struct gr_waits *waits, uint32_t index,
		   const struct gr_wait_group *group)
{
	bool ret = false;

	for (uint32_t i = waits->first[index]; i < waits->first[index + 1]; i++)
		ret |= waits->rows[i].object == group->addr;
	return ret;
}

/* Ask what a blocked runner waits for, and who has it. */
static struct gr_error *ask_waits(struct gr_scan *scan,
				  struct gr_finalizer_runner *runner)
{
	const struct gr_waits *waits = gr_scan_answers(scan)->stop->sched.waits;
	const struct gr_waits_query query = {
		.goroutine_id = runner->goroutine.id,
		.max_ids = MAX_IDS,
		.with_paths = true,
	};
	struct gr_wait_report *report = NULL;
	struct gr_error *err = gr_scan_waits(scan, &query, &report);

	if (err)
		return err;
	runner->awaits = calloc(report->ngroups + 1, sizeof(*runner->awaits));
	for (size_t i = 0; runner->awaits && i < report->ngroups; i++) {
		struct gr_wait_group *group = &report->groups[i];
		if (!awaits(waits, runner->index, group))
			continue;
		runner->awaits[runner->nawaits++] = *group;
		group->ids = NULL;
		group->owners = NULL;
	}
	gr_wait_report_destroy(report);
	return runner->awaits ? NULL : &gr_enomem;
}

// ---------------------------------------------------------------------- answer

static struct gr_error *answer(struct gr_answers *answers, bool with_pools,
			       struct gr_finalization *f)
{
	struct gr_error *err = gr_answers_need_graph(answers, GR_PART_NEAREST);

	if (!err)
		err = gr_finalizers_find(answers, &f->finalizers);
	f->queued_finalizers = f->finalizers.queued_finalizers;
	f->queued_cleanups = f->finalizers.queued_cleanups;
	if (!err)
		err = gr_finalization_find_runners(answers->stop, f);
	if (!err && with_pools)
		err = gr_pools_find(answers, &f->pools);
	f->gaps = answers->graph_gaps;
	f->knows_c = answers->stop->has_native;
	return err;
}

struct gr_error *gr_scan_finalization(struct gr_scan *scan, bool with_pools,
				      struct gr_finalization **ret)
{
	_cleanup_(gr_cleanup_finalization) struct gr_finalization *f =
		calloc(1, sizeof(*f));
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	if (!f)
		return &gr_enomem;
	err = gr_scan_enter(scan, &guard, &answers);
	if (!err)
		err = answer(answers, with_pools, f);
	err = gr_sigbus_guard_end(&guard, err);
	for (size_t i = 0; !err && i < f->nrunners && i < MAX_ASKED; i++)
		if (f->runners[i].state == GR_RUNNER_BLOCKED)
			err = ask_waits(scan, &f->runners[i]);
	if (!err)
		*ret = steal_ptr(f);
	return err;
}
