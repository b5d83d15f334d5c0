// SPDX-License-Identifier: Apache-2.0
/*
 * Vertices with one name are one node: objects by type, goroutines by function,
 * roots by variable. Between two nodes there is one edge. A node with more
 * bytes than a number of the format can tell has further nodes below it.
 */
#include "export/snapshot_merged.h"

#include "naming/memory_name.h"
#include "naming/vertex.h"

struct node {
	uint32_t name;
	uint8_t type;
	uint64_t bytes;
	uint32_t nedges;
};
GR_VECTOR(node_vector, struct node);

struct edge {
	uint32_t from, to;
};
GR_VECTOR(merged_edge_vector, struct edge);

struct merger {
	struct gr_shapes *shapes;
	struct gr_snapshot_writer *writer;
	struct gr_exported *done;
	struct gr_keys by_name;
	struct node_vector nodes; /* the first one is the top */
	struct gr_keys seen;	  /* edges */
	struct merged_edge_vector edges;
	uint32_t *of; /* the node of each vertex */
	struct gr_ticker ticker;
};

static void merger_deinit(struct merger *m)
{
	gr_keys_deinit(&m->by_name);
	node_vector_deinit(&m->nodes);
	gr_keys_deinit(&m->seen);
	merged_edge_vector_deinit(&m->edges);
	free(m->of);
}

struct gr_error *gr_snapshot_name_shapes(struct gr_snapshot_writer *writer,
					 struct gr_shapes *shapes)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < shapes->shapes.size; i++) {
		struct gr_shape *shape = &shapes->shapes.data[i];
		uint32_t id;
		err = gr_snapshot_text(
			writer,
			shape->label == GR_TYPE_NONE ?
				shape->name :
				gr_memory_name(shapes->answers->stop->program,
					       shape->label),
			&id);
		shape->id = id;
	}
	return err;
}

/* The node of a name; made if it is new. */
static struct gr_error *find_node(struct merger *m, uint32_t name, uint8_t type,
				  uint32_t *ret)
{
	const struct node new = { .name = name, .type = type };

	*ret = gr_keys_find(&m->by_name, name, type);
	if (*ret != UINT32_MAX)
		return NULL;
	*ret = m->nodes.size;
	return gr_keys_add(&m->by_name, name, type, *ret) &&
			       node_vector_append(&m->nodes, new) ?
		       NULL :
		       &gr_enomem;
}

static struct gr_error *add_object(void *ctx, const struct gr_shaped *object)
{
	struct merger *m = ctx;
	uint8_t type = object->shape->form == GR_SHAPE_BYTES ?
			       GR_SNAPSHOT_NATIVE :
			       GR_SNAPSHOT_OBJECT;
	uint32_t node;
	struct gr_error *err = find_node(m, object->shape->id, type, &node);

	if (err)
		return err;
	m->of[object->vertex] = node;
	m->nodes.data[node].bytes += object->slot_bytes;
	m->done->total.objects++;
	m->done->total.bytes += object->slot_bytes;
	return NULL;
}

/* The name of a vertex that is no object: goroutines have that of many. */
static struct gr_error *name_vertex(struct merger *m, gr_vertex v,
				    const char **ret)
{
	struct gr_answers *answers = m->shapes->answers;
	const struct gr_heap_graph *hg = answers->graph;
	struct gr_vertex_info info;
	uint32_t goroutine = v - gr_graph_first_group(hg->graph);

	if (v >= gr_graph_first_group(hg->graph) &&
	    goroutine < hg->ngoroutines) {
		*ret = gr_goroutines_name(&answers->stop->sched, goroutine);
		return *ret ? NULL : &gr_enomem;
	}
	struct gr_error *err = gr_vertex_describe(answers, v, &info);
	*ret = info.name;
	return err;
}

static struct gr_error *add_vertex(struct merger *m, gr_vertex v)
{
	const char *name = NULL;
	uint32_t id;
	struct gr_error *err = gr_tick(&m->ticker);

	if (!err)
		err = name_vertex(m, v, &name);
	if (!err)
		err = gr_snapshot_text(m->writer, name, &id);
	return err ? err : find_node(m, id, GR_SNAPSHOT_SYNTHETIC, &m->of[v]);
}

static struct gr_error *add_nodes(struct merger *m)
{
	const struct gr_graph *g = m->shapes->answers->graph->graph;
	struct gr_error *err = add_vertex(m, gr_graph_top(g));

	if (!err)
		err = gr_shapes_each(m->shapes, add_object, m);
	for (gr_vertex v = g->nobjects; !err && v < gr_graph_top(g); v++)
		err = add_vertex(m, v);
	return err;
}

static struct gr_error *add_edge(struct merger *m, uint32_t from, uint32_t to)
{
	const struct edge edge = { from, to };

	if (gr_keys_find(&m->seen, from, to) != UINT32_MAX)
		return NULL;
	m->nodes.data[from].nedges++;
	return gr_keys_add(&m->seen, from, to, 0) &&
			       merged_edge_vector_append(&m->edges, edge) ?
		       NULL :
		       &gr_enomem;
}

static struct gr_error *add_edges(struct merger *m)
{
	const struct gr_graph *g = m->shapes->answers->graph->graph;
	struct gr_error *err = NULL;

	for (gr_vertex v = 0; !err && v < g->nvertices; v++) {
		err = gr_tick(&m->ticker);
		if (v < g->nobjects)
			m->done->references += g->first[v + 1] - g->first[v];
		for (uint32_t i = g->first[v]; !err && i < g->first[v + 1]; i++)
			err = add_edge(m, m->of[v], m->of[g->to[i]]);
	}
	return err;
}

/* Give the bytes that a node cannot tell to further nodes below it. */
static struct gr_error *split_nodes(struct merger *m)
{
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < m->nodes.size; i++) {
		struct node rest = m->nodes.data[i];
		if (rest.bytes <= UINT32_MAX)
			continue;
		m->nodes.data[i].bytes = UINT32_MAX;
		rest.bytes -= UINT32_MAX;
		rest.nedges = 0;
		if (!node_vector_append(&m->nodes, rest))
			return &gr_enomem;
		err = add_edge(m, i, m->nodes.size - 1);
	}
	return err;
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static void put_all(struct merger *m)
{
	uint32_t from = UINT32_MAX, index = 0;

	qsort(m->edges.data, m->edges.size, sizeof(*m->edges.data),
	      compare_edges);
	gr_snapshot_begin(m->writer, m->nodes.size, m->edges.size);
	for (size_t i = 0; i < m->nodes.size; i++) {
		const struct node *node = &m->nodes.data[i];
		gr_snapshot_put_node(m->writer, node->type, node->name,
				     node->bytes, node->nedges);
	}
	gr_snapshot_begin_edges(m->writer);
	for (size_t i = 0; i < m->edges.size; i++) {
		const struct edge *edge = &m->edges.data[i];
		index = edge->from == from ? index + 1 : 0;
		from = edge->from;
		gr_snapshot_put_edge(m->writer, GR_SNAPSHOT_ELEMENT, index,
				     edge->to);
	}
	gr_snapshot_end(m->writer);
}

struct gr_error *gr_snapshot_put_merged(struct gr_snapshot_writer *writer,
					struct gr_shapes *shapes,
					struct gr_exported *ret)
{
	const struct gr_poll poll =
		gr_runtime_poller(&shapes->answers->stop->program->rt);
	_cleanup_(merger_deinit) struct merger m = {
		.shapes = shapes,
		.writer = writer,
		.done = ret,
		.ticker = { .poll = &poll },
	};
	struct gr_error *err;

	m.of = calloc(shapes->answers->graph->graph->nvertices, sizeof(*m.of));
	if (!m.of)
		return &gr_enomem;
	err = add_nodes(&m);
	if (!err)
		err = add_edges(&m);
	if (!err)
		err = split_nodes(&m);
	if (err)
		return err;
	put_all(&m);
	ret->merged = m.nodes.size;
	return NULL;
}
