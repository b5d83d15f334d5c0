// SPDX-License-Identifier: Apache-2.0
/* Sampled objects as the result of a walk: what a profile is made of. A path
 * leads from a root to an object, and goes on with the calls that allocated it,
 * the outermost first. */
#include "profiles/result_sites.h"

#include "profiles/holder_paths.h"
#include "profiles/sites.h"
#include "scan/enter.h"
#include "walks/result_internal.h"

GR_DEFINE_CLEANUP(result, struct gr_result, gr_result_destroy)

/** Sampled objects of one site on one path. */
struct cell {
	uint32_t node, site;
	uint64_t objects;
};
GR_VECTOR(cell_vector, struct cell);

struct viewer {
	struct gr_answers *answers;
	struct gr_sites sites;
	struct gr_holder_paths paths;
	struct gr_keys cell_of; /* (site, node) -> cell */
	struct cell_vector cells;
	struct gr_keys node_of;	    /* (line, node above) -> node of a call */
	struct gr_u32_vector calls; /* of one stack, the innermost first */
	struct gr_u32_vector lines; /* of calls' nodes: line of stacks + 1 */
};

static void viewer_deinit(struct viewer *v)
{
	gr_sites_deinit(&v->sites);
	gr_holder_paths_deinit(&v->paths);
	gr_keys_deinit(&v->cell_of);
	gr_keys_deinit(&v->node_of);
	cell_vector_deinit(&v->cells);
	gr_u32_vector_deinit(&v->calls);
	gr_u32_vector_deinit(&v->lines);
}

static struct gr_error *visit(void *ctx, gr_obj obj, uint32_t site)
{
	struct viewer *v = ctx;
	uint32_t node, index;

	if (!gr_holder_paths_has(&v->paths, obj))
		return NULL;
	struct gr_error *err = gr_holder_paths_find(&v->paths, obj, &node);
	if (err)
		return err;
	index = gr_keys_find(&v->cell_of, site, node);
	if (index == UINT32_MAX) {
		index = (uint32_t)v->cells.size;
		if (!cell_vector_append(&v->cells,
					(struct cell){ node, site, 0 }) ||
		    !gr_keys_add(&v->cell_of, site, node, index))
			return &gr_enomem;
	}
	v->cells.data[index].objects++;
	return NULL;
}

// ---------------------------------------------------------------------- calls

/* Go from a node to the call of a line, which has a node of its own. */
static struct gr_error *add_line(struct viewer *v, uint32_t line,
				 uint32_t *node)
{
	const char *text = v->sites.stacks.lines.data[line].function;
	uint32_t above = *node;

	*node = gr_keys_find(&v->node_of, line, above);
	if (*node != UINT32_MAX)
		return NULL;
	const char *name = gr_arena_intern(&v->answers->stop->program->arena,
					   text, strlen(text));
	if (!name)
		return &gr_enomem;
	struct gr_error *err =
		gr_holder_paths_add(&v->paths, above, name, node);
	if (!err && !gr_keys_add(&v->node_of, line, above, *node))
		err = &gr_enomem;
	while (!err && v->lines.size < v->paths.nodes.size)
		if (!gr_u32_vector_append(&v->lines, 0))
			err = &gr_enomem;
	if (!err)
		v->lines.data[*node] = line + 1;
	return err;
}

/* Put the calls of a stack below a node, the outermost first. */
static struct gr_error *add_stack(struct viewer *v, uint32_t stack,
				  uint32_t *node)
{
	const struct gr_stacks *stacks = &v->sites.stacks;
	struct gr_error *err = NULL;

	v->calls.size = 0;
	for (uint32_t i = stack; i != GR_NO_STACK;
	     i = stacks->stacks.data[i].caller)
		if (!gr_u32_vector_append(&v->calls,
					  stacks->stacks.data[i].call))
			return &gr_enomem;
	for (size_t i = v->calls.size; !err && i-- > 0;) {
		const struct gr_stack_call *call =
			&stacks->calls.data[v->calls.data[i]];

		for (uint32_t k = call->nlines; !err && k-- > 0;)
			err = add_line(v, call->first + k, node);
	}
	return err ? err :
		     gr_runtime_step(&v->answers->stop->program->rt,
				     v->calls.size);
}

/* Count the objects of a cell behind its stack. */
static struct gr_error *add_cell(struct viewer *v, const struct cell *cell)
{
	struct gr_total total =
		gr_site_scale(&v->sites, cell->site, cell->objects);
	uint32_t node = cell->node;
	struct gr_error *err =
		add_stack(v, v->sites.list.data[cell->site].stack, &node);

	if (err)
		return err;
	v->paths.nodes.data[node].objects += total.objects;
	v->paths.nodes.data[node].bytes += total.bytes;
	return NULL;
}

// --------------------------------------------------------------------- answer

/* Source lines of the nodes that have one. */
static struct gr_error *make_lines(const struct viewer *v,
				   struct gr_result *view)
{
	view->lines = calloc(v->paths.nodes.size + 1, sizeof(*view->lines));
	if (!view->lines)
		return &gr_enomem;
	for (size_t i = 0; i < v->lines.size; i++) {
		if (!v->lines.data[i])
			continue;
		const struct gr_stack_line *line =
			&v->sites.stacks.lines.data[v->lines.data[i] - 1];
		view->lines[i] =
			(struct gr_node_line){ line->file, line->line };
	}
	return NULL;
}

/* Make the tree of the nodes, and the totals of the roots. */
static struct gr_error *make_tree(struct viewer *v, struct gr_result *view)
{
	struct gr_error *err = make_lines(v, view);

	if (err)
		return err;
	for (size_t i = 0; i < v->paths.nodes.size; i++) {
		const struct gr_node *node = &v->paths.nodes.data[i];
		struct gr_total *total = &v->paths.roots.data[node->root].total;

		total->objects += node->objects;
		total->bytes += node->bytes;
	}
	view->tree.nodes = v->paths.nodes;
	view->tree.roots = v->paths.roots;
	v->paths.nodes = (struct gr_node_vector){ 0 };
	v->paths.roots = (struct gr_root_vector){ 0 };
	return gr_result_sort_roots(view);
}

static struct gr_error *make_view(struct viewer *v, uint32_t max_depth,
				  uint32_t max_nodes, struct gr_result *view)
{
	struct gr_error *err = gr_sites_read(v->answers->stop, &v->sites);

	if (!err)
		err = gr_holder_paths_init(&v->paths, v->answers, max_depth,
					   max_nodes);
	if (!err)
		err = gr_sites_visit(v->answers->stop, &v->sites, visit, v);
	for (size_t i = 0; !err && i < v->cells.size; i++)
		err = add_cell(v, &v->cells.data[i]);
	return err ? err : make_tree(v, view);
}

static uint64_t count_samples(const struct viewer *v)
{
	uint64_t objects = 0;

	for (size_t i = 0; i < v->cells.size; i++)
		objects += v->cells.data[i].objects;
	return objects;
}

static struct gr_error *answer(struct gr_answers *answers,
			       const struct gr_result *result,
			       uint32_t max_depth, uint32_t max_nodes,
			       struct gr_result **ret)
{
	_cleanup_(gr_cleanup_result) struct gr_result *view =
		calloc(1, sizeof(*view));
	_cleanup_(viewer_deinit) struct viewer v = { .answers = answers };

	if (!view)
		return &gr_enomem;
	view->ledger = result->ledger;
	struct gr_error *err = make_view(&v, max_depth, max_nodes, view);
	view->is_sampled = true;
	view->sampling = (struct gr_result_sampling){
		.rate = v.sites.sampling.rate,
		.objects = count_samples(&v),
		.is_disabled = v.sites.sampling.is_disabled,
		.is_cut = v.sites.is_cut,
	};
	if (!err)
		*ret = steal_ptr(view);
	return err;
}

struct gr_error *gr_result_sites(struct gr_scan *scan,
				 const struct gr_result *result,
				 uint32_t max_depth, uint32_t max_nodes,
				 struct gr_result **ret)
{
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_result *view = NULL;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err && result->weight != GR_WEIGHT_BYTES)
		err = gr_error_format(GR_ERROR_ARGUMENT,
				      "sampled objects have sizes in bytes");
	if (!err)
		err = answer(answers, result, max_depth, max_nodes, &view);
	err = gr_sigbus_guard_end(&guard, err);
	if (err)
		gr_result_destroy(view);
	else
		*ret = view;
	return err;
}
