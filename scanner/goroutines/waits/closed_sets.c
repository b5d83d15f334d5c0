// SPDX-License-Identifier: Apache-2.0
#include "goroutines/waits/closed_sets.h"

#include "base/sort.h"
#include "goroutines/leak_rule.h"
#include "scan/answers.h"

/* Limits of a look from the stack of one goroutine, and of all notes. */
enum { MAX_OBJECTS = 256, MAX_EDGES = 4096, MAX_NOTES = 256 };
/* Primitives of one object that are noted at a time. */
enum { MAX_SHARED = 64 };

/** A vertex that primitives lie in. */
struct target {
	gr_vertex vertex;
	uint32_t primitive;
	/** The first one of a vertex has how many there are, and how many were
	 * noted so far. */
	uint32_t count, noted;
};
GR_VECTOR(target_vector, struct target);

struct search {
	struct gr_answers *answers;
	const struct gr_wait_table *table;
	struct gr_closed_sets *ret;
	struct target_vector targets; /* sorted by vertex */
	uint32_t *first_root;	      /* by goroutine */
	gr_vertex *roots;
	/* By vertex: the index plus one of the goroutine that saw it last;
	 * UINT32_MAX: what belongs to the scheduler leads to all goroutines. */
	uint32_t *seen;
	uint32_t goroutine;
	gr_vertex queue[MAX_OBJECTS];
	size_t nqueued, nedges, nnotes;
};

static void search_deinit(struct search *s)
{
	target_vector_deinit(&s->targets);
	free(s->first_root);
	free(s->roots);
	free(s->seen);
}

void gr_closed_sets_deinit(struct gr_closed_sets *sets)
{
	free(sets->states);
	free(sets->first);
	gr_waker_vector_deinit(&sets->wakers);
}

static gr_vertex vertex_at(const struct search *s, uint64_t addr)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(s->answers->stop->heap, addr, &span);

	return obj == GR_OBJ_NONE ?
		       GR_VERTEX_NONE :
		       gr_object_vertex(s->answers->graph->graph->objects, obj);
}

static void close_vertex(struct search *s, uint64_t addr)
{
	gr_vertex v = vertex_at(s, addr);

	if (v != GR_VERTEX_NONE)
		s->seen[v] = UINT32_MAX;
}

static struct gr_error *close_scheduler(struct search *s)
{
	const struct gr_sched *sched = &s->answers->stop->sched;
	struct gr_error *err = gr_runtime_step(&s->answers->stop->program->rt,
					       sched->ngoroutines);

	for (size_t i = 0; i < sched->ngoroutines; i++)
		close_vertex(s, sched->goroutines[i].addr);
	for (size_t i = 0; i < sched->nms; i++)
		close_vertex(s, sched->ms[i]);
	for (size_t i = 0; i < sched->nps; i++)
		close_vertex(s, sched->ps[i]);
	for (size_t i = 0; i < sched->waits->nsudogs; i++)
		close_vertex(s, sched->waits->sudogs[i].addr);
	return err;
}

static int compare_targets(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	if (x->vertex != y->vertex)
		return x->vertex < y->vertex ? -1 : 1;
	return (x->primitive > y->primitive) - (x->primitive < y->primitive);
}

/* Collect the objects that leaked goroutines wait for. */
static struct gr_error *find_targets(struct search *s)
{
	const struct gr_wait_table *t = s->table;

	for (uint32_t i = 0; i < t->nprimitives; i++) {
		const struct gr_primitive *p = &t->primitives[i];
		uint32_t waiter = t->waiters[p->first_waiter];
		gr_vertex v = p->object ? vertex_at(s, p->object) :
					  GR_VERTEX_NONE;

		const struct target target = { .vertex = v, .primitive = i };
		if (v != GR_VERTEX_NONE &&
		    s->ret->states[waiter] == GR_LEAK_LEAKED &&
		    !target_vector_append(&s->targets, target))
			return &gr_enomem;
	}
	struct gr_error *err = gr_sort(s->targets.data, s->targets.size,
				       sizeof(*s->targets.data),
				       compare_targets,
				       s->answers->stop->program->rt.poll,
				       s->answers->stop->program->rt.poll_ctx);
	for (size_t i = 0, first = 0; !err && i < s->targets.size; i++) {
		if (s->targets.data[i].vertex != s->targets.data[first].vertex)
			first = i;
		s->targets.data[first].count++;
	}
	return err;
}

// --------------------------------------------------------------------- roots

/* The leaked goroutine on whose stack a root lies; or UINT32_MAX. */
static uint32_t holder_of(const struct search *s,
			  const struct gr_root_vertex *root)
{
	uint32_t goroutine = root->holder - GR_NROOT_GROUPS;

	return root->source == GR_FROM_SCHEDULER ||
			       root->holder < GR_NROOT_GROUPS ||
			       goroutine >=
				       s->answers->stop->sched.ngoroutines ||
			       s->ret->states[goroutine] != GR_LEAK_LEAKED ?
		       UINT32_MAX :
		       goroutine;
}

/* Sort the roots by goroutine: count them, then place them. */
static struct gr_error *find_roots(struct search *s)
{
	const struct gr_heap_graph *hg = s->answers->graph;
	gr_vertex first_root = gr_graph_first_root(hg->graph);
	size_t n = s->answers->stop->sched.ngoroutines;

	s->first_root = calloc(n + 2, sizeof(*s->first_root));
	s->roots = calloc(hg->roots.size + 1, sizeof(*s->roots));
	if (!s->first_root || !s->roots)
		return &gr_enomem;
	for (size_t i = 0; i < hg->roots.size; i++) {
		uint32_t g = holder_of(s, &hg->roots.data[i]);
		if (g != UINT32_MAX)
			s->first_root[g + 2]++;
	}
	for (size_t i = 2; i < n + 2; i++)
		s->first_root[i] += s->first_root[i - 1];
	for (size_t i = 0; i < hg->roots.size; i++) {
		uint32_t g = holder_of(s, &hg->roots.data[i]);
		if (g != UINT32_MAX)
			s->roots[s->first_root[g + 1]++] = first_root + i;
	}
	return gr_runtime_step(&s->answers->stop->program->rt,
			       hg->roots.size / 4);
}

// -------------------------------------------------------------------- search

static bool waits_for(const struct search *s, uint32_t primitive)
{
	const struct gr_waits *waits = s->table->waits;
	bool ret = false;

	for (uint32_t i = waits->first[s->goroutine];
	     !ret && i < waits->first[s->goroutine + 1]; i++)
		ret = s->table->of_row[i] == primitive;
	return ret;
}

/* The goroutine reaches a vertex: note what others wait for there. If these are
 * many, as in a slice of locks, it is some of them, and others of the next
 * goroutine: every one gets wakers, and the time is linear. */
static bool note(struct search *s, gr_vertex v)
{
	size_t first = gr_count_before(s->targets.size, first,
				       s->targets.data[first].vertex < v);

	if (first == s->targets.size || s->targets.data[first].vertex != v)
		return true;
	struct target *shared = &s->targets.data[first];
	uint32_t n = shared->count < MAX_SHARED ? shared->count : MAX_SHARED;

	for (; n && s->nnotes < MAX_NOTES; n--, s->nnotes++) {
		const struct target *target = shared + shared->noted;
		const struct gr_waker waker = { target->primitive,
						s->goroutine };

		shared->noted = (shared->noted + 1) % shared->count;
		if (!waits_for(s, waker.primitive) &&
		    !gr_waker_vector_append(&s->ret->wakers, waker))
			return false;
	}
	return true;
}

static bool follow(struct search *s, gr_vertex from)
{
	const struct gr_graph *graph = s->answers->graph->graph;
	bool ok = true;

	for (uint32_t i = graph->first[from];
	     ok && i < graph->first[from + 1] && s->nqueued < MAX_OBJECTS &&
	     s->nedges < MAX_EDGES;
	     i++, s->nedges++) {
		gr_vertex v = graph->to[i];

		if (s->seen[v] == UINT32_MAX || s->seen[v] == s->goroutine + 1)
			continue;
		s->seen[v] = s->goroutine + 1;
		s->queue[s->nqueued++] = v;
		ok = note(s, v);
	}
	return ok;
}

static struct gr_error *search_goroutine(struct search *s, uint32_t index)
{
	bool ok = true;

	s->goroutine = index;
	s->nqueued = 0;
	s->nedges = 0;
	s->nnotes = 0;
	for (uint32_t i = s->first_root[index];
	     ok && i < s->first_root[index + 1]; i++)
		ok = follow(s, s->roots[i]);
	for (size_t i = 0; ok && i < s->nqueued; i++)
		ok = follow(s, s->queue[i]);
	return ok ? gr_runtime_step(&s->answers->stop->program->rt,
				    1 + (s->nedges + s->nnotes) / 4) :
		    &gr_enomem;
}

/* Sort the wakers by primitive: count them, then place them. They were found in
 * the order of the goroutines. */
static struct gr_error *sort_wakers(struct search *s)
{
	struct gr_waker_vector *wakers = &s->ret->wakers;
	_cleanup_(gr_waker_vector_deinit) struct gr_waker_vector found =
		*wakers;
	size_t n = s->table->nprimitives;
	uint32_t *first = s->ret->first;

	*wakers = (struct gr_waker_vector){ 0 };
	if (found.size >= UINT32_MAX ||
	    !gr_waker_vector_reserve(wakers, found.size + 1))
		return &gr_enomem;
	wakers->size = found.size;
	for (size_t i = 0; i < found.size; i++)
		first[found.data[i].primitive + 2]++;
	for (size_t i = 2; i < n + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < found.size; i++)
		wakers->data[first[found.data[i].primitive + 1]++] =
			found.data[i];
	return gr_runtime_step(&s->answers->stop->program->rt, found.size / 8);
}

static struct gr_error *search_all(struct search *s)
{
	size_t n = s->answers->stop->sched.ngoroutines;
	struct gr_error *err = find_roots(s);

	if (!err)
		err = close_scheduler(s);
	for (uint32_t i = 0; !err && i < n; i++)
		if (s->ret->states[i] == GR_LEAK_LEAKED)
			err = search_goroutine(s, i);
	return err ? err : sort_wakers(s);
}

struct gr_error *gr_closed_sets_find(struct gr_answers *answers,
				     const struct gr_wait_table *table,
				     struct gr_closed_sets *ret)
{
	_cleanup_(search_deinit) struct search s = {
		.answers = answers,
		.table = table,
		.ret = ret,
	};

	ret->states = calloc(answers->stop->sched.ngoroutines + 1, 1);
	ret->first = calloc(table->nprimitives + 2, sizeof(*ret->first));
	s.seen = calloc(answers->graph->graph->nvertices, sizeof(*s.seen));
	if (!ret->states || !ret->first || !s.seen)
		return &gr_enomem;
	struct gr_error *err = gr_leak_rule_apply(answers, ret->states);
	if (!err)
		err = find_targets(&s);
	return err || !s.targets.size ? err : search_all(&s);
}
