// SPDX-License-Identifier: Apache-2.0
/*
 * Fields that have one value in all objects of their type. Objects are those
 * that are one struct; structs in arrays and in other structs are not looked
 * at, and the sentence says so.
 */
#include "base/cleanup.h"
#include "waste/checks/checks.h"
#include "waste/checks/column_scan.h"

#include <inttypes.h>

enum {
	LEAST_OBJECTS = 100, /* below, one value may be a coincidence */
	NAME_BYTES = 512,
};

/** A type whose objects are scanned. */
struct scanned {
	struct gr_columns *columns; /* NULL: none of it can be told */
	uint64_t slot_bytes;	    /* of its objects */
	uint64_t saved_bytes;	    /* by each, once it is settled */
	bool is_settled;
};

struct state {
	struct scanned *of; /* by type id */
	size_t count;
	struct gr_error *err; /* why a type could not be scanned */
};

static struct gr_error *begin(struct gr_waste_run *run)
{
	struct state *s = calloc(1, sizeof(*s));

	run->state[GR_WASTE_CONSTANT_FIELD] = s;
	if (!s)
		return &gr_enomem;
	s->count = gr_types_count(run->types);
	s->of = calloc(s->count + 1, sizeof(*s->of));
	return s->of ? NULL : &gr_enomem;
}

static void end(struct gr_waste_run *run)
{
	struct state *s = run->state[GR_WASTE_CONSTANT_FIELD];

	if (!s)
		return;
	for (size_t i = 0; s->of && i < s->count; i++)
		gr_columns_destroy(s->of[i].columns);
	gr_error_destroy(s->err);
	free(s->of);
	free(s);
}

static bool applies(struct gr_waste_run *run, const struct gr_waste_kind *kind)
{
	struct state *s = run->state[GR_WASTE_CONSTANT_FIELD];
	bool is_noscan = gr_type_plan_is_empty(kind->plan);

	// Smaller objects without pointers share a block with others.
	if (kind->form != GR_FORM_RECORD || kind->type >= s->count || s->err ||
	    !gr_struct_can_change(gr_types_get(run->types, kind->type)) ||
	    kind->unit_bytes < (is_noscan ? GR_TINY_BYTES : 1) ||
	    kind->unit_bytes > GR_COLUMNS_MAX_BYTES)
		return false;
	struct scanned *t = &s->of[kind->type];
	s->err = gr_columns_create(run->types, kind->type, &t->columns);
	t->slot_bytes = gr_slot_of(&run->classes, kind->unit_bytes, is_noscan);
	return t->columns;
}

static struct gr_error *look(struct gr_waste_run *run,
			     const struct gr_waste_object *object)
{
	struct state *s = run->state[GR_WASTE_CONSTANT_FIELD];
	struct scanned *t = &s->of[object->kind->type];
	const uint8_t *host = object->host;

	if (GR_UNLIKELY(s->err != NULL))
		return steal_ptr(s->err);
	if (!t->columns || !t->columns->nequal ||
	    object->slot_bytes != t->slot_bytes ||
	    object->bytes < object->kind->unit_bytes)
		return NULL;
	if (!host)
		host = gr_waste_content(run, object, 0,
					object->kind->unit_bytes);
	if (host) {
		gr_columns_look(t->columns, host);
		return NULL;
	}
	// Nothing is true of all objects if one of them is not there.
	gr_columns_destroy(t->columns);
	t->columns = NULL;
	return NULL;
}

static void settle(struct gr_waste_run *run, gr_type_id id, bool is_noscan)
{
	struct state *s = run->state[GR_WASTE_CONSTANT_FIELD];
	struct scanned *t = &s->of[id];

	t->is_settled = true;
	if (!t->columns || t->columns->objects < LEAST_OBJECTS ||
	    !t->columns->nequal)
		return;
	uint64_t slot = gr_slot_of(&run->classes, gr_columns_settle(t->columns),
				   is_noscan);
	if (slot < t->slot_bytes)
		t->saved_bytes = t->slot_bytes - slot;
}

static void judge(struct gr_waste_run *run,
		  const struct gr_waste_object *object, struct gr_saving *ret)
{
	const struct state *s = run->state[GR_WASTE_CONSTANT_FIELD];
	gr_type_id id = object->kind->type;
	const struct scanned *t = &s->of[id];

	if (GR_UNLIKELY(!t->is_settled))
		settle(run, id, object->span->is_noscan);
	if (object->slot_bytes != t->slot_bytes)
		return;
	ret->bytes = t->saved_bytes;
	ret->key = id;
}

static struct gr_error *find(struct gr_waste_run *run)
{
	struct state *s = run->state[GR_WASTE_CONSTANT_FIELD];

	return steal_ptr(s->err);
}

static struct gr_error *name(struct gr_waste_run *run, uint64_t key,
			     uint64_t example, const char **type,
			     const char **field, const char **advice)
{
	const struct state *s = run->state[GR_WASTE_CONSTANT_FIELD];
	const struct gr_columns *columns = s->of[key].columns;
	struct gr_arena *arena = run->heap->rt->arena;
	char data[NAME_BYTES];
	struct gr_text text = gr_text_begin(data, sizeof(data));
	bool is_zero = gr_columns_name(columns, &text);

	(void)example;
	*type = gr_types_get(run->types, key)->name;
	*field = gr_arena_intern(arena, data, text.bytes);
	*advice = gr_arena_internf(
		arena,
		"Remove these fields, or move them out of the struct: they "
		"are %s in all %" PRIu64 " objects that are one such struct.",
		is_zero ? "zero or nil" : "equal", columns->objects);
	return *field && *advice ? NULL : &gr_enomem;
}

const struct gr_check gr_check_constant = {
	.id = GR_WASTE_CONSTANT_FIELD,
	.advice = "Remove these fields, or move them out of the struct.",
	.begin = begin,
	.end = end,
	.applies = applies,
	.look = look,
	.judge = judge,
	.find = find,
	.name = name,
};
