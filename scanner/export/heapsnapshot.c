// SPDX-License-Identifier: Apache-2.0
/* A snapshot with a node for each vertex: node 0 is the top, node v + 1 is
 * vertex v. */
#include "export/heapsnapshot.h"

#include "export/snapshot_merged.h"
#include "export/snapshot_writer.h"
#include "naming/vertex.h"

/* An edge of the object being written. */
struct edge {
	uint8_t type;
	uint32_t name_or_index;
	gr_vertex to;
};
GR_VECTOR(edge_vector, struct edge);

struct writer {
	struct gr_shapes *shapes;
	struct gr_snapshot_writer to;
	struct gr_exported *done;
	struct gr_link_reader reader;
	const struct gr_shape *shape; /* of the object whose links are read */
	struct edge_vector edges;
};

static void writer_deinit(struct writer *w)
{
	gr_snapshot_writer_deinit(&w->to);
	gr_link_reader_deinit(&w->reader);
	edge_vector_deinit(&w->edges);
}

static const struct gr_graph *graph_of(const struct writer *w)
{
	return w->shapes->answers->graph->graph;
}

static uint32_t count_edges(const struct gr_graph *g, gr_vertex v)
{
	return g->first[v + 1] - g->first[v];
}

/* The bytes of an object, as far as the format can tell them. */
static uint64_t size_of(struct writer *w, uint64_t bytes)
{
	if (bytes <= UINT32_MAX)
		return bytes;
	w->done->cut++;
	return UINT32_MAX;
}

static struct gr_error *put_object(void *ctx, const struct gr_shaped *object)
{
	struct writer *w = ctx;

	w->done->total.objects++;
	w->done->total.bytes += object->slot_bytes;
	gr_snapshot_put_node(&w->to,
			     object->shape->form == GR_SHAPE_BYTES ?
				     GR_SNAPSHOT_NATIVE :
				     GR_SNAPSHOT_OBJECT,
			     object->shape->id, size_of(w, object->slot_bytes),
			     count_edges(graph_of(w), object->vertex));
	return steal_ptr(w->to.out->err);
}

/* Write the node of a vertex that is no object. */
static struct gr_error *put_vertex(struct writer *w, gr_vertex v)
{
	struct gr_vertex_info info;
	uint32_t name;
	struct gr_error *err =
		gr_runtime_step(&w->shapes->answers->stop->program->rt, 1);

	if (!err)
		err = gr_vertex_describe(w->shapes->answers, v, &info);
	if (!err)
		err = gr_snapshot_text(&w->to, info.name, &name);
	if (!err)
		gr_snapshot_put_node(&w->to, GR_SNAPSHOT_SYNTHETIC, name, 0,
				     count_edges(graph_of(w), v));
	return err;
}

static struct gr_error *put_nodes(struct writer *w)
{
	const struct gr_graph *g = graph_of(w);
	struct gr_error *err;

	gr_snapshot_begin(&w->to, g->nvertices, g->first[g->nvertices]);
	err = put_vertex(w, gr_graph_top(g));
	if (!err)
		err = gr_shapes_each(w->shapes, put_object, w);
	for (gr_vertex v = g->nobjects; !err && v < gr_graph_top(g); v++)
		err = put_vertex(w, v);
	return err;
}

// --------------------------------------------------------------------- edges

/* The name of a word of an array of records, without the index. */
static struct gr_error *name_element(struct writer *w, const char *field,
				     const char **ret)
{
	*ret = gr_arena_internf(&w->shapes->answers->stop->program->arena,
				"[]%s", field);
	return *ret ? NULL : &gr_enomem;
}

/* The name of a word of a container, without keys. */
static struct gr_error *name_piece(struct writer *w, const struct gr_link *link,
				   const char **ret)
{
	struct gr_answers *answers = w->shapes->answers;
	struct gr_word_name name;
	struct gr_error *err =
		gr_link_name(answers, link, GR_VERTEX_NONE, &name);

	if (err)
		return err;
	gr_link_name_merge(name.text);
	*ret = gr_arena_intern(&answers->stop->program->arena, name.text,
			       strlen(name.text));
	return *ret ? NULL : &gr_enomem;
}

/* The name of a link; NULL: it has an index. */
static struct gr_error *name_link(struct writer *w, const struct gr_link *link,
				  struct gr_shape_place at, const char **ret)
{
	const struct gr_shape *shape = w->shape;

	*ret = NULL;
	if (!shape->names)
		return shape->label == GR_TYPE_NONE ? NULL :
						      name_piece(w, link, ret);
	const char *field = shape->names[at.ref];
	if (shape->form == GR_SHAPE_RECORD)
		*ret = *field == '.' ? field + 1 : field;
	else if (shape->nrefs > 1 || *field)
		return name_element(w, field, ret);
	return NULL;
}

static struct gr_error *note_link(void *ctx, const struct gr_link *link)
{
	struct writer *w = ctx;
	struct gr_shape_place at = gr_shape_place(w->shape, link->off_bytes);
	struct edge edge = { GR_SNAPSHOT_ELEMENT, at.unit, link->to };
	const char *name;
	struct gr_error *err = name_link(w, link, at, &name);

	if (!err && name) {
		edge.type = GR_SNAPSHOT_PROPERTY;
		err = gr_snapshot_text(&w->to, name, &edge.name_or_index);
	}
	if (err)
		return err;
	return edge_vector_append(&w->edges, edge) ? NULL : &gr_enomem;
}

static void put_plain(struct writer *w, gr_vertex v)
{
	const struct gr_graph *g = graph_of(w);

	for (uint32_t i = 0; i < count_edges(g, v); i++)
		gr_snapshot_put_edge(&w->to, GR_SNAPSHOT_ELEMENT, i,
				     g->to[g->first[v] + i] + 1);
}

static struct gr_error *put_links(void *ctx, const struct gr_shaped *object)
{
	struct writer *w = ctx;
	gr_vertex v = object->vertex;
	uint32_t n = count_edges(graph_of(w), v);
	struct gr_error *err = NULL;

	w->shape = object->shape;
	w->edges.size = 0;
	w->done->references += n;
	if (n && w->shape->references)
		err = gr_links_each(&w->reader, v, GR_VERTEX_NONE, SIZE_MAX,
				    note_link, w);
	// The node has been written with so many edges.
	if (err || w->edges.size != n) {
		put_plain(w, v);
		return err;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct edge *edge = &w->edges.data[i];
		gr_snapshot_put_edge(&w->to, edge->type, edge->name_or_index,
				     edge->to + 1);
	}
	return steal_ptr(w->to.out->err);
}

static struct gr_error *put_edges(struct writer *w)
{
	const struct gr_graph *g = graph_of(w);
	struct gr_error *err;

	gr_snapshot_begin_edges(&w->to);
	put_plain(w, gr_graph_top(g));
	err = gr_shapes_each(w->shapes, put_links, w);
	for (gr_vertex v = g->nobjects; !err && v < gr_graph_top(g); v++) {
		err = gr_runtime_step(&w->shapes->answers->stop->program->rt,
				      1);
		put_plain(w, v);
	}
	return err;
}

struct gr_error *gr_export_heapsnapshot(struct gr_shapes *shapes,
					struct gr_stream *stream,
					struct gr_exported *ret)
{
	const struct gr_graph *g = shapes->answers->graph->graph;
	_cleanup_(writer_deinit) struct writer w = {
		.shapes = shapes,
		.to = { .out = stream },
		.done = ret,
		.reader = { .answers = shapes->answers },
	};
	struct gr_error *err = gr_snapshot_name_shapes(&w.to, shapes);

	if (err)
		return err;
	if (g->nvertices > GR_SNAPSHOT_MAX_NODES)
		return gr_snapshot_put_merged(&w.to, shapes, ret);
	err = put_nodes(&w);
	if (!err)
		err = put_edges(&w);
	if (!err)
		gr_snapshot_end(&w.to);
	return err;
}
