// SPDX-License-Identifier: Apache-2.0
/*
 * New numbers: the preorder of the breadth-first tree. A depth-first search
 * that leaves this tree by a crossing edge lands somewhere else, but goes on
 * side by side from there.
 *
 * The preorder is found without a search. In the queue's order the parents of
 * successive objects rise, so that all arrays by *place* (in that order,
 * members only) are passed from one end to the other:
 *
 *	parent place   by one pointer that follows; of roots and groups, whose
 *	               parents are groups, by what local_of has meanwhile
 *	size           of the subtree: from the end on, added to the parent's
 *	preorder       parent's + 1 + sizes of the siblings before
 *
 * Reads that remain at random are known long before, and fetched ahead.
 */
#include "graph/localize.h"

enum {
	SAMPLES = 4096,
	FAR_VERTICES = 1 << 15, /* 128 KiB of numbers: out of a first cache */
};

bool gr_graph_is_scattered(const struct gr_graph *g)
{
	uint32_t step = g->nreached / SAMPLES + 1;
	uint32_t nfar = 0, n = 0;

	for (uint64_t i = 0; i < g->nreached; i += step, n++) {
		gr_vertex v = g->order[i], parent = g->parent[v];
		gr_vertex distance = v > parent ? v - parent : parent - v;
		nfar += distance > FAR_VERTICES;
	}
	return g->nreached > SAMPLES && nfar > n / 2;
}

struct localizer {
	const struct gr_graph *g;
	const uint64_t *members;
	uint32_t *local_of;
	struct gr_local_graph *local;
	uint32_t count;	       /* places filled so far */
	gr_vertex *vertex;     /* by place */
	uint32_t *parent;      /* place of the parent, by place */
	uint32_t *size;	       /* of the subtree; then where its next part is */
	uint32_t *preorder;    /* by place */
	uint32_t parent_place; /* the pointer that follows */
	uint32_t nedges;
};

static void place_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct localizer *l = ctx;

	for (uint32_t i = start; i < end; i++) {
		gr_vertex v = l->g->order[i];
		if (!gr_bitmap_test(l->members, v))
			continue;
		if (v >= gr_graph_first_group(l->g))
			l->local_of[v] = l->count;
		l->vertex[l->count++] = v;
	}
}

static void parent_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct localizer *l = ctx;

	for (uint32_t i = start; i < end; i++) {
		if (i + GR_AHEAD < l->count)
			gr_prefetch(&l->g->parent[l->vertex[i + GR_AHEAD]]);
		gr_vertex v = l->vertex[i], parent = l->g->parent[v];
		l->size[i] = 1;
		if (v >= l->g->nobjects) {
			l->parent[i] = l->local_of[parent];
			continue;
		}
		while (l->vertex[l->parent_place] != parent)
			l->parent_place++;
		l->parent[i] = l->parent_place;
	}
}

static void size_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct localizer *l = ctx;

	for (uint32_t i = end; i-- > start;)
		if (i)
			l->size[l->parent[i]] += l->size[i];
}

static void preorder_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct localizer *l = ctx;

	for (uint32_t i = start; i < end; i++) {
		uint32_t *next = &l->size[l->parent[i]];
		uint32_t size = l->size[i];
		l->preorder[i] = i ? *next : 0;
		*next += size;
		l->size[i] = l->preorder[i] + 1;
	}
}

static void number_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct localizer *l = ctx;

	for (uint32_t i = start; i < end; i++) {
		if (i + GR_AHEAD < l->count) {
			gr_prefetch(&l->local_of[l->vertex[i + GR_AHEAD]]);
			gr_prefetch(
				&l->local->original[l->preorder[i + GR_AHEAD]]);
		}
		l->local_of[l->vertex[i]] = l->preorder[i];
		l->local->original[l->preorder[i]] = l->vertex[i];
	}
}

/* Fetch, in three steps, the edges of vertices to come and what they need. */
static inline void look_ahead(const struct localizer *l, uint32_t i)
{
	const struct gr_graph *g = l->g;
	const gr_vertex *original = l->local->original;

	if (i + 3 * GR_AHEAD < l->count)
		gr_prefetch(&g->first[original[i + 3 * GR_AHEAD]]);
	if (i + 2 * GR_AHEAD < l->count)
		gr_prefetch(&g->to[g->first[original[i + 2 * GR_AHEAD]]]);
	if (i + GR_AHEAD >= l->count)
		return;
	gr_vertex v = original[i + GR_AHEAD];
	uint32_t start = g->first[v], end = g->first[v + 1];
	if (end - start > 4)
		end = start + 4;
	for (uint32_t e = start; e < end; e++)
		gr_prefetch(&l->local_of[g->to[e]]);
}

static void edge_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct localizer *l = ctx;
	const struct gr_graph *g = l->g;

	for (uint32_t i = start; i < end; i++) {
		gr_vertex v = l->local->original[i];
		look_ahead(l, i);
		l->local->first[i] = l->nedges;
		l->local->number[i] = GR_VERTEX_NONE;
		for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
			gr_vertex w = g->to[e];
			if (w != v && gr_bitmap_test(l->members, w))
				l->local->to[l->nedges++] = l->local_of[w];
		}
	}
	l->local->first[end] = l->nedges;
}

static struct gr_error *run(struct localizer *l, const struct gr_poll *poll)
{
	struct gr_error *err =
		gr_poll_pieces(poll, l->g->nreached, place_piece, l);

	assert(err || l->count == l->local->count);
	if (!err)
		err = gr_poll_pieces(poll, l->count, parent_piece, l);
	if (!err)
		err = gr_poll_pieces_back(poll, l->count, size_piece, l);
	if (!err)
		err = gr_poll_pieces(poll, l->count, preorder_piece, l);
	if (!err)
		err = gr_poll_pieces(poll, l->count, number_piece, l);
	if (!err)
		err = gr_poll_pieces(poll, l->count, edge_piece, l);
	return err;
}

static bool arrays_alloc(struct gr_local_graph *local, const struct gr_graph *g,
			 uint32_t count)
{
	struct gr_budget *budget = g->budget;
	// Each has one edge from its parent, and all others are extra.
	uint64_t max_edges = (uint64_t)count + g->nextra;

	local->count = count;
	local->first = gr_array_alloc(budget, (uint64_t)count + 1, 4);
	local->to = gr_array_alloc(budget, max_edges, 4);
	local->original = gr_array_alloc(budget, count, 4);
	local->number = gr_array_alloc(budget, count, 4);
	return local->first && local->to && local->original && local->number;
}

struct gr_error *gr_local_graph_init(struct gr_local_graph *local,
				     const struct gr_graph *g,
				     const uint64_t *members,
				     struct gr_depth_first *scratch,
				     uint32_t count, uint32_t *local_of,
				     const struct gr_poll *poll)
{
	struct localizer l = {
		.g = g,
		.members = members,
		.local_of = local_of,
		.local = local,
		.vertex = scratch->vertex,
		.parent = scratch->parent,
		.size = scratch->cursor,
		.preorder = scratch->head,
	};

	memset(local, 0, sizeof(*local));
	struct gr_error *err = arrays_alloc(local, g, count) ?
				       run(&l, poll) :
				       gr_budget_error(g->budget);
	if (err)
		gr_local_graph_deinit(local);
	return err;
}

void gr_local_graph_deinit(struct gr_local_graph *local)
{
	gr_array_free(local->first);
	gr_array_free(local->to);
	gr_array_free(local->original);
	gr_array_free(local->number);
	memset(local, 0, sizeof(*local));
}
