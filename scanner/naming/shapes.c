// SPDX-License-Identifier: Apache-2.0
#include "naming/shapes.h"

#include "mark/parents.h"
#include "naming/memory_name.h"
#include "naming/shape_words.h"

/* Keys of shapes that objects of all sizes share. No object is that large. */
enum { ARRAY_KEY_SHIFT = 62 };

void gr_shapes_deinit(struct gr_shapes *shapes)
{
	for (size_t i = 0; i < shapes->shapes.size; i++) {
		free(shapes->shapes.data[i].references);
		free(shapes->shapes.data[i].names);
	}
	gr_shape_vector_deinit(&shapes->shapes);
	gr_keys_deinit(&shapes->keys);
}

// --------------------------------------------------------------------- forms

/* The type of the elements of memory with a label, or GR_TYPE_NONE. */
static gr_type_id elem_of(const struct gr_types *types, uint32_t label)
{
	gr_type_id id = label & ~GR_LABEL_FLAGS;
	const struct gr_type *type = gr_types_get(types, id);

	if (!(label & GR_LABEL_DATA))
		return !(label & GR_LABEL_BEGIN) &&
				       type->kind == GR_KIND_ARRAY ?
			       type->elem :
			       GR_TYPE_NONE;
	switch (type->kind) {
	case GR_KIND_SLICE:
		return type->elem;
	case GR_KIND_STRING:
	case GR_KIND_MAP:
	case GR_KIND_CHAN:
	case GR_KIND_FUNC:
		return GR_TYPE_NONE;
	default:
		return type->role == GR_ROLE_HASH_TRIE ? GR_TYPE_NONE : id;
	}
}

static bool is_record(const struct gr_types *types, uint32_t label,
		      uint64_t bytes)
{
	if (label == GR_TYPE_NONE || (label & GR_LABEL_DATA) ||
	    bytes > GR_RECORD_MAX_BYTES)
		return false;
	return (label & GR_LABEL_BEGIN) ||
	       gr_types_get(types, label & ~GR_LABEL_FLAGS)->kind !=
		       GR_KIND_ARRAY;
}

/* Make an array's units its elements, or single words if these have no names. */
static void set_units(const struct gr_types *types, struct gr_shape *shape)
{
	shape->unit_bytes = GR_WORD_BYTES;
	if (shape->type == GR_TYPE_NONE)
		return;
	uint64_t bytes = gr_types_get(types, shape->type)->size_bytes;
	if (bytes && bytes % GR_WORD_BYTES == 0 && bytes <= GR_RECORD_MAX_BYTES)
		shape->unit_bytes = bytes;
	else
		shape->type = GR_TYPE_NONE;
}

/* The name of what an array consists of. */
static const char *unit_name(struct gr_program *program,
			     const struct gr_shape *shape)
{
	const char *name = "unknown";

	if (shape->type != GR_TYPE_NONE)
		return gr_types_get(program->types, shape->type)->name;
	if (shape->label != GR_TYPE_NONE)
		name = gr_memory_name(program, shape->label);
	return name;
}

/* A new shape, without its references. */
static struct gr_shape plan(struct gr_program *program, uint32_t label,
			    uint64_t bytes, bool is_noscan)
{
	struct gr_shape shape = { .label = label, .type = GR_TYPE_NONE };

	if (is_record(program->types, label, bytes)) {
		shape.form = GR_SHAPE_RECORD;
		shape.unit_bytes = bytes;
		shape.type = label & ~GR_LABEL_FLAGS;
		shape.name = gr_memory_name(program, label);
		return shape;
	}
	if (label != GR_TYPE_NONE)
		shape.type = elem_of(program->types, label);
	if (shape.type != GR_TYPE_NONE)
		shape.elem_kind =
			gr_types_get(program->types, shape.type)->kind;
	shape.form = is_noscan ? GR_SHAPE_BYTES : GR_SHAPE_ARRAY;
	if (!is_noscan)
		set_units(program->types, &shape);
	shape.name = unit_name(program, &shape);
	return shape;
}

static struct gr_error *add_shape(struct gr_shapes *shapes,
				  struct gr_shape *shape, bool is_noscan,
				  uint32_t *ret)
{
	if (shape->unit_bytes && !is_noscan) {
		shape->references =
			gr_bitmap_alloc(shape->unit_bytes / GR_WORD_BYTES);
		if (!shape->references)
			return &gr_enomem;
	}
	*ret = shapes->shapes.size;
	if (gr_shape_vector_append(&shapes->shapes, *shape))
		return NULL;
	free(shape->references);
	return &gr_enomem;
}

/* Find or make the shape of objects of one label and size. */
static struct gr_error *find_shape(struct gr_shapes *shapes, uint32_t label,
				   uint64_t bytes, bool is_noscan,
				   uint32_t *ret)
{
	uint64_t key = bytes << 1 | is_noscan;
	uint32_t index = gr_keys_find(&shapes->keys, key, label);
	struct gr_error *err = NULL;

	*ret = index;
	if (GR_LIKELY(index != UINT32_MAX))
		return NULL;
	struct gr_shape shape =
		plan(shapes->answers->stop->program, label, bytes, is_noscan);
	uint64_t common = UINT64_C(1) << ARRAY_KEY_SHIFT | is_noscan;
	bool is_common = shape.form != GR_SHAPE_RECORD;
	if (is_common)
		index = gr_keys_find(&shapes->keys, common, label);
	if (index == UINT32_MAX) {
		err = add_shape(shapes, &shape, is_noscan, &index);
		if (err)
			return err;
		if (is_common &&
		    !gr_keys_add(&shapes->keys, common, label, index))
			return &gr_enomem;
	}
	*ret = index;
	return gr_keys_add(&shapes->keys, key, label, index) ? NULL :
							       &gr_enomem;
}

// ------------------------------------------------------------------- objects

typedef struct gr_error *(*visit_fn)(void *ctx, const struct gr_shaped *object);

static bool is_noscan_at(const struct gr_heap *heap, uint64_t addr)
{
	const struct gr_span *span = gr_heap_span_at(heap, addr);

	return !span || !gr_span_has_edges(span);
}

struct gr_error *gr_shapes_each(struct gr_shapes *shapes, visit_fn visit,
				void *ctx)
{
	const struct gr_objects *objects =
		shapes->answers->graph->graph->objects;
	const struct gr_poll poll =
		gr_runtime_poller(&shapes->answers->stop->program->rt);
	struct gr_ticker ticker = { .poll = &poll };
	struct gr_object_iterator c = gr_objects_begin(objects);
	const struct gr_slot_run *run = NULL;
	struct gr_error *err = NULL;
	bool is_noscan = false;
	uint32_t shape;

	while (!err && gr_objects_next(&c)) {
		if (run != c.run)
			is_noscan = !gr_vertex_is_block(
					    shapes->answers->graph->graph,
					    c.vertex) &&
				    is_noscan_at(shapes->answers->stop->heap,
						 c.run->base);
		run = c.run;
		err = gr_tick(&ticker);
		if (!err)
			err = find_shape(shapes, objects->type[c.vertex],
					 c.bytes, is_noscan, &shape);
		if (err)
			break;
		struct gr_shaped object = {
			.vertex = c.vertex,
			.addr = c.addr,
			.bytes = c.bytes,
			.slot_bytes = run->elem_bytes,
			.shape = &shapes->shapes.data[shape],
		};
		if (object.shape->form == GR_SHAPE_RECORD)
			object.shape->slot_bytes = object.slot_bytes;
		err = visit(ctx, &object);
	}
	return err;
}

struct gr_shape_place gr_shape_place(const struct gr_shape *shape,
				     uint64_t off_bytes)
{
	uint64_t word = off_bytes % shape->unit_bytes / GR_WORD_BYTES;

	return (struct gr_shape_place){
		.unit = off_bytes / shape->unit_bytes,
		.ref = gr_bitmap_count(shape->references, 0, word),
	};
}

// ---------------------------------------------------------------------- make

struct maker {
	struct gr_link_reader reader;
	struct gr_shape *shape; /* of the object whose links are read */
};

static struct gr_error *note_link(void *ctx, const struct gr_link *link)
{
	struct gr_shape *shape = ((struct maker *)ctx)->shape;

	gr_bitmap_set(shape->references,
		      link->off_bytes % shape->unit_bytes / GR_WORD_BYTES);
	return NULL;
}

static struct gr_error *note_object(void *ctx, const struct gr_shaped *object)
{
	struct maker *maker = ctx;
	const struct gr_graph *g = maker->reader.answers->graph->graph;
	gr_vertex v = object->vertex;

	object->shape->objects++;
	// Without a type, each word of an array is a unit.
	if (!object->shape->references || g->first[v] == g->first[v + 1] ||
	    (object->shape->form == GR_SHAPE_ARRAY &&
	     object->shape->type == GR_TYPE_NONE))
		return NULL;
	maker->shape = object->shape;
	return gr_links_each(&maker->reader, v, GR_VERTEX_NONE, SIZE_MAX,
			     note_link, maker);
}

struct gr_error *gr_shapes_make(struct gr_shapes *shapes,
				struct gr_answers *answers)
{
	struct maker maker = { .reader = { .answers = answers } };

	*shapes = (struct gr_shapes){ .answers = answers };
	struct gr_error *err = gr_shapes_each(shapes, note_object, &maker);
	gr_link_reader_deinit(&maker.reader);
	for (size_t i = 0; !err && i < shapes->shapes.size; i++)
		err = gr_shape_add_words(answers->stop->program,
					 &shapes->shapes.data[i]);
	return err;
}
