// SPDX-License-Identifier: Apache-2.0
/* One walk over the dominator tree, which counts how many vertices of each kind
 * lie above. */
#include "graph/topmost.h"

#include "base/vector.h"
#include "graph/children.h"

/* A vertex whose children are being visited. */
struct visit {
	gr_vertex vertex;
	uint32_t next; /* child */
};
GR_VECTOR(visit_vector, struct visit);

struct walk {
	const struct gr_graph *g;
	const uint32_t *kinds;
	uint32_t *above; /* by kind: vertices on the way from the top */
	struct gr_sizes *retained;
	struct visit_vector stack;
};

static void walk_deinit(struct walk *w)
{
	free(w->above);
	visit_vector_deinit(&w->stack);
}

static bool enter(struct walk *w, gr_vertex v)
{
	const struct visit visit = { v, 0 };

	if (v < w->g->nobjects && !w->above[w->kinds[v]]++)
		w->retained[w->kinds[v]] = gr_sizes_add(
			w->retained[w->kinds[v]], gr_graph_retained(w->g, v));
	return visit_vector_append(&w->stack, visit);
}

static void leave(struct walk *w)
{
	gr_vertex v = w->stack.data[--w->stack.size].vertex;

	if (v < w->g->nobjects)
		w->above[w->kinds[v]]--;
}

struct gr_error *gr_graph_topmost(const struct gr_graph *g,
				  const uint32_t *kinds, uint32_t nkinds,
				  const struct gr_poll *poll,
				  struct gr_sizes *retained)
{
	_cleanup_(walk_deinit) struct walk w = {
		.g = g,
		.kinds = kinds,
		.above = calloc((size_t)nkinds + 1, sizeof(*w.above)),
		.retained = retained,
	};
	struct gr_ticker ticker = { .poll = poll };
	struct gr_error *err = NULL;

	if (!w.above || !enter(&w, gr_graph_top(g)))
		return &gr_enomem;
	while (!err && w.stack.size) {
		struct visit *last = &w.stack.data[w.stack.size - 1];
		struct gr_children c = gr_graph_children(g, last->vertex);
		if (last->next == c.count)
			leave(&w);
		else if (!enter(&w, c.vertices[last->next++]))
			return &gr_enomem;
		err = gr_tick(&ticker);
	}
	return err;
}
