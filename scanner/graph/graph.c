// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include "graph/internal.h"

#include <inttypes.h>

/** Numbers that a vertex may have, without GR_VERTEX_NONE. */
static const uint64_t max_vertices = GR_VERTEX_NONE;

void gr_graph_destroy(struct gr_graph *graph)
{
	if (!graph)
		return;
	gr_graph_drop(graph, GR_PART_ALL);
	gr_array_free(graph->first);
	gr_array_free(graph->to);
	gr_array_free(graph->ranks);
	gr_array_free(graph->weights);
	gr_objects_destroy(graph->objects);
	free(graph);
}

enum gr_vertex_kind gr_graph_kind(const struct gr_graph *graph, gr_vertex v)
{
	assert(v < graph->nvertices);
	if (v < graph->nobjects)
		return GR_VERTEX_OBJECT;
	if (v < gr_graph_first_group(graph))
		return GR_VERTEX_ROOT;
	return v < gr_graph_top(graph) ? GR_VERTEX_GROUP : GR_VERTEX_TOP;
}

uint64_t gr_graph_own_bytes(const struct gr_graph *graph, gr_vertex v)
{
	if (v >= graph->nobjects)
		return 0;
	return graph->weights ? graph->weights[v] :
				gr_objects_bytes(graph->objects, v);
}

struct gr_sizes gr_graph_own(const struct gr_graph *graph, gr_vertex v)
{
	uint64_t bytes = gr_graph_own_bytes(graph, v);
	bool is_second = v >= gr_objects_second(graph->objects);

	return (struct gr_sizes){ bytes, is_second ? bytes : 0 };
}

// -------------------------------------------------------------------- making

/* The edges from groups and the top, behind those of the parts: holders[]
 * turned round. */
static void add_holder_edges(struct gr_graph *g, const gr_vertex *holders)
{
	gr_vertex first_group = gr_graph_first_group(g);
	uint32_t n = g->nroots + g->ngroups;
	uint32_t *first = g->first;
	uint32_t start = first[first_group], next = start;

	memset(first + first_group, 0,
	       ((uint64_t)g->ngroups + 2) * sizeof(*first));
	for (uint32_t i = 0; i < n; i++) {
		assert(holders[i] >= first_group && holders[i] < g->nvertices &&
		       holders[i] > g->nobjects + i);
		first[holders[i]]++;
	}
	for (gr_vertex v = first_group; v <= g->nvertices; v++) {
		uint32_t count = first[v];
		first[v] = next;
		next += count;
	}
	// first[] is the cursor, and then has what its successor should have.
	for (uint32_t i = 0; i < n; i++)
		g->to[first[holders[i]]++] = g->nobjects + i;
	for (gr_vertex v = g->nvertices; v > first_group; v--)
		first[v] = first[v - 1];
	first[first_group] = start;
}

static struct gr_error *check_size(const struct gr_graph_spec *spec)
{
	uint64_t nvertices = (uint64_t)spec->objects->count + spec->nroots +
			     spec->ngroups + 1;

	if (nvertices < max_vertices)
		return NULL;
	return gr_error_format(GR_ERROR_LIMIT,
			       "the heap has too many objects for an object "
			       "graph: %" PRIu64 ", and the limit is %" PRIu64,
			       nvertices, max_vertices - 1);
}

static struct gr_error *copy_ranks(const struct gr_graph_spec *spec,
				   struct gr_graph *g)
{
	if (!spec->ranks)
		return NULL;
	g->ranks = gr_array_alloc(g->budget, (uint64_t)g->nroots + 1, 1);
	if (!g->ranks)
		return gr_budget_error(g->budget);
	for (uint32_t i = 0; i < g->nroots; i++) {
		assert(spec->ranks[i] < GR_RANKS);
		g->ranks[i] = spec->ranks[i];
	}
	return NULL;
}

static struct gr_error *make(const struct gr_graph_spec *spec,
			     struct gr_graph *g)
{
	uint32_t nheld = spec->nroots + spec->ngroups;

	*g = (struct gr_graph){
		.budget = spec->budget,
		.objects = spec->objects,
		.nobjects = spec->objects->count,
		.nroots = spec->nroots,
		.ngroups = spec->ngroups,
		.nvertices = spec->objects->count + nheld + 1,
	};
	assert(spec->nparts &&
	       spec->parts[spec->nparts - 1].end == gr_graph_first_group(g));
	struct gr_error *err = gr_edges_join(spec->parts, spec->nparts,
					     g->nvertices, nheld, &g->first,
					     &g->to);
	if (!err)
		add_holder_edges(g, spec->holders);
	return err ? err : copy_ranks(spec, g);
}

static void drop_spec(const struct gr_graph_spec *spec)
{
	for (size_t i = 0; i < spec->nparts; i++)
		gr_edges_deinit(&spec->parts[i]);
	gr_objects_destroy(spec->objects);
}

struct gr_error *gr_graph_create(const struct gr_graph_spec *spec,
				 struct gr_graph **ret)
{
	struct gr_error *err = check_size(spec);
	struct gr_graph *graph = err ? NULL : malloc(sizeof(*graph));

	if (!graph) {
		drop_spec(spec);
		return err ? err : &gr_enomem;
	}
	err = make(spec, graph);
	if (err) {
		gr_graph_destroy(graph);
		return err;
	}
	*ret = graph;
	return NULL;
}

// --------------------------------------------------------------------- parts

unsigned int gr_graph_parts(const struct gr_graph *graph)
{
	return (graph->parent ? GR_PART_NEAREST : 0) |
	       (graph->from ? GR_PART_REVERSE : 0) |
	       (graph->idom ? GR_PART_DOMINATORS : 0) |
	       (graph->child ? GR_PART_CHILDREN : 0);
}

#define FREE_ARRAY(array) gr_array_free(steal_ptr(array))

void gr_graph_drop(struct gr_graph *graph, unsigned int parts)
{
	if (parts & GR_PART_CHILDREN) {
		FREE_ARRAY(graph->cfirst);
		FREE_ARRAY(graph->child);
	}
	if (parts & GR_PART_DOMINATORS) {
		FREE_ARRAY(graph->idom);
		FREE_ARRAY(graph->retained);
		FREE_ARRAY(graph->retained_second);
	}
	if (parts & GR_PART_REVERSE) {
		FREE_ARRAY(graph->rfirst);
		FREE_ARRAY(graph->from);
	}
	if (parts & GR_PART_NEAREST) {
		FREE_ARRAY(graph->parent);
		FREE_ARRAY(graph->order);
		FREE_ARRAY(graph->crossed);
		graph->nreached = 0;
		graph->nextra = 0;
	}
}

/* In the order in which they are made from each other. */
static const struct {
	enum gr_graph_part part, needs;
	struct gr_error *(*make)(struct gr_graph *graph,
				 const struct gr_poll *poll);
} makers[] = {
	{ GR_PART_NEAREST, 0, gr_graph_make_nearest },
	{ GR_PART_REVERSE, 0, gr_graph_make_reverse },
	{ GR_PART_DOMINATORS, GR_PART_NEAREST, gr_graph_make_dominators },
	{ GR_PART_CHILDREN, GR_PART_DOMINATORS, gr_graph_make_children },
};

/* The parts that @p parts are made from and that are not there. */
static unsigned int add_needs(const struct gr_graph *graph, unsigned int parts)
{
	for (size_t i = GR_ARRAY_SIZE(makers); i-- > 0;)
		if (parts & makers[i].part & ~gr_graph_parts(graph))
			parts |= makers[i].needs;
	return parts;
}

static struct gr_error *make_parts(struct gr_graph *graph, unsigned int parts,
				   const struct gr_poll *poll)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(makers); i++)
		if (parts & makers[i].part & ~gr_graph_parts(graph))
			err = makers[i].make(graph, poll);
	return err;
}

struct gr_error *gr_graph_weigh(struct gr_graph *graph, uint32_t *weights,
				const struct gr_poll *poll)
{
	gr_array_free(graph->weights);
	graph->weights = weights;
	// Children are in the order of what they retain.
	gr_graph_drop(graph, GR_PART_CHILDREN);
	struct gr_error *err = graph->idom && graph->parent ?
				       gr_graph_sum_retained(graph, poll) :
				       NULL;

	if (err || !graph->parent)
		gr_graph_drop(graph, GR_PART_DOMINATORS);
	return err;
}

struct gr_error *gr_graph_need(struct gr_graph *graph, unsigned int parts,
			       const struct gr_poll *poll)
{
	unsigned int wanted = add_needs(graph, parts);
	struct gr_error *err = make_parts(graph, wanted, poll);

	if (!(gr_graph_parts(graph) & ~wanted) ||
	    !gr_error_catch(&err, GR_ERROR_NO_MEMORY))
		return err;
	graph->budget->is_exceeded = false;
	gr_graph_drop(graph, ~wanted);
	return make_parts(graph, add_needs(graph, parts), poll);
}
