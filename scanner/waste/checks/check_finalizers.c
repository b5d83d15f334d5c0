// SPDX-License-Identifier: Apache-2.0
/*
 * stuck-finalizer: what only the queue of finalizers or cleanups holds while
 * the goroutine that runs them is blocked; and objects that their own finalizer
 * or cleanup keeps alive, so that it never runs.
 */
#include "base/cleanup.h"
#include "base/sort.h"
#include "goroutines/finalizers/finalization.h"
#include "graph/deferred.h"
#include "graph/liveness.h"
#include "scan/answers.h"
#include "scan/kept_walk.h"
#include "waste/checks/checks.h"
#include "waste/checks/cut_sets.h"

#include <inttypes.h>

enum { MAX_STEPS = 1 << 22 /* upwards, for all owners together */ };

GR_VECTOR(deferred_vector, struct gr_deferred_root);

#define OF_FINALIZERS (1u << GR_ROOT_FINALIZER | 1u << GR_ROOT_CLEANUP)

struct finder {
	struct gr_waste_run *run;
	struct gr_runtime *rt;
	struct gr_finalization *queue; /* runners, and numbers of entries */
	bool is_stuck[GR_NROOT_KINDS]; /* queues that do not move */
	const struct gr_finalizer_runner *blocked;
	bool may_cycle; /* an object may keep itself alive */
	struct gr_finalizers found;
};

static void finder_deinit(struct finder *f)
{
	gr_finalization_destroy(f->queue);
	gr_finalizers_deinit(&f->found);
}

static bool is_finalizer(const struct gr_root *root)
{
	return root->kind == GR_ROOT_FINALIZER || root->kind == GR_ROOT_CLEANUP;
}

// ------------------------------------------------------------------ the queues

/* Count the entries of both queues. */
static struct gr_error *count_queued(struct finder *f)
{
	const struct gr_root_list *list = &f->run->answers->stop->roots.list;
	struct gr_error *err = NULL;
	uint32_t last = 0;

	for (size_t i = 0; !err && i < list->size; i++) {
		const struct gr_root *root = &list->data[i];

		err = gr_runtime_step(f->rt, 1);
		if (!root->queue_entry || root->queue_entry == last)
			continue;
		last = root->queue_entry;
		if (root->kind == GR_ROOT_FINALIZER)
			f->queue->queued_finalizers++;
		else
			f->queue->queued_cleanups++;
	}
	return err;
}

/* Are all goroutines of a queue blocked? Finalizers have one; until Go 1.24, it
 * also runs the cleanups. */
static void judge_runners(struct finder *f)
{
	const struct gr_finalizer_runner *first[2] = { NULL };
	uint32_t all[2] = { 0 }, blocked[2] = { 0 };

	for (size_t i = 0; i < f->queue->nrunners; i++) {
		const struct gr_finalizer_runner *r = &f->queue->runners[i];
		bool is_of_cleanups = !strcmp(r->runs, "cleanups");

		all[is_of_cleanups]++;
		if (r->state != GR_RUNNER_BLOCKED)
			continue;
		if (!blocked[is_of_cleanups]++)
			first[is_of_cleanups] = r;
	}
	f->is_stuck[GR_ROOT_FINALIZER] = all[0] && all[0] == blocked[0];
	f->is_stuck[GR_ROOT_CLEANUP] = all[1] ? all[1] == blocked[1] :
						f->is_stuck[GR_ROOT_FINALIZER];
	f->blocked = f->is_stuck[GR_ROOT_FINALIZER] &&
				     f->queue->queued_finalizers ?
			     first[0] :
		     first[1] ? first[1] :
				first[0];
}

static uint64_t stuck_entries(const struct finder *f)
{
	return (f->is_stuck[GR_ROOT_FINALIZER] ? f->queue->queued_finalizers :
						 0) +
	       (f->is_stuck[GR_ROOT_CLEANUP] ? f->queue->queued_cleanups : 0);
}

/* Look whether a queue has entries and does not move. */
static struct gr_error *ask_queues(struct finder *f)
{
	struct gr_error *err = count_queued(f);

	if (err || f->queue->queued_finalizers + f->queue->queued_cleanups == 0)
		return err;
	err = gr_finalization_find_runners(f->run->answers->stop, f->queue);
	if (!err)
		judge_runners(f);
	return err;
}

// ------------------------------------------------------------------ the cycles

/* Does the walk come to an object from a finalizer or a cleanup? If it takes
 * too long to tell, it may. */
static bool is_below(const struct finder *f, gr_obj obj, uint64_t *steps)
{
	const struct gr_tree *tree = &f->run->answers->kept_walk->m.tree;
	const struct gr_parents *parents = f->run->parents;
	uint32_t root;

	while ((root = tree->nodes.data[gr_parents_node(parents, obj)].root) ==
	       UINT32_MAX) {
		if (++*steps >= MAX_STEPS)
			return true;
		obj = gr_parents_from(parents, obj);
	}
	enum gr_root_kind kind = tree->roots.data[root].kind;
	return kind == GR_ROOT_FINALIZER || kind == GR_ROOT_CLEANUP;
}

/* An object that keeps itself alive is reached from a finalizer or a cleanup
 * first: the walk follows these last. */
static struct gr_error *ask_cycles(struct finder *f)
{
	const struct gr_root_list *list = &f->run->answers->stop->roots.list;
	const struct gr_span *span;
	struct gr_error *err = NULL;
	uint64_t steps = 0;

	for (size_t i = 0; !err && !f->may_cycle && i < list->size; i++) {
		const struct gr_root *root = &list->data[i];
		uint64_t before = steps;

		if (is_finalizer(root) && root->object_addr &&
		    !root->queue_entry) {
			gr_obj obj = gr_heap_object_at(
				f->run->heap, root->object_addr, &span);
			f->may_cycle = obj != GR_OBJ_NONE &&
				       gr_parents_has(f->run->parents, obj) &&
				       is_below(f, obj, &steps);
		}
		err = gr_runtime_step(f->rt, 1 + steps - before);
	}
	return err;
}

// -------------------------------------------------------------------- the rows

/* The root of the list that a vertex is, if it is one of a finalizer or
 * cleanup; else NULL. */
static const struct gr_root *root_of(const struct finder *f, size_t i)
{
	const struct gr_root_vertex *vertex =
		&f->run->answers->graph->roots.data[i];
	const struct gr_root *root =
		vertex->source == GR_FROM_LIST ?
			&f->run->answers->stop->roots.list.data[vertex->index] :
			NULL;

	return root && is_finalizer(root) ? root : NULL;
}

/* Is it in a queue that is stuck? */
static bool is_queued(const struct finder *f, const struct gr_root *root)
{
	return root->queue_entry && f->is_stuck[root->kind];
}

static int by_owner(const void *a, const void *b)
{
	const struct gr_deferred_root *x = a, *y = b;

	return (x->owner > y->owner) - (x->owner < y->owner);
}

/* Collect the roots in stuck queues, without an owner, and the roots of
 * finalizers and cleanups whose object is reached. */
static struct gr_error *collect(struct finder *f, struct deferred_vector *ret)
{
	const struct gr_heap_graph *hg = f->run->answers->graph;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < hg->roots.size; i++) {
		const struct gr_root *root = root_of(f, i);
		struct gr_deferred_root deferred = {
			gr_graph_first_root(hg->graph) + i, GR_VERTEX_NONE
		};

		err = gr_runtime_step(f->rt, 1);
		if (err || !root)
			continue;
		if (!root->queue_entry && root->object_addr)
			deferred.owner = gr_objects_find(hg->graph->objects,
							 root->object_addr);
		if (is_queued(f, root) || deferred.owner != GR_VERTEX_NONE)
			err = gr_runtime_append(f->rt, deferred_vector, ret,
						deferred);
	}
	return err ? err :
		     gr_sort(ret->data, ret->size, sizeof(*ret->data), by_owner,
			     f->rt->poll, f->rt->poll_ctx);
}

/* Mark what is left without the queue. A finalizer or cleanup counts if its
 * object is marked, or if it is @p stuck. */
static struct gr_error *mark_left(struct finder *f,
				  const struct deferred_vector *roots,
				  const uint64_t *stuck, uint64_t *marked)
{
	const struct gr_graph *g = f->run->answers->graph->graph;
	const struct gr_poll poll = gr_runtime_poller(f->rt);
	size_t n = roots->size + 1;
	_cleanup_array_ uint64_t *without = gr_array_calloc(
		g->budget, gr_bitmap_words(g->nvertices) + 1, sizeof(*without));
	_cleanup_array_ uint64_t *alive = gr_array_calloc(
		g->budget, gr_bitmap_words(n) + 1, sizeof(*alive));
	_cleanup_array_ uint32_t *first =
		gr_array_calloc(g->budget, n + 1, sizeof(*first));
	_cleanup_array_ gr_vertex *held =
		gr_array_calloc(g->budget, n, sizeof(*held));
	_cleanup_array_ gr_vertex *awaited =
		gr_array_calloc(g->budget, n, sizeof(*awaited));
	uint32_t count = 0;

	if (!without || !alive || !first || !held || !awaited)
		return gr_budget_error(g->budget);
	for (size_t i = 0; i < roots->size; i++) {
		const struct gr_deferred_root *root = &roots->data[i];

		if (root->owner == GR_VERTEX_NONE) {
			gr_bitmap_set(without, root->root);
		} else if (!gr_bitmap_test(stuck, root->root)) {
			held[count] = root->root;
			awaited[count++] = root->owner;
			first[count] = count;
		}
	}
	const struct gr_liveness_spec spec = {
		.without = without,
		.ncandidates = count,
		.first_held = first,
		.held = held,
		.first_awaited = first,
		.awaited = awaited,
	};
	return gr_graph_liveness(g, &spec, &poll, alive, marked);
}

/*
 * Cut the entries of the queue, and the finalizers of objects that only the
 * queue holds. A finalizer of such an object may hold the next one: chains have
 * any length. A finalizer that holds its own object is not cut.
 */
static struct gr_error *cut_all(struct finder *f, struct gr_cut_sets *sets)
{
	struct gr_graph *g = f->run->answers->graph->graph;
	const struct gr_poll poll = gr_runtime_poller(f->rt);
	_cleanup_(deferred_vector_deinit) struct deferred_vector roots = { 0 };
	size_t nwords = gr_bitmap_words(g->nvertices) + 1;
	_cleanup_array_ uint64_t *stuck =
		gr_array_calloc(g->budget, nwords, sizeof(*stuck));
	_cleanup_array_ uint64_t *marked =
		gr_array_calloc(g->budget, nwords, sizeof(*marked));
	struct gr_kept kept;

	if (!stuck || !marked)
		return gr_budget_error(g->budget);
	struct gr_error *err = collect(f, &roots);
	const struct gr_deferred_spec spec = { .roots = roots.data,
					       .nroots = roots.size };
	if (!err)
		err = gr_graph_deferred(g, &spec, &poll, &kept, stuck);
	if (!err)
		err = mark_left(f, &roots, stuck, marked);
	for (size_t i = 0; !err && i < roots.size; i++) {
		const struct gr_cut cut = { roots.data[i].root,
					    GR_VERTEX_NONE };

		if (!gr_bitmap_test(marked, cut.vertex))
			err = gr_cut_sets_add(f->run, sets, 0, cut);
	}
	return err;
}

static const char *advise_queue(const struct finder *f)
{
	const struct gr_finalizer_runner *r = f->blocked;
	const char *call = *r->call.function ? r->call.function : "a call";

	return gr_arena_internf(&f->run->answers->stop->program->arena,
				"Goroutine %" PRIu64
				" runs %s and is blocked in %s (%s): make "
				"it return, or start a goroutine in it.",
				r->goroutine.id, r->runs, call,
				r->goroutine.wait_reason);
}

static struct gr_error *add_queue(struct finder *f)
{
	_cleanup_(gr_cut_sets_deinit) struct gr_cut_sets sets = { 0 };
	struct gr_kept kept = { 0 };
	struct gr_finding row = {
		.check = GR_WASTE_STUCK_FINALIZER,
		.count = stuck_entries(f),
		.type = f->blocked->call.function,
		.field = "",
		.advice = advise_queue(f),
	};
	struct gr_error *err = row.advice ? cut_all(f, &sets) : &gr_enomem;

	if (!err)
		err = gr_cut_sets_weigh(f->run, &sets, 1, &kept);
	row.bytes = kept.bytes;
	if (err || !row.bytes || row.bytes < gr_waste_min_bytes(f->run))
		return err;
	return gr_cut_sets_finish(f->run, &sets, 0, row);
}

static struct gr_error *add_group(struct finder *f,
				  const struct gr_stuck_group *group,
				  uint64_t key, const struct gr_cut_sets *sets)
{
	const struct gr_finding row = {
		.check = GR_WASTE_STUCK_FINALIZER,
		.key = key,
		.bytes = group->retained_bytes - group->retained_c_bytes,
		.count = group->objects,
		.example = group->example,
		.type = group->type,
		.field = "",
		.advice = strcmp(group->kind, "cleanup") != 0 ?
				  "These finalizers never run: the finalizer "
				  "or its object leads back to the object. "
				  "Break the cycle." :
				  "These cleanups never run: their function or "
				  "argument leads back to the object. Remove "
				  "this reference.",
	};

	if (!row.bytes || row.bytes < gr_waste_min_bytes(f->run))
		return NULL;
	return gr_cut_sets_finish(f->run, sets, group->set, row);
}

static struct gr_error *add_cycles(struct finder *f)
{
	_cleanup_(gr_cut_sets_deinit) struct gr_cut_sets sets = { 0 };
	struct gr_error *err = gr_finalizers_find(f->run->answers, &f->found);

	for (size_t i = 0; !err && i < f->found.nstuck_roots; i++) {
		const struct gr_cut cut = { f->found.stuck_roots[i],
					    GR_VERTEX_NONE };

		err = gr_cut_sets_add(f->run, &sets, f->found.stuck_set[i],
				      cut);
	}
	for (size_t i = 0; !err && i < f->found.ngroups; i++)
		err = add_group(f, &f->found.groups[i], i + 1, &sets);
	return err;
}

static struct gr_error *find(struct gr_waste_run *run)
{
	_cleanup_(finder_deinit) struct finder f = {
		.run = run,
		.rt = run->heap->rt,
		.queue = calloc(1, sizeof(*f.queue)),
	};
	bool is_enough = false;

	if (!f.queue)
		return &gr_enomem;
	assert(run->answers->kept_walk);
	struct gr_error *err = ask_queues(&f);
	if (!err)
		err = ask_cycles(&f);
	if (!err && (stuck_entries(&f) || f.may_cycle))
		err = gr_roots_may_hold_enough(run, OF_FINALIZERS, &is_enough);
	if (err || !is_enough)
		return err;
	err = gr_answers_need_graph(run->answers, 0);
	if (!err && stuck_entries(&f))
		err = add_queue(&f);
	return err || !f.may_cycle ? err : add_cycles(&f);
}

const struct gr_check gr_check_finalizers = {
	.id = GR_WASTE_STUCK_FINALIZER,
	.advice = "Make finalizers and cleanups return, and let none lead back "
		  "to its object.",
	.find = find,
};
