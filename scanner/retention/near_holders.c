// SPDX-License-Identifier: Apache-2.0
#include "retention/near_holders.h"

#include "base/bitmap.h"
#include "naming/vertex.h"
#include "scan/answers.h"

#include <inttypes.h>

enum { MAX_LINKS = 16 /* that are kept of an object, for each of two ranks */ };

void gr_near_holders_deinit(struct gr_near_holders *holders)
{
	gr_keys_deinit(&holders->rows);
	gr_near_object_vector_deinit(&holders->objects);
	gr_near_link_vector_deinit(&holders->links);
}

static struct gr_near_object *row_of(const struct gr_near_holders *holders,
				     gr_vertex object)
{
	uint32_t row = gr_keys_find(&holders->rows, object, 0);

	return row == UINT32_MAX ? NULL : &holders->objects.data[row];
}

struct gr_error *gr_near_holders_want(struct gr_near_holders *holders,
				      gr_vertex object)
{
	const struct gr_near_object row = { .object = object,
					    .first = UINT32_MAX };

	if (row_of(holders, object))
		return NULL;
	if (!gr_keys_add(&holders->rows, object, 0, holders->objects.size) ||
	    !gr_near_object_vector_append(&holders->objects, row))
		return &gr_enomem;
	return NULL;
}

// --------------------------------------------------------------------- edges

/* One step up. */
struct step {
	struct gr_near_holders *holders;
	uint64_t *wanted; /* a bit for each vertex */
	struct gr_near_vertices from;
};

static void step_deinit(struct step *step)
{
	free(step->wanted);
	gr_near_vertices_deinit(&step->from);
}

/* Is this edge one of those that are kept of the object? */
static bool take_edge(struct step *step, gr_vertex from, gr_vertex to,
		      enum gr_owner_class class)
{
	struct gr_near_object *row = row_of(step->holders, to);
	bool is_named = class == GR_OWNER_NAMED;

	if (!row || from == to || row->ntaken[is_named] == MAX_LINKS ||
	    gr_owner_is_blind(step->holders->types, from, to))
		return false;
	row->ntaken[is_named]++;
	return true;
}

/* Note @p from if it points to what is wanted. */
static struct gr_error *look(struct step *step, gr_vertex from)
{
	const struct gr_graph *g = step->holders->types->answers->graph->graph;
	bool is_taken = false;

	for (uint32_t e = g->first[from]; e < g->first[from + 1]; e++)
		if (gr_bitmap_test(step->wanted, g->to[e])) {
			enum gr_owner_class class =
				gr_owner_class_of(step->holders->types, from);
			if (class == GR_OWNER_UNKNOWN)
				return NULL;
			is_taken |= take_edge(step, from, g->to[e], class);
		}
	return !is_taken || gr_near_vertices_append(&step->from, from) ?
		       NULL :
		       &gr_enomem;
}

static struct gr_error *find_referrers(struct step *step)
{
	struct gr_answers *answers = step->holders->types->answers;
	const struct gr_graph *g = answers->graph->graph;
	gr_vertex end = gr_graph_first_group(g);
	struct gr_error *err = NULL;

	for (gr_vertex v = 0; !err && v < end; v++) {
		err = gr_runtime_step(&answers->stop->program->rt,
				      1 + g->first[v + 1] - g->first[v]);
		if (!err)
			err = look(step, v);
	}
	return err;
}

// --------------------------------------------------------------------- links

static struct gr_error *take_link(void *ctx, const struct gr_link *link)
{
	struct step *step = ctx;
	struct gr_near_holders *holders = step->holders;

	if (!gr_bitmap_test(step->wanted, link->to) || link->from == link->to)
		return NULL;
	struct gr_near_object *row = row_of(holders, link->to);
	uint8_t class = gr_owner_class_of(holders->types, link->from);
	bool is_named = class == GR_OWNER_NAMED;
	if (!row || row->nlinks[is_named] == MAX_LINKS ||
	    gr_owner_is_blind(holders->types, link->from, link->to))
		return NULL;
	const struct gr_near_link new = { *link, class, row->first };
	row->first = holders->links.size;
	row->nlinks[is_named]++;
	return gr_near_link_vector_append(&holders->links, new) ? NULL :
								  &gr_enomem;
}

static struct gr_error *read_links(struct step *step)
{
	_cleanup_(gr_link_reader_deinit) struct gr_link_reader reader = {
		.answers = step->holders->types->answers
	};
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < step->from.size; i++)
		err = gr_links_each(&reader, step->from.data[i], GR_VERTEX_NONE,
				    SIZE_MAX, take_link, step);
	return err;
}

/* The lower, the more it says. */
static unsigned int rank(const struct gr_near_link *link)
{
	switch ((enum gr_owner_class)link->class) {
	case GR_OWNER_NAMED:
		return 0;
	case GR_OWNER_TIMER:
		return 1;
	case GR_OWNER_GENERAL:
		return 2;
	case GR_OWNER_CONTAINER:
		return 3;
	case GR_OWNER_UNKNOWN:
	case GR_OWNER_RUNTIME:
	case GR_OWNER_VARIABLE:
	case GR_OWNER_ROOT:
		break;
	}
	return UINT32_MAX;
}

const struct gr_near_link *
gr_near_holders_links(const struct gr_near_holders *holders, gr_vertex object)
{
	const struct gr_near_object *row = row_of(holders, object);

	return row && row->first != UINT32_MAX ?
		       &holders->links.data[row->first] :
		       NULL;
}

const struct gr_near_link *
gr_near_holders_next(const struct gr_near_holders *holders,
		     const struct gr_near_link *link)
{
	return link->next == UINT32_MAX ? NULL :
					  &holders->links.data[link->next];
}

/* The link from the object that says most; of equal ones, the object with the
 * lowest address. Links come in reverse. */
static const struct gr_near_link *
best_link(const struct gr_near_holders *holders, gr_vertex object)
{
	const struct gr_near_link *best = NULL;

	for (const struct gr_near_link *link =
		     gr_near_holders_links(holders, object);
	     link; link = gr_near_holders_next(holders, link))
		if (rank(link) != UINT32_MAX &&
		    (!best || rank(link) <= rank(best)))
			best = link;
	return best;
}

// --------------------------------------------------------------------- steps

/* Want what says nothing itself. */
static struct gr_error *go_up(struct gr_near_holders *holders, size_t start,
			      size_t end)
{
	struct gr_error *err = NULL;

	for (size_t i = start; !err && i < end; i++) {
		const struct gr_near_link *link =
			best_link(holders, holders->objects.data[i].object);

		if (link && link->class != GR_OWNER_NAMED)
			err = gr_near_holders_want(holders, link->link.from);
	}
	return err;
}

static struct gr_error *step_up(struct gr_near_holders *holders, size_t start)
{
	_cleanup_(step_deinit) struct step step = { .holders = holders };
	const struct gr_graph *g = holders->types->answers->graph->graph;
	size_t end = holders->objects.size;

	step.wanted = gr_bitmap_alloc(g->nvertices);
	if (!step.wanted)
		return &gr_enomem;
	for (size_t i = start; i < end; i++)
		gr_bitmap_set(step.wanted, holders->objects.data[i].object);
	struct gr_error *err = find_referrers(&step);
	if (!err)
		err = read_links(&step);
	return err ? err : go_up(holders, start, end);
}

struct gr_error *gr_near_holders_find(struct gr_near_holders *holders)
{
	struct gr_error *err = NULL;
	size_t start = 0;

	for (int i = 0;
	     !err && i < GR_MAX_NAME_STEPS && start < holders->objects.size;
	     i++) {
		size_t end = holders->objects.size;
		err = step_up(holders, start);
		start = end;
	}
	return err;
}

// ---------------------------------------------------------------------- text

/* The links that lead to an object, the last one first; the number of those
 * from the base of its name on, 0: it has none. */
static size_t find_chain(const struct gr_near_holders *holders,
			 gr_vertex object,
			 const struct gr_near_link *ret[GR_MAX_NAME_STEPS])
{
	size_t n = 0;

	while (n < GR_MAX_NAME_STEPS) {
		const struct gr_near_link *link = best_link(holders, object);

		if (!link)
			break;
		ret[n++] = link;
		if (link->class == GR_OWNER_NAMED)
			return n;
		object = link->link.from;
	}
	return n && ret[0]->class != GR_OWNER_CONTAINER ? 1 : 0;
}

struct gr_error *gr_near_holders_put(const struct gr_near_holders *holders,
				     gr_vertex object, struct gr_text *text,
				     struct gr_variable_way *ret)
{
	struct gr_answers *answers = holders->types->answers;
	const struct gr_near_link *chain[GR_MAX_NAME_STEPS];
	size_t n = find_chain(holders, object, chain);
	struct gr_vertex_info base;

	*ret = (struct gr_variable_way){ .pointee = GR_TYPE_NONE };
	if (!n)
		return NULL;
	struct gr_error *err =
		gr_vertex_describe(answers, chain[n - 1]->link.from, &base);
	if (!err)
		gr_text_put(text, "(*%s)(0x%" PRIx64 ")", base.type, base.addr);
	for (size_t i = n; !err && i--;)
		err = gr_variable_way_put_link(
			holders->types, &chain[i]->link,
			i + 1 < n ? chain[i + 1]->link.from : GR_VERTEX_NONE,
			text, ret);
	return err;
}
