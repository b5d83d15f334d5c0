// SPDX-License-Identifier: Apache-2.0
/* Objects: instances, object arrays, primitive arrays. */
#include "export/hprof_internal.h"

enum {
	INSTANCE_BYTES = 1 + 2 * GR_HPROF_ID_BYTES + 8,
	OBJECTS_BYTES = 1 + 2 * GR_HPROF_ID_BYTES + 8,
	PRIMITIVES_BYTES = 1 + GR_HPROF_ID_BYTES + 9,
};

/* Arrays are cut behind the elements that Java has, and the bytes that a record
 * has. */
enum { MAX_ELEMENTS = INT32_MAX - 8 };
#define MAX_ARRAY_BYTES (UINT64_C(0xffffffff) - 64)

/* A reference of an object: the index of its field or element. */
struct reference {
	uint64_t index;
	gr_vertex to;
};
GR_VECTOR(reference_vector, struct reference);

struct writer {
	struct gr_hprof *h;
	struct gr_link_reader reader;
	struct gr_shape *shape;
	struct reference_vector references; /* of the object being written */
};

static struct gr_error *note_link(void *ctx, const struct gr_link *link)
{
	struct writer *w = ctx;
	struct gr_shape_place at = gr_shape_place(w->shape, link->off_bytes);
	struct reference new = { at.unit * w->shape->nrefs + at.ref, link->to };

	w->h->done->references++;
	return reference_vector_append(&w->references, new) ? NULL : &gr_enomem;
}

/* Write @p n references, in the order of their indexes, with zeros between. */
static void put_references(struct writer *w, struct gr_stream *to, uint64_t n)
{
	const struct gr_objects *objects = w->h->answers->graph->graph->objects;
	uint64_t next = 0;

	for (size_t i = 0; i < w->references.size; i++) {
		const struct reference *ref = &w->references.data[i];
		if (ref->index >= n)
			break;
		gr_stream_put_zeros(to,
				    (ref->index - next) * GR_HPROF_ID_BYTES);
		gr_stream_put_u64(to, gr_objects_addr(objects, ref->to));
		next = ref->index + 1;
	}
	gr_stream_put_zeros(to, (n - next) * GR_HPROF_ID_BYTES);
}

static void put_instance(struct writer *w, const struct gr_shaped *object)
{
	uint32_t padding = gr_hprof_padding(w->shape);
	uint32_t bytes = (w->shape->nrefs + padding) * GR_HPROF_ID_BYTES;
	struct gr_stream *to = gr_hprof_dump(w->h, GR_HPROF_INSTANCE,
					     INSTANCE_BYTES + (uint64_t)bytes);

	gr_stream_put_u64(to, object->addr);
	gr_stream_put_u32(to, GR_HPROF_NO_TRACE);
	gr_stream_put_u64(to, w->shape->id);
	gr_stream_put_u32(to, bytes);
	put_references(w, to, w->shape->nrefs);
	gr_stream_put_zeros(to, (uint64_t)padding * GR_HPROF_ID_BYTES);
}

struct gr_stream *gr_hprof_begin_array(struct gr_hprof *h, uint64_t id,
				       uint64_t class_id, uint32_t count)
{
	struct gr_stream *to = gr_hprof_dump(
		h, GR_HPROF_OBJECTS,
		OBJECTS_BYTES + (uint64_t)count * GR_HPROF_ID_BYTES);

	gr_stream_put_u64(to, id);
	gr_stream_put_u32(to, GR_HPROF_NO_TRACE);
	gr_stream_put_u32(to, count);
	gr_stream_put_u64(to, class_id);
	return to;
}

/* Elements so that an array has the bytes of a slot, with the header that
 * readers add; but not fewer than @p least. */
static uint32_t count_elements(struct gr_hprof *h, uint64_t bytes,
			       uint64_t header, uint64_t elem_bytes,
			       uint64_t least)
{
	uint64_t n = bytes > header ? (bytes - header) / elem_bytes : 0;

	if (n < least)
		n = least;
	uint64_t max = MAX_ARRAY_BYTES / elem_bytes;
	if (max > MAX_ELEMENTS)
		max = MAX_ELEMENTS;
	if (n <= max)
		return n;
	h->done->cut++;
	return max;
}

static void put_array(struct writer *w, const struct gr_shaped *object)
{
	const struct reference_vector *refs = &w->references;
	uint64_t least = refs->size ? refs->data[refs->size - 1].index + 1 : 0;
	// Readers align an array's header to 24 bytes.
	uint32_t n = count_elements(w->h, object->slot_bytes, 24,
				    GR_HPROF_ID_BYTES, least);

	put_references(
		w, gr_hprof_begin_array(w->h, object->addr, w->shape->id, n),
		n);
}

static uint32_t bytes_of(enum gr_hprof_type type)
{
	static const uint8_t bytes[GR_HPROF_NTYPES] = {
		[GR_HPROF_BOOLEAN] = 1, [GR_HPROF_FLOAT] = 4,
		[GR_HPROF_DOUBLE] = 8,	[GR_HPROF_BYTE] = 1,
		[GR_HPROF_SHORT] = 2,	[GR_HPROF_INT] = 4,
		[GR_HPROF_LONG] = 8,
	};

	return bytes[type];
}

static void put_primitives(struct writer *w, const struct gr_shaped *object)
{
	enum gr_hprof_type type = w->shape->id;
	uint32_t bytes = bytes_of(type);
	uint32_t n = count_elements(w->h, object->slot_bytes,
				    GR_HPROF_ARRAY_HEADER_BYTES, bytes, 0);
	struct gr_stream *to =
		gr_hprof_dump(w->h, GR_HPROF_PRIMITIVES,
			      PRIMITIVES_BYTES + (uint64_t)n * bytes);

	gr_stream_put_u64(to, object->addr);
	gr_stream_put_u32(to, GR_HPROF_NO_TRACE);
	gr_stream_put_u32(to, n);
	gr_stream_put_u8(to, type);
	gr_stream_put_zeros(to, (uint64_t)n * bytes);
}

static struct gr_error *put_object(void *ctx, const struct gr_shaped *object)
{
	struct writer *w = ctx;
	const struct gr_graph *g = w->h->answers->graph->graph;
	gr_vertex v = object->vertex;
	struct gr_error *err = NULL;

	w->shape = object->shape;
	w->references.size = 0;
	w->h->done->total.objects++;
	w->h->done->total.bytes += object->slot_bytes;
	if (w->shape->references && g->first[v] != g->first[v + 1])
		err = gr_links_each(&w->reader, v, GR_VERTEX_NONE, SIZE_MAX,
				    note_link, w);
	if (err)
		return err;
	switch ((enum gr_shape_form)w->shape->form) {
	case GR_SHAPE_RECORD:
		put_instance(w, object);
		break;
	case GR_SHAPE_ARRAY:
		put_array(w, object);
		break;
	case GR_SHAPE_BYTES:
		put_primitives(w, object);
		break;
	}
	return steal_ptr(w->h->out->err);
}

struct gr_error *gr_hprof_put_objects(struct gr_hprof *h)
{
	struct writer w = { .h = h, .reader = { .answers = h->answers } };
	struct gr_error *err = gr_shapes_each(h->shapes, put_object, &w);

	gr_link_reader_deinit(&w.reader);
	reference_vector_deinit(&w.references);
	return err;
}
