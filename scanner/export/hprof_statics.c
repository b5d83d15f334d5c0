// SPDX-License-Identifier: Apache-2.0
/* Package variables as static fields, one for each pointer. */
#include "export/hprof_internal.h"
#include "naming/vertex.h"

enum { MAX_FIELDS = 64 }; /* of a variable; with more it is an array */

/* The root whose links are made fields. */
struct maker {
	struct gr_hprof *h;
	struct gr_link_reader reader;
	const char *name; /* of the variable */
};

bool gr_hprof_is_static(const struct gr_stop *stop,
			const struct gr_root_vertex *root)
{
	switch ((enum gr_root_source)root->source) {
	case GR_FROM_LIST:
		return stop->roots.list.data[root->index].kind ==
		       GR_ROOT_GLOBAL;
	case GR_FROM_AREA:
		return stop->roots.areas.owners[root->index] >=
		       stop->sched.ngoroutines;
	case GR_FROM_SCHEDULER:
	case GR_FROM_C:
	case GR_FROM_C_REGISTERS:
		break;
	}
	return false;
}

/* Is the root a variable of the runtime? It has a name, too, and stays a root of
 * its kind. */
static bool is_runtime_variable(const struct gr_stop *stop,
				const struct gr_root_vertex *root)
{
	if (root->source != GR_FROM_LIST)
		return false;
	const struct gr_root *listed = &stop->roots.list.data[root->index];
	return listed->kind == GR_ROOT_RUNTIME &&
	       listed->form == GR_ROOT_REGION &&
	       listed->goroutine >= stop->sched.ngoroutines;
}

static struct gr_error *add_static(struct gr_hprof *h, const char *name,
				   uint64_t id)
{
	struct gr_hprof_static field = { .id = id };
	struct gr_error *err =
		gr_hprof_package_of(h, name, &field.package, &field.name);
	uint64_t string;

	if (!err)
		err = gr_hprof_string(h, field.name, &string);
	if (!err)
		err = gr_hprof_package_with_room(h, &field.package);
	if (err)
		return err;
	h->packages.data[field.package].nstatics++;
	return gr_hprof_static_vector_append(&h->statics, field) ? NULL :
								   &gr_enomem;
}

static struct gr_error *add_link(void *ctx, const struct gr_link *link)
{
	struct maker *maker = ctx;
	struct gr_answers *answers = maker->h->answers;
	struct gr_word_name word;
	struct gr_error *err =
		gr_link_name(answers, link, GR_VERTEX_NONE, &word);

	if (err)
		return err;
	const char *name = gr_arena_internf(&answers->stop->program->arena,
					    "%s%s", maker->name, word.text);
	return name ? add_static(maker->h, name,
				 gr_objects_addr(answers->graph->graph->objects,
						 link->to)) :
		      &gr_enomem;
}

/* Add an array that has all pointers of a variable. */
static struct gr_error *add_list(struct gr_hprof *h, gr_vertex root,
				 const char *name)
{
	struct gr_hprof_list list = { root, gr_hprof_new_id(h) };

	return gr_hprof_list_vector_append(&h->lists, list) ?
		       add_static(h, name, list.id) :
		       &gr_enomem;
}

static struct gr_error *add_root(struct maker *maker, gr_vertex v)
{
	struct gr_hprof *h = maker->h;
	const struct gr_graph *g = h->answers->graph->graph;
	uint32_t nlinks = g->first[v + 1] - g->first[v];
	struct gr_vertex_info info;
	struct gr_error *err = gr_vertex_describe(h->answers, v, &info);

	if (err)
		return err;
	if (nlinks > MAX_FIELDS)
		return add_list(h, v, info.name);
	maker->name = info.name;
	size_t before = h->statics.size;
	err = gr_links_each(&maker->reader, v, GR_VERTEX_NONE, SIZE_MAX,
			    add_link, maker);
	// A variable whose words cannot be read again has no names, but edges.
	if (!err && h->statics.size - before < nlinks)
		err = add_list(h, v, info.name);
	return err;
}

static int compare_statics(const void *a, const void *b)
{
	const struct gr_hprof_static *x = a, *y = b;

	if (x->package != y->package)
		return x->package < y->package ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Put the fields of each package side by side. */
static void sort_statics(struct gr_hprof *h)
{
	uint32_t first = 0;

	if (h->statics.size)
		qsort(h->statics.data, h->statics.size,
		      sizeof(*h->statics.data), compare_statics);
	for (size_t i = 0; i < h->packages.size; i++) {
		h->packages.data[i].first = first;
		first += h->packages.data[i].nstatics;
	}
}

struct gr_error *gr_hprof_find_statics(struct gr_hprof *h)
{
	struct gr_stop *stop = h->answers->stop;
	const struct gr_heap_graph *hg = h->answers->graph;
	struct maker maker = { .h = h, .reader = { .answers = h->answers } };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < hg->roots.size; i++) {
		const struct gr_root_vertex *root = &hg->roots.data[i];
		err = gr_runtime_step(&stop->program->rt, 1);
		if (!err && (gr_hprof_is_static(stop, root) ||
			     is_runtime_variable(stop, root)))
			err = add_root(&maker,
				       gr_graph_first_root(hg->graph) + i);
	}
	gr_link_reader_deinit(&maker.reader);
	if (!err)
		sort_statics(h);
	return err;
}

void gr_hprof_put_lists(struct gr_hprof *h)
{
	const struct gr_graph *g = h->answers->graph->graph;

	for (size_t i = 0; i < h->lists.size; i++) {
		gr_vertex v = h->lists.data[i].root;
		uint32_t n = g->first[v + 1] - g->first[v];
		struct gr_stream *to = gr_hprof_begin_array(
			h, h->lists.data[i].id, h->java[GR_JAVA_OBJECTS], n);
		for (uint32_t k = 0; k < n; k++)
			gr_stream_put_u64(
				to, gr_objects_addr(g->objects,
						    g->to[g->first[v] + k]));
	}
}
