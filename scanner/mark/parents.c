// SPDX-License-Identifier: Apache-2.0
#include "mark/parents.h"

#include "base/cleanup.h"
#include "base/huge.h"
#include "base/sort.h"

GR_DEFINE_CLEANUP(parents, struct gr_parents, gr_parents_destroy)

struct gr_error *gr_parents_create(gr_obj nobjs, struct gr_parents **ret)
{
	_cleanup_(gr_cleanup_parents) struct gr_parents *parents =
		calloc(1, sizeof(*parents));

	if (!parents)
		return &gr_enomem;
	parents->of = gr_huge_calloc((size_t)nobjs + 1, sizeof(*parents->of));
	if (!parents->of)
		return &gr_enomem;
	*ret = steal_ptr(parents);
	return NULL;
}

void gr_parents_destroy(struct gr_parents *parents)
{
	if (!parents)
		return;
	free(parents->of);
	gr_stack_object_vector_deinit(&parents->on_stack);
	gr_u32_vector_deinit(&parents->anchors);
	free(parents);
}

uint32_t gr_parents_anchor(struct gr_parents *parents, struct gr_tree *tree,
			   gr_type_id type)
{
	struct gr_u32_vector *anchors = &parents->anchors;
	size_t i = type == GR_TYPE_NONE ? 0 : (size_t)type + 1;

	if (i >= anchors->size) {
		if (!gr_u32_vector_reserve(anchors, i + 1)) {
			tree->is_out_of_memory = true;
			return 0;
		}
		memset(anchors->data + anchors->size, 0,
		       (i + 1 - anchors->size) * sizeof(*anchors->data));
		anchors->size = i + 1;
	}
	if (!anchors->data[i])
		anchors->data[i] = gr_tree_anchor(tree) + 1;
	return anchors->data[i] - 1;
}

uint32_t gr_parents_top(const struct gr_tree *tree, uint32_t node)
{
	while (tree->nodes.data[node].parent != GR_NODE_NONE)
		node = tree->nodes.data[node].parent;
	return node;
}

gr_obj gr_parents_above(const struct gr_parents *parents,
			const struct gr_tree *tree, gr_obj obj)
{
	GR_ASSERT(parents->of[obj].node);
	uint32_t top = gr_parents_top(tree, parents->of[obj].node - 1);

	// The contents of an object with a finalizer are walked without
	// counting the object: a root leads to them.
	return tree->nodes.data[top].root == UINT32_MAX ?
		       parents->of[obj].from :
		       GR_OBJ_NONE;
}

static int compare_objects(const void *a, const void *b)
{
	const struct gr_frame_object *x = a, *y = b;

	return (x->obj > y->obj) - (x->obj < y->obj);
}

struct gr_error *gr_parents_finish(struct gr_parents *parents,
				   struct gr_error *(*poll)(void *ctx),
				   void *ctx)
{
	return gr_sort(parents->on_stack.data, parents->on_stack.size,
		       sizeof(*parents->on_stack.data), compare_objects, poll,
		       ctx);
}

uint32_t gr_parents_goroutine(const struct gr_parents *parents, gr_obj obj)
{
	const struct gr_stack_object_vector *rows = &parents->on_stack;
	size_t i = gr_count_before(rows->size, k, rows->data[k].obj < obj);

	return i < rows->size && rows->data[i].obj == obj ?
		       rows->data[i].goroutine :
		       UINT32_MAX;
}
