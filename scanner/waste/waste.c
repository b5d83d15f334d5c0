// SPDX-License-Identifier: Apache-2.0
/*
 * The order of a waste question: what is reached of each object (views.c), the
 * objects judged one by one, the checks that find their rows by themselves, the
 * names, and the total.
 */
#include "waste/waste.h"

#include "base/cleanup.h"
#include "base/huge.h"
#include "scan/enter.h"
#include "scan/kept_walk.h"
#include "waste/names.h"
#include "waste/objects/objects.h"
#include "waste/checks/table.h"
#include "waste/total.h"
#include "waste/objects/views.h"

enum { PROBED_SPANS = 64 };

void gr_waste_destroy(struct gr_waste *waste)
{
	if (!waste)
		return;
	free(waste->rows);
	free(waste->asked);
	free(waste);
}
GR_DEFINE_CLEANUP(waste, struct gr_waste, gr_waste_destroy)

static void run_deinit(struct gr_waste_run *run)
{
	for (int i = 0; i < GR_NWASTE_CHECKS; i++)
		if (run->state[i] && gr_waste_check(run, i)->end)
			gr_waste_check(run, i)->end(run);
	gr_waste_kinds_deinit(&run->kinds);
	free(run->span_of);
	gr_content_deinit(&run->content);
	gr_findings_deinit(&run->findings);
	gr_reach_deinit(&run->reach);
	gr_boxes_deinit(&run->boxes);
	gr_type_plans_deinit(&run->plans);
}

// ------------------------------------------------------------------- begin

/* Can the bytes of objects without pointers be read? Those of some spans tell:
 * the copy of a process has all of them or none. */
static bool probe_values(struct gr_waste_run *run)
{
	const struct gr_heap *heap = run->heap;
	uint32_t left = PROBED_SPANS;
	bool has_any = false;

	if (!gr_stop_may_have_values(run->answers->stop))
		return false;
	for (uint32_t i = 0; i < heap->nspans && left; i++) {
		const struct gr_span *span = &heap->spans[i];

		if (!span->is_noscan || !span->nelems)
			continue;
		if (gr_content_at(&run->content, heap, span, span->base_addr,
				  1))
			return true;
		has_any = true;
		left--;
	}
	return !has_any;
}

/* Add up the objects that are reached. */
static struct gr_error *add_up(struct gr_waste_run *run)
{
	const struct gr_heap *heap = run->heap;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];
		uint64_t n = 0;

		err = gr_runtime_step(heap->rt, span->nelems / 8 + 1);
		for (uint32_t k = 0; k < span->nelems; k++)
			n += gr_parents_has(run->parents, span->first_obj + k);
		run->waste->heap_objects += n;
		run->waste->heap_bytes += n * span->elem_bytes;
	}
	const struct gr_sched *sched = &run->answers->stop->sched;
	for (size_t i = 0; !err && i < sched->ngoroutines; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];

		err = gr_runtime_step(heap->rt, 1);
		if (g->stack_hi > g->stack_lo)
			run->waste->stack_bytes += g->stack_hi - g->stack_lo;
	}
	return err;
}

/* Note which checks are asked, and why some are not. */
static struct gr_error *note_asked(struct gr_waste_run *run)
{
	struct gr_waste *waste = run->waste;
	const char *why = gr_stop_may_have_values(run->answers->stop) ?
				  "the bytes of objects without pointers were "
				  "not copied" :
				  "the file was saved without values";

	waste->asked = calloc(GR_NWASTE_CHECKS, sizeof(*waste->asked));
	if (!waste->asked)
		return &gr_enomem;
	for (int i = 0; i < GR_NWASTE_CHECKS; i++)
		if (run->options->checks >> i & 1)
			waste->asked[waste->nasked++] = (struct gr_waste_asked){
				.check = gr_waste_check_name(i),
				.why_not = gr_waste_is_asked(run, i) ? "" : why,
				.needs_values = gr_waste_check_needs_values(i),
			};
	return NULL;
}

static struct gr_error *begin(struct gr_waste_run *run)
{
	struct gr_error *err =
		gr_kept_walk_need(run->answers, GR_ATTRIBUTION_NEAREST);

	if (err)
		return err;
	run->parents = run->answers->kept_walk->m.parents;
	run->waste->gaps = run->answers->kept_walk->gaps;
	err = gr_type_plans_init(&run->plans, run->types);
	if (!err)
		err = gr_size_classes_read(run->heap, &run->classes);
	if (!err)
		err = add_up(run);
	if (err)
		return err;
	run->has_values = probe_values(run);
	return note_asked(run);
}

// ------------------------------------------------------------------ objects

/* Show a check an object that it applies to. */
static struct gr_error *look(struct gr_waste_run *run,
			     const struct gr_waste_object *object, void *ctx)
{
	struct gr_error *err = NULL;

	(void)ctx;
	for (uint32_t left = object->kind->checks; left && !err;
	     left &= left - 1) {
		const struct gr_check *check =
			gr_waste_check(run, __builtin_ctz(left));

		if (check->look)
			err = check->look(run, object);
	}
	return err;
}

/* Count what the checks find in an object. */
static struct gr_error *judge(struct gr_waste_run *run,
			      const struct gr_waste_object *object, void *ctx)
{
	(void)ctx;
	for (uint32_t left = object->kind->checks; left; left &= left - 1) {
		unsigned int id = __builtin_ctz(left);
		const struct gr_check *check = gr_waste_check(run, id);
		struct gr_saving saving = { 0 };

		if (!check->judge)
			continue;
		check->judge(run, object, &saving);
		if (saving.bytes &&
		    !gr_findings_count(&run->findings, id, saving.key,
				       saving.bytes, object->addr))
			return &gr_enomem;
	}
	return NULL;
}

/* The asked checks that look at objects, or judge them. */
static uint32_t checks_with(const struct gr_waste_run *run, bool looks)
{
	uint32_t checks = 0;

	for (int i = 0; i < GR_NWASTE_CHECKS; i++)
		if (gr_waste_is_asked(run, i) &&
		    (looks ? !!gr_waste_check(run, i)->look :
			     !!gr_waste_check(run, i)->judge))
			checks |= 1u << i;
	return checks;
}

/* The checks that need to know what is reached of objects. */
static bool needs_reach(const struct gr_waste_run *run)
{
	return gr_waste_is_asked(run, GR_WASTE_DUPLICATE_STRINGS) ||
	       gr_waste_is_asked(run, GR_WASTE_SLICE_CAPACITY) ||
	       gr_waste_is_asked(run, GR_WASTE_PINNED_ARRAY) ||
	       gr_waste_is_asked(run, GR_WASTE_FIELD_ORDER) ||
	       gr_waste_is_asked(run, GR_WASTE_TINY_OBJECTS);
}

/* A function of each check that is called once. */
enum moment { BEGIN, REACHED, LOOKED };

/* Call one of the functions of each check that is asked. */
static struct gr_error *call_all(struct gr_waste_run *run, enum moment moment)
{
	struct gr_error *err = NULL;

	for (int i = 0; !err && i < GR_NWASTE_CHECKS; i++) {
		const struct gr_check *check = gr_waste_check(run, i);
		struct gr_error *(*call)(struct gr_waste_run * run) =
			moment == BEGIN	  ? check->begin :
			moment == REACHED ? check->reached :
					    check->looked;

		if (call && gr_waste_is_asked(run, i))
			err = call(run);
	}
	return err;
}

/* Walk, and make what all objects need. */
static struct gr_error *prepare(struct gr_waste_run *run)
{
	struct gr_error *err = begin(run);

	if (!err)
		err = call_all(run, BEGIN);
	if (!err)
		err = gr_waste_kinds_find(run);
	if (!err)
		err = gr_waste_find_spans(run);
	if (!err && needs_reach(run))
		err = gr_reach_init(&run->reach, run->heap);
	return err;
}

static struct gr_error *judge_objects(struct gr_waste_run *run)
{
	struct gr_error *err = NULL;

	if (needs_reach(run))
		err = gr_views_collect(run);
	if (!err)
		err = call_all(run, REACHED);
	if (!err && checks_with(run, true))
		err = gr_waste_each(run, checks_with(run, true), look, NULL);
	if (!err)
		err = call_all(run, LOOKED);
	if (!err && checks_with(run, false))
		err = gr_waste_each(run, checks_with(run, false), judge, NULL);
	return err;
}

// ---------------------------------------------------------------------- all

/* Ask the checks that find rows by themselves; advice on the collector comes
 * last: it depends on what else is found. */
static struct gr_error *find_rows(struct gr_waste_run *run)
{
	struct gr_error *err = NULL;

	for (int i = 0; !err && i < GR_NWASTE_CHECKS; i++)
		if (i != GR_WASTE_GC_HEADROOM && gr_waste_is_asked(run, i) &&
		    gr_waste_check(run, i)->find)
			err = gr_waste_check(run, i)->find(run);
	if (!err)
		err = gr_waste_name_rows(run);
	if (!err && gr_waste_is_asked(run, GR_WASTE_GC_HEADROOM) &&
	    gr_waste_check(run, GR_WASTE_GC_HEADROOM)->find)
		err = gr_waste_check(run, GR_WASTE_GC_HEADROOM)->find(run);
	return err;
}

static struct gr_error *answer(struct gr_answers *answers,
			       const struct gr_waste_options *options,
			       struct gr_waste *waste)
{
	_cleanup_(run_deinit) struct gr_waste_run run = {
		.answers = answers,
		.heap = answers->stop->heap,
		.types = answers->stop->program->types,
		.table = gr_waste_table,
		.options = options,
		.waste = waste,
	};
	struct gr_error *err;

	// Large arrays take the place of those that the walk has freed.
	gr_huge_hold();
	err = prepare(&run);
	gr_huge_release();
	if (!err)
		err = judge_objects(&run);
	if (!err)
		err = find_rows(&run);
	if (!err)
		err = gr_waste_add_up_total(&run);
	return err ? err : gr_waste_list_rows(&run);
}

struct gr_error *gr_scan_waste(struct gr_scan *scan,
			       const struct gr_waste_options *options,
			       struct gr_waste **ret)
{
	_cleanup_(gr_cleanup_waste) struct gr_waste *waste =
		calloc(1, sizeof(*waste));
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	if (!waste)
		return &gr_enomem;
	err = gr_scan_enter(scan, &guard, &answers);
	if (!err)
		err = answer(answers, options, waste);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(waste);
	return err;
}
