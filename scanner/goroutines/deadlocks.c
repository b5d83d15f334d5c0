// SPDX-License-Identifier: Apache-2.0
#include "goroutines/deadlocks.h"

#include "goroutines/leaks.h"
#include "graph/blocked.h"
#include "scan.h"

/** Vertices: goroutines, then primitives. */
struct waiting {
	const struct gr_scan *scan;
	const struct gr_wait_table *table;
	const struct gr_closed_sets *sets; /* or NULL */
	uint32_t ngoroutines, nvertices;
	uint32_t *first;
	struct gr_u32_vector to;
	uint8_t *need, *is_stuck;
	uint32_t *cycle;
};

static void waiting_deinit(struct waiting *w)
{
	free(w->first);
	gr_u32_vector_deinit(&w->to);
	free(w->need);
	free(w->is_stuck);
	free(w->cycle);
}

void gr_cycles_deinit(struct gr_cycle_vector *cycles)
{
	for (size_t i = 0; i < cycles->size; i++) {
		gr_u32_vector_deinit(&cycles->data[i].goroutines);
		gr_u32_vector_deinit(&cycles->data[i].primitives);
	}
	gr_cycle_vector_deinit(cycles);
}

// --------------------------------------------------------------------- edges

static bool add_edge(struct waiting *w, uint32_t from, uint32_t to,
		     enum gr_need need)
{
	w->need[from] = need;
	return gr_u32_vector_append(&w->to, to);
}

static bool is_lock(const struct gr_primitive *p)
{
	return gr_wait_kind_class(p->kind) != GR_NLOCK_CLASSES;
}

static bool has_leaked(const struct waiting *w, uint32_t goroutine)
{
	return w->sets && w->sets->states[goroutine] == GR_LEAK_LEAKED;
}

/* A goroutine waits for its locks. What else it waits for may come, unless it
 * has leaked; one case of a select is enough. */
static bool add_goroutine(struct waiting *w, uint32_t index)
{
	const struct gr_waits *waits = w->table->waits;
	bool ok = true;

	for (uint32_t i = waits->first[index];
	     ok && i < waits->first[index + 1]; i++) {
		uint32_t p = w->table->of_row[i];

		if (p == UINT32_MAX)
			continue;
		if (is_lock(&w->table->primitives[p]))
			ok = add_edge(w, index, w->ngoroutines + p,
				      GR_NEED_ALL);
		else if (has_leaked(w, index))
			ok = add_edge(w, index, w->ngoroutines + p,
				      GR_NEED_ANY);
	}
	return ok;
}

/* The owners that are as likely as the first one; all that hold it, of a thing
 * that several hold. */
static uint32_t count_owners(const struct gr_primitive *p)
{
	bool is_shared = p->kind == GR_WAIT_RWMUTEX_WRITE ||
			 p->kind == GR_WAIT_WAITGROUP;
	uint32_t n = 0;

	while (n < p->nowners && p->owners[n].rank >= GR_OWNER_BETWEEN &&
	       (is_shared ||
		(p->owners[n].rank == p->owners[0].rank &&
		 p->owners[n].is_pointer == p->owners[0].is_pointer)))
		n++;
	return n;
}

/* What leaked goroutines wait for comes if one that reaches it goes on. */
static bool add_closed(struct waiting *w, uint32_t index)
{
	const struct gr_closed_sets *sets = w->sets;
	bool ok = true;

	w->need[w->ngoroutines + index] = GR_NEED_ANY;
	for (uint32_t i = sets->first[index]; ok && i < sets->first[index + 1];
	     i++)
		ok = add_edge(w, w->ngoroutines + index,
			      sets->wakers.data[i].goroutine, GR_NEED_ANY);
	return ok;
}

/* Is it known who alone could wake its waiters, and not who owns it? */
static bool is_closed(const struct waiting *w, const struct gr_primitive *p)
{
	return has_leaked(w, w->table->waiters[p->first_waiter]) &&
	       (!is_lock(p) || (p->kind == GR_WAIT_WAITGROUP && !p->nowners));
}

/* A primitive is let go of when its owners go on. If there are more candidates
 * than owners, one that goes on is enough to doubt. */
static bool add_primitive(struct waiting *w, uint32_t index)
{
	const struct gr_primitive *p = &w->table->primitives[index];
	uint32_t n = count_owners(p), owners = 1;
	bool ok = true;

	if (is_closed(w, p))
		return add_closed(w, index);
	if (p->is_state_known && p->is_unlocked)
		return true;
	if (p->kind == GR_WAIT_RWMUTEX_WRITE || p->kind == GR_WAIT_WAITGROUP)
		owners = p->is_state_known && p->count > 0 ?
				 (uint32_t)p->count :
				 0;
	for (uint32_t i = 0; ok && i < n; i++)
		ok = add_edge(w, w->ngoroutines + index, p->owners[i].goroutine,
			      n <= owners ? GR_NEED_ALL : GR_NEED_ANY);
	return ok;
}

static struct gr_error *add_edges(struct waiting *w)
{
	struct gr_error *err = NULL;
	bool ok = true;

	for (uint32_t v = 0; !err && ok && v < w->nvertices; v++) {
		w->first[v] = w->to.size;
		ok = v < w->ngoroutines ? add_goroutine(w, v) :
					  add_primitive(w, v - w->ngoroutines);
		err = gr_runtime_step((struct gr_runtime *)&w->scan->rt, 1);
	}
	w->first[w->nvertices] = w->to.size;
	return ok ? err : &gr_enomem;
}

// -------------------------------------------------------------------- cycles

/* The edge of @p v inside of its cycle; UINT32_MAX: it has none. */
static uint32_t next_of(const struct waiting *w, uint32_t v)
{
	for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++)
		if (w->cycle[w->to.data[i]] == w->cycle[v])
			return w->to.data[i];
	return UINT32_MAX;
}

static bool is_edge_certain(const struct waiting *w,
			    const struct gr_primitive *p, uint32_t goroutine)
{
	if (is_closed(w, p))
		return true;
	for (uint32_t i = 0; i < p->nowners; i++)
		if (p->owners[i].goroutine == goroutine)
			return p->owners[i].rank == GR_OWNER_EXACT;
	return false;
}

/* Add the members in the order of waiting, as far as one edge leads to the
 * next. @p done has a byte a vertex. */
static bool follow(const struct waiting *w, uint32_t v, uint8_t *done,
		   struct gr_cycle *cycle)
{
	uint32_t next;

	for (; v != UINT32_MAX && !done[v]; v = next) {
		struct gr_u32_vector *list = v < w->ngoroutines ?
						     &cycle->goroutines :
						     &cycle->primitives;
		uint32_t value = v < w->ngoroutines ? v : v - w->ngoroutines;

		done[v] = 1;
		next = next_of(w, v);
		if (!gr_u32_vector_append(list, value))
			return false;
		if (v >= w->ngoroutines && next != UINT32_MAX)
			cycle->is_certain &= is_edge_certain(
				w, &w->table->primitives[value], next);
	}
	return true;
}

static void count_behind(const struct waiting *w, struct gr_cycle *cycle)
{
	uint64_t waiters = 0;

	for (size_t i = 0; i < cycle->primitives.size; i++)
		waiters +=
			w->table->primitives[cycle->primitives.data[i]].nwaiters;
	cycle->behind = waiters > cycle->goroutines.size ?
				waiters - cycle->goroutines.size :
				0;
}

static struct gr_error *make_cycles(const struct waiting *w, uint32_t count,
				    struct gr_cycle_vector *ret)
{
	_cleanup_free_ uint8_t *done = calloc(w->nvertices + 1, 1);
	size_t before = ret->size;

	if (!done || !gr_cycle_vector_reserve(ret, before + count))
		return &gr_enomem;
	for (uint32_t i = 0; i < count; i++)
		ret->data[before + i] = (struct gr_cycle){ .is_certain = true };
	ret->size = before + count;
	for (uint32_t v = 0; v < w->nvertices; v++)
		if (w->cycle[v] != UINT32_MAX &&
		    !follow(w, v, done, &ret->data[before + w->cycle[v]]))
			return &gr_enomem;
	for (uint32_t i = 0; i < count; i++)
		count_behind(w, &ret->data[before + i]);
	return NULL;
}

static struct gr_error *find(struct waiting *w, struct gr_cycle_vector *ret)
{
	const struct gr_poll poll = { gr_scan_poll, (void *)w->scan };
	uint32_t count = 0;
	struct gr_error *err = add_edges(w);
	const struct gr_blocked blocked = { w->nvertices, w->first, w->to.data,
					    w->need };

	if (!err)
		err = gr_blocked_forever(&blocked, &poll, w->is_stuck);
	if (!err)
		err = gr_blocked_cycles(&blocked, w->is_stuck, &poll, w->cycle,
					&count);
	return err ? err : make_cycles(w, count, ret);
}

struct gr_error *gr_cycles_find(struct gr_scan *scan,
				const struct gr_wait_table *table,
				const struct gr_closed_sets *sets,
				struct gr_cycle_vector *ret)
{
	_cleanup_(waiting_deinit) struct waiting w = {
		.scan = scan,
		.table = table,
		.sets = sets,
		.ngoroutines = scan->sched.ngoroutines,
		.nvertices = scan->sched.ngoroutines + table->nprimitives,
	};
	size_t n = (size_t)w.nvertices + 1;

	w.first = calloc(n + 1, sizeof(*w.first));
	w.need = calloc(n, 1);
	w.is_stuck = calloc(n, 1);
	w.cycle = calloc(n, sizeof(*w.cycle));
	// The first element is there even if there are no edges.
	if (!w.first || !w.need || !w.is_stuck || !w.cycle ||
	    !gr_u32_vector_reserve(&w.to, 1))
		return &gr_enomem;
	return find(&w, ret);
}
