// SPDX-License-Identifier: Apache-2.0
/* The dominator tree as the result of a walk: what a profile is made of. */
#include "retention/result_dominators.h"

#include "retention/dominators.h"
#include "scan/enter.h"
#include "walks/result_internal.h"

GR_DEFINE_CLEANUP(result, struct gr_result, gr_result_destroy)
GR_DEFINE_CLEANUP(dominators, struct gr_dominators, gr_dominators_destroy)

/* The kind of a row of the first level. Goroutines hold by their stacks; an
 * object that several roots hold is a place of its own. */
static enum gr_root_kind kind_of(const struct gr_dominator *row)
{
	static const enum gr_root_kind kinds[] = {
#define X(id, name) GR_ROOT_##id,
		GR_ROOT_KINDS(X)
#undef X
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(kinds); i++)
		if (gr_root_kind_name(kinds[i]) == row->kind)
			return kinds[i];
	return row->objects ? GR_ROOT_ADDRESS : GR_ROOT_STACK;
}

static bool add_root(struct gr_tree *tree, const char *name,
		     enum gr_root_kind kind, const char *type,
		     struct gr_total total)
{
	const struct gr_root_total root = {
		.name = name,
		.kind = kind,
		.type = *type ? type : NULL,
		.node = tree->nodes.size,
		.total = total,
	};
	const struct gr_node node = {
		.name = name,
		.parent = GR_NODE_NONE,
		.root = tree->roots.size,
		.objects = total.objects,
		.bytes = total.bytes,
	};

	return gr_root_vector_append(&tree->roots, root) &&
	       gr_node_vector_append(&tree->nodes, node);
}

/* Add the node of a row below another node, which no longer counts what the
 * row retains. */
static bool add_node(struct gr_tree *tree, const struct gr_dominator *row,
		     uint32_t parent)
{
	struct gr_node *above = &tree->nodes.data[parent];
	const struct gr_node node = {
		.name = row->name,
		.parent = parent,
		.root = above->root,
		.objects = row->retained_objects,
		.bytes = row->retained_bytes,
	};

	above->objects -= row->retained_objects;
	above->bytes -= row->retained_bytes;
	return gr_node_vector_append(&tree->nodes, node);
}

/* Make a node of each row but the first, which is the program. */
static struct gr_error *add_rows(struct gr_runtime *rt,
				 const struct gr_dominators *found,
				 struct gr_tree *tree)
{
	_cleanup_free_ uint32_t *nodes = /* of the latest row, by level */
		calloc(GR_DOMINATORS_MAX_DEPTH + 2, sizeof(*nodes));
	struct gr_total left = { found->rows->retained_objects,
				 found->rows->retained_bytes };
	struct gr_error *err = NULL;

	if (!nodes)
		return &gr_enomem;
	for (size_t i = 1; !err && i < found->nrows; i++) {
		const struct gr_dominator *row = &found->rows[i];
		const struct gr_total total = { row->retained_objects,
						row->retained_bytes };
		nodes[row->depth] = tree->nodes.size;
		bool is_added =
			row->depth == 1 ?
				add_root(tree, row->name, kind_of(row),
					 row->type, total) :
				add_node(tree, row, nodes[row->depth - 1]);
		if (!is_added)
			return &gr_enomem;
		if (row->depth == 1) {
			left.objects -= total.objects;
			left.bytes -= total.bytes;
		}
		err = i % 4096 ? NULL : gr_runtime_poll(rt);
	}
	if (!err && left.objects &&
	    !add_root(tree, "$other_roots$", GR_ROOT_ADDRESS, "", left))
		err = &gr_enomem;
	return err;
}

/* Find the rows, and make the tree of the view. */
static struct gr_error *make_tree(struct gr_answers *answers,
				  const struct gr_dominators_options *options,
				  struct gr_result *view)
{
	_cleanup_(gr_cleanup_dominators) struct gr_dominators *found = NULL;
	struct gr_error *err = gr_dominators_find(answers, options, &found);

	if (!err)
		err = add_rows(&answers->stop->program->rt, found, &view->tree);
	return err ? err : gr_result_sort_roots(view);
}

struct gr_error *gr_result_dominators(struct gr_scan *scan,
				      const struct gr_result *result,
				      uint32_t max_depth, uint32_t max_nodes,
				      struct gr_result **ret)
{
	struct gr_answers *answers;
	const struct gr_dominators_options options = {
		.max_depth = max_depth,
		.max_rows = max_nodes,
		.is_view = true,
	};
	_cleanup_(gr_cleanup_result) struct gr_result *view =
		calloc(1, sizeof(*view));
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	if (!view)
		return &gr_enomem;
	view->ledger = result->ledger;
	view->weight = result->weight;
	err = gr_scan_enter_weighing(scan, result->weight, &guard, &answers);
	if (!err)
		err = make_tree(answers, &options, view);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(view);
	return err;
}
