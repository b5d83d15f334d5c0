// SPDX-License-Identifier: Apache-2.0
/* Classes of types and of packages. */
#include "export/hprof_internal.h"

#include <inttypes.h>

/* Bytes of a class without its fields, and of a field. */
enum {
	CLASS_BYTES =
		1 + GR_HPROF_ID_BYTES + 4 + 6 * GR_HPROF_ID_BYTES + 4 + 3 * 2,
	FIELD_BYTES = GR_HPROF_ID_BYTES + 1,
	STATIC_BYTES = FIELD_BYTES + GR_HPROF_ID_BYTES,
};

static const char padding_name[] = "$padding";
static const char unnamed[] = "$value";

/* Without the dot before the first field. */
static const char *field_name(const char *name)
{
	if (!*name)
		return unnamed;
	return *name == '.' ? name + 1 : name;
}

// ---------------------------------------------------------------------- load

struct gr_error *gr_hprof_load_class(struct gr_hprof *h, const char *name,
				     uint64_t id)
{
	uint64_t string;
	struct gr_error *err = gr_hprof_string(h, name, &string);

	if (err)
		return err;
	gr_hprof_begin(h, GR_HPROF_LOAD_CLASS, 4 + 8 + 4 + 8);
	gr_stream_put_u32(h->out, ++h->nclasses);
	gr_stream_put_u64(h->out, id);
	gr_stream_put_u32(h->out, GR_HPROF_NO_TRACE);
	gr_stream_put_u64(h->out, string);
	return NULL;
}

static struct gr_error *load_new(struct gr_hprof *h, const char *name,
				 uint64_t *ret)
{
	*ret = gr_hprof_new_id(h);
	return gr_hprof_load_class(h, name, *ret);
}

/* The primitive type of the elements of memory without pointers. */
static enum gr_hprof_type element_type(uint8_t kind)
{
	static const uint8_t types[] = {
		GR_HPROF_BYTE,	GR_HPROF_BOOLEAN, GR_HPROF_LONG,
		GR_HPROF_BYTE,	GR_HPROF_SHORT,	  GR_HPROF_INT,
		GR_HPROF_LONG,	GR_HPROF_LONG,	  GR_HPROF_BYTE,
		GR_HPROF_SHORT, GR_HPROF_INT,	  GR_HPROF_LONG,
		GR_HPROF_LONG,	GR_HPROF_FLOAT,	  GR_HPROF_DOUBLE,
	};

	return kind < GR_ARRAY_SIZE(types) ? types[kind] : GR_HPROF_BYTE;
}

/* The class's name of a shape: readers take a bracket at its start for an array
 * of Java's. */
static const char *class_name(struct gr_hprof *h, const struct gr_shape *shape)
{
	struct gr_arena *arena = &h->answers->stop->program->arena;

	if (shape->form == GR_SHAPE_ARRAY)
		return gr_arena_internf(arena, "[L%s;", shape->name);
	const char *name = gr_arena_internf(
		arena, *shape->name == '[' ? "(%s)" : "%s", shape->name);
	// One type may have slots of several sizes; a class has one.
	if (name &&
	    gr_keys_find(&h->class_names, (uintptr_t)name, 0) != UINT32_MAX)
		name = gr_arena_internf(arena, "%s (%" PRIu64 " bytes)", name,
					shape->slot_bytes);
	return name;
}

static struct gr_error *load_names(struct gr_hprof *h,
				   const struct gr_shape *shape)
{
	struct gr_error *err = NULL;
	uint64_t string;

	for (uint32_t i = 0; !err && i < shape->nrefs; i++)
		err = gr_hprof_string(h, field_name(shape->names[i]), &string);
	return err;
}

/* Load the class of a shape. Arrays of one element have one class. */
static struct gr_error *load_shape(struct gr_hprof *h, struct gr_shape *shape,
				   uint32_t index)
{
	struct gr_error *err = NULL;

	if (shape->form == GR_SHAPE_BYTES) {
		shape->id = element_type(shape->elem_kind);
		return NULL;
	}
	const char *name = class_name(h, shape);
	if (!name)
		return &gr_enomem;
	uint32_t same = gr_keys_find(&h->class_names, (uintptr_t)name, 0);
	if (same != UINT32_MAX && shape->form == GR_SHAPE_ARRAY) {
		shape->id = h->shapes->shapes.data[same].id;
		return NULL;
	}
	err = load_new(h, name, &shape->id);
	if (!err && same == UINT32_MAX &&
	    !gr_keys_add(&h->class_names, (uintptr_t)name, 0, index))
		err = &gr_enomem;
	if (!err && shape->form == GR_SHAPE_RECORD)
		err = load_names(h, shape);
	return err;
}

struct gr_error *gr_hprof_load_classes(struct gr_hprof *h)
{
	struct gr_shape_vector *shapes = &h->shapes->shapes;
	uint64_t string;
	struct gr_error *err = gr_hprof_load_java(h);

	if (!err)
		err = gr_hprof_string(h, padding_name, &string);
	for (size_t i = 0; !err && i < shapes->size; i++)
		err = load_shape(h, &shapes->data[i], i);
	return err;
}

// ------------------------------------------------------------------ packages

/* Bytes of a function's or variable's name that are its package. */
static size_t package_bytes(const char *name)
{
	size_t end = strcspn(name, "[("), slash = 0;

	for (size_t i = 0; i < end; i++)
		if (name[i] == '/')
			slash = i + 1;
	return slash + strcspn(name + slash, ".[(");
}

static struct gr_error *add_package(struct gr_hprof *h, const char *name,
				    uint32_t *ret)
{
	struct gr_hprof_package package = { .name = name };
	struct gr_error *err = load_new(h, name, &package.id);

	package.serial = h->nclasses;
	*ret = h->packages.size;
	if (!err && !gr_hprof_package_vector_append(&h->packages, package))
		err = &gr_enomem;
	return err;
}

struct gr_error *gr_hprof_package_of(struct gr_hprof *h, const char *name,
				     uint32_t *ret, const char **rest)
{
	size_t bytes = package_bytes(name);
	// Words of data that no symbol has are called `$data+0x18`.
	bool has_package = name[bytes] == '.';
	const char *package = gr_arena_internf(
		&h->answers->stop->program->arena, "%.*s",
		has_package ? (int)bytes : (int)strlen("runtime"),
		has_package ? name : "runtime");
	const char *text = has_package ? name + bytes + 1 : name;

	*rest = gr_arena_intern(&h->answers->stop->program->arena, text,
				strlen(text));
	if (!package || !*rest)
		return &gr_enomem;
	*ret = gr_keys_find(&h->package_keys, (uintptr_t)package, 0);
	if (*ret != UINT32_MAX)
		return NULL;
	struct gr_error *err = add_package(h, package, ret);
	if (err)
		return err;
	return gr_keys_add(&h->package_keys, (uintptr_t)package, 0, *ret) ?
		       NULL :
		       &gr_enomem;
}

struct gr_error *gr_hprof_package_with_room(struct gr_hprof *h,
					    uint32_t *package)
{
	struct gr_error *err = NULL;

	while (!err &&
	       h->packages.data[*package].nstatics == GR_HPROF_MAX_STATICS) {
		uint32_t full = *package;
		*package = h->packages.data[full].more;
		if (*package)
			continue;
		err = add_package(h, h->packages.data[full].name, package);
		if (!err)
			h->packages.data[full].more = *package;
	}
	return err;
}

// ---------------------------------------------------------------------- dump

uint32_t gr_hprof_padding(const struct gr_shape *shape)
{
	uint64_t words = shape->slot_bytes / GR_WORD_BYTES;
	uint64_t used = GR_HPROF_HEADER_BYTES / GR_WORD_BYTES + shape->nrefs;

	return words > used ? words - used : 0;
}

/* Begin a class; its static fields follow, then its fields. */
static struct gr_stream *begin_class(struct gr_hprof *h, uint64_t id,
				     uint64_t super, uint32_t instance_bytes,
				     uint32_t nstatics, uint32_t nfields)
{
	struct gr_stream *to =
		gr_hprof_dump(h, GR_HPROF_CLASS,
			      CLASS_BYTES + (uint64_t)nstatics * STATIC_BYTES +
				      (uint64_t)nfields * FIELD_BYTES);

	gr_stream_put_u64(to, id);
	gr_stream_put_u32(to, GR_HPROF_NO_TRACE);
	gr_stream_put_u64(to, super);
	gr_stream_put_zeros(to, 5 * GR_HPROF_ID_BYTES);
	gr_stream_put_u32(to, instance_bytes);
	gr_stream_put_u16(to, 0);
	gr_stream_put_u16(to, nstatics);
	return to;
}

static void put_field(struct gr_hprof *h, struct gr_stream *to,
		      const char *name, enum gr_hprof_type type)
{
	gr_stream_put_u64(to, gr_hprof_string_id(h, name));
	gr_stream_put_u8(to, type);
}

void gr_hprof_put_class(struct gr_hprof *h, uint64_t id, uint64_t super,
			uint32_t bytes, const struct gr_hprof_field *fields,
			uint32_t nfields)
{
	struct gr_stream *to = begin_class(h, id, super, bytes, 0, nfields);

	gr_stream_put_u16(to, nfields);
	for (uint32_t i = 0; i < nfields; i++)
		put_field(h, to, fields[i].name, fields[i].type);
}

static void put_record(struct gr_hprof *h, const struct gr_shape *shape)
{
	uint32_t padding = gr_hprof_padding(shape);
	struct gr_stream *to =
		begin_class(h, shape->id, h->java[GR_JAVA_OBJECT],
			    shape->slot_bytes, 0, shape->nrefs + padding);

	gr_stream_put_u16(to, shape->nrefs + padding);
	for (uint32_t i = 0; i < shape->nrefs; i++)
		put_field(h, to, field_name(shape->names[i]), GR_HPROF_OBJECT);
	for (uint32_t i = 0; i < padding; i++)
		put_field(h, to, padding_name, GR_HPROF_LONG);
}

static void put_package(struct gr_hprof *h,
			const struct gr_hprof_package *package)
{
	struct gr_stream *to =
		begin_class(h, package->id, h->java[GR_JAVA_OBJECT],
			    GR_HPROF_HEADER_BYTES, package->nstatics, 0);

	for (uint32_t i = 0; i < package->nstatics; i++) {
		const struct gr_hprof_static *field =
			&h->statics.data[package->first + i];
		put_field(h, to, field->name, GR_HPROF_OBJECT);
		gr_stream_put_u64(to, field->id);
	}
	gr_stream_put_u16(to, 0);
}

static bool is_loaded_for(const struct gr_shape *shape, uint64_t last)
{
	// A class that was loaded for an earlier shape has a lower number.
	return shape->form != GR_SHAPE_BYTES && shape->id > last;
}

static void put_shapes(struct gr_hprof *h)
{
	const struct gr_shape_vector *shapes = &h->shapes->shapes;
	uint64_t last = 0;

	for (size_t i = 0; i < shapes->size; i++) {
		const struct gr_shape *shape = &shapes->data[i];
		if (!is_loaded_for(shape, last))
			continue;
		last = shape->id;
		if (shape->form == GR_SHAPE_RECORD)
			put_record(h, shape);
		else
			gr_hprof_put_class(h, shape->id,
					   h->java[GR_JAVA_OBJECT], 0, NULL, 0);
	}
}

static void put_root(struct gr_hprof *h, uint64_t id)
{
	gr_stream_put_u64(gr_hprof_dump(h, GR_HPROF_ROOT_CLASS,
					1 + GR_HPROF_ID_BYTES),
			  id);
}

/* No object keeps its class alive: all classes are roots. */
static void put_roots(struct gr_hprof *h)
{
	const struct gr_shape_vector *shapes = &h->shapes->shapes;
	uint64_t last = 0;

	for (size_t i = 0; i < GR_NJAVA; i++)
		put_root(h, h->java[i]);
	for (size_t i = 0; i < shapes->size; i++) {
		if (!is_loaded_for(&shapes->data[i], last))
			continue;
		last = shapes->data[i].id;
		put_root(h, last);
	}
	for (size_t i = 0; i < h->packages.size; i++)
		put_root(h, h->packages.data[i].id);
}

void gr_hprof_put_classes(struct gr_hprof *h)
{
	gr_hprof_put_java(h);
	put_shapes(h);
	for (size_t i = 0; i < h->packages.size; i++)
		put_package(h, &h->packages.data[i]);
	put_roots(h);
}
