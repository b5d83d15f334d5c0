// SPDX-License-Identifier: Apache-2.0
#include "goroutines/waits/blockers.h"

#include "base/cleanup.h"
#include "goruntime/sched/goroutine.h"

#define NOBODY UINT32_MAX

/** Each goroutine leads to one other at most. */
struct chains {
	struct gr_runtime *rt;
	const struct gr_wait_table *table;
	uint32_t n;	  /* goroutines */
	uint32_t *next;	  /* whom it waits for; or NOBODY */
	uint32_t *awaits; /* the primitive that it waits for then */
	uint32_t *before; /* how many lead to it and are not counted yet */
	uint64_t *weight; /* those that lead to it, itself included */
	uint32_t *via;	  /* the primitive that most come by; or NOBODY */
	uint64_t *best;	  /* how many these are */
	uint32_t *depth;  /* the longest chain that leads to it */
};

static void chains_deinit(struct chains *c)
{
	free(c->next);
	free(c->awaits);
	free(c->before);
	free(c->weight);
	free(c->via);
	free(c->best);
	free(c->depth);
}

static bool chains_init(struct chains *c)
{
	size_t n = (size_t)c->n + 1;

	c->next = calloc(n, sizeof(*c->next));
	c->awaits = calloc(n, sizeof(*c->awaits));
	c->before = calloc(n, sizeof(*c->before));
	c->weight = calloc(n, sizeof(*c->weight));
	c->via = calloc(n, sizeof(*c->via));
	c->best = calloc(n, sizeof(*c->best));
	c->depth = calloc(n, sizeof(*c->depth));
	return c->next && c->awaits && c->before && c->weight && c->via &&
	       c->best && c->depth;
}

/* The likeliest owner of what a row waits for; of what is no lock, the only one
 * that can use it. */
static uint32_t owner_of(const struct chains *c, uint32_t row)
{
	uint32_t index = c->table->of_row[row];
	const struct gr_primitive *p;

	if (index == UINT32_MAX)
		return NOBODY;
	p = &c->table->primitives[index];
	if ((p->is_state_known && p->is_unlocked) || !p->nowners ||
	    p->owners[0].rank < GR_OWNER_ALONE)
		return NOBODY;
	return p->owners[0].goroutine;
}

/* Whom a goroutine waits for, if the cases of its select do not differ in that. */
static void make_link(struct chains *c, uint32_t g)
{
	const struct gr_waits *waits = c->table->waits;
	bool differs = false;

	for (uint32_t i = waits->first[g]; i < waits->first[g + 1]; i++) {
		uint32_t owner = owner_of(c, i);

		if (owner == NOBODY)
			continue;
		differs |= c->next[g] != NOBODY && c->next[g] != owner;
		c->next[g] = owner;
		c->awaits[g] = c->table->of_row[i];
	}
	if (differs)
		c->next[g] = NOBODY;
}

static struct gr_error *make_links(struct chains *c)
{
	struct gr_error *err = NULL;

	for (uint32_t g = 0; !err && g < c->n; g++) {
		c->next[g] = c->via[g] = NOBODY;
		c->weight[g] = 1;
		make_link(c, g);
		err = gr_runtime_step(c->rt, 1);
	}
	for (uint32_t g = 0; g < c->n; g++)
		if (c->next[g] != NOBODY)
			c->before[c->next[g]]++;
	return err;
}

/* Count a goroutine, and all behind it, on the one that it waits for. */
static void pass_on(struct chains *c, uint32_t g)
{
	uint32_t to = c->next[g];

	c->weight[to] += c->weight[g];
	if (c->depth[g] + 1 > c->depth[to])
		c->depth[to] = c->depth[g] + 1;
	if (c->weight[g] > c->best[to]) {
		c->best[to] = c->weight[g];
		c->via[to] = c->awaits[g];
	}
}

/* From the ends that nobody waits for inwards. Only cycles are left. */
static struct gr_error *count(struct chains *c)
{
	struct gr_error *err = NULL;

	for (uint32_t start = 0; !err && start < c->n; start++) {
		uint32_t g = start;

		// A later start takes up what waits for one that is not counted.
		while (!c->before[g] && c->next[g] != NOBODY) {
			uint32_t to = c->next[g];

			pass_on(c, g);
			c->next[g] = NOBODY;
			c->weight[g] = 0;
			if (--c->before[to] || to >= start)
				break;
			g = to;
		}
		err = gr_runtime_step(c->rt, 1);
	}
	return err;
}

static struct gr_error *add(struct chains *c, uint32_t g, uint64_t behind,
			    bool is_in_cycle, struct gr_blocker_vector *ret)
{
	const struct gr_blocker row = {
		.goroutine = g,
		.primitive = c->via[g],
		.behind = behind,
		.depth = c->depth[g],
		.is_in_cycle = is_in_cycle,
	};

	return gr_blocker_vector_append(ret, row) ? NULL : &gr_enomem;
}

/* All members of a cycle keep all of it waiting, and what hangs on it. */
static struct gr_error *add_cycle(struct chains *c, uint32_t start,
				  struct gr_blocker_vector *ret)
{
	struct gr_error *err = NULL;
	uint64_t total = 0;
	uint32_t g = start;

	do {
		total += c->weight[g];
		c->via[c->next[g]] = c->awaits[g];
		g = c->next[g];
	} while (g != start);
	while (!err && c->next[g] != NOBODY) {
		uint32_t to = c->next[g];

		err = add(c, g, total - 1, true, ret);
		c->next[g] = NOBODY;
		c->weight[g] = 0;
		g = to;
	}
	return err;
}

static struct gr_error *collect(struct chains *c, struct gr_blocker_vector *ret)
{
	struct gr_error *err = NULL;

	for (uint32_t g = 0; !err && g < c->n; g++) {
		if (c->next[g] != NOBODY)
			err = add_cycle(c, g, ret);
		else if (c->weight[g] > 1)
			err = add(c, g, c->weight[g] - 1, false, ret);
		if (!err)
			err = gr_runtime_step(c->rt, 1);
	}
	return err;
}

static int by_behind(const void *a, const void *b)
{
	const struct gr_blocker *x = a, *y = b;

	if (x->behind != y->behind)
		return x->behind > y->behind ? -1 : 1;
	return (x->goroutine > y->goroutine) - (x->goroutine < y->goroutine);
}

struct gr_error *gr_blockers_find(struct gr_sched *sched,
				  const struct gr_wait_table *table,
				  struct gr_blocker_vector *ret)
{
	_cleanup_(chains_deinit) struct chains c = {
		.rt = sched->rt,
		.table = table,
		.n = sched->ngoroutines,
	};
	struct gr_error *err;

	if (!chains_init(&c))
		return &gr_enomem;
	err = make_links(&c);
	if (!err)
		err = count(&c);
	if (!err)
		err = collect(&c, ret);
	if (!err && ret->size)
		qsort(ret->data, ret->size, sizeof(*ret->data), by_behind);
	return err;
}
