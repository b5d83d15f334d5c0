// SPDX-License-Identifier: Apache-2.0
#include "retention/variable_paths.h"

#include "base/sort.h"
#include "goruntime/types/word.h"
#include "graph/paths.h"
#include "naming/vertex.h"
#include "scan/answers.h"

/* Hops of a way: a map of Go 1.19 may have long chains of buckets. */
enum { MAX_HOPS = 64 };

void gr_variable_paths_deinit(struct gr_variable_paths *paths)
{
	gr_array_free(paths->parent);
	gr_array_free(paths->hop_of);
	gr_variable_hop_vector_deinit(&paths->hops);
	gr_owner_types_deinit(&paths->types);
}

struct gr_error *gr_variable_paths_find(struct gr_answers *answers,
					struct gr_variable_paths *ret)
{
	struct gr_heap_graph *hg = answers->graph;
	const struct gr_poll poll =
		gr_runtime_poller(&answers->stop->program->rt);
	uint64_t n = hg->graph->nvertices;
	struct gr_error *err = gr_owner_types_make(answers, &ret->types);

	ret->answers = answers;
	if (err)
		return err;
	const struct gr_edge_filter filter =
		gr_owner_variables_filter(&ret->types);
	err = gr_graph_parents(hg->graph, &filter, &poll, &ret->parent);
	if (err)
		return err;
	ret->hop_of =
		gr_array_alloc(hg->graph->budget, n, sizeof(*ret->hop_of));
	if (!ret->hop_of)
		return gr_budget_error(hg->graph->budget);
	memset(ret->hop_of, 0xff, n * sizeof(*ret->hop_of));
	return NULL;
}

/* Does the edge lead to another piece of the same container, as of a map? It has
 * no name in Go. */
static bool is_inside(const struct gr_variable_paths *paths, gr_vertex from,
		      gr_vertex to)
{
	const struct gr_objects *objects =
		paths->answers->graph->graph->objects;

	return from < objects->count && objects->type[to] != GR_TYPE_NONE &&
	       objects->type[to] & GR_LABEL_DATA &&
	       objects->type[to] == objects->type[from];
}

/* Say how far the hops from @p first on are from the root: each leads to where
 * the one before it begins. */
static void measure(struct gr_variable_paths *paths, size_t first)
{
	struct gr_variable_hop *hops = paths->hops.data;

	for (size_t i = paths->hops.size; i-- > first;) {
		gr_vertex from = hops[i].link.from;
		uint32_t before = paths->hop_of[from];
		bool is_first = before == UINT32_MAX;

		hops[i].root = is_first ? from : hops[before].root;
		hops[i].depth = 1 + (is_first ? 0 : hops[before].depth);
		hops[i].steps = !is_inside(paths, from, hops[i].link.to) +
				(is_first ? 0 : hops[before].steps);
	}
}

uint32_t gr_variable_paths_steps(const struct gr_variable_paths *paths,
				 gr_vertex object)
{
	uint32_t last = paths->hop_of[object];

	if (last == UINT32_MAX)
		return UINT32_MAX;
	const struct gr_variable_hop *hop = &paths->hops.data[last];
	return hop->steps <= GR_MAX_NAME_STEPS && hop->depth <= MAX_HOPS ?
		       hop->steps :
		       UINT32_MAX;
}

struct gr_error *gr_variable_paths_want(struct gr_variable_paths *paths,
					gr_vertex object)
{
	const struct gr_graph *g = paths->answers->graph->graph;
	struct gr_error *err = NULL;
	size_t first = paths->hops.size;

	if (paths->parent[object] == GR_VERTEX_NONE)
		return NULL;
	for (gr_vertex v = object; !err && paths->hop_of[v] == UINT32_MAX &&
				   gr_graph_kind(g, v) == GR_VERTEX_OBJECT;
	     v = paths->parent[v]) {
		const struct gr_variable_hop hop = {
			.link = { .from = paths->parent[v], .to = v },
		};

		paths->hop_of[v] = paths->hops.size;
		if (!gr_variable_hop_vector_append(&paths->hops, hop))
			return &gr_enomem;
		err = gr_runtime_step(&paths->answers->stop->program->rt, 1);
	}
	measure(paths, first);
	return err;
}

// --------------------------------------------------------------------- words

static int compare_from(const void *a, const void *b)
{
	const gr_vertex *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The first word that leads to a vertex over its way is that of its hop. */
static struct gr_error *take_link(void *ctx, const struct gr_link *link)
{
	struct gr_variable_paths *paths = ctx;
	uint32_t index = paths->hop_of[link->to];

	if (index == UINT32_MAX)
		return NULL;
	struct gr_variable_hop *hop = &paths->hops.data[index];
	if (!hop->is_read && hop->link.from == link->from) {
		hop->link = *link;
		hop->is_read = true;
	}
	return NULL;
}

struct gr_error *gr_variable_paths_read(struct gr_variable_paths *paths)
{
	_cleanup_(gr_link_reader_deinit) struct gr_link_reader reader = {
		.answers = paths->answers
	};
	const struct gr_runtime *rt = &paths->answers->stop->program->rt;
	size_t n = paths->hops.size;
	_cleanup_free_ gr_vertex *from = calloc(n + 1, sizeof(*from));

	if (!from)
		return &gr_enomem;
	for (size_t i = 0; i < n; i++)
		from[i] = paths->hops.data[i].link.from;
	struct gr_error *err = gr_sort(from, n, sizeof(*from), compare_from,
				       rt->poll, rt->poll_ctx);
	for (size_t i = 0; !err && i < n; i++)
		if (!i || from[i] != from[i - 1])
			err = gr_links_each(&reader, from[i], GR_VERTEX_NONE,
					    SIZE_MAX, take_link, paths);
	return err;
}

// ---------------------------------------------------------------------- text

/* The type of what a word with a name points to. */
static gr_type_id pointee_type(const struct gr_program *program,
			       const struct gr_word_name *name, bool *is_slice)
{
	if (name->type == GR_TYPE_NONE || name->kind == GR_WORD_POINTER)
		return name->type;
	const struct gr_type *type = gr_types_get(program->types, name->type);
	*is_slice = type->kind == GR_KIND_SLICE;
	return name->kind == GR_WORD_FIELD &&
			       (type->kind == GR_KIND_PTR || *is_slice) ?
		       type->elem :
		       GR_TYPE_NONE;
}

/* Where the word of a link leads to. */
static void find_pointee(const struct gr_answers *answers,
			 const struct gr_link *link,
			 const struct gr_word_name *name,
			 struct gr_variable_way *ret)
{
	uint64_t start =
		gr_objects_addr(answers->graph->graph->objects, link->to);
	uint64_t value = 0;
	struct gr_error *err = link->addr ?
				       gr_image_read_u64(answers->stop->image,
							 link->addr, &value) :
				       NULL;

	gr_error_destroy(err);
	if (value < start)
		return;
	ret->pointee =
		pointee_type(answers->stop->program, name, &ret->is_slice);
	ret->pointee_off = value - start;
}

/* The allocator has a type of the runtime's for a timer. The pointer that leads
 * there has the public one, of which it begins with the fields. */
static bool is_public_timer(const struct gr_owner_types *types,
			    const struct gr_link *link, gr_type_id pointee)
{
	return gr_owner_class_of_type(types, pointee) == GR_OWNER_TIMER &&
	       gr_owner_class_of(types, link->from) == GR_OWNER_TIMER &&
	       link->off_bytes <
		       gr_types_get(types->answers->stop->program->types,
				    pointee)
			       ->size_bytes;
}

struct gr_error *gr_variable_way_put_link(const struct gr_owner_types *types,
					  const struct gr_link *link,
					  gr_vertex holder,
					  struct gr_text *text,
					  struct gr_variable_way *way)
{
	gr_type_id before = way->pointee_off ? GR_TYPE_NONE : way->pointee;
	struct gr_answers *answers = types->answers;
	struct gr_type_word word;
	struct gr_word_name name;

	*way = (struct gr_variable_way){ .pointee = GR_TYPE_NONE };
	if (is_public_timer(types, link, before))
		return gr_types_name_word(answers->stop->program->types, before,
					  link->off_bytes, text, &word);
	struct gr_error *err = gr_link_name(answers, link, holder, &name);
	if (err)
		return err;
	if (name.kind != GR_WORD_PIECE)
		gr_text_put(text, "%s", name.text);
	find_pointee(answers, link, &name, way);
	return NULL;
}

static struct gr_error *put_hop(const struct gr_variable_paths *paths,
				const struct gr_variable_hop *hop,
				gr_vertex holder, struct gr_text *text,
				struct gr_variable_way *way)
{
	if (hop->is_read)
		return gr_variable_way_put_link(&paths->types, &hop->link,
						holder, text, way);
	*way = (struct gr_variable_way){ .pointee = GR_TYPE_NONE };
	return NULL;
}

struct gr_error *gr_variable_paths_put(struct gr_variable_paths *paths,
				       gr_vertex object, struct gr_text *text,
				       struct gr_variable_way *ret)
{
	uint32_t chain[MAX_HOPS], last = paths->hop_of[object];
	struct gr_vertex_info root;

	*ret = (struct gr_variable_way){ .pointee = GR_TYPE_NONE };
	if (gr_variable_paths_steps(paths, object) == UINT32_MAX)
		return NULL;
	const struct gr_variable_hop *hops = paths->hops.data;
	uint32_t depth = hops[last].depth;
	struct gr_error *err =
		gr_vertex_describe(paths->answers, hops[last].root, &root);
	if (err)
		return err;
	gr_text_put(text, "%s", root.name);
	for (uint32_t i = depth; i--;
	     last = paths->hop_of[hops[last].link.from])
		chain[i] = last;
	for (uint32_t i = 0; !err && i < depth; i++)
		err = put_hop(paths, &hops[chain[i]],
			      i > 1 ? hops[chain[i - 1]].link.from :
				      GR_VERTEX_NONE,
			      text, ret);
	return err;
}

struct gr_error *gr_variable_paths_put_holder(struct gr_variable_paths *paths,
					      gr_vertex holder,
					      struct gr_text *text)
{
	struct gr_answers *answers = paths->answers;
	struct gr_variable_way way;
	struct gr_vertex_info root;

	if (holder < gr_graph_first_root(answers->graph->graph)) {
		if (gr_variable_paths_steps(paths, holder) >= GR_MAX_NAME_STEPS)
			return NULL;
		return gr_variable_paths_put(paths, holder, text, &way);
	}
	if (gr_owner_class_of(&paths->types, holder) != GR_OWNER_VARIABLE)
		return NULL;
	struct gr_error *err = gr_vertex_describe(answers, holder, &root);
	if (!err)
		gr_text_put(text, "%s", root.name);
	return err;
}
