// SPDX-License-Identifier: Apache-2.0
#include "mark/parents.h"

#include "base/cleanup.h"
#include "base/huge.h"
#include "base/sort.h"

GR_DEFINE_CLEANUP(parents, struct gr_parents, gr_parents_destroy)

enum {
	WAY_SLOTS = 1 << 10,
	/* An object may get a second way, so there may be more ways than
	 * objects; their numbers fit into 28 bits nevertheless. */
	MAX_SHORT_OBJECTS = 1 << 26,
	SHORT_BYTES = 7,
	LONG_BYTES = 8,
};

struct gr_error *gr_parents_create(gr_obj nobjs, struct gr_parents **ret)
{
	const struct gr_way not_reached = { GR_NODE_NONE, GR_TYPE_NONE };
	_cleanup_(gr_cleanup_parents) struct gr_parents *parents =
		calloc(1, sizeof(*parents));

	if (!parents)
		return &gr_enomem;
	parents->way_slots = calloc(WAY_SLOTS, sizeof(*parents->way_slots));
	parents->nway_slots = WAY_SLOTS;
	if (!parents->way_slots ||
	    !gr_way_vector_append(&parents->ways, not_reached))
		return &gr_enomem;
	parents->entry_bytes = nobjs <= MAX_SHORT_OBJECTS ? SHORT_BYTES :
							    LONG_BYTES;
	parents->half_bits = parents->entry_bytes * 4;
	parents->half_mask = (UINT64_C(1) << parents->half_bits) - 1;
	// An entry is loaded as 8 bytes.
	parents->entries =
		gr_huge_calloc((size_t)nobjs + 2, parents->entry_bytes);
	if (!parents->entries)
		return &gr_enomem;
	*ret = steal_ptr(parents);
	return NULL;
}

void gr_parents_destroy(struct gr_parents *parents)
{
	if (!parents)
		return;
	free(parents->entries);
	gr_way_vector_deinit(&parents->ways);
	free(parents->way_slots);
	gr_stack_object_vector_deinit(&parents->on_stack);
	gr_u32_vector_deinit(&parents->anchors);
	free(parents);
}

// ---------------------------------------------------------------------- ways

/* The slot of a way, or the free one where it belongs. */
static uint32_t *way_slot(const struct gr_parents *parents, struct gr_way way)
{
	size_t mask = parents->nway_slots - 1, i = gr_way_hash(way) & mask;
	const struct gr_way *ways = parents->ways.data;

	// Bounded by the table, in which slots are free.
	for (uint32_t index; (index = parents->way_slots[i]);
	     i = (i + 1) & mask)
		if (ways[index].node == way.node &&
		    ways[index].label == way.label)
			break;
	return &parents->way_slots[i];
}

/* Make the table larger before it is half full. */
static bool reserve_slot(struct gr_parents *parents)
{
	size_t n = parents->nway_slots;
	uint32_t *slots;

	if (parents->ways.size < n / 2)
		return true;
	slots = calloc(2 * n, sizeof(*slots));
	if (!slots)
		return false;
	free(parents->way_slots);
	parents->way_slots = slots;
	parents->nway_slots = 2 * n;
	// Bounded by the ways, of which the walk makes one at a time.
	for (size_t i = 1; i < parents->ways.size; i++)
		*way_slot(parents, parents->ways.data[i]) = i;
	return true;
}

uint32_t gr_parents_add_way(struct gr_parents *parents, struct gr_way way)
{
	uint32_t *slot = way_slot(parents, way);

	if (*slot)
		return *slot;
	if (parents->ways.size > parents->half_mask || !reserve_slot(parents) ||
	    !gr_way_vector_append(&parents->ways, way))
		return 0;
	return *way_slot(parents, way) = parents->ways.size - 1;
}

// ------------------------------------------------------------------- anchors

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
	GR_ASSERT(gr_parents_has(parents, obj));
	uint32_t top = gr_parents_top(tree, gr_parents_node(parents, obj));

	// The contents of an object with a finalizer are walked without
	// counting the object: a root leads to them.
	return tree->nodes.data[top].root == UINT32_MAX ?
		       gr_parents_from(parents, obj) :
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
	free(steal_ptr(parents->way_slots));
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
