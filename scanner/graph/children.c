// SPDX-License-Identifier: Apache-2.0
/*
 * Child lists of the dominator tree. One radix sort (least significant digits
 * first) of all vertices by retained bytes, and one stable counting sort by
 * dominator: then every list is in order, and no list had to be sorted. Both
 * take linear time, whatever the sizes.
 */
#include "graph/children.h"

#include "graph/groups.h"
#include "graph/internal.h"

enum { DIGIT_BITS = 16, NDIGITS = 1 << DIGIT_BITS };

struct sorter {
	struct gr_graph *g;
	gr_vertex *in, *out; /* the reached vertices, without the top */
	uint32_t count;
	unsigned int shift;
	uint32_t *places; /* next place, by digit */
	uint32_t *cfirst;
	uint32_t next_child; /* place in the lists */
};

static void sorter_deinit(struct sorter *s)
{
	gr_array_free(s->in);
	gr_array_free(s->out);
	gr_array_free(s->places);
	gr_array_free(s->cfirst);
}

/* Largest first: the complement of the digit. */
static inline uint32_t digit_of(const struct sorter *s, gr_vertex v)
{
	return ~(s->g->retained[v] >> s->shift) & (NDIGITS - 1);
}

static void list_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct sorter *s = ctx;

	for (gr_vertex v = start; v < end; v++)
		if (s->g->idom[v] != GR_VERTEX_NONE && v != gr_graph_top(s->g))
			s->in[s->count++] = v;
}

static void count_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct sorter *s = ctx;

	for (uint32_t i = start; i < end; i++) {
		if (i + GR_AHEAD < s->count)
			gr_prefetch(&s->g->retained[s->in[i + GR_AHEAD]]);
		s->places[digit_of(s, s->in[i])]++;
	}
}

static void sort_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct sorter *s = ctx;

	for (uint32_t i = start; i < end; i++) {
		if (i + GR_AHEAD < s->count)
			gr_prefetch(&s->g->retained[s->in[i + GR_AHEAD]]);
		s->out[s->places[digit_of(s, s->in[i])]++] = s->in[i];
	}
}

/* Counts of digits become the places where they begin. */
static void sum_digits(uint32_t *counts)
{
	uint32_t start = 0;

	for (uint32_t i = 0; i < NDIGITS; i++) {
		uint32_t count = counts[i];
		counts[i] = start;
		start += count;
	}
}

static struct gr_error *sort_digit(struct sorter *s, const struct gr_poll *poll)
{
	memset(s->places, 0, NDIGITS * sizeof(*s->places));
	struct gr_error *err = gr_poll_pieces(poll, s->count, count_piece, s);
	if (err)
		return err;
	sum_digits(s->places);
	err = gr_poll_pieces(poll, s->count, sort_piece, s);
	gr_vertex *sorted = s->out;
	s->out = s->in;
	s->in = sorted;
	return err;
}

/* All vertices by retained bytes; those of the top are the most. */
static struct gr_error *sort(struct sorter *s, const struct gr_poll *poll)
{
	uint64_t most = s->g->retained[gr_graph_top(s->g)];
	struct gr_error *err =
		gr_poll_pieces(poll, s->g->nvertices, list_piece, s);

	for (; !err && s->shift < 64 && most >> s->shift;
	     s->shift += DIGIT_BITS)
		err = sort_digit(s, poll);
	return err;
}

/* The number of children of each vertex, one place behind its own. */
static void count_children(void *ctx, uint32_t start, uint32_t end)
{
	struct sorter *s = ctx;

	for (uint32_t i = start; i < end; i++) {
		if (i + GR_AHEAD < s->count)
			gr_prefetch(&s->g->idom[s->in[i + GR_AHEAD]]);
		s->cfirst[s->g->idom[s->in[i]] + 1]++;
	}
}

/* Numbers of children become where their lists begin. */
static void sum_children(void *ctx, uint32_t start, uint32_t end)
{
	struct sorter *s = ctx;

	for (gr_vertex v = start; v < end; v++) {
		uint32_t count = s->cfirst[v + 1];
		s->cfirst[v + 1] = s->next_child;
		s->next_child += count;
	}
}

static void place_children(void *ctx, uint32_t start, uint32_t end)
{
	struct sorter *s = ctx;

	for (uint32_t i = start; i < end; i++) {
		if (i + GR_AHEAD < s->count)
			gr_prefetch(&s->g->idom[s->in[i + GR_AHEAD]]);
		s->out[s->cfirst[s->g->idom[s->in[i]] + 1]++] = s->in[i];
	}
}

struct gr_error *gr_graph_make_children(struct gr_graph *g,
					const struct gr_poll *poll)
{
	uint64_t n = g->nvertices;
	_cleanup_(sorter_deinit) struct sorter s = {
		.g = g,
		.in = gr_array_alloc(g->budget, n, sizeof(gr_vertex)),
		.out = gr_array_alloc(g->budget, n, sizeof(gr_vertex)),
		.places = gr_array_alloc(g->budget, NDIGITS, sizeof(uint32_t)),
		.cfirst = gr_array_alloc(g->budget, n + 1, sizeof(uint32_t)),
	};

	assert(g->idom && !g->child);
	if (!s.in || !s.out || !s.places || !s.cfirst)
		return gr_budget_error(g->budget);
	struct gr_error *err = sort(&s, poll);
	if (!err)
		err = gr_array_zero(s.cfirst, (n + 1) * sizeof(*s.cfirst),
				    poll);
	if (!err)
		err = gr_poll_pieces(poll, s.count, count_children, &s);
	if (err)
		return err;
	err = gr_poll_pieces(poll, n, sum_children, &s);
	if (!err)
		err = gr_poll_pieces(poll, s.count, place_children, &s);
	if (err)
		return err;
	assert(s.cfirst[n] == s.count);
	g->cfirst = steal_ptr(s.cfirst);
	g->child = steal_ptr(s.out);
	return NULL;
}

struct gr_error *gr_graph_by_retained(struct gr_graph *g,
				      const struct gr_poll *poll,
				      gr_vertex **ret, uint32_t *count)
{
	struct gr_error *err = gr_graph_need(g, GR_PART_DOMINATORS, poll);

	if (err)
		return err;
	_cleanup_(sorter_deinit) struct sorter s = {
		.g = g,
		.in = gr_array_alloc(g->budget, g->nvertices,
				     sizeof(gr_vertex)),
		.out = gr_array_alloc(g->budget, g->nvertices,
				      sizeof(gr_vertex)),
		.places = gr_array_alloc(g->budget, NDIGITS, sizeof(uint32_t)),
	};
	if (!s.in || !s.out || !s.places)
		return gr_budget_error(g->budget);
	err = sort(&s, poll);
	if (err)
		return err;
	*count = s.count;
	*ret = steal_ptr(s.in);
	return NULL;
}

struct gr_children gr_graph_children(const struct gr_graph *g, gr_vertex v)
{
	assert(g->child && v < g->nvertices);
	return (struct gr_children){
		.vertices = g->child + g->cfirst[v],
		.count = g->cfirst[v + 1] - g->cfirst[v],
	};
}

// -------------------------------------------------------------------- groups

/* Children on their way into groups. */
struct grouping {
	const struct gr_graph *g;
	struct gr_groups groups;
	uint32_t *group; /* of each child */
	gr_vertex *members;
	uint32_t *places; /* next place of a member, by group */
	struct gr_ticker ticker;
};

static void grouping_deinit(struct grouping *s)
{
	gr_groups_deinit(&s->groups);
	free(s->group);
	free(s->members);
	free(s->places);
}

/* Tell each group of children where its members begin. Until now `first` is the
 * number of the group before groups were sorted. */
static struct gr_error *place_groups(struct grouping *s,
				     struct gr_child_groups *sorted)
{
	uint32_t place = 0;

	s->places = calloc((size_t)sorted->count + 1, sizeof(*s->places));
	if (!s->places)
		return &gr_enomem;
	for (uint32_t i = 0; i < sorted->count; i++) {
		struct gr_child_group *group = &sorted->groups[i];
		s->places[group->first] = place;
		group->first = place;
		place += group->vertices;
	}
	return NULL;
}

/* Put each child of the vertices into its group. */
static struct gr_error *
find_groups(struct grouping *s, const gr_vertex *vertices, uint32_t nvertices,
	    uint64_t (*key)(void *ctx, gr_vertex child), void *ctx)
{
	struct gr_error *err = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; !err && i < nvertices; i++) {
		struct gr_children c = gr_graph_children(s->g, vertices[i]);
		for (uint32_t j = 0; !err && j < c.count; j++) {
			gr_vertex child = c.vertices[j];
			uint32_t group = gr_groups_enter(
				&s->groups, s->g, key(ctx, child), child,
				gr_graph_retained(s->g, child));
			if (group == UINT32_MAX)
				return &gr_enomem;
			s->group[n++] = group;
			err = gr_tick(&s->ticker);
		}
	}
	return err;
}

/* List the children by group, after place_groups(). */
static struct gr_error *
list_members(struct grouping *s, const gr_vertex *vertices, uint32_t nvertices)
{
	struct gr_error *err = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; !err && i < nvertices; i++) {
		struct gr_children c = gr_graph_children(s->g, vertices[i]);
		for (uint32_t j = 0; !err && j < c.count; j++) {
			s->members[s->places[s->group[n++]]++] = c.vertices[j];
			err = gr_tick(&s->ticker);
		}
	}
	return err;
}

struct gr_error *
gr_graph_group_children(const struct gr_graph *g, const gr_vertex *vertices,
			uint32_t nvertices,
			uint64_t (*key)(void *ctx, gr_vertex child), void *ctx,
			const struct gr_poll *poll, struct gr_child_groups *ret)
{
	_cleanup_(grouping_deinit) struct grouping s = {
		.g = g,
		.ticker = { .poll = poll },
	};
	size_t count = 0;

	for (uint32_t i = 0; i < nvertices; i++)
		count += gr_graph_children(g, vertices[i]).count;
	s.group = calloc(count + 1, sizeof(*s.group));
	s.members = calloc(count + 1, sizeof(*s.members));
	if (!s.group || !s.members)
		return &gr_enomem;
	_cleanup_(gr_child_groups_deinit) struct gr_child_groups sorted = { 0 };
	struct gr_error *err = find_groups(&s, vertices, nvertices, key, ctx);
	if (err)
		return err;
	gr_groups_finish(&s.groups, &sorted);
	err = place_groups(&s, &sorted);
	if (!err)
		err = list_members(&s, vertices, nvertices);
	if (err)
		return err;
	sorted.members = steal_ptr(s.members);
	*ret = sorted;
	memset(&sorted, 0, sizeof(sorted));
	return NULL;
}

void gr_child_groups_deinit(struct gr_child_groups *groups)
{
	free(groups->groups);
	free(groups->members);
	memset(groups, 0, sizeof(*groups));
}
