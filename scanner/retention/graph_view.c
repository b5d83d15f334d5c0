// SPDX-License-Identifier: Apache-2.0
#include "retention/graph_view.h"

#include "graph/paths.h"
#include "graph/sets.h"
#include "naming/type_filter.h"
#include "scan/enter.h"

/* Make parts of the graph, under the guard against files that shrink. */
static struct gr_error *need(struct gr_scan *scan, unsigned int parts,
			     struct gr_answers **ret)
{
	struct gr_answers *answers = *ret = gr_scan_answers(scan);
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	if (answers->graph && answers->weight == GR_WEIGHT_BYTES &&
	    (gr_graph_parts(answers->graph->graph) & parts) == parts)
		return NULL;
	err = gr_scan_enter(scan, &guard, ret);
	if (!err)
		err = gr_answers_need_graph(answers, parts);
	return gr_sigbus_guard_end(&guard, err);
}

/* Make parts, and check that the graph has a vertex. */
static struct gr_error *need_vertex(struct gr_scan *scan, unsigned int parts,
				    uint32_t vertex, struct gr_answers **ret)
{
	struct gr_error *err = need(scan, parts, ret);

	return err ? err : gr_vertex_check(*ret, vertex);
}

struct gr_error *gr_scan_graph_size(struct gr_scan *scan,
				    struct gr_graph_size *ret)
{
	struct gr_answers *answers;
	struct gr_error *err = need(scan, GR_PART_NEAREST, &answers);

	if (err)
		return err;
	const struct gr_graph *graph = answers->graph->graph;
	*ret = (struct gr_graph_size){
		.objects = graph->nobjects,
		.roots_end = gr_graph_first_group(graph),
		.vertices = graph->nvertices,
	};
	return NULL;
}

struct gr_error *gr_scan_view_vertex(struct gr_scan *scan, uint32_t vertex,
				     bool with_retained,
				     struct gr_vertex_info *ret)
{
	struct gr_answers *answers;
	struct gr_error *err = need_vertex(
		scan, with_retained ? GR_PART_DOMINATORS : GR_PART_NEAREST,
		vertex, &answers);

	return err ? err : gr_vertex_describe(answers, vertex, ret);
}

static struct gr_error *read_content(struct gr_runtime *rt, uint64_t addr,
				     uint64_t bytes, uint8_t **ret)
{
	struct gr_error *err = gr_image_want(rt->image, bytes);

	if (err)
		return err;
	if (gr_image_lacks_values(rt->image))
		return gr_error_not_saved();
	_cleanup_free_ uint8_t *content = malloc(bytes + 1);
	if (!content)
		return &gr_enomem;
	err = gr_image_read(rt->image, addr, content, bytes);
	if (!err)
		*ret = steal_ptr(content);
	return err;
}

static struct gr_error *find_content(struct gr_answers *answers,
				     uint32_t vertex, uint64_t max_bytes,
				     uint8_t **ret, uint64_t *bytes)
{
	struct gr_vertex_info info;
	struct gr_error *err = gr_answers_need_graph(answers, GR_PART_NEAREST);

	if (!err)
		err = gr_vertex_check(answers, vertex);
	if (!err)
		err = gr_vertex_describe(answers, vertex, &info);
	if (err)
		return err;
	if (vertex >= answers->graph->graph->nobjects)
		return gr_error_format(GR_ERROR_ARGUMENT, "%u is no object",
				       vertex);
	*bytes = info.bytes;
	// The header of a block is not behind its address.
	if (gr_vertex_is_block(answers->graph->graph, vertex))
		*bytes = gr_block_usable_bytes(
			gr_vertex_block(answers->graph, vertex));
	if (*bytes > max_bytes)
		*bytes = max_bytes;
	return read_content(&answers->stop->program->rt, info.addr, *bytes,
			    ret);
}

struct gr_error *gr_scan_object_content(struct gr_scan *scan, uint32_t vertex,
					uint64_t max_bytes, uint8_t **ret,
					uint64_t *bytes)
{
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = find_content(answers, vertex, max_bytes, ret, bytes);
	return gr_sigbus_guard_end(&guard, err);
}

struct gr_error *gr_scan_view_find(struct gr_scan *scan,
				   const struct gr_place *place, uint32_t *ret)
{
	struct gr_answers *answers;
	struct gr_error *err = need(scan, GR_PART_NEAREST, &answers);

	if (!err)
		gr_vertex_find(answers, place, ret);
	return err;
}

// ------------------------------------------------------------------- objects

struct gr_object_cursor {
	char *type; /* NULL: all */
	struct gr_type_filter filter;
	uint64_t min_bytes;
	gr_vertex next;
	bool has_found; /* an object */
};

struct gr_error *gr_object_cursor_create(const char *type, uint64_t min_bytes,
					 struct gr_object_cursor **ret)
{
	struct gr_object_cursor *cursor = calloc(1, sizeof(*cursor));

	if (!cursor)
		return &gr_enomem;
	cursor->min_bytes = min_bytes;
	if (type)
		cursor->type = strdup(type);
	if (type && !cursor->type) {
		free(cursor);
		return &gr_enomem;
	}
	cursor->filter.name = cursor->type;
	*ret = cursor;
	return NULL;
}

void gr_object_cursor_destroy(struct gr_object_cursor *cursor)
{
	if (!cursor)
		return;
	free(cursor->type);
	gr_type_filter_deinit(&cursor->filter);
	free(cursor);
}

static struct gr_error *check_object(struct gr_answers *answers,
				     struct gr_object_cursor *cursor,
				     gr_vertex v, bool *ret)
{
	if (!cursor->type && !cursor->min_bytes) {
		*ret = true;
		return NULL;
	}
	const struct gr_slot_run *run =
		gr_objects_run(answers->graph->graph->objects, v);
	uint64_t bytes = run->elem_bytes - run->head_bytes;

	*ret = bytes >= cursor->min_bytes;
	if (!*ret || !cursor->type)
		return NULL;
	return gr_type_filter_check(answers, &cursor->filter, v, ret);
}

struct gr_error *gr_scan_next_object(struct gr_scan *scan,
				     struct gr_object_cursor *cursor,
				     uint32_t *ret)
{
	struct gr_answers *answers;
	struct gr_error *err = need(scan, GR_PART_NEAREST, &answers);
	bool is_match = false;

	*ret = UINT32_MAX;
	while (!err && cursor->next < answers->graph->graph->nobjects) {
		gr_vertex v = cursor->next++;

		// A block of C that nothing holds is not reached.
		is_match = false;
		if (gr_graph_is_reached(answers->graph->graph, v))
			err = check_object(answers, cursor, v, &is_match);
		if (!err && is_match) {
			cursor->has_found = true;
			*ret = v;
			return NULL;
		}
		if (!err && v % GR_GRAPH_POLL_STEPS == 0)
			err = gr_runtime_poll(&answers->stop->program->rt);
	}
	return err || cursor->has_found || !cursor->type ?
		       err :
		       gr_type_filter_no_object(answers->stop->program,
						cursor->type);
}

// ---------------------------------------------------------------- neighbours

/* The neighbours of @p v: list[first .. end). */
static const uint32_t *neighbours(const struct gr_graph *graph, gr_vertex v,
				  enum gr_neighbours which, uint32_t *first,
				  uint32_t *end)
{
	const uint32_t *firsts = which == GR_REFERENCES ? graph->first :
				 which == GR_REFERRERS	? graph->rfirst :
							  graph->cfirst;

	*first = firsts[v];
	*end = firsts[v + 1];
	return which == GR_REFERENCES ? graph->to :
	       which == GR_REFERRERS  ? graph->from :
					graph->child;
}

struct gr_error *gr_scan_neighbour(struct gr_scan *scan, uint32_t vertex,
				   enum gr_neighbours which, uint32_t i,
				   uint32_t *ret)
{
	struct gr_answers *answers;
	static const unsigned int parts[] = {
		[GR_REFERENCES] = GR_PART_NEAREST,
		[GR_REFERRERS] = GR_PART_REVERSE,
		[GR_DOMINATED] = GR_PART_CHILDREN,
	};
	struct gr_error *err =
		need_vertex(scan, parts[which], vertex, &answers);
	uint32_t first, end;

	if (err)
		return err;
	const uint32_t *list =
		neighbours(answers->graph->graph, vertex, which, &first, &end);
	*ret = i < end - first ? list[first + i] : UINT32_MAX;
	return NULL;
}

struct gr_error *gr_view_dominator(struct gr_scan *scan, uint32_t vertex,
				   uint32_t *ret)
{
	struct gr_answers *answers;
	struct gr_error *err =
		need_vertex(scan, GR_PART_DOMINATORS, vertex, &answers);

	if (!err)
		*ret = answers->graph->graph->idom[vertex];
	return err;
}

struct gr_error *gr_view_retained(struct gr_scan *scan,
				  const uint32_t *vertices, uint32_t count,
				  uint64_t *bytes, uint64_t *c_bytes)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	const struct gr_poll poll =
		gr_runtime_poller(&answers->stop->program->rt);
	struct gr_error *err = need(scan, GR_PART_REVERSE, &answers);
	struct gr_kept kept = { 0 };

	for (uint32_t i = 0; !err && i < count; i++)
		err = gr_vertex_check(answers, vertices[i]);
	if (!err)
		err = gr_graph_keeps(answers->graph->graph, vertices, count,
				     &poll, NULL, &kept);
	*bytes = kept.bytes;
	*c_bytes = kept.second_bytes;
	return err;
}

// --------------------------------------------------------------------- paths

void gr_vertex_paths_deinit(struct gr_vertex_paths *paths)
{
	for (uint32_t i = 0; i < paths->count; i++)
		free(paths->paths[i].vertices);
	free(paths->paths);
	memset(paths, 0, sizeof(*paths));
}

/* Copy a chain; its length is that of the tree of hops at most. */
static struct gr_error *copy_path(const struct gr_root_paths *from, uint32_t i,
				  struct gr_vertex_path *ret)
{
	const struct gr_root_path *path = &from->paths[i];
	uint32_t hop = path->hop;

	ret->count = path->length + 1;
	ret->vertices = calloc(ret->count, sizeof(*ret->vertices));
	if (!ret->vertices)
		return &gr_enomem;
	for (uint32_t j = 0; j < ret->count; j++) {
		ret->vertices[j] = from->hops[hop].vertex;
		hop = from->hops[hop].next;
	}
	return NULL;
}

struct gr_error *gr_scan_vertex_paths(struct gr_scan *scan, uint32_t vertex,
				      uint32_t max_paths,
				      struct gr_vertex_paths *ret)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	const struct gr_poll poll =
		gr_runtime_poller(&answers->stop->program->rt);
	_cleanup_(gr_root_paths_deinit) struct gr_root_paths found = { 0 };
	struct gr_error *err =
		need_vertex(scan, GR_PART_REVERSE, vertex, &answers);

	memset(ret, 0, sizeof(*ret));
	if (!err && vertex >= gr_graph_first_group(answers->graph->graph))
		err = gr_error_format(GR_ERROR_ARGUMENT,
				      "paths lead to objects and roots only");
	if (!err)
		err = gr_graph_root_paths(answers->graph->graph, vertex,
					  max_paths, NULL, &poll, &found);
	if (err)
		return err;
	ret->paths = calloc(found.npaths + 1, sizeof(*ret->paths));
	if (!ret->paths)
		return &gr_enomem;
	for (; !err && ret->count < found.npaths; ret->count++)
		err = copy_path(&found, ret->count, &ret->paths[ret->count]);
	if (err)
		gr_vertex_paths_deinit(ret);
	return err;
}

bool gr_scan_has_retained(struct gr_scan *scan)
{
	struct gr_answers *answers = gr_scan_answers(scan);

	return answers->graph && answers->graph->graph->retained;
}
