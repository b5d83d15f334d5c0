/* SPDX-License-Identifier: Apache-2.0 */
/**
 * type_table: types made by hand, and the slot plans of them as text.
 */
#pragma once

#include "base/bitmap.h"
#include "goruntime/types/types_internal.h"
#include "mark/type_plan.h"
#include "suite.h"

/* Types that every fixture has, by their ids. */
enum {
	T_INT,
	T_BYTE,
	T_STRING,
	T_SLICE,
	T_BARE_SLICE,
	T_EFACE,
	T_IFACE,
	T_MAP,
	T_CHAN,
	T_FUNC,
	T_UNSAFE,
	T_INT_PTR,
	T_BARE_PTR,
	NFIXED,
};

#define NONE GR_TYPE_NONE

struct fixture {
	struct gr_runtime rt;
	struct gr_arena arena;
	struct gr_types *types;
	struct gr_type_plans plans;
	char text[1 << 16];
	size_t used;
};

static inline gr_type_id add(struct fixture *f, const char *name, uint8_t kind,
			     uint64_t size, gr_type_id elem)
{
	struct gr_type type = {
		.name = name,
		.kind = kind,
		.size_bytes = size,
		.elem = elem,
		.key = NONE,
		.header = NONE,
	};

	assert_true(gr_type_vector_append(&f->types->types, type));
	return f->types->types.size - 1;
}

static inline gr_type_id add_array(struct fixture *f, const char *name,
				   uint64_t size, gr_type_id elem,
				   uint64_t count)
{
	gr_type_id id = add(f, name, GR_KIND_ARRAY, size, elem);

	f->types->types.data[id].count = count;
	return id;
}

static inline gr_type_id add_fields(struct fixture *f, const char *name,
				    uint64_t size,
				    const struct gr_type_field *fields,
				    uint32_t nfields)
{
	gr_type_id id = add(f, name, GR_KIND_STRUCT, size, NONE);

	f->types->types.data[id].first_field = f->types->fields.size;
	f->types->types.data[id].nfields = nfields;
	for (uint32_t i = 0; i < nfields; i++)
		assert_true(
			gr_field_vector_append(&f->types->fields, fields[i]));
	gr_type_set_role(f->types, id);
	return id;
}

#define ADD_STRUCT(f, name, size, ...)                                     \
	add_fields(f, name, size, (struct gr_type_field[]){ __VA_ARGS__ }, \
		   sizeof((struct gr_type_field[]){ __VA_ARGS__ }) /       \
			   sizeof(struct gr_type_field))

static inline void add_fixed(struct fixture *f)
{
	static const struct {
		const char *name;
		uint8_t kind;
		uint8_t size;
		gr_type_id elem;
	} fixed[NFIXED] = {
		[T_INT] = { "int", GR_KIND_INT, 8, NONE },
		[T_BYTE] = { "uint8", 8, 1, NONE },
		[T_STRING] = { "string", GR_KIND_STRING, 16, NONE },
		[T_SLICE] = { "[]int", GR_KIND_SLICE, 24, T_INT },
		[T_BARE_SLICE] = { "[]?", GR_KIND_SLICE, 24, NONE },
		[T_EFACE] = { "interface {}", GR_KIND_INTERFACE, 16, NONE },
		[T_IFACE] = { "error", GR_KIND_INTERFACE, 16, NONE },
		[T_MAP] = { "map[int]int", GR_KIND_MAP, 8, T_INT },
		[T_CHAN] = { "chan int", GR_KIND_CHAN, 8, T_INT },
		[T_FUNC] = { "func()", GR_KIND_FUNC, 8, NONE },
		[T_UNSAFE] = { "unsafe.Pointer", GR_KIND_UNSAFE_POINTER, 8,
			       NONE },
		[T_INT_PTR] = { "*int", GR_KIND_PTR, 8, T_INT },
		[T_BARE_PTR] = { "*?", GR_KIND_PTR, 8, NONE },
	};

	for (size_t i = 0; i < NFIXED; i++)
		add(f, fixed[i].name, fixed[i].kind, fixed[i].size,
		    fixed[i].elem);
	f->types->types.data[T_IFACE].has_itab = true;
}

static inline struct fixture *setup(void)
{
	struct fixture *f = suite_alloc(sizeof(*f));

	f->types = calloc(1, sizeof(*f->types));
	assert_non_null(f->types);
	f->types->rt = &f->rt;
	f->rt.arena = &f->arena;
	add_fixed(f);
	assert_null(gr_type_plans_init(&f->plans, f->types));
	return f;
}

static inline void teardown(struct fixture *f)
{
	gr_type_plans_deinit(&f->plans);
	gr_types_destroy(f->types);
	gr_arena_deinit(&f->arena);
	free(f);
}

// --------------------------------------------------------- plan as text

GR_PRINTF(2, 3)
static inline void put(struct fixture *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(f->text + f->used, sizeof(f->text) - f->used, fmt,
			  ap);
	va_end(ap);
	assert_true(n >= 0 && (size_t)n < sizeof(f->text) - f->used);
	f->used += n;
}

static inline void put_steps(struct fixture *f, const struct gr_type_plan *p,
			     uint32_t step, int depth)
{
	if (step == GR_STEP_SELF)
		return;
	assert_true(step < p->nsteps && depth < 1000);
	put_steps(f, p, p->steps[step].parent, depth + 1);
	put(f, " %s;", p->steps[step].name);
}

static inline const char *type_name(const struct fixture *f, gr_type_id id)
{
	return id == NONE ? "-" : gr_types_get(f->types, id)->name;
}

static inline void put_word(struct fixture *f, const struct gr_type_plan *p,
			    uint32_t word)
{
	static const char *const ops[] = {
		[GR_SLOT_UNKNOWN] = "unknown", [GR_SLOT_POINTER] = "pointer",
		[GR_SLOT_STRING] = "string",   [GR_SLOT_SLICE] = "slice",
		[GR_SLOT_EFACE] = "eface",     [GR_SLOT_IFACE] = "iface",
		[GR_SLOT_HEADER] = "header",   [GR_SLOT_TRIE] = "trie",
		[GR_SLOT_FUNC] = "func",       [GR_SLOT_COUNTED] = "counted",
		[GR_SLOT_REFLECT] = "reflect",
	};

	const struct gr_slot *slot = p->slot_of_word[word];
	assert_true(slot >= p->slots && slot < p->slots + p->nslots);
	assert_true(slot->op < GR_ARRAY_SIZE(ops));
	put(f, "%u %s %s:", word, ops[slot->op], type_name(f, slot->type));
	put_steps(f, p, slot->step, 0);
	put(f, "\n");
}

/* `WORD OP TYPE: STEP; STEP;` a line, then the long arrays. */
static inline const char *program_text(struct fixture *f,
				       const struct gr_type_plan *p)
{
	f->used = 0;
	f->text[0] = '\0';
	for (uint32_t i = 0; i < p->nwords; i++)
		if (gr_bitmap_test(p->mask, i))
			put_word(f, p, i);
	for (uint32_t i = 0; i < p->narrays; i++) {
		const struct gr_array_slot *a = &p->arrays[i];

		put(f, "+%u %u x %s:", (unsigned int)a->off_bytes,
		    (unsigned int)a->count, type_name(f, a->elem));
		put_steps(f, p, a->step, 0);
		put(f, "\n");
	}
	return f->text;
}

/* Does a slot look at words that lie outside of a value of `words` words? */
static inline bool is_outside(enum gr_slot_op op, uint64_t word, uint64_t words)
{
	bool before = op == GR_SLOT_EFACE || op == GR_SLOT_IFACE ||
		      op == GR_SLOT_REFLECT;
	uint64_t after = op == GR_SLOT_SLICE				? 2 :
			 op == GR_SLOT_COUNTED || op == GR_SLOT_REFLECT ? 1 :
									  0;

	return (before && !word) || word + after >= words;
}

/* The walk builds on this: no slot reads outside of the value. */
static inline void assert_inside(struct fixture *f,
				 const struct gr_type_plan *p)
{
	uint64_t words = p->size_bytes / GR_WORD_BYTES;

	if (p->nwords > words)
		fail_msg("%u words of a value of %u bytes", p->nwords,
			 (unsigned int)p->size_bytes);
	for (uint32_t i = 0; i < p->nwords; i++) {
		if (!gr_bitmap_test(p->mask, i))
			continue;
		const struct gr_slot *slot = p->slot_of_word[i];
		if (is_outside(slot->op, i, words))
			fail_msg("what belongs to word %u lies outside", i);
	}
	for (uint32_t i = 0; i < p->narrays; i++) {
		const struct gr_array_slot *a = &p->arrays[i];
		uint64_t size = gr_types_get(f->types, a->elem)->size_bytes;

		if (a->off_bytes > p->size_bytes || !size ||
		    a->count > (p->size_bytes - a->off_bytes) / size)
			fail_msg("array %u lies outside", i);
	}
}

/** A type, and its plan as text; NULL: only that it stays inside. */
struct program_case {
	const char *name;
	gr_type_id (*make)(struct fixture *f);
	const char *want;
};
/* An atomic.Pointer[int] of that name. */
static inline gr_type_id make_atomic(struct fixture *f, const char *name,
				     uint64_t size)
{
	gr_type_id type = add_array(f, "[0]*int", 0, T_INT_PTR, 0);
	gr_type_id gap = add_fields(f, "sync/atomic.noCopy", 0, NULL, 0);

	return ADD_STRUCT(f, name, size, { "_", 0, type }, { "_", 0, gap },
			  { "v", 0, T_UNSAFE });
}

/* The test of one row. */
static inline void check_type_plan(struct fixture *f,
				   const struct program_case *c)
{
	gr_type_id id = c->make(f);
	const struct gr_type_plan *p = gr_type_plan_compile(&f->plans, id);
	assert_non_null(p);
	assert_int_equal(p->size_bytes, gr_types_get(f->types, id)->size_bytes);
	if (c->want)
		assert_string_equal(program_text(f, p), c->want);
	assert_inside(f, p);
	assert_ptr_equal(gr_type_plan_get(&f->plans, id), p);
}

#define FIXTURE struct fixture *f, setup, teardown
