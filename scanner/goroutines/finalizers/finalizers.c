// SPDX-License-Identifier: Apache-2.0
/*
 * The specials of objects are deferred roots, and the entries of the runtime's
 * queues are queued ones (graph/deferred.h). Weak pointers can bring back an
 * object that nothing else leads to.
 */
#include "goroutines/finalizers/finalizers.h"

#include "base/sort.h"
#include "graph/deferred.h"
#include "graph/exclusive.h"
#include "graph/keys.h"
#include "retention/type_text.h"
#include "scan/answers.h"

enum { MAX_GROUPS = 100 };

GR_VECTOR(deferred_vector, struct gr_deferred_root);
GR_VECTOR(group_vector, struct gr_stuck_group);

struct finder {
	struct gr_answers *answers;
	struct gr_runtime *rt;
	struct gr_graph *g;
	struct gr_poll poll;
	struct deferred_vector deferred;
	struct gr_u32_vector queued, weak;
	uint64_t *stuck;	/* a bit a vertex */
	struct gr_keys by_type; /* (label, kind) -> group */
	struct group_vector groups;
	struct gr_u32_vector roots, sets; /* the stuck roots and their groups */
};

static void finder_deinit(struct finder *f)
{
	deferred_vector_deinit(&f->deferred);
	gr_u32_vector_deinit(&f->queued);
	gr_u32_vector_deinit(&f->weak);
	free(f->stuck);
	gr_keys_deinit(&f->by_type);
	group_vector_deinit(&f->groups);
	gr_u32_vector_deinit(&f->roots);
	gr_u32_vector_deinit(&f->sets);
}

void gr_finalizers_deinit(struct gr_finalizers *f)
{
	free(f->groups);
	free(f->stuck_roots);
	free(f->stuck_set);
}

// -------------------------------------------------------------------- the roots

/* Sort the vertex of a root of the list into its vector. */
static struct gr_error *add_root(struct finder *f, const struct gr_root *root,
				 gr_vertex v)
{
	bool is_special = root->kind == GR_ROOT_FINALIZER ||
			  root->kind == GR_ROOT_CLEANUP;
	struct gr_deferred_root deferred = { v, GR_VERTEX_NONE };

	if (root->object_addr)
		deferred.owner =
			gr_objects_find(f->g->objects, root->object_addr);
	if (is_special && root->queue_entry)
		return gr_runtime_append(f->rt, gr_u32_vector, &f->queued, v);
	if (is_special && root->object_addr)
		return gr_runtime_append(f->rt, deferred_vector, &f->deferred,
					 deferred);
	return deferred.owner == GR_VERTEX_NONE ?
		       NULL :
		       gr_runtime_append(f->rt, gr_u32_vector, &f->weak,
					 deferred.owner);
}

static int compare_owners(const void *a, const void *b)
{
	const struct gr_deferred_root *x = a, *y = b;

	return (x->owner > y->owner) - (x->owner < y->owner);
}

static struct gr_error *collect(struct finder *f)
{
	const struct gr_root_list *list = &f->answers->stop->roots.list;
	const struct gr_root_vertex_vector *roots = &f->answers->graph->roots;
	struct gr_ticker ticker = { .poll = &f->poll };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < roots->size; i++) {
		err = gr_tick(&ticker);
		if (!err && roots->data[i].source == GR_FROM_LIST)
			err = add_root(f, &list->data[roots->data[i].index],
				       gr_graph_first_root(f->g) + i);
	}
	return err ? err :
		     gr_sort(f->deferred.data, f->deferred.size,
			     sizeof(*f->deferred.data), compare_owners,
			     f->poll.poll, f->poll.ctx);
}

/* Entries of the queues: also those whose roots lead to no object. */
static struct gr_error *count_queued(struct finder *f,
				     struct gr_finalizers *ret)
{
	const struct gr_root_list *list = &f->answers->stop->roots.list;
	struct gr_ticker ticker = { .poll = &f->poll };
	struct gr_error *err = NULL;
	uint32_t last = 0;

	for (size_t i = 0; !err && i < list->size; i++) {
		const struct gr_root *root = &list->data[i];
		err = gr_tick(&ticker);
		if (!root->queue_entry || root->queue_entry == last)
			continue;
		last = root->queue_entry;
		if (root->kind == GR_ROOT_FINALIZER)
			ret->queued_finalizers++;
		else
			ret->queued_cleanups++;
	}
	return err;
}

// -------------------------------------------------------------------- the stuck

/* The group of a stuck root: of its kind and of the type of its owner. */
static struct gr_error *find_group(struct finder *f, gr_vertex root,
				   gr_vertex owner, uint32_t *ret)
{
	const struct gr_root_vertex *vertex =
		&f->answers->graph->roots.data[root - gr_graph_first_root(f->g)];
	enum gr_root_kind kind =
		f->answers->stop->roots.list.data[vertex->index].kind;
	uint32_t label = f->g->objects->type[owner];

	*ret = gr_keys_find(&f->by_type, label, kind);
	if (*ret != UINT32_MAX)
		return NULL;
	const char *type = gr_type_label_text(f->answers->stop->program, label);
	*ret = f->groups.size;
	const struct gr_stuck_group group = {
		.kind = gr_root_kind_name(kind),
		.type = *type ? type : GR_TYPE_UNKNOWN,
		.set = *ret,
	};
	return group_vector_append(&f->groups, group) &&
			       gr_keys_add(&f->by_type, label, kind, *ret) ?
		       NULL :
		       &gr_enomem;
}

/* Put a stuck root into its group. The roots of one owner come together. */
static struct gr_error *add_stuck(struct finder *f,
				  const struct gr_deferred_root *deferred,
				  struct gr_finalizers *ret)
{
	uint32_t group;
	struct gr_error *err =
		find_group(f, deferred->root, deferred->owner, &group);

	if (err)
		return err;
	struct gr_stuck_group *of = &f->groups.data[group];
	uint64_t addr = gr_objects_addr(f->g->objects, deferred->owner);
	of->objects += of->example != addr;
	of->example = addr;
	ret->stuck += deferred == f->deferred.data ||
		      deferred[-1].owner != deferred->owner;
	err = gr_runtime_append(f->rt, gr_u32_vector, &f->roots,
				deferred->root);
	return err ? err :
		     gr_runtime_append(f->rt, gr_u32_vector, &f->sets, group);
}

static int compare_groups(const void *a, const void *b)
{
	const struct gr_stuck_group *x = a, *y = b;

	if (x->retained_bytes != y->retained_bytes)
		return x->retained_bytes > y->retained_bytes ? -1 : 1;
	return (x->example > y->example) - (x->example < y->example);
}

/* Find what the groups retain, each alone and all together. */
static struct gr_error *weigh(struct finder *f, struct gr_finalizers *ret)
{
	const struct gr_root_sets sets = { .vertices = f->roots.data,
					   .set = f->sets.data,
					   .count = f->roots.size,
					   .nsets = f->groups.size };
	_cleanup_free_ struct gr_kept *kept =
		calloc(f->groups.size + 1, sizeof(*kept));
	struct gr_kept together;

	if (!kept)
		return &gr_enomem;
	struct gr_error *err =
		gr_graph_exclusive(f->g, &sets, &f->poll, kept, &together);
	if (err)
		return err;
	ret->stuck_bytes = together.bytes;
	ret->stuck_c_bytes = together.second_bytes;
	for (size_t i = 0; i < f->groups.size; i++) {
		f->groups.data[i].retained_bytes = kept[i].bytes;
		f->groups.data[i].retained_objects = kept[i].objects;
		f->groups.data[i].retained_c_bytes = kept[i].second_bytes;
	}
	err = gr_sort(f->groups.data, f->groups.size, sizeof(*f->groups.data),
		      compare_groups, f->poll.poll, f->poll.ctx);
	ret->ngroups = f->groups.size < MAX_GROUPS ? f->groups.size :
						     MAX_GROUPS;
	ret->groups = steal_ptr(f->groups.data);
	ret->nstuck_roots = f->roots.size;
	ret->stuck_roots = steal_ptr(f->roots.data);
	ret->stuck_set = steal_ptr(f->sets.data);
	return err;
}

static struct gr_error *group_stuck(struct finder *f, struct gr_finalizers *ret)
{
	struct gr_ticker ticker = { .poll = &f->poll };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < f->deferred.size; i++) {
		err = gr_tick(&ticker);
		if (!err && gr_bitmap_test(f->stuck, f->deferred.data[i].root))
			err = add_stuck(f, &f->deferred.data[i], ret);
	}
	return err || !f->groups.size ? err : weigh(f, ret);
}

// ------------------------------------------------------------------- the answer

/* All objects of Go are reached; of the blocks of C, some are leaked. Needs
 * GR_PART_NEAREST. */
static struct gr_error *weigh_heap(const struct finder *f,
				   struct gr_finalizers *ret)
{
	const struct gr_objects *objects = f->g->objects;
	const struct gr_slot_run *runs = objects->runs;
	struct gr_ticker ticker = { .poll = &f->poll };
	struct gr_error *err = NULL;

	for (uint32_t i = 0; i < objects->nfirst; i++)
		ret->heap_bytes += (runs[i + 1].first - runs[i].first) *
				   (uint64_t)runs[i].elem_bytes;
	for (gr_vertex v = gr_objects_second(objects);
	     !err && v < objects->count; v++) {
		if (gr_graph_is_reached(f->g, v))
			ret->heap_c_bytes += gr_objects_bytes(objects, v);
		err = gr_tick(&ticker);
	}
	ret->heap_bytes += ret->heap_c_bytes;
	return err;
}

static struct gr_error *find(struct finder *f, struct gr_finalizers *ret)
{
	struct gr_kept queued;
	struct gr_error *err = collect(f);

	if (err)
		return err;
	const struct gr_deferred_spec spec = {
		.roots = f->deferred.data,
		.nroots = f->deferred.size,
		.queued = f->queued.data,
		.nqueued = f->queued.size,
		.weak = f->weak.data,
		.nweak = f->weak.size,
	};
	err = gr_graph_deferred(f->g, &spec, &f->poll, &queued, f->stuck);
	ret->queue_bytes = queued.bytes;
	ret->queue_objects = queued.objects;
	ret->queue_c_bytes = queued.second_bytes;
	if (!err)
		err = gr_graph_need(f->g, GR_PART_NEAREST, &f->poll);
	if (!err)
		err = weigh_heap(f, ret);
	return err ? err : group_stuck(f, ret);
}

struct gr_error *gr_finalizers_find(struct gr_answers *answers,
				    struct gr_finalizers *ret)
{
	struct gr_graph *g = answers->graph->graph;
	_cleanup_(finder_deinit) struct finder f = {
		.answers = answers,
		.rt = &answers->stop->program->rt,
		.g = g,
		.poll = gr_runtime_poller(&answers->stop->program->rt),
		.stuck = gr_bitmap_alloc(g->nvertices),
	};

	*ret = (struct gr_finalizers){ 0 };
	if (!f.stuck)
		return &gr_enomem;
	struct gr_error *err = count_queued(&f, ret);
	return err ? err : find(&f, ret);
}
