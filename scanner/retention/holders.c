// SPDX-License-Identifier: Apache-2.0
/* Paths to an object from the roots that reach it, and these roots. */
#include "retention/holders.h"

#include "naming/link.h"
#include "retention/common_holder.h"
#include "retention/weak.h"
#include "scan/enter.h"

enum {
	MAX_GROUPS = 256,
	MAX_HOPS = 1000,  /* of a path that are described */
	SOME_ROOTS = 100, /* that are counted if nobody asked for all */
};

GR_VECTOR(root_group_vector, struct gr_holder_root_group);

void gr_holders_destroy(struct gr_holders *holders)
{
	if (!holders)
		return;
	for (size_t i = 0; i < holders->npaths; i++)
		free(holders->paths[i].hops);
	free(holders->paths);
	free(holders->roots);
	free(holders->groups);
	free(holders);
}
GR_DEFINE_CLEANUP(holders, struct gr_holders, gr_holders_destroy)

/* Name the word over which @p before leads to the hop; @p holder leads to
 * @p before. */
static struct gr_error *name_hop(struct gr_link_reader *reader,
				 gr_vertex holder, gr_vertex before,
				 struct gr_path_hop *hop)
{
	struct gr_word_name word;
	struct gr_link link;
	struct gr_error *err = gr_link_find(reader, holder, before,
					    hop->vertex.vertex, &link, &word);

	if (err)
		return err;
	hop->word_addr = link.addr;
	hop->is_conservative = link.is_conservative;
	hop->name = gr_arena_intern(&reader->answers->stop->program->arena,
				    word.text, strlen(word.text));
	return hop->name ? NULL : &gr_enomem;
}

/* Make the hops of a path, from its root on; the middle of a long one is left
 * out. */
static struct gr_error *make_hops(struct gr_link_reader *reader,
				  const struct gr_graph_hop *hops,
				  const struct gr_root_path *found,
				  struct gr_holder_path *path)
{
	uint32_t total = found->length + 1, at = found->hop;
	uint32_t left_out = total > MAX_HOPS ? total - MAX_HOPS : 0;
	gr_vertex before[2] = { GR_VERTEX_NONE, GR_VERTEX_NONE };
	struct gr_error *err = NULL;

	path->nhops = total - left_out;
	path->hops = calloc(path->nhops, sizeof(*path->hops));
	if (!path->hops)
		return &gr_enomem;
	for (uint32_t i = 0, n = 0; !err && i < total; i++) {
		gr_vertex v = hops[at].vertex;

		if (i < MAX_HOPS / 2 || i >= MAX_HOPS / 2 + left_out) {
			struct gr_path_hop *hop = &path->hops[n++];
			hop->left_out =
				i == MAX_HOPS / 2 + left_out ? left_out : 0;
			err = gr_vertex_describe(reader->answers, v,
						 &hop->vertex);
			hop->name = hop->vertex.name;
			if (!err && i)
				err = name_hop(reader, before[0], before[1],
					       hop);
		}
		before[0] = before[1];
		before[1] = v;
		at = hops[at].next;
		if (!err)
			err = gr_runtime_step(
				&reader->answers->stop->program->rt, 1);
	}
	return err;
}

static struct gr_error *make_paths(struct gr_answers *answers,
				   const struct gr_root_paths *found,
				   uint32_t max, struct gr_holders *ret)
{
	_cleanup_(gr_link_reader_deinit) struct gr_link_reader reader = {
		.answers = answers
	};
	uint32_t n = found->npaths < max ? found->npaths : max;
	struct gr_error *err = NULL;

	ret->paths = calloc((size_t)n + 1, sizeof(*ret->paths));
	if (!ret->paths)
		return &gr_enomem;
	for (uint32_t i = 0; !err && i < n; i++) {
		struct gr_holder_path *path = &ret->paths[i];

		ret->npaths++;
		err = make_hops(&reader, found->hops, &found->paths[i], path);
		if (err)
			return err;
		path->goroutine = gr_goroutine_brief(
			&answers->stop->sched, path->hops->vertex.goroutine_id);
	}
	return err;
}

/* The group of a root; a new one if there is none. NULL with *@p err unset:
 * there are too many. */
static struct gr_holder_root_group *
need_group(struct root_group_vector *groups, const struct gr_vertex_info *root,
	   uint32_t distance, struct gr_error **err)
{
	const struct gr_holder_root_group group = {
		.name = root->name,
		.kind = root->kind,
		.least_distance = distance,
		.goroutine_id = root->goroutine_id,
	};

	for (size_t i = 0; i < groups->size; i++)
		if (!strcmp(groups->data[i].name, root->name) &&
		    groups->data[i].kind == root->kind)
			return &groups->data[i];
	if (groups->size == MAX_GROUPS)
		return NULL;
	if (!root_group_vector_append(groups, group)) {
		*err = &gr_enomem;
		return NULL;
	}
	return &groups->data[groups->size - 1];
}

static int by_roots(const void *a, const void *b)
{
	const struct gr_holder_root_group *x = a, *y = b;

	if (x->roots != y->roots)
		return x->roots < y->roots ? 1 : -1;
	if (x->least_distance != y->least_distance)
		return x->least_distance < y->least_distance ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Describe the first roots, and count all of them. */
static struct gr_error *make_roots(struct gr_answers *answers,
				   const struct gr_root_paths *found,
				   uint32_t max, struct gr_holders *ret)
{
	_cleanup_(root_group_vector_deinit) struct root_group_vector groups = {
		0
	};
	struct gr_error *err = NULL;

	ret->all_roots = found->npaths;
	ret->nroots = found->npaths < max ? found->npaths : max;
	ret->roots = calloc(ret->nroots + 1, sizeof(*ret->roots));
	if (!ret->roots)
		return &gr_enomem;
	for (uint32_t i = 0; !err && i < found->npaths; i++) {
		struct gr_reaching_root root = {
			.distance = found->paths[i].length
		};
		err = gr_runtime_step(&answers->stop->program->rt, 1);
		if (!err)
			err = gr_vertex_describe(answers, found->paths[i].root,
						 &root.vertex);
		if (err)
			return err;
		struct gr_holder_root_group *group =
			need_group(&groups, &root.vertex, root.distance, &err);
		if (group)
			group->roots++;
		else
			ret->ungrouped++;
		if (i >= ret->nroots)
			continue;
		root.goroutine = gr_goroutine_brief(&answers->stop->sched,
						    root.vertex.goroutine_id);
		ret->roots[i] = root;
	}
	if (groups.size)
		qsort(groups.data, groups.size, sizeof(*groups.data), by_roots);
	ret->ngroups = groups.size;
	ret->groups = steal_ptr(groups.data);
	return err;
}

/* The number of roots to search for. */
static uint32_t count_wanted(const struct gr_answers *answers, gr_vertex v,
			     const struct gr_holders_options *options)
{
	uint32_t least = gr_holder_is_one(answers, v) ? 0 : SOME_ROOTS;

	if (options->all_roots)
		return UINT32_MAX;
	return options->max_paths > least ? options->max_paths : least;
}

static struct gr_error *find(struct gr_answers *answers, gr_vertex v,
			     const struct gr_holders_options *options,
			     struct gr_holders *ret)
{
	_cleanup_(gr_root_paths_deinit) struct gr_root_paths found = { 0 };
	const struct gr_poll poll =
		gr_runtime_poller(&answers->stop->program->rt);
	struct gr_weak weak;
	const struct gr_edge_filter filter =
		options->exclude_weak ? gr_weak_filter(answers, &weak) :
					(struct gr_edge_filter){ 0 };
	uint32_t wanted = count_wanted(answers, v, options);
	struct gr_error *err = NULL;

	ret->is_reachable = true;
	const struct gr_sizes sizes =
		gr_graph_retained(answers->graph->graph, v);
	ret->retained_bytes = sizes.bytes;
	ret->retained_c_bytes = sizes.second;
	if (wanted)
		err = gr_graph_root_paths(answers->graph->graph, v, wanted,
					  &filter, &poll, &found);
	if (!err)
		err = gr_holder_find(answers, v, &found, &ret->holder);
	if (!err)
		err = make_paths(answers, &found, options->max_paths, ret);
	if (!err && options->all_roots)
		err = make_roots(answers, &found, options->max_roots, ret);
	ret->is_complete = found.is_complete &&
			   found.npaths <= options->max_paths;
	return err;
}

static struct gr_error *answer(struct gr_answers *answers, uint64_t addr,
			       const struct gr_holders_options *options,
			       struct gr_holders **ret)
{
	_cleanup_(gr_cleanup_holders) struct gr_holders *holders =
		calloc(1, sizeof(*holders));
	struct gr_error *err = gr_answers_need_graph(
		answers, GR_PART_REVERSE | GR_PART_DOMINATORS);

	if (err)
		return err;
	if (!holders)
		return &gr_enomem;
	const struct gr_graph *g = answers->graph->graph;
	gr_vertex v = gr_objects_find(g->objects, addr);
	if (v != GR_VERTEX_NONE && gr_graph_is_reached(g, v))
		err = find(answers, v, options, holders);
	if (!err)
		*ret = steal_ptr(holders);
	return err;
}

struct gr_error *gr_scan_holders(struct gr_scan *scan, uint64_t addr,
				 const struct gr_holders_options *options,
				 struct gr_holders **ret)
{
	struct gr_answers *answers;
	_cleanup_(gr_cleanup_holders) struct gr_holders *holders = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = answer(answers, addr, options, &holders);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(holders);
	return err;
}
