// SPDX-License-Identifier: Apache-2.0
#include "retention/references.h"

#include "scan/answers.h"

enum { MAX_GROUPS = 256 };

GR_VECTOR(reference_vector, struct gr_reference);
GR_VECTOR(group_vector, struct gr_reference_group);

void gr_references_deinit(struct gr_references *references)
{
	free(references->list);
	free(references->groups);
	memset(references, 0, sizeof(*references));
}

struct gr_error *gr_reference_name(struct gr_answers *answers,
				   const struct gr_link *link,
				   const struct gr_vertex_info *from,
				   gr_vertex holder, const char **ret)
{
	struct gr_word_name word;
	bool is_root = from->class == GR_CLASS_ROOT;
	struct gr_error *err = gr_link_name(answers, link, holder, &word);

	if (err)
		return err;
	*ret = gr_arena_internf(&answers->stop->program->arena, "%s%s",
				is_root ? from->name : "", word.text);
	return *ret ? NULL : &gr_enomem;
}

/* Groups that are made of links as they are read. */
struct grouper {
	struct gr_answers *answers;
	bool is_to_source; /* the other end is the source: referrers */
	struct group_vector groups;
	uint64_t *seen; /* objects whose bytes are counted; gr_array_free() */
	uint64_t ungrouped;
};

static void grouper_deinit(struct grouper *p)
{
	group_vector_deinit(&p->groups);
	gr_array_free(p->seen);
}

/* Name the group of a link. Strings belong to the scan. */
static struct gr_error *describe_group(struct grouper *p,
				       const struct gr_link *link,
				       struct gr_reference_group *ret)
{
	struct gr_vertex_info from, end;
	struct gr_word_name word;
	struct gr_error *err =
		gr_vertex_describe(p->answers, link->from, &from);

	if (!err)
		err = gr_vertex_describe(
			p->answers, p->is_to_source ? link->from : link->to,
			&end);
	if (!err)
		err = gr_link_name(p->answers, link, GR_VERTEX_NONE, &word);
	if (err)
		return err;
	gr_link_name_merge(word.text);
	*ret = (struct gr_reference_group){
		.type = end.class == GR_CLASS_ROOT ? end.kind : end.name,
		.name = gr_arena_internf(
			&p->answers->stop->program->arena, "%s%s",
			from.class == GR_CLASS_ROOT ? from.name : "",
			word.text),
		.example_addr = end.addr,
	};
	return ret->name ? NULL : &gr_enomem;
}

/* Find the group of a link, or make it. *@p ret is NULL if there are too many
 * already. */
static struct gr_error *need_group(struct grouper *p,
				   const struct gr_link *link,
				   struct gr_reference_group **ret)
{
	struct gr_reference_group like;
	struct gr_error *err = describe_group(p, link, &like);

	*ret = NULL;
	for (size_t i = 0; !err && i < p->groups.size; i++)
		if (p->groups.data[i].name == like.name &&
		    !strcmp(p->groups.data[i].type, like.type)) {
			*ret = &p->groups.data[i];
			return NULL;
		}
	if (err || p->groups.size == MAX_GROUPS)
		return err;
	if (!group_vector_append(&p->groups, like))
		return &gr_enomem;
	*ret = &p->groups.data[p->groups.size - 1];
	return NULL;
}

static struct gr_error *add_to_group(struct grouper *p,
				     const struct gr_link *link)
{
	const struct gr_graph *g = p->answers->graph->graph;
	gr_vertex end = p->is_to_source ? link->from : link->to;
	struct gr_reference_group *group;
	struct gr_error *err = need_group(p, link, &group);

	if (err)
		return err;
	if (!group) {
		p->ungrouped++;
		return NULL;
	}
	group->references++;
	if (gr_bitmap_set_new(p->seen, end))
		group->bytes += gr_graph_own_bytes(g, end);
	return NULL;
}

static int by_references(const void *a, const void *b)
{
	const struct gr_reference_group *x = a, *y = b;

	if (x->references != y->references)
		return x->references < y->references ? 1 : -1;
	int order = strcmp(x->type, y->type);
	return order ? order : strcmp(x->name, y->name);
}

static struct gr_error *add_to_list(struct gr_answers *answers,
				    bool is_to_source,
				    const struct gr_link *link,
				    struct reference_vector *list)
{
	struct gr_reference reference = {
		.word_addr = link->addr,
		.is_conservative = link->is_conservative,
	};
	struct gr_vertex_info from;
	struct gr_error *err = gr_vertex_describe(answers, link->from, &from);

	if (!err)
		err = gr_reference_name(answers, link, &from, GR_VERTEX_NONE,
					&reference.name);
	reference.vertex = from;
	if (!err && !is_to_source)
		err = gr_vertex_describe(answers, link->to, &reference.vertex);
	if (err)
		return err;
	return reference_vector_append(list, reference) ? NULL : &gr_enomem;
}

/* The reading of one direction. */
struct reading {
	struct gr_answers *answers;
	gr_vertex v;
	bool is_to_source; /* referrers */
	size_t max;
	struct gr_link_reader reader;
	struct gr_link_vector links; /* of one source */
	struct reference_vector list;
	struct grouper *grouper; /* NULL: no groups */
};

static void reading_deinit(struct reading *r)
{
	gr_link_reader_deinit(&r->reader);
	gr_link_vector_deinit(&r->links);
	reference_vector_deinit(&r->list);
}

/* Read the links of one source. */
static struct gr_error *read_source(struct reading *r, gr_vertex from,
				    gr_vertex to)
{
	size_t max = r->grouper ? SIZE_MAX : r->max - r->list.size;
	struct gr_error *err;

	r->links.size = 0;
	err = gr_links_read(&r->reader, from, to, max, &r->links);
	for (size_t i = 0; !err && i < r->links.size; i++) {
		const struct gr_link *link = &r->links.data[i];
		err = gr_runtime_step(&r->answers->stop->program->rt, 1);
		if (!err && r->list.size < r->max)
			err = add_to_list(r->answers, r->is_to_source, link,
					  &r->list);
		if (!err && r->grouper)
			err = add_to_group(r->grouper, link);
	}
	return err;
}

/* Is a source of an edge to @p v one of its referrers? Garbage refers to nothing,
 * but only leaked blocks lead to a block that is leaked. */
static bool is_referrer(const struct gr_graph *g, gr_vertex from, gr_vertex v)
{
	return gr_graph_is_reached(g, from) || !gr_graph_is_reached(g, v);
}

/* All sources of references to the object; each has all of its own. */
static struct gr_error *read_sources(struct reading *r)
{
	const struct gr_graph *g = r->answers->graph->graph;
	struct gr_error *err = NULL;
	gr_vertex last = GR_VERTEX_NONE;

	for (uint32_t e = g->rfirst[r->v];
	     !err && e < g->rfirst[r->v + 1] &&
	     (r->grouper || r->list.size < r->max);
	     e++) {
		gr_vertex from = g->from[e];
		if (from != last && is_referrer(g, from, r->v))
			err = read_source(r, from, r->v);
		last = from;
	}
	return err;
}

static struct gr_error *read_all(struct reading *r, struct gr_references *ret)
{
	struct gr_error *err = r->is_to_source ?
				       read_sources(r) :
				       read_source(r, r->v, GR_VERTEX_NONE);

	if (err)
		return err;
	if (r->grouper) {
		struct group_vector *groups = &r->grouper->groups;
		if (groups->size)
			qsort(groups->data, groups->size, sizeof(*groups->data),
			      by_references);
		ret->ngroups = groups->size;
		ret->groups = steal_ptr(groups->data);
		ret->ungrouped = r->grouper->ungrouped;
	}
	ret->nlist = r->list.size;
	ret->list = steal_ptr(r->list.data);
	return NULL;
}

static struct gr_error *read_direction(struct gr_answers *answers, gr_vertex v,
				       bool is_to_source, size_t max,
				       bool group, struct gr_references *ret)
{
	const struct gr_graph *g = answers->graph->graph;
	_cleanup_(grouper_deinit) struct grouper grouper = {
		.answers = answers,
		.is_to_source = is_to_source,
	};
	_cleanup_(reading_deinit) struct reading r = {
		.answers = answers,
		.v = v,
		.is_to_source = is_to_source,
		.max = max,
		.reader = { .answers = answers },
	};

	if (group && ret->total > max) {
		r.grouper = &grouper;
		grouper.seen = gr_array_calloc(
			g->budget, gr_bitmap_words(g->nvertices) + 1,
			sizeof(uint64_t));
		if (!grouper.seen)
			return gr_budget_error(g->budget);
	}
	return read_all(&r, ret);
}

struct gr_error *gr_references_read(struct gr_answers *answers, gr_vertex v,
				    size_t max, bool group,
				    struct gr_references *ret)
{
	const struct gr_graph *g = answers->graph->graph;

	ret->total = g->first[v + 1] - g->first[v];
	return read_direction(answers, v, false, max, group, ret);
}

struct gr_error *gr_referrers_read(struct gr_answers *answers, gr_vertex v,
				   size_t max, bool group,
				   struct gr_references *ret)
{
	const struct gr_graph *g = answers->graph->graph;

	for (uint32_t e = g->rfirst[v]; e < g->rfirst[v + 1]; e++)
		ret->total += is_referrer(g, g->from[e], v);
	return read_direction(answers, v, true, max, group, ret);
}
