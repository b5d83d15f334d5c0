// SPDX-License-Identifier: Apache-2.0
/*
 * Fields that have one value in all objects of their type. Objects are those
 * that are one struct; structs in arrays and in other structs are not looked
 * at, and the sentence says so.
 */
#include "base/cleanup.h"
#include "waste/checks/by_type.h"
#include "waste/checks/checks.h"
#include "waste/checks/column_scan.h"

enum {
	LEAST_OBJECTS = 100, /* below, one value may be a coincidence */
	NAME_BYTES = 512,
};

/** A type whose objects are scanned. */
struct scanned {
	struct gr_columns *columns; /* NULL: an object was not there */
	uint64_t slot_bytes;	    /* of its objects */
	uint64_t saved_bytes;	    /* by each, once it is settled */
	bool is_settled;
};

static void destroy_scanned(void *entry)
{
	struct scanned *t = entry;

	gr_columns_destroy(t->columns);
	free(t);
}

static struct gr_error *make_scanned(struct gr_waste_run *run,
				     const struct gr_waste_kind *kind,
				     gr_type_id id, void **ret)
{
	bool is_noscan = gr_type_plan_is_empty(kind->plan);
	struct gr_columns *columns;
	struct gr_error *err = gr_columns_create(run->types, id, &columns);

	if (err || !columns)
		return err;
	struct scanned *t = calloc(1, sizeof(*t));
	if (!t) {
		gr_columns_destroy(columns);
		return &gr_enomem;
	}
	t->columns = columns;
	t->slot_bytes = gr_slot_of(&run->classes, kind->unit_bytes, is_noscan);
	*ret = t;
	return NULL;
}

static struct gr_error *begin(struct gr_waste_run *run)
{
	return gr_by_type_begin(run, GR_WASTE_CONSTANT_FIELD,
				(struct gr_by_type){ .make = make_scanned,
						     .destroy =
							     destroy_scanned });
}

static void end(struct gr_waste_run *run)
{
	gr_by_type_end(run, GR_WASTE_CONSTANT_FIELD);
}

static bool applies(struct gr_waste_run *run, const struct gr_waste_kind *kind)
{
	bool is_noscan = gr_type_plan_is_empty(kind->plan);

	// Smaller objects without pointers share a block with others.
	return kind->form == GR_FORM_RECORD &&
	       gr_struct_can_change(gr_types_get(run->types, kind->type)) &&
	       kind->unit_bytes >= (is_noscan ? GR_TINY_BYTES : 1) &&
	       kind->unit_bytes <= GR_COLUMNS_MAX_BYTES &&
	       gr_by_type_need(run->state[GR_WASTE_CONSTANT_FIELD], run, kind,
			       kind->type);
}

static struct gr_error *reached(struct gr_waste_run *run)
{
	struct gr_by_type *types = run->state[GR_WASTE_CONSTANT_FIELD];

	return steal_ptr(types->err);
}

static struct gr_error *look(struct gr_waste_run *run,
			     const struct gr_waste_object *object)
{
	struct scanned *t = gr_by_type_get(run->state[GR_WASTE_CONSTANT_FIELD],
					   object->kind->type);
	const uint8_t *host = object->host;

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

static void settle(const struct gr_waste_run *run, struct scanned *t,
		   bool is_noscan)
{
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
	gr_type_id id = object->kind->type;
	struct scanned *t =
		gr_by_type_get(run->state[GR_WASTE_CONSTANT_FIELD], id);

	if (GR_UNLIKELY(!t->is_settled))
		settle(run, t, object->span->is_noscan);
	if (object->slot_bytes != t->slot_bytes)
		return;
	ret->bytes = t->saved_bytes;
	ret->key = id;
}

static struct gr_error *name(struct gr_waste_run *run, uint64_t key,
			     uint64_t example, const char **type,
			     const char **field, const char **advice)
{
	const struct scanned *t =
		gr_by_type_get(run->state[GR_WASTE_CONSTANT_FIELD], key);
	const struct gr_columns *columns = t->columns;
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
		"are %s in all %s objects that are one such struct.",
		is_zero ? "zero or nil" : "equal",
		gr_number_text(columns->objects).text);
	return *field && *advice ? NULL : &gr_enomem;
}

const struct gr_check gr_check_constant = {
	.id = GR_WASTE_CONSTANT_FIELD,
	.advice = "Remove these fields, or move them out of the struct.",
	.is_for_author = true,
	.begin = begin,
	.reached = reached,
	.end = end,
	.applies = applies,
	.look = look,
	.judge = judge,
	.name = name,
};
