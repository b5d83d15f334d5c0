// SPDX-License-Identifier: Apache-2.0
/*
 * Depth-first search (Tarjan, "Depth-first search and linear graph algorithms",
 * 1972). The stack is the path of parents; each vertex keeps a cursor into its
 * edges. Edges outside of the tree are noted while the search meets them, and
 * sorted by their targets in the end: two passes over all edges would cost more
 * than the search.
 */
#include "graph/depth_first.h"

struct gr_error *gr_depth_first_init(struct gr_depth_first *tree,
				     struct gr_budget *budget, uint32_t count,
				     uint32_t nextra)
{
	*tree = (struct gr_depth_first){
		.vertex = gr_array_alloc(budget, count, sizeof(uint32_t)),
		.parent = gr_array_alloc(budget, count, sizeof(uint32_t)),
		.cursor = gr_array_alloc(budget, count, sizeof(uint32_t)),
		.head = gr_array_alloc(budget, (uint64_t)count + 2,
				       sizeof(uint32_t)),
		.edges = gr_array_alloc(budget, nextra,
					sizeof(struct gr_cross_edge)),
	};
	if (tree->vertex && tree->parent && tree->cursor && tree->head &&
	    tree->edges)
		return NULL;
	gr_depth_first_deinit(tree);
	return gr_budget_error(budget);
}

void gr_depth_first_deinit(struct gr_depth_first *tree)
{
	gr_array_free(tree->vertex);
	gr_array_free(tree->parent);
	gr_array_free(tree->cursor);
	gr_array_free(tree->head);
	gr_array_free(tree->preds);
	gr_array_free(tree->edges);
	memset(tree, 0, sizeof(*tree));
}

/* The search between two polls: the vertex at the end of the path. */
struct place {
	uint32_t number;
	gr_vertex vertex;
	uint32_t edge, end; /* its edges that are left */
};

static inline struct place enter(struct gr_depth_first *t,
				 const struct gr_subgraph *sub, gr_vertex v,
				 uint32_t parent)
{
	uint32_t n = t->count++;

	sub->number[v] = n;
	t->vertex[n] = v;
	t->parent[n] = parent;
	t->head[n + 2] = 0;
	return (struct place){ n, v, sub->first[v], sub->first[v + 1] };
}

static inline struct place leave(const struct gr_depth_first *t,
				 const struct gr_subgraph *sub, uint32_t number)
{
	uint32_t n = t->parent[number];
	gr_vertex v = t->vertex[n];

	return (struct place){ n, v, t->cursor[n], sub->first[v + 1] };
}

/* An edge from @p from to @p n. Edges to the root, loops, and a second edge
 * from the parent say nothing about dominators. */
static inline void add_pred(struct gr_depth_first *t, uint32_t from, uint32_t n)
{
	if (!n || n == from || t->parent[n] == from)
		return;
	t->edges[t->nedges++] = (struct gr_cross_edge){ n, from };
	t->head[n + 2]++;
}

/* Go on for GR_GRAPH_POLL_STEPS edges. @return false at the end of the search. */
static inline bool search_some(struct gr_depth_first *t,
			       const struct gr_subgraph *sub,
			       struct place *place, bool has_all)
{
	struct place at = *place;

	for (uint32_t steps = 0; steps < GR_GRAPH_POLL_STEPS; steps++) {
		if (at.edge == at.end) {
			if (!at.number)
				return false;
			at = leave(t, sub, at.number);
			continue;
		}
		gr_vertex v = sub->to[at.edge++];
		if (!has_all && !gr_bitmap_test(sub->members, v))
			continue;
		uint32_t n = sub->number[v];
		if (n != GR_VERTEX_NONE) {
			add_pred(t, at.number, n);
			continue;
		}
		t->cursor[at.number] = at.edge;
		at = enter(t, sub, v, at.number);
	}
	*place = at;
	return true;
}

static void sum_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct gr_depth_first *t = ctx;

	for (uint32_t n = start; n < end; n++)
		t->head[n + 1] += t->head[n];
}

/* The cursor of n is head[n + 1]: in the end it is where those of n + 1 begin. */
static void sort_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct gr_depth_first *t = ctx;

	for (uint32_t i = start; i < end; i++) {
		if (i + 2 * GR_AHEAD < t->nedges) {
			gr_prefetch(
				&t->head[t->edges[i + 2 * GR_AHEAD].to + 1]);
			gr_prefetch(
				&t->preds[t->head[t->edges[i + GR_AHEAD].to +
						  1]]);
		}
		t->preds[t->head[t->edges[i].to + 1]++] = t->edges[i].from;
	}
}

/* The predecessors from the edges: a counting sort. */
static struct gr_error *sort_edges(struct gr_depth_first *t,
				   struct gr_budget *budget,
				   const struct gr_poll *poll)
{
	t->head[0] = t->head[1] = 0;
	t->preds = gr_array_alloc(budget, t->nedges, sizeof(*t->preds));
	if (!t->preds)
		return gr_budget_error(budget);
	struct gr_error *err = gr_poll_pieces(poll, t->count, sum_piece, t);
	if (!err)
		err = gr_poll_pieces(poll, t->nedges, sort_piece, t);
	gr_array_free(steal_ptr(t->edges));
	return err;
}

struct gr_error *gr_depth_first_run(struct gr_depth_first *t,
				    const struct gr_subgraph *sub,
				    struct gr_budget *budget,
				    const struct gr_poll *poll)
{
	struct place place = enter(t, sub, sub->root, 0);
	struct gr_error *err = gr_poll_ask(poll);

	while (!err && (sub->members ? search_some(t, sub, &place, false) :
				       search_some(t, sub, &place, true)))
		err = gr_poll_ask(poll);
	return err ? err : sort_edges(t, budget, poll);
}
