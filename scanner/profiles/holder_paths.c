// SPDX-License-Identifier: Apache-2.0
#include "profiles/holder_paths.h"

void gr_holder_paths_deinit(struct gr_holder_paths *paths)
{
	gr_node_vector_deinit(&paths->nodes);
	gr_root_vector_deinit(&paths->roots);
	gr_u32_vector_deinit(&paths->depths);
	gr_keys_deinit(&paths->children);
	gr_keys_deinit(&paths->tops);
	gr_u32_vector_deinit(&paths->above);
	gr_u32_vector_deinit(&paths->names);
	free(paths->node_of);
}

struct gr_error *gr_holder_paths_init(struct gr_holder_paths *ret,
				      struct gr_answers *answers,
				      uint32_t max_depth, uint32_t max_nodes)
{
	struct gr_stop *stop = answers->stop;
	*ret = (struct gr_holder_paths){ .answers = answers,
					 .max_depth = max_depth,
					 .max_nodes = max_nodes };
	struct gr_error *err =
		gr_kept_walk_need(answers, GR_ATTRIBUTION_NEAREST);

	if (!err)
		err = gr_image_want(stop->image, (uint64_t)stop->heap->nobjs *
							 sizeof(uint32_t));
	if (err)
		return err;
	ret->node_of =
		calloc((size_t)stop->heap->nobjs + 1, sizeof(*ret->node_of));
	return ret->node_of ? NULL : &gr_enomem;
}

/* Add a node to a root; @p parent is GR_NODE_NONE for the root's own. */
static bool add_node(struct gr_holder_paths *paths, const char *name,
		     uint32_t parent, uint32_t root)
{
	const struct gr_node node = { .name = name,
				      .parent = parent,
				      .root = root };
	uint32_t depth =
		parent == GR_NODE_NONE ? 1 : paths->depths.data[parent] + 1;

	return gr_node_vector_append(&paths->nodes, node) &&
	       gr_u32_vector_append(&paths->depths, depth);
}

struct gr_error *gr_holder_paths_add(struct gr_holder_paths *paths,
				     uint32_t node, const char *name,
				     uint32_t *ret)
{
	*ret = (uint32_t)paths->nodes.size;
	return add_node(paths, name, node, paths->nodes.data[node].root) ?
		       NULL :
		       &gr_enomem;
}

/* The node of a root, which has that index in the chains' tree. */
static struct gr_error *find_root(struct gr_holder_paths *paths, uint32_t index,
				  uint32_t *ret)
{
	struct gr_root_total root =
		paths->answers->kept_walk->m.tree.roots.data[index];

	*ret = gr_keys_find(&paths->tops, index, 0);
	if (*ret != UINT32_MAX)
		return NULL;
	*ret = root.node = (uint32_t)paths->nodes.size;
	root.total = (struct gr_total){ 0, 0 };
	return add_node(paths, root.name, GR_NODE_NONE, paths->roots.size) &&
			       gr_root_vector_append(&paths->roots, root) &&
			       gr_keys_add(&paths->tops, index, 0, *ret) ?
		       NULL :
		       &gr_enomem;
}

/* Go down one name, unless a limit is reached. Names are interned. */
static struct gr_error *go_down(struct gr_holder_paths *paths, const char *name,
				uint32_t *node)
{
	uint32_t above = *node;
	uint32_t child = gr_keys_find(&paths->children, (uintptr_t)name, above);

	if (child != UINT32_MAX)
		*node = child;
	if (child != UINT32_MAX ||
	    paths->depths.data[above] >= paths->max_depth ||
	    paths->nodes.size >= paths->max_nodes)
		return NULL;
	struct gr_error *err = gr_holder_paths_add(paths, above, name, node);
	if (!err &&
	    !gr_keys_add(&paths->children, (uintptr_t)name, above, *node))
		err = &gr_enomem;
	return err;
}

/* Go from the node of the object above, or from the root, to an object. */
static struct gr_error *pass_object(struct gr_holder_paths *paths, gr_obj obj,
				    uint32_t *node)
{
	const struct gr_marking *m = &paths->answers->kept_walk->m;
	const struct gr_node *nodes = m->tree.nodes.data;
	uint32_t at = gr_parents_node(m->parents, obj);
	struct gr_error *err = NULL;

	paths->names.size = 0;
	for (; !err && nodes[at].parent != GR_NODE_NONE;
	     at = nodes[at].parent) {
		if (!gr_u32_vector_append(&paths->names, at))
			return &gr_enomem;
		err = gr_runtime_step(&paths->answers->stop->program->rt, 1);
	}
	if (!err && *node == GR_NODE_NONE)
		err = find_root(paths, nodes[at].root, node);
	for (size_t i = paths->names.size; !err && i-- > 0;)
		err = go_down(paths, nodes[paths->names.data[i]].name, node);
	if (!err)
		paths->node_of[obj] = *node + 1;
	return err;
}

struct gr_error *gr_holder_paths_find(struct gr_holder_paths *paths, gr_obj obj,
				      uint32_t *ret)
{
	const struct gr_marking *m = &paths->answers->kept_walk->m;
	struct gr_error *err = NULL;
	gr_obj o = obj;

	paths->above.size = 0;
	for (; !err && o != GR_OBJ_NONE && !paths->node_of[o];
	     o = gr_parents_above(m->parents, &m->tree, o)) {
		if (!gr_u32_vector_append(&paths->above, o))
			return &gr_enomem;
		err = gr_runtime_step(&paths->answers->stop->program->rt, 1);
	}
	*ret = o == GR_OBJ_NONE ? GR_NODE_NONE : paths->node_of[o] - 1;
	for (size_t i = paths->above.size; !err && i-- > 0;)
		err = pass_object(paths, paths->above.data[i], ret);
	return err;
}
