// SPDX-License-Identifier: Apache-2.0
#include "variable_paths.h"

#include "base/sort.h"
#include "graph/paths.h"
#include "scan.h"

enum { MAX_HOPS = 64 }; /* of a way that is printed whole */

void gr_variable_paths_deinit(struct gr_variable_paths *paths)
{
	gr_array_free(paths->parent);
	gr_array_free(paths->hop_of);
	gr_variable_hop_vector_deinit(&paths->hops);
}

/* Is this an edge to a root that is no package variable? Whoever waits has a
 * pointer to what it waits for on its stack. */
static bool leads_to_no_variable(void *ctx, gr_vertex from, gr_vertex to)
{
	const struct gr_heap_graph *hg = ctx;
	gr_vertex first = gr_graph_first_root(hg->graph);

	(void)from;
	if (to < first || to >= gr_graph_first_group(hg->graph))
		return false;
	uint32_t holder = hg->roots.data[to - first].holder;
	return holder != GR_GROUP_VARIABLES &&
	       holder < GR_NROOT_GROUPS + hg->ngoroutines;
}

struct gr_error *gr_variable_paths_find(struct gr_scan *scan,
					struct gr_variable_paths *ret)
{
	struct gr_heap_graph *hg = scan->graph;
	const struct gr_edge_filter filter = { leads_to_no_variable, hg };
	const struct gr_poll poll = { gr_scan_poll, scan };
	uint64_t n = hg->graph->nvertices;
	struct gr_error *err =
		gr_graph_parents(hg->graph, &filter, &poll, &ret->parent);

	ret->scan = scan;
	if (err)
		return err;
	ret->hop_of =
		gr_array_alloc(hg->graph->budget, n, sizeof(*ret->hop_of));
	if (!ret->hop_of)
		return gr_budget_error(hg->graph->budget);
	memset(ret->hop_of, 0xff, n * sizeof(*ret->hop_of));
	return NULL;
}

/* Of the hops from @p first on, each leads to where the one before it begins:
 * say how far they are from the root. */
static void measure(struct gr_variable_paths *paths, size_t first)
{
	struct gr_variable_hop *hops = paths->hops.data;

	for (size_t i = paths->hops.size; i-- > first;) {
		gr_vertex from = hops[i].link.from;
		uint32_t before = paths->hop_of[from];

		hops[i].root = before == UINT32_MAX ? from : hops[before].root;
		hops[i].depth = before == UINT32_MAX ? 1 :
						       hops[before].depth + 1;
	}
}

struct gr_error *gr_variable_paths_want(struct gr_variable_paths *paths,
					gr_vertex object)
{
	const struct gr_graph *g = paths->scan->graph->graph;
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
		err = gr_runtime_step(&paths->scan->rt, 1);
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
		.scan = paths->scan
	};
	const struct gr_runtime *rt = &paths->scan->rt;
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
static gr_type_id pointee_type(const struct gr_scan *scan,
			       const struct gr_word_name *name, bool *is_slice)
{
	if (name->type == GR_TYPE_NONE || name->kind == GR_WORD_POINTER)
		return name->type;
	const struct gr_type *type = gr_types_get(scan->types, name->type);
	*is_slice = type->kind == GR_KIND_SLICE;
	return name->kind == GR_WORD_FIELD &&
			       (type->kind == GR_KIND_PTR || *is_slice) ?
		       type->elem :
		       GR_TYPE_NONE;
}

/* Where the word of a link leads to. */
static void find_pointee(const struct gr_scan *scan, const struct gr_link *link,
			 const struct gr_word_name *name,
			 struct gr_variable_way *ret)
{
	uint64_t start = gr_objects_addr(scan->graph->graph->objects, link->to);
	uint64_t value = 0;
	struct gr_error *err =
		link->addr ?
			gr_image_read_u64(scan->image, link->addr, &value) :
			NULL;

	gr_error_destroy(err);
	if (value < start)
		return;
	ret->pointee = pointee_type(scan, name, &ret->is_slice);
	ret->pointee_off = value - start;
}

/* Pieces of a map or a channel have no name in Go: the element that follows is
 * that of the whole. */
static struct gr_error *put_hop(const struct gr_variable_paths *paths,
				const struct gr_variable_hop *hop,
				gr_vertex holder, struct gr_text *text,
				struct gr_variable_way *ret)
{
	struct gr_word_name name;

	*ret = (struct gr_variable_way){ .pointee = GR_TYPE_NONE };
	if (!hop->is_read)
		return NULL;
	struct gr_error *err =
		gr_link_name(paths->scan, &hop->link, holder, &name);
	if (err)
		return err;
	if (name.kind != GR_WORD_PIECE)
		gr_text_put(text, "%s", name.text);
	find_pointee(paths->scan, &hop->link, &name, ret);
	return NULL;
}

struct gr_error *gr_variable_paths_put(struct gr_variable_paths *paths,
				       gr_vertex object, struct gr_text *text,
				       struct gr_variable_way *ret)
{
	uint32_t chain[MAX_HOPS], last = paths->hop_of[object];
	struct gr_vertex_info root;

	*ret = (struct gr_variable_way){ .pointee = GR_TYPE_NONE };
	if (last == UINT32_MAX)
		return NULL;
	const struct gr_variable_hop *hops = paths->hops.data;
	uint32_t depth = hops[last].depth;
	struct gr_error *err =
		gr_scan_vertex(paths->scan, hops[last].root, &root);
	if (err)
		return err;
	gr_text_put(text, "%s", root.name);
	if (depth > MAX_HOPS) {
		gr_text_put(text, "...");
		ret->is_cut = true;
		return NULL;
	}
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
