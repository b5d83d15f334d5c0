// SPDX-License-Identifier: Apache-2.0
/*
 * Maps with much more room than their entries need: they grew and were emptied,
 * or were made for more. A map never shrinks. All that it has is judged at its
 * header, when that is looked at.
 */
#include "base/cleanup.h"
#include "waste/checks/by_type.h"
#include "waste/checks/checks.h"
#include "waste/checks/map_memory.h"

/** A map that a fresh one would be smaller than. */
struct sparse {
	gr_obj obj;
	uint64_t saved_bytes;
};
GR_VECTOR(sparse_vector, struct sparse);

struct state {
	struct gr_by_type kinds;     /* struct gr_map_kind, of maps */
	struct sparse_vector sparse; /* by object */
	uint64_t steps;		     /* pieces of maps that may be looked at */
};

static struct gr_error *make_kind(struct gr_waste_run *run,
				  const struct gr_waste_kind *kind,
				  gr_type_id id, void **ret)
{
	struct gr_map_kind *map;
	struct gr_error *err =
		gr_map_kind_create(run->heap, &run->classes, id, &map);

	(void)kind;
	*ret = map;
	return err;
}

static struct gr_error *begin(struct gr_waste_run *run)
{
	struct state *s = calloc(1, sizeof(*s));

	run->state[GR_WASTE_SPARSE_MAP] = s;
	if (!s)
		return &gr_enomem;
	// Each piece belongs to one map, and each entry of a directory is a
	// word. More of them means that the heap is damaged.
	s->steps = run->heap->nobjs + run->heap->nwords;
	s->kinds.make = make_kind;
	s->kinds.destroy = free;
	return gr_by_type_init(&s->kinds, run->types);
}

static void end(struct gr_waste_run *run)
{
	struct state *s = run->state[GR_WASTE_SPARSE_MAP];

	gr_by_type_deinit(&s->kinds);
	sparse_vector_deinit(&s->sparse);
	free(s);
}

static bool applies(struct gr_waste_run *run, const struct gr_waste_kind *kind)
{
	struct state *s = run->state[GR_WASTE_SPARSE_MAP];

	return kind->form == GR_FORM_MAP &&
	       gr_by_type_need(&s->kinds, run, kind, kind->type);
}

static struct gr_error *reached(struct gr_waste_run *run)
{
	struct state *s = run->state[GR_WASTE_SPARSE_MAP];

	return steal_ptr(s->kinds.err);
}

static struct gr_error *look(struct gr_waste_run *run,
			     const struct gr_waste_object *object)
{
	struct state *s = run->state[GR_WASTE_SPARSE_MAP];
	const struct gr_map_kind *kind =
		gr_by_type_get(&s->kinds, object->kind->type);
	struct gr_map_facts map;
	uint64_t now, fresh;

	if (!gr_map_may_be_sparse(kind, object->slot_bytes, object->host) ||
	    !gr_map_facts_read(kind, object->slot_bytes, object->host, &map))
		return NULL;
	struct gr_error *err = gr_map_sum(&map, &s->steps, &now, &fresh);
	if (err || now <= fresh)
		return err;
	struct sparse sparse = { object->obj, now - fresh };
	return gr_runtime_append(run->heap->rt, sparse_vector, &s->sparse,
				 sparse);
}

static void judge(struct gr_waste_run *run,
		  const struct gr_waste_object *object, struct gr_saving *ret)
{
	const struct state *s = run->state[GR_WASTE_SPARSE_MAP];
	const struct gr_map_kind *kind =
		gr_by_type_get(&s->kinds, object->kind->type);

	if (object->slot_bytes != kind->header_slot_bytes)
		return;
	size_t i = gr_count_before(s->sparse.size, k,
				   s->sparse.data[k].obj < object->obj);
	if (i == s->sparse.size || s->sparse.data[i].obj != object->obj)
		return;
	ret->bytes = s->sparse.data[i].saved_bytes;
	ret->key = gr_waste_place(run, object->obj);
}

const struct gr_check gr_check_maps = {
	.id = GR_WASTE_SPARSE_MAP,
	.advice = "Copy the entries into a new map of the right size after "
		  "many deletions, or make the map with a smaller size hint: a "
		  "map never shrinks.",
	.is_by_place = true,
	.begin = begin,
	.reached = reached,
	.end = end,
	.applies = applies,
	.look = look,
	.judge = judge,
};
