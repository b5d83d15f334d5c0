// SPDX-License-Identifier: Apache-2.0
#include "goroutines/locks/reach_sets.h"

#include "goroutines/leak_rule.h"
#include "scan/answers.h"

/* Limits for one primitive; each of its waiters adds a few edges. */
enum { MAX_OBJECTS = 256, MAX_EDGES = 4096, WAITER_EDGES = 8 };
/* Goroutines of one primitive, besides those that wait for it alone. */
enum { MAX_SET = 64 };

/* Owners of objects of the scheduler. */
enum { PLAIN, RECORD, ANYBODY, SPECIAL, GOROUTINE };

struct search {
	struct gr_answers *answers;
	const struct gr_wait_table *table;
	struct gr_reach_sets *ret;
	const struct gr_graph *graph;
	gr_vertex first_root;
	/** By vertex: PLAIN; RECORD of a wait; ANYBODY; SPECIAL: by a weak pointer
	 * or a finalizer; or GOROUTINE + index. */
	uint32_t *owner;
	/** By vertex, and by goroutine: the primitive plus one that it was seen
	 * for last. */
	uint32_t *seen, *met, *waits;
	uint32_t primitive;
	gr_vertex queue[MAX_OBJECTS];
	size_t nqueued, nedges, max_edges;
	bool is_open; /* somebody else may reach it */
};

static void search_deinit(struct search *s)
{
	free(s->owner);
	free(s->seen);
	free(s->met);
	free(s->waits);
}

void gr_reach_sets_deinit(struct gr_reach_sets *sets)
{
	gr_reach_vector_deinit(&sets->rows);
	free(sets->first);
	free(sets->first_of);
	free(sets->of);
	free(sets->is_complete);
	free(sets->is_special);
}

static gr_vertex vertex_at(const struct search *s, uint64_t addr)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(s->answers->stop->heap, addr, &span);

	return obj == GR_OBJ_NONE ? GR_VERTEX_NONE :
				    gr_object_vertex(s->graph->objects, obj);
}

static void set_owner(struct search *s, uint64_t addr, uint32_t owner)
{
	gr_vertex v = vertex_at(s, addr);

	if (v != GR_VERTEX_NONE)
		s->owner[v] = owner;
}

/* The scheduler's own objects lead from everywhere to everywhere. A P has timers,
 * which may do anything. */
static struct gr_error *note_scheduler(struct search *s)
{
	const struct gr_sched *sched = &s->answers->stop->sched;

	for (size_t i = 0; i < sched->waits->nsudogs; i++)
		set_owner(s, sched->waits->sudogs[i].addr, RECORD);
	for (size_t i = 0; i < sched->ngoroutines; i++)
		set_owner(s, sched->goroutines[i].addr, GOROUTINE + i);
	for (size_t i = 0; i < sched->nms; i++)
		set_owner(s, sched->ms[i], ANYBODY);
	for (size_t i = 0; i < sched->nps; i++)
		set_owner(s, sched->ps[i], ANYBODY);
	return gr_runtime_step(&s->answers->stop->program->rt,
			       sched->ngoroutines);
}

/* Whoever has a weak pointer to an object may get at it, and its finalizer will;
 * no edge leads from these to it. */
static struct gr_error *note_specials(struct search *s)
{
	const struct gr_root_list *list = &s->answers->stop->roots.list;

	for (size_t i = 0; i < list->size; i++)
		if (list->data[i].object_addr)
			set_owner(s, list->data[i].object_addr, SPECIAL);
	return gr_runtime_step(&s->answers->stop->program->rt, list->size / 4);
}

// -------------------------------------------------------------------- search

/* Does a goroutine that waits for the primitive wait for something else, too? */
static bool may_go_on(const struct search *s, uint32_t goroutine)
{
	const struct gr_waits *waits = s->table->waits;
	bool ret = false;

	for (uint32_t i = waits->first[goroutine];
	     !ret && i < waits->first[goroutine + 1]; i++)
		ret = waits->rows[i].object !=
		      s->table->primitives[s->primitive].object;
	return ret;
}

static bool meet(struct search *s, uint32_t goroutine)
{
	const struct gr_goroutine *g =
		&s->answers->stop->sched.goroutines[goroutine];
	bool is_waiter = s->waits[goroutine] == s->primitive + 1;
	const struct gr_reach row = { s->primitive, goroutine, is_waiter,
				      false };

	if (s->met[goroutine] == s->primitive + 1)
		return true;
	s->met[goroutine] = s->primitive + 1;
	if (is_waiter && !may_go_on(s, goroutine))
		return true;
	s->is_open |= g->is_system || g->is_g0 ||
		      s->ret->rows.size - s->ret->first[s->primitive] >=
			      MAX_SET;
	return s->is_open || gr_reach_vector_append(&s->ret->rows, row);
}

/* The goroutine on whose stack or in whose values a root lies meets it; of other
 * roots, anybody. */
static bool meet_root(struct search *s, gr_vertex v)
{
	const struct gr_heap_graph *hg = s->answers->graph;
	const struct gr_root_vertex *root;
	uint32_t goroutine;

	if (v - s->first_root >= hg->roots.size) {
		s->is_open = true;
		return true;
	}
	root = &hg->roots.data[v - s->first_root];
	goroutine = root->holder - GR_NROOT_GROUPS;
	if (root->holder < GR_NROOT_GROUPS ||
	    goroutine >= s->answers->stop->sched.ngoroutines) {
		s->is_open = true;
		return true;
	}
	return meet(s, goroutine);
}

/* One object or root that leads to where the search is. */
static bool look_at(struct search *s, gr_vertex v)
{
	if (v >= s->first_root)
		return meet_root(s, v);
	if (s->owner[v] >= GOROUTINE)
		return meet(s, s->owner[v] - GOROUTINE);
	if (s->owner[v] == SPECIAL)
		gr_bitmap_set(s->ret->is_special, s->primitive);
	if (s->owner[v] == ANYBODY || s->owner[v] == SPECIAL ||
	    s->nqueued == MAX_OBJECTS) {
		s->is_open = true;
		return true;
	}
	if (s->owner[v] == RECORD || s->seen[v] == s->primitive + 1)
		return true;
	s->seen[v] = s->primitive + 1;
	s->queue[s->nqueued++] = v;
	return true;
}

static bool go_back(struct search *s, gr_vertex to)
{
	const struct gr_graph *graph = s->graph;
	bool ok = true;

	for (uint32_t i = graph->rfirst[to];
	     ok && !s->is_open && i < graph->rfirst[to + 1]; i++) {
		s->is_open = ++s->nedges > s->max_edges;
		ok = look_at(s, graph->from[i]);
	}
	return ok;
}

static void note_alone(struct search *s)
{
	struct gr_reach_vector *rows = &s->ret->rows;
	size_t alone = rows->size, count = 0;

	for (size_t i = s->ret->first[s->primitive]; i < rows->size; i++) {
		if (rows->data[i].is_waiter)
			continue;
		alone = i;
		count++;
	}
	if (count == 1)
		rows->data[alone].is_alone = true;
}

static bool has_set(const struct gr_primitive *p)
{
	return gr_wait_kind_is_channel(p->kind) || p->kind == GR_WAIT_COND ||
	       p->kind == GR_WAIT_WAITGROUP;
}

static void note_waiters_of(struct search *s, const struct gr_primitive *p)
{
	for (uint32_t i = 0; i < p->nwaiters; i++)
		s->waits[s->table->waiters[p->first_waiter + i]] =
			s->primitive + 1;
	s->max_edges += (size_t)p->nwaiters * WAITER_EDGES;
}

/* A channel may have waiters in selects and others. */
static void note_waiters(struct search *s, const struct gr_primitive *p)
{
	const struct gr_wait_table *t = s->table;
	struct gr_primitive *first = gr_wait_table_at(t, p->object);

	for (; first < t->primitives + t->nprimitives &&
	       first->object == p->object;
	     first++)
		note_waiters_of(s, first);
}

static struct gr_error *search_primitive(struct search *s, uint32_t index)
{
	const struct gr_primitive *p = &s->table->primitives[index];
	gr_vertex v = has_set(p) && p->object ? vertex_at(s, p->object) :
						GR_VERTEX_NONE;
	bool ok = true;

	s->primitive = index;
	s->nqueued = s->nedges = 0;
	s->max_edges = MAX_EDGES;
	s->is_open = v == GR_VERTEX_NONE;
	if (!s->is_open) {
		note_waiters(s, p);
		ok = look_at(s, v);
	}
	for (size_t i = 0; ok && !s->is_open && i < s->nqueued; i++)
		ok = go_back(s, s->queue[i]);
	if (s->is_open) {
		s->ret->rows.size = s->ret->first[index];
	} else {
		gr_bitmap_set(s->ret->is_complete, index);
		note_alone(s);
	}
	return ok ? gr_runtime_step(&s->answers->stop->program->rt,
				    1 + (s->nedges + p->nwaiters) / 4) :
		    &gr_enomem;
}

/* Sort the rows by goroutine: count them, then place them. */
static struct gr_error *sort_rows(struct gr_sched *sched,
				  struct gr_reach_sets *sets)
{
	size_t n = sched->ngoroutines;
	const struct gr_reach_vector *rows = &sets->rows;

	sets->first_of = calloc(n + 2, sizeof(*sets->first_of));
	sets->of = calloc(rows->size + 1, sizeof(*sets->of));
	if (!sets->first_of || !sets->of)
		return &gr_enomem;
	for (size_t i = 0; i < rows->size; i++)
		sets->first_of[rows->data[i].goroutine + 2]++;
	for (size_t i = 2; i < n + 2; i++)
		sets->first_of[i] += sets->first_of[i - 1];
	for (size_t i = 0; i < rows->size; i++)
		sets->of[sets->first_of[rows->data[i].goroutine + 1]++] = i;
	return gr_runtime_step(sched->rt, rows->size / 4);
}

static bool search_init(struct search *s)
{
	size_t nvertices = s->graph->nvertices;
	size_t n = s->answers->stop->sched.ngoroutines + 1;

	s->owner = calloc(nvertices, sizeof(*s->owner));
	s->seen = calloc(nvertices, sizeof(*s->seen));
	s->met = calloc(n, sizeof(*s->met));
	s->waits = calloc(n, sizeof(*s->waits));
	return s->owner && s->seen && s->met && s->waits;
}

/* Pointers may be missing: then nothing is complete. */
static struct gr_error *search_all(struct search *s)
{
	size_t n = gr_leak_rule_lacks_memory(s->answers) ?
			   0 :
			   s->table->nprimitives;
	struct gr_error *err = note_scheduler(s);

	if (!err)
		err = note_specials(s);
	for (size_t i = 0; !err && i < n; i++) {
		s->ret->first[i] = s->ret->rows.size;
		err = search_primitive(s, i);
	}
	for (size_t i = n; i <= s->table->nprimitives; i++)
		s->ret->first[i] = s->ret->rows.size;
	return err ? err : sort_rows(&s->answers->stop->sched, s->ret);
}

struct gr_error *gr_reach_sets_find(struct gr_answers *answers,
				    const struct gr_wait_table *table,
				    struct gr_reach_sets *ret)
{
	const struct gr_poll poll =
		gr_runtime_poller(&answers->stop->program->rt);
	struct gr_graph *graph = answers->graph->graph;
	_cleanup_(search_deinit) struct search s = {
		.answers = answers,
		.table = table,
		.ret = ret,
		.graph = graph,
		.first_root = gr_graph_first_root(graph),
	};
	struct gr_error *err = gr_graph_need(graph, GR_PART_REVERSE, &poll);

	if (err)
		return err;
	ret->first = calloc(table->nprimitives + 2, sizeof(*ret->first));
	ret->is_complete = gr_bitmap_alloc(table->nprimitives + 1);
	ret->is_special = gr_bitmap_alloc(table->nprimitives + 1);
	if (!ret->first || !ret->is_complete || !ret->is_special ||
	    !search_init(&s))
		return &gr_enomem;
	return search_all(&s);
}
