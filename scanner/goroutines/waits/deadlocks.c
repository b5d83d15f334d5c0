// SPDX-License-Identifier: Apache-2.0
#include "goroutines/waits/deadlocks.h"

#include "base/bitmap.h"
#include "goroutines/leaks.h"
#include "goroutines/locks/owner_list.h"
#include "goruntime/sched/goroutine.h"
#include "graph/blocked.h"

/** Vertices: goroutines, then primitives. */
struct waiting {
	const struct gr_runtime *rt;
	const struct gr_wait_table *table;
	const struct gr_closed_sets *sets; /* or NULL */
	const struct gr_reach_sets *reach; /* or NULL */
	uint32_t ngoroutines, nvertices;
	uint32_t *first;
	struct gr_u32_vector to;
	/* Edges to goroutines that wait for the vertex themselves. */
	struct gr_u32_vector back;
	uint8_t *need, *is_stuck;
	uint32_t *cycle;
};

static void waiting_deinit(struct waiting *w)
{
	free(w->first);
	gr_u32_vector_deinit(&w->to);
	gr_u32_vector_deinit(&w->back);
	free(w->need);
	free(w->is_stuck);
	free(w->cycle);
}

void gr_cycles_deinit(struct gr_cycle_vector *cycles)
{
	for (size_t i = 0; i < cycles->size; i++) {
		gr_cycle_member_vector_deinit(&cycles->data[i].members);
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

/* Is it known who alone can use the primitive, which is no lock? */
static bool is_known(const struct waiting *w, uint32_t index)
{
	return w->reach && gr_bitmap_test(w->reach->is_complete, index);
}

/* Is it known of all that a goroutine waits for? */
static bool knows_all(const struct waiting *w, uint32_t goroutine)
{
	const struct gr_waits *waits = w->table->waits;
	bool ret = true;

	for (uint32_t i = waits->first[goroutine];
	     ret && i < waits->first[goroutine + 1]; i++)
		ret = w->table->of_row[i] != UINT32_MAX &&
		      is_known(w, w->table->of_row[i]);
	return ret;
}

/* A goroutine waits for its locks. What else it waits for may come, unless it
 * has leaked or others are known to keep it; one case of a select is enough. */
static bool add_goroutine(struct waiting *w, uint32_t index)
{
	const struct gr_waits *waits = w->table->waits;
	bool is_kept = has_leaked(w, index) || knows_all(w, index), ok = true;

	for (uint32_t i = waits->first[index];
	     ok && i < waits->first[index + 1]; i++) {
		uint32_t p = w->table->of_row[i];

		if (p == UINT32_MAX)
			continue;
		if (is_lock(&w->table->primitives[p]))
			ok = add_edge(w, index, w->ngoroutines + p,
				      GR_NEED_ALL);
		else if (is_kept)
			ok = add_edge(w, index, w->ngoroutines + p,
				      GR_NEED_ANY);
	}
	return ok;
}

/* The owners that are as likely as the first one; all that hold it, of a thing
 * that several hold. */
static uint32_t count_owners(const struct gr_primitive *p)
{
	bool is_shared = gr_primitive_is_shared(p);
	uint32_t n = 0;

	while (n < p->nowners && p->owners[n].rank >= GR_OWNER_BETWEEN &&
	       (is_shared ||
		(p->owners[n].rank == p->owners[0].rank &&
		 p->owners[n].is_proven == p->owners[0].is_proven &&
		 p->owners[n].is_pointer == p->owners[0].is_pointer)))
		n++;
	return n;
}

/* A wait of leaked goroutines ends if one that reaches its thing goes on. */
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

/* A wait for what certain goroutines alone can use ends if one goes on. */
static bool add_reach(struct waiting *w, uint32_t index)
{
	const struct gr_reach_sets *reach = w->reach;
	uint32_t v = w->ngoroutines + index;
	bool ok = true;

	w->need[v] = GR_NEED_ANY;
	for (uint32_t i = reach->first[index];
	     ok && i < reach->first[index + 1]; i++) {
		if (reach->rows.data[i].is_waiter)
			ok = gr_u32_vector_append(&w->back, w->to.size);
		ok = ok &&
		     add_edge(w, v, reach->rows.data[i].goroutine, GR_NEED_ANY);
	}
	return ok;
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
	if (is_known(w, index) && (!is_lock(p) || !n))
		return add_reach(w, index);
	if (p->is_state_known && p->is_unlocked)
		return true;
	if (gr_primitive_is_shared(p))
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
		err = gr_runtime_step((struct gr_runtime *)w->rt, 1);
	}
	w->first[w->nvertices] = w->to.size;
	return ok ? err : &gr_enomem;
}

// -------------------------------------------------------------------- cycles

/* Is it proven that the primitive is let go of only if the goroutine goes on? */
static bool is_edge_certain(const struct waiting *w, uint32_t primitive,
			    uint32_t goroutine)
{
	const struct gr_primitive *p = &w->table->primitives[primitive];

	if (is_closed(w, p) ||
	    (is_known(w, primitive) && (!is_lock(p) || !count_owners(p))))
		return true;
	for (uint32_t i = 0; i < p->nowners; i++)
		if (p->owners[i].goroutine == goroutine)
			return p->owners[i].is_proven;
	return false;
}

/* The edge of @p v inside of its cycle, a certain one if there is one, and how
 * many there are; UINT32_MAX: it has none. */
static uint32_t next_of(const struct waiting *w, uint32_t v, uint32_t *count)
{
	uint32_t ret = UINT32_MAX;
	bool is_certain = false;

	*count = 0;
	for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++) {
		uint32_t to = w->to.data[i];

		if (w->cycle[to] != w->cycle[v])
			continue;
		++*count;
		if (ret != UINT32_MAX && (v < w->ngoroutines || is_certain))
			continue;
		is_certain = v >= w->ngoroutines &&
			     is_edge_certain(w, v - w->ngoroutines, to);
		if (ret == UINT32_MAX || is_certain)
			ret = to;
	}
	return ret;
}

/** Builds the cycles from the vertices in them. */
struct builder {
	const struct waiting *w;
	uint8_t *done;	 /* by vertex */
	uint32_t *place; /* by primitive: in the primitives of its cycle */
	struct gr_cycle_vector *ret;
	size_t before; /* cycles that were there */
};

static struct gr_cycle *cycle_of(const struct builder *b, uint32_t v)
{
	return &b->ret->data[b->before + b->w->cycle[v]];
}

/* Add a goroutine; what it waits for, and whom, is filled in when all are
 * there. */
static bool add_vertex(struct builder *b, uint32_t v)
{
	const struct waiting *w = b->w;
	struct gr_cycle *cycle = cycle_of(b, v);

	if (v < w->ngoroutines)
		return gr_cycle_member_vector_append(
			&cycle->members,
			(struct gr_cycle_member){ v, 0, UINT32_MAX });
	b->place[v - w->ngoroutines] = cycle->primitives.size;
	return gr_u32_vector_append(&cycle->primitives, v - w->ngoroutines);
}

/* Add the members in the order of waiting, as far as one leads to the next. */
static bool follow(struct builder *b, uint32_t v)
{
	uint32_t count;

	for (; v != UINT32_MAX && !b->done[v]; v = next_of(b->w, v, &count)) {
		b->done[v] = 1;
		if (!add_vertex(b, v))
			return false;
	}
	return true;
}

/* Whom a member waits for. */
static void fill_in(const struct builder *b, struct gr_cycle *cycle,
		    struct gr_cycle_member *member)
{
	const struct waiting *w = b->w;
	uint32_t count, p = next_of(w, member->goroutine, &count);

	if (p == UINT32_MAX)
		return;
	uint32_t owner = next_of(w, p, &count);
	member->awaits = b->place[p - w->ngoroutines];
	if (count == 1)
		member->owner = owner;
	cycle->is_certain &= owner == UINT32_MAX ||
			     is_edge_certain(w, p - w->ngoroutines, owner);
}

/* A goroutine that has leaked waits forever, whoever owns what it waits for. */
static void judge(const struct builder *b, struct gr_cycle *cycle)
{
	bool have_leaked = true;

	cycle->is_certain = true;
	for (size_t i = 0; i < cycle->members.size; i++) {
		struct gr_cycle_member *member = &cycle->members.data[i];

		fill_in(b, cycle, member);
		have_leaked &= has_leaked(b->w, member->goroutine);
	}
	cycle->is_certain |= have_leaked;
	for (size_t i = 0; b->w->reach && i < cycle->primitives.size; i++)
		if (gr_bitmap_test(b->w->reach->is_special,
				   cycle->primitives.data[i]))
			cycle->is_certain = false;
}

static bool builder_init(struct builder *b)
{
	b->done = calloc((size_t)b->w->nvertices + 1, 1);
	b->place = calloc(b->w->table->nprimitives + 1, sizeof(*b->place));
	return b->done && b->place;
}

static void builder_deinit(struct builder *b)
{
	free(b->done);
	free(b->place);
}

static struct gr_error *make_cycles(const struct waiting *w, uint32_t count,
				    struct gr_cycle_vector *ret)
{
	_cleanup_(builder_deinit) struct builder b = {
		.w = w,
		.ret = ret,
		.before = ret->size,
	};

	if (!builder_init(&b) ||
	    !gr_cycle_vector_reserve(ret, b.before + count))
		return &gr_enomem;
	for (uint32_t i = 0; i < count; i++)
		ret->data[b.before + i] = (struct gr_cycle){ 0 };
	ret->size = b.before + count;
	for (uint32_t v = 0; v < w->nvertices; v++)
		if (w->cycle[v] != UINT32_MAX && !follow(&b, v))
			return &gr_enomem;
	for (uint32_t i = 0; i < count; i++)
		judge(&b, &ret->data[b.before + i]);
	return NULL;
}

// -------------------------------------------------------------------- behind

/* The next vertex on the way of a stuck vertex to a cycle; UINT32_MAX: there is
 * none. */
static uint32_t stuck_next(const struct waiting *w, uint32_t v)
{
	for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++)
		if (w->is_stuck[w->to.data[i]])
			return w->to.data[i];
	return UINT32_MAX;
}

/* Enter the cycle that @p start leads to for all on the way, which is as long as
 * @p trail. */
static void follow_stuck(const struct waiting *w, uint32_t start,
			 uint32_t *behind, uint32_t *trail)
{
	uint32_t v = start, n = 0, cycle = UINT32_MAX;

	while (v != UINT32_MAX && behind[v] == UINT32_MAX &&
	       w->cycle[v] == UINT32_MAX && n < w->nvertices) {
		trail[n++] = v;
		v = stuck_next(w, v);
	}
	if (v != UINT32_MAX)
		cycle = w->cycle[v] != UINT32_MAX ? w->cycle[v] : behind[v];
	// w->nvertices: it leads to none.
	while (n)
		behind[trail[--n]] = cycle == UINT32_MAX ? w->nvertices : cycle;
}

/* Count those that wait for what a cycle's members hold, or for one that does. */
static struct gr_error *count_behind(const struct waiting *w,
				     struct gr_cycle_vector *ret, size_t before)
{
	size_t bytes = ((size_t)w->nvertices + 1) * sizeof(uint32_t);
	_cleanup_free_ uint32_t *behind = malloc(bytes);
	_cleanup_free_ uint32_t *trail = malloc(bytes);
	struct gr_error *err = NULL;

	if (!behind || !trail)
		return &gr_enomem;
	memset(behind, 0xff, bytes);
	for (uint32_t v = 0; !err && v < w->ngoroutines; v++) {
		err = gr_runtime_step((struct gr_runtime *)w->rt, 1);
		if (!w->is_stuck[v] || w->cycle[v] != UINT32_MAX)
			continue;
		follow_stuck(w, v, behind, trail);
		if (behind[v] < w->nvertices)
			ret->data[before + behind[v]].behind++;
	}
	return err;
}

/* Drop the edges from a channel to waiters that could also use it: whether
 * these go on has been decided, and alone they are no cycle. */
static void drop_back_edges(struct waiting *w)
{
	size_t n = 0, back = 0, v = 0;

	for (size_t i = 0; i <= w->to.size; i++) {
		while (v <= w->nvertices && w->first[v] == i)
			w->first[v++] = n;
		if (i == w->to.size)
			break;
		if (back < w->back.size && w->back.data[back] == i)
			back++;
		else
			w->to.data[n++] = w->to.data[i];
	}
	w->to.size = n;
}

static struct gr_error *find(struct waiting *w, struct gr_cycle_vector *ret)
{
	const struct gr_poll poll = gr_runtime_poller(w->rt);
	uint32_t count = 0;
	struct gr_error *err = add_edges(w);
	const struct gr_blocked blocked = { w->nvertices, w->first, w->to.data,
					    w->need };

	if (!err)
		err = gr_blocked_forever(&blocked, &poll, w->is_stuck);
	drop_back_edges(w);
	if (!err)
		err = gr_blocked_cycles(&blocked, w->is_stuck, &poll, w->cycle,
					&count);
	size_t before = ret->size;
	if (!err)
		err = make_cycles(w, count, ret);
	return err ? err : count_behind(w, ret, before);
}

struct gr_error *gr_cycles_find(struct gr_sched *sched,
				const struct gr_wait_table *table,
				const struct gr_closed_sets *sets,
				const struct gr_reach_sets *reach,
				struct gr_cycle_vector *ret)
{
	_cleanup_(waiting_deinit) struct waiting w = {
		.rt = sched->rt,
		.table = table,
		.sets = sets,
		.reach = reach,
		.ngoroutines = sched->ngoroutines,
		.nvertices = sched->ngoroutines + table->nprimitives,
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
