// SPDX-License-Identifier: Apache-2.0
/*
 * Which types hold pointers. The compiler of plans enters only these, so that
 * nested structs of numbers cost little.
 */
#include "mark/type_holds.h"

#include "base/vector.h"

enum {
	MAX_DEPTH = 40,		/* of types inside types */
	VISITS_A_TYPE = 64,	/* per type and field, in all plans together */
	SPARE_VISITS = 1 << 20, /* in addition to these */
};

/* The values of gr_type_plans.holds: whether a type holds pointers. */
enum gr_holds {
	HOLDS_UNKNOWN,
	HOLDS_BEING_ASKED, /* a type inside itself adds nothing new */
	HOLDS_NOTHING,
	HOLDS_POINTERS, /* possibly: some types are nested too deep to tell */
};

uint64_t gr_type_plans_visits_left(const struct gr_type_plans *plans)
{
	const struct gr_types *types = plans->types;
	uint64_t all =
		(uint64_t)gr_types_count(types) + gr_types_field_count(types);

	all = all * VISITS_A_TYPE + SPARE_VISITS;
	return all > plans->visited ? all - plans->visited : 0;
}

bool gr_type_plans_step(struct gr_type_plans *plans, uint64_t nvisits)
{
	if (plans->is_over)
		return false;
	plans->err = gr_runtime_step(plans->rt, nvisits);
	plans->is_over = plans->err;
	return !plans->err;
}

bool gr_type_holds_grow(struct gr_type_plans *p, size_t count)
{
	size_t old = p->holds_capacity;

	if (count <= old)
		return true;
	if (!gr_vector_grow((void **)&p->holds, &p->holds_capacity, count,
			    sizeof(*p->holds)))
		return false;
	memset(p->holds + old, HOLDS_UNKNOWN, p->holds_capacity - old);
	return true;
}

/* May one more field be looked at? Typedefs of one struct share its fields,
 * which are looked at for each of them. */
static bool pay_visit(struct gr_type_plans *p)
{
	if (!gr_type_plans_visits_left(p))
		return false;
	p->visited++;
	return gr_type_plans_step(p, 1);
}

static bool struct_may_hold(struct gr_type_plans *p, const struct gr_type *type,
			    unsigned int depth)
{
	const struct gr_types *types = p->types;

	if (type->role != GR_ROLE_PLAIN)
		return true;
	for (uint32_t i = 0; i < type->nfields; i++)
		if (!pay_visit(p) ||
		    gr_type_may_hold(p, gr_types_field(types, type, i)->type,
				     depth + 1))
			return true;
	return false;
}

/* Recursion: each type once; visits as in type_plan.c, with polls; 40
 * levels. */
bool gr_type_may_hold(struct gr_type_plans *p, gr_type_id id,
		      unsigned int depth)
{
	const struct gr_type *type = gr_types_get(p->types, id);
	bool ret = false;

	if (p->holds[id] != HOLDS_UNKNOWN)
		return p->holds[id] == HOLDS_POINTERS;
	if (depth > MAX_DEPTH)
		return true;
	p->holds[id] = HOLDS_BEING_ASKED;
	switch (type->kind) {
	case GR_KIND_PTR:
	case GR_KIND_UNSAFE_POINTER:
	case GR_KIND_STRING:
	case GR_KIND_SLICE:
	case GR_KIND_INTERFACE:
	case GR_KIND_MAP:
	case GR_KIND_CHAN:
	case GR_KIND_FUNC:
		ret = true;
		break;
	case GR_KIND_ARRAY:
		ret = type->elem != GR_TYPE_NONE && type->count &&
		      gr_type_may_hold(p, type->elem, depth + 1);
		break;
	case GR_KIND_STRUCT:
		ret = struct_may_hold(p, type, depth);
		break;
	default:
		break;
	}
	p->holds[id] = ret ? HOLDS_POINTERS : HOLDS_NOTHING;
	return ret;
}
