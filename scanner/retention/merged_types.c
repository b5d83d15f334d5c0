// SPDX-License-Identifier: Apache-2.0
#include "retention/merged_types.h"

#include "graph/internal.h"
#include "graph/merged.h"
#include "naming/link.h"
#include "naming/type_filter.h"
#include "retention/weak.h"
#include "scan/enter.h"

void gr_merged_types_destroy(struct gr_merged_types *merged)
{
	if (!merged)
		return;
	free(merged->branches);
	free(merged);
}
GR_DEFINE_CLEANUP(merged_types, struct gr_merged_types, gr_merged_types_destroy)

/* Set the bit of each object of the type, and sum them up. */
static struct gr_error *find_targets(struct gr_answers *answers,
				     uint64_t *targets,
				     struct gr_merged_types *ret)
{
	_cleanup_(gr_type_filter_deinit) struct gr_type_filter filter = {
		.name = ret->type,
		.takes_arrays = true,
	};
	const struct gr_graph *g = answers->graph->graph;
	struct gr_error *err = NULL;
	bool is_one;

	for (gr_vertex v = 0; !err && v < g->nobjects; v++) {
		if (v % 4096 == 0)
			err = gr_runtime_poll(&answers->stop->program->rt);
		if (!err)
			err = gr_type_filter_check(answers, &filter, v,
						   &is_one);
		if (err || !is_one || !gr_graph_is_reached(g, v))
			continue;
		gr_bitmap_set(targets, v);
		ret->objects++;
		ret->bytes += gr_graph_own_bytes(g, v);
	}
	if (!err && !ret->objects)
		err = gr_type_filter_no_object(answers->stop->program,
					       ret->type);
	if (!err && !ret->objects)
		err = gr_error_format(GR_ERROR_NOT_FOUND,
				      "no reached object has the type \"%s\"; "
				      "`goref histogram' lists the types",
				      ret->type);
	return err;
}

/* The vertices of one branch have a key in common: objects their label, roots
 * their name and kind, goroutines that they are goroutines. */
static uint64_t key_of(void *ctx, gr_vertex v)
{
	struct gr_answers *answers = ctx;
	const struct gr_heap_graph *hg = answers->graph;
	const struct gr_graph *g = hg->graph;
	enum gr_vertex_kind kind = gr_graph_kind(g, v);
	struct gr_vertex_info info;

	if (kind == GR_VERTEX_OBJECT)
		return g->objects->type[v];
	if (kind == GR_VERTEX_GROUP && v < gr_group_vertex(hg, 0))
		return UINT64_C(1) << 62;
	if (kind != GR_VERTEX_ROOT)
		return UINT64_C(1) << 63 | v;
	struct gr_error *err = gr_vertex_describe(answers, v, &info);
	if (err) {
		gr_error_destroy(err);
		return UINT64_C(1) << 63 | v;
	}
	// Names are interned: one address, one name.
	return UINT64_C(1) << 61 | (uint64_t)(uintptr_t)info.name;
}

/* Name the word by which an object is referred to, in the tree of nearest
 * parents. */
static struct gr_error *name_field(struct gr_link_reader *reader, gr_vertex v,
				   const char **ret)
{
	const struct gr_graph *g = reader->answers->graph->graph;
	struct gr_word_name word;
	struct gr_link link;

	if (gr_graph_kind(g, v) != GR_VERTEX_OBJECT)
		return NULL;
	struct gr_error *err = gr_link_find(reader, GR_VERTEX_NONE,
					    g->parent[v], v, &link, &word);
	if (err)
		return err;
	gr_link_name_merge(word.text);
	*ret = gr_arena_intern(&reader->answers->stop->program->arena,
			       word.text, strlen(word.text));
	return *ret ? NULL : &gr_enomem;
}

static struct gr_error *describe_rows(struct gr_answers *answers,
				      const struct gr_merged_paths *found,
				      bool has_fields,
				      struct gr_merged_types *ret)
{
	_cleanup_(gr_link_reader_deinit) struct gr_link_reader reader = {
		.answers = answers
	};
	struct gr_error *err = NULL;

	ret->branches =
		calloc((size_t)found->nrows + 1, sizeof(*ret->branches));
	if (!ret->branches)
		return &gr_enomem;
	ret->nbranches = found->nrows;
	ret->unreached = found->unreached;
	for (uint32_t i = 0; !err && i < found->nrows; i++) {
		const struct gr_merged_row *row = &found->rows[i];

		ret->branches[i] = (struct gr_merged_branch){
			.parent = row->parent,
			.depth = row->depth,
			.field = "",
			.vertices = row->vertices,
			.objects = row->targets,
			.bytes = row->bytes,
			.cut = row->cut,
		};
		err = gr_vertex_describe(answers, row->example,
					 &ret->branches[i].example);
		if (!err && has_fields)
			err = name_field(&reader, row->example,
					 &ret->branches[i].field);
	}
	return err;
}

static struct gr_error *merge(struct gr_answers *answers, uint32_t max,
			      bool exclude_weak, struct gr_merged_types *ret)
{
	struct gr_graph *g = answers->graph->graph;
	const struct gr_poll poll =
		gr_runtime_poller(&answers->stop->program->rt);
	_cleanup_(gr_merged_paths_deinit) struct gr_merged_paths found = { 0 };
	_cleanup_array_ uint64_t *targets = gr_graph_bitmap(g);
	struct gr_weak weak;
	const struct gr_merge_options options = {
		.key = key_of,
		.ctx = answers,
		.max_rows = max,
		.filter = exclude_weak ? gr_weak_filter(answers, &weak) :
					 (struct gr_edge_filter){ 0 },
	};

	if (!targets)
		return gr_budget_error(g->budget);
	struct gr_error *err = find_targets(answers, targets, ret);
	if (!err)
		err = gr_graph_merge_paths(g, targets, &options, &poll, &found);
	// With edges left out, the graph's own parents are others.
	return err ? err : describe_rows(answers, &found, !exclude_weak, ret);
}

static struct gr_error *answer(struct gr_answers *answers, const char *type,
			       uint32_t max, bool exclude_weak,
			       struct gr_merged_types **ret)
{
	_cleanup_(gr_cleanup_merged_types) struct gr_merged_types *merged =
		calloc(1, sizeof(*merged));
	struct gr_error *err =
		gr_answers_need_graph(answers, GR_PART_DOMINATORS);

	if (err)
		return err;
	if (!merged)
		return &gr_enomem;
	merged->type = gr_arena_intern(&answers->stop->program->arena, type,
				       strlen(type));
	if (!merged->type)
		return &gr_enomem;
	err = merge(answers, max, exclude_weak, merged);
	if (!err)
		*ret = steal_ptr(merged);
	return err;
}

struct gr_error *gr_scan_merge_type(struct gr_scan *scan, const char *type,
				    uint32_t max, bool exclude_weak,
				    struct gr_merged_types **ret)
{
	struct gr_answers *answers;
	_cleanup_(gr_cleanup_merged_types) struct gr_merged_types *merged =
		NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = answer(answers, type, max, exclude_weak, &merged);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(merged);
	return err;
}
