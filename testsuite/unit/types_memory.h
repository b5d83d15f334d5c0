/* SPDX-License-Identifier: Apache-2.0 */
/**
 * types_memory: types made by hand, by their ids, and fake memory with values
 * of them. Maps are those of releases before 1.24.
 */
#pragma once

#include "suite.h"

#include "fake_image.h"
#include "goruntime/types/types_internal.h"
#include "map_layouts.h"

#define MEMORY UINT64_C(0xc000000000)

struct types_memory {
	struct gr_image image;
	struct gr_runtime rt;
	struct gr_arena arena;
	struct gr_gaps gaps;
	struct gr_types types;
};

/** Begin with @p bytes bytes of zeros at MEMORY.
 * @return These bytes. */
static inline uint8_t *types_memory_init(struct types_memory *m, size_t bytes)
{
	struct gr_layout *layout = &m->rt.layout;

	m->rt.image = &m->image;
	m->rt.arena = &m->arena;
	m->rt.gaps = &m->gaps;
	m->types.rt = &m->rt;
	map_layout_use_buckets(layout);
	layout->consts.map_max_key = 128;
	layout->consts.map_max_elem = 128;
	return fake_add(&m->image, MEMORY, bytes);
}

static inline void types_memory_deinit(struct types_memory *m)
{
	gr_type_vector_deinit(&m->types.types);
	gr_field_vector_deinit(&m->types.fields);
	gr_arena_deinit(&m->arena);
	fake_deinit(&m->image);
}

/** The teardown of a test whose fixture, from calloc(), has a struct
 * types_memory as its first member. */
static inline void types_memory_stop(void *fixture)
{
	types_memory_deinit(fixture);
	free(fixture);
}

/** Add the type @p id, which is the next one. */
static inline void types_memory_add(struct types_memory *m, gr_type_id id,
				    struct gr_type type)
{
	type.header = GR_TYPE_NONE;
	assert_int_equal(id, m->types.types.size);
	assert_true(gr_type_vector_append(&m->types.types, type));
}

/** Add a field to the type that was added last. */
static inline void types_memory_add_field(struct types_memory *m, gr_type_id id,
					  struct gr_type_field field)
{
	struct gr_type *of = &m->types.types.data[id];

	if (!of->nfields++)
		of->first_field = m->types.fields.size;
	assert_true(gr_field_vector_append(&m->types.fields, field));
}
