// SPDX-License-Identifier: Apache-2.0
#include "goref-scan-graph.h"

#include "graph/paths.h"
#include "graph/sets.h"
#include "naming/link.h"

#include <inttypes.h>

static void put_phases(const struct gr_scan *scan)
{
	const char *comma = "";

	printf("\"phases_ms\": {");
#define X(phase)                                                       \
	printf("%s\"" #phase "\": %.3f", comma,                        \
	       (double)gr_scan_graph_phases(scan)->phase##_us / 1000); \
	comma = ", ";
	GR_GRAPH_PHASES(X)
#undef X
	printf("}");
}

static void put_groups(const struct gr_heap_graph *hg)
{
	printf("\"groups\": {");
	for (int i = 0; i < GR_NROOT_GROUPS; i++)
		printf("%s\"%s\": %" PRIu64, i ? ", " : "",
		       gr_root_group_name(i),
		       hg->graph->retained[gr_group_vertex(hg, i)]);
	printf("}");
}

/* A digit for each root. */
static void put_ranks(const struct gr_graph *g)
{
	printf("\"ranks\": \"");
	for (gr_vertex i = 0; i < g->nroots; i++)
		printf("%u", gr_graph_rank(g, gr_graph_first_root(g) + i));
	printf("\"");
}

/* The time of questions whose arrays are there: who holds an object, and what
 * three objects keep alive together. */
static struct gr_error *ask_again(struct gr_graph *g, uint64_t *ret_us)
{
	uint64_t start_us = gr_costs_now_us();
	gr_vertex some[] = { g->nobjects / 4, g->nobjects / 3,
			     g->nobjects / 2 };
	struct gr_root_paths paths = { 0 };
	struct gr_kept kept;
	struct gr_error *err = NULL;

	if (g->nobjects)
		err = gr_graph_root_paths(g, some[0], 10, NULL, NULL, &paths);
	if (g->nobjects && !err)
		err = gr_graph_keeps(g, some, GR_ARRAY_SIZE(some), NULL, NULL,
				     &kept);
	gr_root_paths_deinit(&paths);
	*ret_us = gr_costs_now_us() - start_us;
	return err;
}

struct gr_error *put_graph(struct gr_scan *scan)
{
	struct gr_error *err = gr_answers_need_graph(
		&scan->answers, GR_PART_REVERSE | GR_PART_DOMINATORS);
	uint64_t again_us = 0;

	if (!err)
		err = ask_again(scan->answers.graph->graph, &again_us);
	if (err)
		return err;
	const struct gr_heap_graph *hg = scan->answers.graph;
	const struct gr_graph *g = hg->graph;
	uint64_t bytes = 0, direct = 0;
	gr_vertex garbage = 0;
	for (gr_vertex v = 0; v < g->nobjects; v++) {
		bytes += gr_graph_own_bytes(g, v);
		if (!gr_graph_is_reached(g, v))
			garbage++;
		else if (g->idom[v] == gr_graph_top(g))
			direct += g->retained[v];
	}
	printf("{\"objects\": %u, \"bytes\": %" PRIu64 ", \"garbage\": %u, "
	       "\"roots\": %u, \"edges\": %u, \"statics\": %zu, \"left_out\": %" PRIu64
	       ", \"retained_bytes\": %" PRIu64 ", \"shared_bytes\": %" PRIu64
	       ", \"held_bytes\": %" PRIu64 ", \"peak_bytes\": %" PRIu64
	       ", \"again_ms\": %.3f, ",
	       g->nobjects, bytes, garbage, g->nroots, g->first[g->nvertices],
	       hg->statics.size, hg->left_out, g->retained[gr_graph_top(g)],
	       direct, hg->budget.held_bytes, hg->budget.peak_bytes,
	       (double)again_us / 1000);
	put_groups(hg);
	printf(", ");
	put_ranks(g);
	printf(", ");
	put_phases(scan);
	printf("}\n");
	return NULL;
}

/* An object as its address, any other vertex as its number behind objects. */
static void put_vertex(const struct gr_graph *g, gr_vertex v)
{
	if (v < g->nobjects)
		printf("0x%" PRIx64, gr_objects_addr(g->objects, v));
	else
		printf("%u", v - g->nobjects);
}

struct gr_error *put_edges(struct gr_answers *answers)
{
	struct gr_error *err = gr_answers_need_graph(answers, GR_PART_NEAREST);

	if (err)
		return err;
	const struct gr_graph *g = answers->graph->graph;
	for (gr_vertex v = 0; v < g->nvertices; v++)
		for (uint32_t i = g->first[v]; i < g->first[v + 1]; i++) {
			put_vertex(g, v);
			printf("\t");
			put_vertex(g, g->to[i]);
			printf("\n");
		}
	return NULL;
}

struct gr_error *put_retained(struct gr_answers *answers)
{
	struct gr_error *err =
		gr_answers_need_graph(answers, GR_PART_DOMINATORS);

	if (err)
		return err;
	const struct gr_graph *g = answers->graph->graph;
	for (gr_vertex v = 0; v < g->nvertices; v++) {
		put_vertex(g, v);
		printf("\t%" PRIu64 "\t%" PRIu64 "\n", gr_graph_own_bytes(g, v),
		       g->retained[v]);
	}
	return NULL;
}

enum { END_HOPS = 20 /* of a path, that are printed from each end */ };

static struct gr_error *put_hop(struct gr_link_reader *reader, gr_vertex from,
				gr_vertex to)
{
	_cleanup_(gr_link_vector_deinit) struct gr_link_vector links = { 0 };
	struct gr_error *err = gr_links_read(reader, from, to, 1, &links);

	if (!err)
		printf("\t0x%" PRIx64 ">0x%" PRIx64,
		       links.size ? links.data->addr : UINT64_C(1),
		       gr_objects_addr(reader->answers->graph->graph->objects,
				       to));
	return err;
}

static struct gr_error *put_path(struct gr_link_reader *reader,
				 const struct gr_root_paths *found)
{
	const struct gr_graph *g = reader->answers->graph->graph;
	const struct gr_root_path *path = &found->paths[0];
	uint32_t at = path->hop;
	struct gr_error *err = NULL;

	printf("%u\t%u\t%u", gr_graph_rank(g, path->root), path->length,
	       path->root - g->nobjects);
	for (uint32_t i = 0; !err && i < path->length; i++) {
		gr_vertex from = found->hops[at].vertex;

		at = found->hops[at].next;
		if (i < END_HOPS || i + END_HOPS >= path->length)
			err = put_hop(reader, from, found->hops[at].vertex);
		else if (i == END_HOPS)
			printf("\t...");
	}
	printf("\n");
	return err;
}

struct gr_error *put_paths(struct gr_answers *answers)
{
	_cleanup_(gr_link_reader_deinit) struct gr_link_reader reader = {
		.answers = answers
	};
	struct gr_error *err = gr_answers_need_graph(answers, GR_PART_REVERSE);

	if (err)
		return err;
	struct gr_graph *g = answers->graph->graph;
	for (gr_vertex v = 0; !err && v < g->nobjects; v++) {
		_cleanup_(gr_root_paths_deinit) struct gr_root_paths found = {
			0
		};

		err = gr_graph_root_paths(g, v, 1, NULL, NULL, &found);
		if (!err && found.npaths)
			err = put_path(&reader, &found);
	}
	return err;
}

/* The vertex that put_vertex() prints as @p word; or GR_VERTEX_NONE. */
static gr_vertex parse_vertex(const struct gr_graph *g, const char *word)
{
	uint64_t number = strtoull(word, NULL, 0);

	if (!strncmp(word, "0x", 2))
		return gr_objects_find(g->objects, number);
	return number < g->nvertices - g->nobjects ? g->nobjects + number :
						     GR_VERTEX_NONE;
}

/* Set the bits of the vertices that a line names. */
static struct gr_error *parse_set(const struct gr_graph *g, char *line,
				  uint64_t *set)
{
	char *rest = NULL;

	for (char *word = strtok_r(line, " \n", &rest); word;
	     word = strtok_r(NULL, " \n", &rest)) {
		gr_vertex v = parse_vertex(g, word);

		if (v == GR_VERTEX_NONE)
			return gr_error_format(GR_ERROR_NOT_FOUND,
					       "no vertex: %s", word);
		gr_bitmap_set(set, v);
	}
	return NULL;
}

static struct gr_error *put_kept(struct gr_graph *g, char *line)
{
	_cleanup_free_ uint64_t *set = gr_bitmap_alloc(g->nvertices);
	struct gr_kept kept = { 0 };
	struct gr_error *err = set ? parse_set(g, line, set) : &gr_enomem;

	if (!err)
		err = gr_graph_set_keeps(g, set, NULL, NULL, &kept);
	if (!err)
		printf("%u\t%" PRIu64 "\n", kept.objects, kept.bytes);
	return err;
}

struct gr_error *put_sets(struct gr_answers *answers, FILE *in)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	struct gr_error *err = gr_answers_need_graph(answers, GR_PART_REVERSE);

	while (!err && getline(&line, &size, in) >= 0)
		err = put_kept(answers->graph->graph, line);
	return err;
}
