// SPDX-License-Identifier: Apache-2.0
#include "retention/billed.h"

#include "mark/parents.h"
#include "scan/answers.h"
#include "scan/kept_walk.h"

struct gr_error *gr_billed_init(struct gr_billed *billed,
				struct gr_answers *answers, uint32_t *number_of)
{
	struct gr_error *err =
		gr_kept_walk_need(answers, GR_ATTRIBUTION_NEAREST);

	*billed = (struct gr_billed){ .answers = answers,
				      .number_of = number_of };
	if (err)
		return err;
	const struct gr_stack_object_vector *stacks =
		&answers->kept_walk->m.parents->on_stack;
	for (size_t i = 0; i < stacks->size; i++) {
		const struct gr_frame_object *object = &stacks->data[i];
		if (gr_keys_find(&billed->goroutines, object->obj, 0) ==
			    UINT32_MAX &&
		    !gr_keys_add(&billed->goroutines, object->obj, 0,
				 object->goroutine))
			return &gr_enomem;
	}
	for (gr_vertex v = 0; v < answers->graph->graph->nobjects; v++)
		number_of[v] = UINT32_MAX;
	return NULL;
}

void gr_billed_deinit(struct gr_billed *billed)
{
	gr_keys_deinit(&billed->goroutines);
}

/* The number of an object, to read or to set. The objects of a chain are all
 * reached. */
static uint32_t *number_at(const struct gr_billed *billed, gr_obj obj)
{
	return &billed->number_of[gr_objects_rank(
		billed->answers->graph->graph->objects, obj)];
}

static gr_obj object_above(const struct gr_billed *billed, gr_obj obj)
{
	const struct gr_marking *m = &billed->answers->kept_walk->m;

	return gr_parents_above(m->parents, &m->tree, obj);
}

static struct gr_billed_root root_of(const struct gr_billed *billed,
				     gr_obj first)
{
	const struct gr_marking *m = &billed->answers->kept_walk->m;
	uint32_t top =
		gr_parents_top(&m->tree, gr_parents_node(m->parents, first));

	return (struct gr_billed_root){
		.root = &m->tree.roots.data[m->tree.nodes.data[top].root],
		.goroutine = gr_keys_find(&billed->goroutines, first, 0),
	};
}

/* Number the chain of an object: up to where a number is known, and again from
 * the object on to set it. So each object is passed twice at most. */
static struct gr_error *number_chain(
	struct gr_billed *billed, gr_obj obj,
	struct gr_error *(*number)(void *ctx, const struct gr_billed_root *root,
				   uint32_t *ret),
	void *ctx)
{
	struct gr_runtime *rt = &billed->answers->stop->program->rt;
	struct gr_error *err = NULL;
	gr_obj first = obj;
	uint32_t ret;

	for (gr_obj o = obj;
	     !err && o != GR_OBJ_NONE && *number_at(billed, o) == UINT32_MAX;
	     o = object_above(billed, o)) {
		first = o;
		err = gr_runtime_step(rt, 1);
	}
	if (err)
		return err;
	gr_obj above = object_above(billed, first);
	if (above != GR_OBJ_NONE) {
		ret = *number_at(billed, above);
	} else {
		struct gr_billed_root root = root_of(billed, first);
		err = number(ctx, &root, &ret);
	}
	for (gr_obj o = obj; !err && o != above; o = object_above(billed, o))
		*number_at(billed, o) = ret;
	return err;
}

struct gr_error *gr_billed_number(
	struct gr_billed *billed,
	struct gr_error *(*number)(void *ctx, const struct gr_billed_root *root,
				   uint32_t *ret),
	void *ctx)
{
	struct gr_object_iterator c =
		gr_objects_begin(billed->answers->graph->graph->objects);
	struct gr_error *err = NULL;

	// A walk bills no blocks of C.
	while (!err && gr_objects_next(&c) &&
	       !gr_vertex_is_block(billed->answers->graph->graph, c.vertex))
		if (billed->number_of[c.vertex] == UINT32_MAX)
			err = number_chain(billed, c.slot, number, ctx);
	return err;
}
