// SPDX-License-Identifier: Apache-2.0
/*
 * A root of a walk may be several vertices of the graph: a local of many
 * goroutines. What these alone keep alive together is at least the sum of what
 * each keeps, and at most what is billed to the root, because nothing else
 * holds that. Where the two differ, a mark without the vertices decides.
 */
#include "retention/result_retained.h"

#include "graph/sets.h"
#include "scan/enter.h"
#include "walks/result_internal.h"

/* A root of the walk, by what the tree tells roots apart by (mark/tree.c):
 * strings are interned. */
struct root_id {
	const char *name, *state;
	uint64_t kind, goroutine_id;
	size_t rank; /* in the result */
};

/* A vertex of a root of the walk. */
struct part {
	size_t rank;
	gr_vertex vertex;
};
GR_VECTOR(part_vector, struct part);

struct finder {
	struct gr_answers *answers;
	const struct gr_result *result;
	struct root_id *ids; /* sorted */
	size_t nids;
	bool per_goroutine;
	struct part_vector parts;
};

static void finder_deinit(struct finder *f)
{
	free(f->ids);
	part_vector_deinit(&f->parts);
}

static int compare_ids(const void *a, const void *b)
{
	const struct root_id *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->goroutine_id < y->goroutine_id ?
		       -1 :
		       x->goroutine_id > y->goroutine_id;
}

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

static struct gr_error *sort_ids(struct finder *f)
{
	const struct gr_root_total *roots = f->result->roots;

	f->ids = calloc(f->nids + 1, sizeof(*f->ids));
	if (!f->ids)
		return &gr_enomem;
	for (size_t i = 0; i < f->nids; i++) {
		f->ids[i] = (struct root_id){
			.name = roots[i].name,
			.state = roots[i].goroutine_state,
			.kind = roots[i].kind,
			.goroutine_id = roots[i].goroutine_id,
			.rank = i,
		};
		f->per_goroutine |= roots[i].goroutine_id != 0;
	}
	qsort(f->ids, f->nids, sizeof(*f->ids), compare_ids);
	return NULL;
}

/* The identity of a vertex, as the walk has it; no name: it is no root of the
 * walk, as those of C are none. */
static struct gr_error *identify(const struct finder *f,
				 const struct gr_root_vertex *vertex,
				 struct root_id *ret)
{
	struct gr_answers *answers = f->answers;
	struct gr_root word;
	const struct gr_root *root = &word;
	struct gr_error *err = NULL;

	*ret = (struct root_id){ 0 };
	if (vertex->source != GR_FROM_LIST && vertex->source != GR_FROM_AREA)
		return NULL;
	uint32_t variable = gr_static_variable(answers->graph, vertex);
	if (variable != UINT32_MAX)
		root = &answers->stop->roots.list.data[variable];
	else if (vertex->source == GR_FROM_LIST)
		root = &answers->stop->roots.list.data[vertex->index];
	else
		err = gr_roots_name_word(&answers->stop->sched,
					 &answers->stop->roots, vertex->index,
					 vertex->addr, &word);
	if (err)
		return err;
	ret->name = root->name;
	ret->state = root->goroutine_state;
	ret->kind = root->kind;
	if (f->per_goroutine &&
	    root->goroutine < answers->stop->sched.ngoroutines)
		ret->goroutine_id =
			answers->stop->sched.goroutines[root->goroutine].goid;
	return NULL;
}

/* Find the vertices of all roots of the walk that something is billed to. */
static struct gr_error *find_parts(struct finder *f)
{
	const struct gr_heap_graph *hg = f->answers->graph;
	const struct gr_poll poll =
		gr_runtime_poller(&f->answers->stop->program->rt);
	struct gr_ticker ticker = { .poll = &poll };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < hg->roots.size; i++) {
		struct root_id id;
		err = identify(f, &hg->roots.data[i], &id);
		const struct root_id *found =
			err || !id.name ? NULL :
					  bsearch(&id, f->ids, f->nids,
						  sizeof(id), compare_ids);
		const struct part part = {
			found ? found->rank : 0,
			gr_graph_first_root(hg->graph) + (gr_vertex)i,
		};
		if (found && !part_vector_append(&f->parts, part))
			return &gr_enomem;
		if (!err)
			err = gr_tick(&ticker);
	}
	if (!err && f->parts.size)
		qsort(f->parts.data, f->parts.size, sizeof(*f->parts.data),
		      compare_parts);
	return err;
}

/* Sum up what each of the vertices of one root keeps in Go, as a walk counts it,
 * and tell whether they may keep more together. */
static uint64_t sum_of(const struct finder *f, const struct part *parts,
		       size_t count, bool *may_be_more)
{
	struct gr_graph *g = f->answers->graph->graph;
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += g->retained[parts[i].vertex] -
		       gr_graph_retained_second(g, parts[i].vertex);
	*may_be_more = count > 1 &&
		       sum < f->result->roots[parts->rank].total.bytes;
	return sum;
}

/* Count what the vertices of one root keep together. */
static struct gr_error *keeps(const struct finder *f, const struct part *parts,
			      size_t count, uint64_t *ret)
{
	struct gr_graph *g = f->answers->graph->graph;
	const struct gr_poll poll =
		gr_runtime_poller(&f->answers->stop->program->rt);
	struct gr_kept kept;
	bool may_be_more;

	*ret = sum_of(f, parts, count, &may_be_more);
	if (!may_be_more)
		return NULL;
	// With reverse edges a small set needs no mark of the whole heap.
	struct gr_error *err = gr_answers_need_graph(
		f->answers, GR_PART_DOMINATORS | GR_PART_REVERSE);
	if (err)
		return err;
	_cleanup_free_ gr_vertex *vertices = calloc(count, sizeof(*vertices));
	if (!vertices)
		return &gr_enomem;
	for (size_t i = 0; i < count; i++)
		vertices[i] = parts[i].vertex;
	err = gr_graph_keeps(g, vertices, count, &poll, NULL, &kept);
	if (!err)
		*ret = kept.bytes - kept.second_bytes;
	return err;
}

static struct gr_error *fill(struct finder *f, size_t max_roots, uint64_t *ret)
{
	const struct part *parts = f->parts.data;
	struct gr_error *err = NULL;

	for (size_t i = 0; i < f->nids; i++)
		ret[i] = i < max_roots ? 0 : UINT64_MAX;
	// Bounded by the parts: n is 1 at least.
	for (size_t i = 0, n; !err && i < f->parts.size; i += n) {
		for (n = 1; i + n < f->parts.size &&
			    parts[i + n].rank == parts[i].rank;)
			n++;
		if (parts[i].rank >= max_roots)
			break;
		err = keeps(f, &parts[i], n, &ret[parts[i].rank]);
	}
	return err;
}

static struct gr_error *answer(struct finder *f, size_t max_roots,
			       uint64_t *ret)
{
	// A few roots rarely need more than the dominators; see keeps().
	unsigned int parts = GR_PART_DOMINATORS;
	struct gr_error *err = gr_answers_need_graph(
		f->answers, max_roots ? parts : parts | GR_PART_REVERSE);

	if (!err)
		err = sort_ids(f);
	if (!err)
		err = find_parts(f);
	return err ? err : fill(f, max_roots ? max_roots : SIZE_MAX, ret);
}

struct gr_error *gr_result_retained(struct gr_scan *scan,
				    const struct gr_result *result,
				    size_t max_roots, uint64_t **ret)
{
	_cleanup_(finder_deinit) struct finder f = {
		.result = result,
		.nids = result->tree.roots.size,
	};
	_cleanup_free_ uint64_t *retained =
		calloc(f.nids + 1, sizeof(*retained));
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter_weighing(scan, result->weight,
						      &guard, &f.answers);

	if (!err && !retained)
		err = &gr_enomem;
	if (!err)
		err = answer(&f, max_roots, retained);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(retained);
	return err;
}
