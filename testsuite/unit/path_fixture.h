/* SPDX-License-Identifier: Apache-2.0 */
/**
 * path_fixture: a scan with a few types over made-up memory, for expressions.
 *
 * Included by the one C file of a test or fuzzer, which then is linked without
 * the real image.c.
 */
#pragma once

#include "fake_image.h"
#include "goruntime/types/types_internal.h"
#include "map_layouts.h"
#include "expr/place_internal.h"
#include "scan/stop.h"

#define MEMORY UINT64_C(0x10000)

enum {
	MEMORY_BYTES = 1 << 14,
	T_INT8 = 0,
	T_UINT64,
	T_BOOL,
	T_STRING,
	T_NODE,
	T_NODE_PTR,
	T_SLICE,
	T_ARRAY,
	T_BY_NAME,  /* map[string]Node */
	T_BY_LEVEL, /* map[int8]*Node */
	T_BY_BOOL,  /* map[bool]string */
	T_EFACE,
	T_FLOATS, /* map[complex128]int8: no literal finds a key */
	NTYPES,
	NODE_BYTES = 128,
};

static const struct gr_type_field node_fields[] = {
	{ "next", 0, T_NODE_PTR },   { "list", 8, T_SLICE },
	{ "byName", 32, T_BY_NAME }, { "byLevel", 40, T_BY_LEVEL },
	{ "byBool", 48, T_BY_BOOL }, { "any", 56, T_EFACE },
	{ "text", 72, T_STRING },    { "rows", 88, T_ARRAY },
	{ "floats", 104, T_FLOATS }, { "odd", 112, GR_TYPE_NONE },
};

struct path_fixture {
	struct gr_image image;
	struct gr_gaps gaps;
	struct gr_heap heap;
	struct gr_program program;
	struct gr_stop stop;
	uint8_t *memory;
	uint64_t npolls;
};

static inline struct gr_error *path_poll(void *ctx)
{
	struct path_fixture *f = ctx;

	f->npolls++;
	return NULL;
}

static inline void path_add_type(struct path_fixture *f, const char *name,
				 uint8_t kind, uint64_t bytes, gr_type_id elem,
				 gr_type_id key)
{
	struct gr_type type = {
		.name = name,
		.kind = kind,
		.size_bytes = bytes,
		.elem = elem,
		.key = key,
		.header = GR_TYPE_NONE,
	};

	if (kind == GR_KIND_STRUCT)
		type.nfields = GR_ARRAY_SIZE(node_fields);
	if (kind == GR_KIND_ARRAY)
		type.count = bytes / 8;
	if (!gr_type_vector_append(&f->program.types->types, type))
		abort();
}

static inline void path_add_types(struct path_fixture *f)
{
	const gr_type_id none = GR_TYPE_NONE;

	path_add_type(f, "int8", 3, 1, none, none);
	path_add_type(f, "uint64", 11, 8, none, none);
	path_add_type(f, "bool", GR_KIND_BOOL, 1, none, none);
	path_add_type(f, "string", GR_KIND_STRING, 16, none, none);
	path_add_type(f, "Node", GR_KIND_STRUCT, NODE_BYTES, none, none);
	path_add_type(f, "*Node", GR_KIND_PTR, 8, T_NODE, none);
	path_add_type(f, "[]Node", GR_KIND_SLICE, 24, T_NODE, none);
	path_add_type(f, "[2]*Node", GR_KIND_ARRAY, 16, T_NODE_PTR, none);
	path_add_type(f, "map[string]Node", GR_KIND_MAP, 8, T_NODE, T_STRING);
	path_add_type(f, "map[int8]*Node", GR_KIND_MAP, 8, T_NODE_PTR, T_INT8);
	path_add_type(f, "map[bool]string", GR_KIND_MAP, 8, T_STRING, T_BOOL);
	path_add_type(f, "any", GR_KIND_INTERFACE, 16, none, none);
	path_add_type(f, "map[complex128]int8", GR_KIND_MAP, 8, T_INT8, T_INT8);
	for (size_t i = 0; i < GR_ARRAY_SIZE(node_fields); i++)
		if (!gr_field_vector_append(&f->program.types->fields,
					    node_fields[i]))
			abort();
	f->program.types->types.data[T_FLOATS].key = T_NODE;
}

static inline void path_set_layout(struct gr_layout *layout, bool is_swiss)
{
	memset(layout, 0, sizeof(*layout));
	layout->consts.map_max_key = layout->consts.map_max_elem = 128;
	if (is_swiss)
		map_layout_use_groups(layout);
	else
		map_layout_use_buckets(layout);
}

static inline struct path_fixture *path_fixture_create(void)
{
	struct path_fixture *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	f->memory = fake_add(&f->image, MEMORY, MEMORY_BYTES);
	f->heap.span_bytes = MEMORY_BYTES;
	f->stop.program = &f->program;
	f->stop.image = f->program.rt.image = &f->image;
	f->program.rt.gaps = &f->gaps;
	f->stop.heap = &f->heap;
	f->program.rt.arena = &f->program.arena;
	f->program.rt.poll = path_poll;
	f->program.rt.poll_ctx = f;
	f->program.types = calloc(1, sizeof(*f->program.types));
	if (!f->program.types)
		abort();
	f->program.types->rt = &f->program.rt;
	f->heap.rt = &f->program.rt;
	f->heap.types = f->program.types;
	path_add_types(f);
	return f;
}

static inline void path_fixture_destroy(struct path_fixture *f)
{
	gr_types_destroy(f->program.types);
	gr_arena_deinit(&f->program.arena);
	fake_deinit(&f->image);
	free(f);
}

/* The place of a path behind the Node at the start of the memory. */
static inline struct gr_error *path_walk(struct path_fixture *f,
					 const char *path, struct gr_place *ret)
{
	char whole[8192];

	snprintf(whole, sizeof(whole), "n%s", path);
	*ret = (struct gr_place){
		.name = "n",
		.addr = MEMORY,
		.type = T_NODE,
		.is_variable = true,
	};
	return gr_place_walk(&f->stop, whole, whole + 1, ret);
}
