// SPDX-License-Identifier: Apache-2.0
#include "naming/edge_names.h"

#include "base/sort.h"
#include "scan/answers.h"

/* The links from one source that are wanted, sorted by target. */
struct wanted {
	struct gr_answers *answers;
	struct gr_edge_name *links;
	size_t count;
};

static int compare(const void *a, const void *b)
{
	const struct gr_edge_name *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* The first of sorted links that is not before @p key. */
static size_t find(const struct gr_edge_name *links, size_t count,
		   const struct gr_edge_name *key)
{
	return gr_count_before(count, i, compare(&links[i], key) < 0);
}

/* Name a link, and all that are equal to it, unless they have names. */
static struct gr_error *name_link(void *ctx, const struct gr_link *link)
{
	const struct wanted *w = ctx;
	const struct gr_graph *g = w->answers->graph->graph;
	const struct gr_edge_name key = { link->from, link->to, NULL };
	struct gr_word_name word;

	size_t at = find(w->links, w->count, &key);
	if (at == w->count || compare(&w->links[at], &key) || w->links[at].name)
		return NULL;
	struct gr_error *err =
		gr_link_name(w->answers, link, g->parent[link->from], &word);
	if (err)
		return err;
	const char *name = gr_arena_intern(&w->answers->stop->program->arena,
					   word.text, strlen(word.text));
	for (; name && at < w->count && !compare(&w->links[at], &key); at++)
		w->links[at].name = name;
	return name ? NULL : &gr_enomem;
}

struct gr_error *gr_edge_names_find(struct gr_answers *answers,
				    struct gr_edge_names *links)
{
	_cleanup_(gr_link_reader_deinit) struct gr_link_reader reader = {
		.answers = answers
	};
	struct gr_runtime *rt = &answers->stop->program->rt;
	struct gr_error *err = gr_sort(links->data, links->size,
				       sizeof(*links->data), compare, rt->poll,
				       rt->poll_ctx);

	// Bounded by the links: each step takes one or more.
	for (size_t i = 0, n; !err && i < links->size; i += n) {
		gr_vertex from = links->data[i].from, to = links->data[i].to;
		bool is_one = true;

		for (n = 1;
		     i + n < links->size && links->data[i + n].from == from;
		     n++)
			is_one = is_one && links->data[i + n].to == to;
		struct wanted wanted = { answers, &links->data[i], n };
		err = gr_links_each(&reader, from, is_one ? to : GR_VERTEX_NONE,
				    is_one ? 1 : SIZE_MAX, name_link, &wanted);
	}
	for (size_t i = 0; i < links->size; i++)
		if (!links->data[i].name)
			links->data[i].name = "";
	return err;
}

const char *gr_edge_names_get(const struct gr_edge_names *links, gr_vertex from,
			      gr_vertex to)
{
	const struct gr_edge_name key = { from, to, NULL };
	size_t at = find(links->data, links->size, &key);

	return at < links->size && !compare(&links->data[at], &key) ?
		       links->data[at].name :
		       "";
}
