// SPDX-License-Identifier: Apache-2.0
#include "waste/objects/check.h"

#include "base/cleanup.h"

void gr_waste_kinds_deinit(struct gr_waste_kinds *kinds)
{
	for (int flags = 0; flags < 4; flags++) {
		struct gr_kind_vector *v = &kinds->by_label[flags];

		for (size_t i = 0; i < v->size; i++)
			free(v->data[i]);
		gr_kind_vector_deinit(v);
	}
	free(kinds->unknown);
	free(kinds->of_way);
	free(kinds->checks_of_way);
}

/* Fill the form and the type of memory that belongs to a value of @p type. */
static void set_data(struct gr_waste_kind *kind, gr_type_id id,
		     const struct gr_type *type)
{
	kind->type = id;
	switch (type->kind) {
	case GR_KIND_SLICE:
		kind->form = type->elem == GR_TYPE_NONE ? GR_FORM_UNKNOWN :
							  GR_FORM_ARRAY;
		kind->type = type->elem;
		return;
	case GR_KIND_STRING:
		kind->form = GR_FORM_STRING;
		return;
	case GR_KIND_MAP:
		kind->form = GR_FORM_MAP;
		return;
	case GR_KIND_CHAN:
	case GR_KIND_FUNC:
		kind->form = GR_FORM_OTHER;
		return;
	default:
		kind->form = type->role == GR_ROLE_HASH_TRIE ? GR_FORM_OTHER :
							       GR_FORM_ARRAY;
	}
}

static void set_form(const struct gr_types *types, struct gr_waste_kind *kind)
{
	gr_type_id id = kind->label & ~(uint32_t)GR_LABEL_FLAGS;
	const struct gr_type *type;

	if (kind->label == GR_TYPE_NONE || id >= gr_types_count(types))
		return;
	type = gr_types_get(types, id);
	if (kind->label & GR_LABEL_DATA) {
		set_data(kind, id, type);
	} else if (kind->label & GR_LABEL_BEGIN) {
		kind->type = id;
	} else if (type->role == GR_ROLE_CLOSURE) {
		kind->form = GR_FORM_OTHER;
		kind->type = id;
	} else if (type->kind == GR_KIND_ARRAY && type->elem != GR_TYPE_NONE) {
		kind->form = GR_FORM_ARRAY;
		kind->type = type->elem;
	} else {
		kind->form = GR_FORM_RECORD;
		kind->type = id;
	}
}

/* The plan of a value, and which checks judge the kind. */
static struct gr_error *complete(struct gr_waste_run *run,
				 struct gr_waste_kind *kind)
{
	bool has_plan = kind->type != GR_TYPE_NONE &&
			kind->form != GR_FORM_STRING &&
			kind->form != GR_FORM_MAP;

	kind->plan = &gr_type_plan_nothing;
	if (has_plan) {
		kind->plan = gr_type_plan_get(&run->plans, kind->type);
		if (!kind->plan) {
			struct gr_error *err = run->plans.err;

			run->plans.err = NULL;
			return err ? err : &gr_enomem;
		}
	}
	if (kind->type != GR_TYPE_NONE)
		kind->unit_bytes =
			gr_types_get(run->types, kind->type)->size_bytes;
	for (int i = 0; i < GR_NWASTE_CHECKS; i++) {
		const struct gr_check *check = gr_waste_check(run, i);

		if (check->applies && gr_waste_is_asked(run, i) &&
		    check->applies(run, kind))
			kind->checks |= 1u << i;
	}
	return NULL;
}

static struct gr_error *make(struct gr_waste_run *run, uint32_t label,
			     struct gr_waste_kind **ret)
{
	_cleanup_free_ struct gr_waste_kind *kind = calloc(1, sizeof(*kind));
	struct gr_error *err;

	if (!kind)
		return &gr_enomem;
	kind->label = label;
	kind->type = GR_TYPE_NONE;
	set_form(run->types, kind);
	err = complete(run, kind);
	if (!err)
		*ret = steal_ptr(kind);
	return err;
}

/* Make room for the kind of type @p id. */
static bool grow(struct gr_kind_vector *v, size_t id)
{
	if (id < v->size)
		return true;
	if (!gr_kind_vector_reserve(v, id + 1))
		return false;
	memset(v->data + v->size, 0, (id + 1 - v->size) * sizeof(*v->data));
	v->size = id + 1;
	return true;
}

/* The kind of a label; it is made if it is new. */
static struct gr_error *find(struct gr_waste_run *run, uint32_t label,
			     const struct gr_waste_kind **ret)
{
	struct gr_waste_kinds *kinds = &run->kinds;
	struct gr_kind_vector *v =
		&kinds->by_label[label >> GR_LABEL_FLAG_SHIFT];
	size_t id = label & ~(uint32_t)GR_LABEL_FLAGS;
	struct gr_waste_kind **kind = &kinds->unknown;
	struct gr_error *err = NULL;

	if (label != GR_TYPE_NONE && id < gr_types_count(run->types)) {
		if (!grow(v, id))
			return &gr_enomem;
		kind = &v->data[id];
	} else {
		label = GR_TYPE_NONE;
	}
	if (GR_UNLIKELY(!*kind))
		err = make(run, label, kind);
	*ret = *kind;
	return err;
}

struct gr_error *gr_waste_kinds_find(struct gr_waste_run *run)
{
	const struct gr_way_vector *ways = &run->parents->ways;
	struct gr_waste_kinds *kinds = &run->kinds;
	struct gr_error *err = NULL;

	kinds->of_way = calloc(ways->size, sizeof(*kinds->of_way));
	kinds->checks_of_way = calloc(ways->size, sizeof(uint32_t));
	if (!kinds->of_way || !kinds->checks_of_way)
		return &gr_enomem;
	for (size_t i = 0; !err && i < ways->size; i++) {
		err = gr_runtime_step(run->heap->rt, 1);
		if (!err)
			err = find(run, ways->data[i].label, &kinds->of_way[i]);
		// The first way is that of objects that are not reached.
		if (!err && i)
			kinds->checks_of_way[i] = kinds->of_way[i]->checks;
	}
	return err;
}
