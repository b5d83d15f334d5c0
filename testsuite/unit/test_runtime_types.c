// SPDX-License-Identifier: Apache-2.0
/* Types made from the runtime's records, where these repeat themselves. */
#include "goruntime/types/abi_type.h"
#include "goruntime/types/types_internal.h"

#include "base/arena.h"
#include "fake_image.h"
#include "suite.h"
#include "abi_type_layout.h"

enum {
	TYPES = 0x500000,
	TYPES_BYTES = 1 << 20,
	RECORD_BYTES = 0x80,
};
#define FIELDS UINT64_C(0x2000000)

struct fixture {
	struct gr_image image;
	struct gr_gaps gaps;
	struct gr_arena arena;
	struct gr_runtime rt;
	struct gr_types *types;
	struct gr_module module;
};

static struct fixture *setup(void)
{
	struct fixture *f = suite_alloc(sizeof(*f));

	f->rt.image = &f->image;
	f->rt.gaps = &f->gaps;
	f->rt.arena = &f->arena;
	f->types = calloc(1, sizeof(*f->types));
	assert_non_null(f->types);
	f->types->rt = &f->rt;
	set_type_layout(&f->rt.layout);
	fake_add(&f->image, TYPES, TYPES_BYTES);
	return f;
}

static void teardown(struct fixture *f)
{
	gr_types_destroy(f->types);
	gr_arena_deinit(&f->arena);
	fake_deinit(&f->image);
	free(f);
}

#define FIXTURE struct fixture *f, setup, teardown

static uint64_t record_addr(uint64_t i)
{
	return TYPES + i * RECORD_BYTES;
}

static uint64_t put_record(struct fixture *f, uint64_t i, uint8_t kind,
			   uint64_t bytes)
{
	fake_set(&f->image, record_addr(i), bytes, 8);
	fake_set(&f->image, record_addr(i) + 23, kind, 1);
	return record_addr(i) + TYPE_BYTES;
}

static void put_map(struct fixture *f, uint64_t i, uint64_t part)
{
	uint64_t at = put_record(f, i, GR_KIND_MAP, 8);

	fake_words(&f->image, at, record_addr(part), record_addr(part));
}

static const struct gr_type *make(struct fixture *f, uint64_t i)
{
	gr_type_id id;
	assert_null(gr_types_from_runtime(f->types, record_addr(i), &id));
	assert_int_not_equal(id, GR_TYPE_NONE);
	return gr_types_get(f->types, id);
}

/* Maps of maps, 30 levels: each name would be twice as long as the last. */
TEST_F(maps_of_maps)
{
	enum { LEVELS = 30 };

	put_record(f, 0, GR_KIND_INT, 8);
	for (uint64_t i = 1; i <= LEVELS; i++)
		put_map(f, i, i - 1);
	assert_in_range(strlen(make(f, LEVELS)->name), 1, 1 << 14);
}

/* A map whose keys and elements are such maps. */
TEST_F(map_of_itself)
{
	put_map(f, 1, 1);
	assert_in_range(strlen(make(f, 1)->name), 1, 100);
}

/* Structs that have the same fields, more than there is memory for types. */
TEST_F(fields_of_all)
{
	enum { NFIELDS = (1 << 16) - 1, NTYPES = 40, MOST = 1 << 20 };
	uint64_t name = FIELDS + UINT64_C(24) * NFIELDS;

	put_record(f, 0, GR_KIND_INT, 8);
	fake_add(&f->image, FIELDS, UINT64_C(24) * NFIELDS + 16);
	fake_set(&f->image, name + 1, 1, 1);
	fake_set(&f->image, name + 2, 'f', 1);
	for (uint64_t i = 0; i < NFIELDS; i++) {
		fake_words(&f->image, FIELDS + i * 24, name, record_addr(0));
	}
	for (uint64_t i = 1; i <= NTYPES; i++) {
		uint64_t at = put_record(f, i, GR_KIND_STRUCT, 8);

		fake_words(&f->image, at + 8, FIELDS, NFIELDS, NFIELDS);
	}
	for (uint64_t i = 1; i <= NTYPES; i++)
		make(f, i);
	assert_in_range(gr_types_field_count(f->types), NFIELDS, MOST);
	assert_true(f->gaps.count[GR_GAP_UNKNOWN_TYPES] > 0);
}

/* Records that begin in each other: at whole words only. */
TEST_F(records_overlap)
{
	gr_type_id id;

	put_record(f, 0, GR_KIND_INT, 8);
	assert_null(gr_types_from_runtime(f->types, record_addr(0) + 1, &id));
	assert_int_equal(id, GR_TYPE_NONE);
}

/* Every text of the module is the name, and no record has it. */
TEST_F(name_everywhere)
{
	struct gr_module module = { .types = TYPES,
				    .etypes = TYPES + TYPES_BYTES };
	uint64_t addr;

	f->rt.modules = &module;
	f->rt.nmodules = 1;
	for (uint64_t i = 0; i + 8 <= TYPES_BYTES; i += 8) {
		fake_set(&f->image, TYPES + i + 1, 4, 1);
		memcpy(fake_find(&f->image, TYPES + i + 2, 4), "main", 4);
	}
	// The last record has the first name.
	uint64_t last = TYPES + TYPES_BYTES - RECORD_BYTES;
	put_record(f, TYPES_BYTES / RECORD_BYTES - 1, GR_KIND_INT, 8);
	fake_set(&f->image, last + 40, 0, 4);
	assert_null(gr_abi_type_find(&f->rt, &module, "main", &addr));
	assert_int_equal(addr, last);
	f->rt.poll = suite_refuse;
	struct gr_error *err = gr_abi_type_find(&f->rt, &module, "main", &addr);
	assert_non_null(err);
	assert_error_code(err, GR_ERROR_INTERRUPTED);
	gr_error_destroy(err);
}

GR_SUITE("types record")
