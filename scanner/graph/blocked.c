// SPDX-License-Identifier: Apache-2.0
/*
 * Components: R. Tarjan, "Depth-first search and linear graph algorithms", 1972,
 * with a stack of its own. A vertex's *number* is its place in preorder; its
 * *low* number is the smallest that its subtree reaches without leaving the
 * stack.
 */
#include "graph/blocked.h"

#include "base/cleanup.h"

#include <stdlib.h>

// ------------------------------------------------------------------- forever

/** The edges the other way round, and who still has to wait. */
struct settling {
	const struct gr_blocked *b;
	uint32_t *first; /* of the reverse edges; nvertices + 2 elements */
	uint32_t *from;
	uint32_t *left;	 /* by vertex: edges whose end has not gone on */
	uint32_t *queue; /* vertices that go on */
	uint32_t nqueued;
	uint8_t *is_stuck;
};

static void settling_deinit(struct settling *s)
{
	free(s->first);
	free(s->from);
	free(s->left);
	free(s->queue);
}

static struct gr_error *turn_edges(struct settling *s,
				   const struct gr_poll *poll)
{
	const struct gr_blocked *b = s->b;
	uint32_t nedges = b->first[b->nvertices];
	struct gr_ticker ticker = { poll, 0 };
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < nedges; i++) {
		s->first[b->to[i] + 2]++;
		err = gr_tick(&ticker);
	}
	for (uint32_t v = 0; !err && v < b->nvertices; v++)
		s->first[v + 2] += s->first[v + 1];
	for (uint32_t v = 0; !err && v < b->nvertices; v++) {
		err = gr_tick(&ticker);
		for (uint32_t i = b->first[v]; i < b->first[v + 1]; i++)
			s->from[s->first[b->to[i] + 1]++] = v;
	}
	return err;
}

static void let_go(struct settling *s, uint32_t v)
{
	if (!s->is_stuck[v])
		return;
	s->is_stuck[v] = 0;
	s->queue[s->nqueued++] = v;
}

/* One that @p v waits for goes on. */
static void note_one(struct settling *s, uint32_t v)
{
	if (s->b->need[v] == GR_NEED_ANY || !--s->left[v])
		let_go(s, v);
}

static struct gr_error *settle(struct settling *s, const struct gr_poll *poll)
{
	const struct gr_blocked *b = s->b;
	struct gr_ticker ticker = { poll, 0 };
	struct gr_error *err = NULL;

	for (uint32_t v = 0; v < b->nvertices; v++) {
		s->is_stuck[v] = 1;
		s->left[v] = b->first[v + 1] - b->first[v];
	}
	for (uint32_t v = 0; v < b->nvertices; v++)
		if (b->need[v] == GR_NEED_NOTHING ||
		    (b->need[v] == GR_NEED_ALL && !s->left[v]))
			let_go(s, v);
	for (uint32_t i = 0; !err && i < s->nqueued; i++) {
		uint32_t v = s->queue[i];

		err = gr_tick(&ticker);
		for (uint32_t j = s->first[v]; j < s->first[v + 1]; j++)
			note_one(s, s->from[j]);
	}
	return err;
}

struct gr_error *gr_blocked_forever(const struct gr_blocked *b,
				    const struct gr_poll *poll,
				    uint8_t *is_stuck)
{
	_cleanup_(settling_deinit) struct settling s = {
		.b = b,
		.first = calloc((size_t)b->nvertices + 2, sizeof(*s.first)),
		.from = calloc((size_t)b->first[b->nvertices] + 1,
			       sizeof(*s.from)),
		.left = calloc((size_t)b->nvertices + 1, sizeof(*s.left)),
		.queue = calloc((size_t)b->nvertices + 1, sizeof(*s.queue)),
		.is_stuck = is_stuck,
	};
	struct gr_error *err;

	if (!s.first || !s.from || !s.left || !s.queue)
		return &gr_enomem;
	err = turn_edges(&s, poll);
	return err ? err : settle(&s, poll);
}

// -------------------------------------------------------------------- cycles

/** The search. Numbers are counted from 1; 0: not seen. */
struct search {
	const struct gr_blocked *b;
	const uint8_t *is_stuck;
	uint32_t *number, *low, *cursor;
	uint32_t *path;	 /* the vertices whose edges are being searched */
	uint32_t *stack; /* those whose component is not known */
	uint8_t *is_on_stack;
	uint32_t npath, nstack, nnumbers;
	uint32_t *cycle, ncycles;
};

static void search_deinit(struct search *s)
{
	free(s->number);
	free(s->low);
	free(s->cursor);
	free(s->path);
	free(s->stack);
	free(s->is_on_stack);
}

static void enter(struct search *s, uint32_t v)
{
	s->number[v] = s->low[v] = ++s->nnumbers;
	s->cursor[v] = s->b->first[v];
	s->path[s->npath++] = v;
	s->stack[s->nstack++] = v;
	s->is_on_stack[v] = 1;
}

static bool has_edge_to_itself(const struct gr_blocked *b, uint32_t v)
{
	for (uint32_t i = b->first[v]; i < b->first[v + 1]; i++)
		if (b->to[i] == v)
			return true;
	return false;
}

/* Take the component of @p v, which was entered first, off the stack. */
static void take_component(struct search *s, uint32_t v)
{
	uint32_t n = s->nstack, top;

	bool is_cycle = s->stack[n - 1] != v || has_edge_to_itself(s->b, v);
	do {
		top = s->stack[--n];
		s->is_on_stack[top] = 0;
		if (is_cycle)
			s->cycle[top] = s->ncycles;
	} while (top != v);
	s->nstack = n;
	s->ncycles += is_cycle;
}

static void lower(struct search *s, uint32_t v, uint32_t to)
{
	if (to < s->low[v])
		s->low[v] = to;
}

/* Follow the next edge of the vertex at the end of the path. */
static void step(struct search *s)
{
	uint32_t v = s->path[s->npath - 1];

	if (s->cursor[v] < s->b->first[v + 1]) {
		uint32_t to = s->b->to[s->cursor[v]++];

		if (s->is_stuck[to] && !s->number[to])
			enter(s, to);
		else if (s->is_stuck[to] && s->is_on_stack[to])
			lower(s, v, s->number[to]);
		return;
	}
	s->npath--;
	if (s->npath)
		lower(s, s->path[s->npath - 1], s->low[v]);
	if (s->low[v] == s->number[v])
		take_component(s, v);
}

struct gr_error *gr_blocked_cycles(const struct gr_blocked *b,
				   const uint8_t *is_stuck,
				   const struct gr_poll *poll, uint32_t *cycle,
				   uint32_t *count)
{
	size_t n = (size_t)b->nvertices + 1;
	_cleanup_(search_deinit) struct search s = {
		.b = b,
		.is_stuck = is_stuck,
		.number = calloc(n, sizeof(*s.number)),
		.low = calloc(n, sizeof(*s.low)),
		.cursor = calloc(n, sizeof(*s.cursor)),
		.path = calloc(n, sizeof(*s.path)),
		.stack = calloc(n, sizeof(*s.stack)),
		.is_on_stack = calloc(n, sizeof(*s.is_on_stack)),
		.cycle = cycle,
	};
	struct gr_ticker ticker = { poll, 0 };
	struct gr_error *err = NULL;

	if (!s.number || !s.low || !s.cursor || !s.path || !s.stack ||
	    !s.is_on_stack)
		return &gr_enomem;
	for (uint32_t v = 0; v < b->nvertices; v++)
		cycle[v] = UINT32_MAX;
	for (uint32_t v = 0; !err && v < b->nvertices; v++) {
		if (is_stuck[v] && !s.number[v])
			enter(&s, v);
		while (!err && s.npath) {
			step(&s);
			err = gr_tick(&ticker);
		}
	}
	*count = s.ncycles;
	return err;
}
