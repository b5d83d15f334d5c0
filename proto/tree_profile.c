// SPDX-License-Identifier: Apache-2.0
#include "proto/tree_profile.h"

#include "base/cleanup.h"
#include "proto/pprof_stream.h"

static const struct gr_pprof_header header = {
	.types = { { "inuse_objects", "count" }, { "inuse_space", "bytes" } },
	.ntypes = 2,
	.period_type = { "space", "bytes" },
	.period = 1,
	.default_type = "inuse_space",
};

struct writer {
	const struct gr_tree_profile *tree;
	struct gr_pprof_stream stream;
	struct gr_pprof_stack stack;
	uint16_t *depth;	       // of each node; 1: a root
	uint32_t *location_of;	       // place -> location, 0: not yet used
	struct gr_pprof_label *labels; // of the sample that is written
};

static void writer_deinit(struct writer *w)
{
	gr_pprof_deinit(&w->stream);
	gr_pprof_stack_deinit(&w->stack);
	free(w->depth);
	free(w->location_of);
	free(w->labels);
}

static size_t most_labels(const struct gr_tree_profile *tree)
{
	size_t most = 0;

	for (size_t i = 0; i < tree->nlabels; i++)
		if (tree->labels[i].count > most)
			most = tree->labels[i].count;
	return most;
}

// Find the depths of all nodes, and check their indexes.
static struct gr_error *find_depths(struct writer *w)
{
	const struct gr_tree_profile *tree = w->tree;

	for (size_t i = 0; i < tree->nnodes; i++) {
		const struct gr_tree_node *node = &tree->nodes[i];
		bool is_root = node->parent == GR_TREE_NO_PARENT;

		if (node->place >= tree->nplaces ||
		    node->labels >= tree->nlabels ||
		    (!is_root && node->parent >= i))
			return gr_error_format(
				GR_ERROR_ARGUMENT,
				"node %zu of the tree makes no sense", i);
		w->depth[i] = is_root ? 1 : w->depth[node->parent] + 1;
		if (w->depth[i] > GR_TREE_MAX_DEPTH)
			return gr_error_format(GR_ERROR_ARGUMENT,
					       "the tree is too deep");
	}
	return NULL;
}

static struct gr_error *writer_alloc(struct writer *w)
{
	const struct gr_tree_profile *tree = w->tree;

	w->depth = calloc(tree->nnodes + 1, sizeof(*w->depth));
	w->location_of = calloc(tree->nplaces + 1, sizeof(*w->location_of));
	w->labels = calloc(most_labels(tree) + 1, sizeof(*w->labels));
	if (!w->depth || !w->location_of || !w->labels)
		return &gr_enomem;
	struct gr_error *err = find_depths(w);
	return err ? err : gr_pprof_stack_init(&w->stack, GR_TREE_MAX_DEPTH);
}

// The location of a place. It is added at the first use.
static uint32_t location_of(struct writer *w, uint32_t place)
{
	const struct gr_tree_place *at = &w->tree->places[place];
	const struct gr_pprof_line line = { at->name, at->file, at->line,
					    at->line };

	if (!w->location_of[place])
		w->location_of[place] =
			gr_pprof_location(&w->stream, 0, &line, 1);
	return w->location_of[place];
}

// Put the path of a node on the stack. What is pushed at a depth is found from
// its end, so that the leaf is pushed last.
static void push_path(struct writer *w, size_t index)
{
	uint32_t chain[GR_TREE_MAX_DEPTH];
	size_t depth = w->depth[index];
	uint32_t at = (uint32_t)index;

	for (size_t i = depth; i-- > 0; at = w->tree->nodes[at].parent)
		chain[i] = w->tree->nodes[at].place;
	for (size_t i = 0; i < depth; i++)
		gr_pprof_stack_push(&w->stack, i, location_of(w, chain[i]));
}

static struct gr_error *write_node(struct writer *w, size_t index)
{
	const struct gr_tree_node *node = &w->tree->nodes[index];
	const struct gr_tree_labels *labels = &w->tree->labels[node->labels];
	const int64_t values[] = { node->objects, node->bytes };

	if (!node->objects && !node->bytes)
		return NULL;
	push_path(w, index);
	for (size_t i = 0; i < labels->count; i++)
		w->labels[i] = (struct gr_pprof_label){
			gr_pprof_string(&w->stream, labels->tags[i].key),
			gr_pprof_string(&w->stream, labels->tags[i].value), 0
		};
	return gr_pprof_sample(&w->stream, &w->stack, w->depth[index], values,
			       w->labels, labels->count);
}

static struct gr_error *write_all(struct writer *w,
				  const struct gr_profile_target *target,
				  const char *path)
{
	struct gr_error *err = writer_alloc(w);

	if (!err)
		err = gr_pprof_open(&w->stream, path);
	for (size_t i = 0; !err && i < w->tree->nnodes; i++)
		err = write_node(w, i);
	if (err)
		return err;
	gr_pprof_comment(&w->stream, "goref-gdb %s", target->tool_version);
	if (w->tree->comment)
		gr_pprof_comment(&w->stream, "%s", w->tree->comment);
	if (target->partial)
		gr_pprof_comment(&w->stream, "PARTIAL: %s", target->partial);
	return gr_pprof_commit(&w->stream);
}

struct gr_error *gr_tree_profile_write(const struct gr_tree_profile *tree,
				       const struct gr_profile_target *target,
				       const char *path)
{
	struct gr_pprof_header of_exe = header;
	_cleanup_(writer_deinit) struct writer w = { .tree = tree };

	of_exe.exe_path = target->exe_path;
	of_exe.build_id = target->build_id;
	of_exe.stamp = target->stamp;
	gr_pprof_init(&w.stream, &of_exe);
	return write_all(&w, target, path);
}
