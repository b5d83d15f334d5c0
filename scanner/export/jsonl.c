// SPDX-License-Identifier: Apache-2.0
#include "export/jsonl.h"

#include "naming/memory_name.h"

#include <inttypes.h>
#include <stdio.h>

GR_VECTOR(name_vector, const char *);

struct writer {
	struct gr_shapes *shapes;
	struct gr_stream *out;
	struct gr_exported *done;
	struct gr_link_reader reader;
	const struct gr_shaped *object; /* whose links are read */
	bool has_reference;
	struct gr_keys type_keys; /* of types, by bytes and label */
	struct name_vector types;
};

static void writer_deinit(struct writer *w)
{
	gr_link_reader_deinit(&w->reader);
	gr_keys_deinit(&w->type_keys);
	name_vector_deinit(&w->types);
}

static const struct gr_graph *graph_of(const struct writer *w)
{
	return w->shapes->answers->graph->graph;
}

static void put_address(struct gr_stream *out, uint64_t addr)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "\"0x%" PRIx64 "\"", addr);

	gr_stream_put(out, text, (size_t)n);
}

static void put_number(struct gr_stream *out, const char *key, uint64_t value)
{
	gr_stream_put_text(out, key);
	gr_stream_put_decimal(out, value);
}

/* The type of an object: `[]main.T`; "" if it is not known. */
static struct gr_error *
find_type(struct writer *w, const struct gr_shaped *object, const char **ret)
{
	uint32_t label = object->shape->label;
	uint32_t index = gr_keys_find(&w->type_keys, object->bytes, label);

	if (index != UINT32_MAX) {
		*ret = w->types.data[index];
		return NULL;
	}
	*ret = gr_memory_name(w->shapes->answers->stop->program, label);
	return gr_keys_add(&w->type_keys, object->bytes, label,
			   w->types.size) &&
			       name_vector_append(&w->types, *ret) ?
		       NULL :
		       &gr_enomem;
}

/* The name of a word of a container. The keys of a map are values of the
 * program: what is in brackets is left out. */
static struct gr_error *put_piece(struct writer *w, const struct gr_link *link)
{
	struct gr_word_name name;
	struct gr_error *err =
		gr_link_name(w->shapes->answers, link, GR_VERTEX_NONE, &name);

	if (err)
		return err;
	if (*name.text != '+')
		gr_link_name_merge(name.text);
	gr_stream_put_json(w->out, name.text);
	return NULL;
}

static struct gr_error *put_name(struct writer *w, const struct gr_link *link)
{
	const struct gr_shape *shape = w->object->shape;
	char text[GR_WORD_NAME_BYTES];

	if (!shape->names)
		return put_piece(w, link);
	struct gr_shape_place at = gr_shape_place(shape, link->off_bytes);
	if (shape->form == GR_SHAPE_RECORD) {
		gr_stream_put_json(w->out, shape->names[at.ref]);
		return NULL;
	}
	snprintf(text, sizeof(text), "[%" PRIu64 "]%s", at.unit,
		 shape->names[at.ref]);
	gr_stream_put_json(w->out, text);
	return NULL;
}

static struct gr_error *put_reference(void *ctx, const struct gr_link *link)
{
	struct writer *w = ctx;

	gr_stream_put_text(w->out,
			   w->has_reference ? ", {\"name\": " : "{\"name\": ");
	w->has_reference = true;
	w->done->references++;
	struct gr_error *err = put_name(w, link);
	gr_stream_put_text(w->out, ", \"address\": ");
	put_address(w->out, gr_objects_addr(graph_of(w)->objects, link->to));
	if (link->is_conservative)
		gr_stream_put_text(w->out, ", \"conservative\": true");
	gr_stream_put_u8(w->out, '}');
	return err;
}

static struct gr_error *put_references(struct writer *w,
				       const struct gr_shaped *object)
{
	const struct gr_graph *g = graph_of(w);
	gr_vertex v = object->vertex;
	struct gr_error *err = NULL;

	gr_stream_put_text(w->out, ", \"references\": [");
	w->object = object;
	w->has_reference = false;
	if (g->first[v] != g->first[v + 1])
		err = gr_links_each(&w->reader, v, GR_VERTEX_NONE, SIZE_MAX,
				    put_reference, w);
	gr_stream_put_text(w->out, "]}\n");
	return err;
}

static struct gr_error *put_object(void *ctx, const struct gr_shaped *object)
{
	struct writer *w = ctx;
	const struct gr_graph *g = graph_of(w);
	gr_vertex above = g->idom[object->vertex];
	const struct gr_sizes retained = gr_graph_retained(g, object->vertex);
	const char *type;
	struct gr_error *err = find_type(w, object, &type);

	if (err)
		return err;
	gr_stream_put_text(w->out, "{\"address\": ");
	put_address(w->out, object->addr);
	gr_stream_put_text(w->out, ", \"type\": ");
	if (*type)
		gr_stream_put_json(w->out, type);
	else
		gr_stream_put_text(w->out, "null");
	put_number(w->out, ", \"bytes\": ", object->bytes);
	put_number(w->out, ", \"slot_bytes\": ", object->slot_bytes);
	put_number(w->out,
		   ", \"retained_bytes\": ", retained.bytes - retained.second);
	put_number(w->out, ", \"retained_c_bytes\": ", retained.second);
	gr_stream_put_text(w->out, ", \"dominator\": ");
	if (above < g->nobjects)
		put_address(w->out, gr_objects_addr(g->objects, above));
	else
		gr_stream_put_text(w->out, "null");
	w->done->total.objects++;
	w->done->total.bytes += object->slot_bytes;
	err = put_references(w, object);
	// After the first failure nothing more is written.
	return err ? err : steal_ptr(w->out->err);
}

struct gr_error *gr_export_jsonl(struct gr_shapes *shapes,
				 struct gr_stream *stream,
				 struct gr_exported *ret)
{
	_cleanup_(writer_deinit) struct writer w = {
		.shapes = shapes,
		.out = stream,
		.done = ret,
		.reader = { .answers = shapes->answers },
	};

	return gr_shapes_each(shapes, put_object, &w);
}
