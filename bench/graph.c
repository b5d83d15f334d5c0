// SPDX-License-Identifier: Apache-2.0
/*
 * The graph's algorithms alone, on made-up heaps: what each phase takes, and
 * the bytes of all arrays at their peak.
 *
 *	graph [-n OBJECTS] [-s friendly|shuffled] [-r RUNS]
 *
 * `friendly` is what services hold, in the order of allocation: lists, maps,
 * slices, trees, some sharing; 1.14 edges an object. `shuffled` is a random
 * binary tree with a leaf at each vertex and an eighth of crossing edges, its
 * numbers a random permutation: the worst case for caches.
 */
#include "graph/graph.h"
#include "graph/sets.h"

#include <getopt.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <time.h>

enum { SPAN_SLOTS = 256, NROOTS = 1000, MAX_FAN = 256 };

static uint64_t seed = 88172645463325252;

static uint32_t below(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 32) * n >> 32;
}

/** A heap as a list of edges by source, before it is a graph. */
struct heap {
	uint32_t n, nroots;
	uint32_t *first, *to; /* of objects, then roots */
	uint32_t nedges;
};

static void *take(uint64_t count, size_t bytes)
{
	void *p = calloc(count + 1, bytes);

	if (!p) {
		fprintf(stderr, "out of memory\n");
		_Exit(1);
	}
	return p;
}

// ------------------------------------------------------------------ friendly

/** Size classes: objects of one kind lie together, span by span. */
enum kind { NODE, LEAF, PIECE, BOX, NKINDS };

struct friendly {
	uint32_t n, used;
	uint32_t next[NKINDS], end[NKINDS]; /* in the span of each */
	uint32_t *from, *to;
	uint32_t nedges;
	uint32_t shared[64]; /* what many point to */
};

static uint32_t object(struct friendly *f, enum kind kind)
{
	if (f->next[kind] == f->end[kind]) {
		f->next[kind] = f->used;
		f->used += SPAN_SLOTS;
		f->end[kind] = f->used;
	}
	return f->next[kind]++;
}

static void edge(struct friendly *f, uint32_t from, uint32_t to)
{
	f->from[f->nedges] = from;
	f->to[f->nedges++] = to;
}

/* A list whose elements have a payload; a seventh of them know a shared one. */
static void make_list(struct friendly *f, uint32_t root, uint32_t length)
{
	uint32_t last = root;

	while (length--) {
		uint32_t node = object(f, NODE);
		edge(f, last, node);
		edge(f, node, object(f, LEAF));
		if (!below(7))
			edge(f, node, f->shared[below(64)]);
		last = node;
	}
}

/* A map: pieces of 64 entries, keys and boxes with their text. */
static void make_map(struct friendly *f, uint32_t root, uint32_t entries)
{
	for (uint32_t i = 0; i < entries; i += 64) {
		uint32_t piece = object(f, PIECE);
		edge(f, root, piece);
		for (uint32_t j = 0; j < 64; j++) {
			uint32_t box = object(f, BOX);
			edge(f, piece, object(f, LEAF));
			edge(f, piece, box);
			edge(f, box, object(f, LEAF));
			if (!below(2))
				edge(f, box, f->shared[below(64)]);
		}
	}
}

/* A tree whose vertices know their parents. */
static void make_tree(struct friendly *f, uint32_t root, uint32_t count)
{
	uint32_t *vertex = take(count, sizeof(*vertex));

	for (uint32_t i = 0; i < count; i++) {
		vertex[i] = object(f, NODE);
		edge(f, i ? vertex[(i - 1) / 2] : root, vertex[i]);
		edge(f, vertex[i], object(f, LEAF));
		if (i && !below(3))
			edge(f, vertex[i], vertex[(i - 1) / 2]);
	}
	free(vertex);
}

/* Sort by source, stably. The roots' numbers are already behind n. */
static void to_rows(struct heap *h, const uint32_t *from, const uint32_t *to,
		    uint32_t nedges)
{
	uint32_t nsources = h->n + h->nroots;

	h->first = take(nsources + 1, sizeof(*h->first));
	h->to = take(nedges, sizeof(*h->to));
	h->nedges = nedges;
	for (uint32_t e = 0; e < nedges; e++)
		h->first[from[e] + 1]++;
	for (uint32_t v = 0; v < nsources; v++)
		h->first[v + 1] += h->first[v];
	for (uint32_t e = 0; e < nedges; e++)
		h->to[h->first[from[e]]++] = to[e];
	for (uint32_t v = nsources; v > 0; v--)
		h->first[v] = h->first[v - 1];
	h->first[0] = 0;
}

static struct heap make_friendly(uint32_t n)
{
	struct friendly f = { .n = n };
	struct heap h = { .n = n, .nroots = NROOTS };
	uint64_t max_edges = (uint64_t)n * 2 + 4 * NROOTS;

	f.from = take(max_edges, sizeof(*f.from));
	f.to = take(max_edges, sizeof(*f.to));
	for (uint32_t i = 0; i < 64; i++) {
		f.shared[i] = object(&f, BOX);
		edge(&f, n + i % NROOTS, f.shared[i]);
	}
	uint32_t size = n / NROOTS;
	for (uint32_t i = 0; f.used + 8 * size + 64 * SPAN_SLOTS < n; i++) {
		uint32_t root = n + i % NROOTS;
		if (i % 3 == 0)
			make_list(&f, root, i % 9 ? size : size * 3);
		else if (i % 3 == 1)
			make_map(&f, root, size);
		else
			make_tree(&f, root, size);
	}
	while (f.used + 2 * SPAN_SLOTS < n)
		make_list(&f, n, SPAN_SLOTS);
	to_rows(&h, f.from, f.to, f.nedges);
	free(f.from);
	free(f.to);
	return h;
}

// ------------------------------------------------------------------ shuffled

static struct heap make_shuffled(uint32_t n)
{
	struct heap h = { .n = n, .nroots = NROOTS };
	uint32_t ninner = n / 2, nedges = 0;
	uint32_t *name = take(n, sizeof(*name));
	uint32_t *from = take((uint64_t)n * 2, sizeof(*from));
	uint32_t *to = take((uint64_t)n * 2, sizeof(*to));

	for (uint32_t i = 0; i < n; i++)
		name[i] = i;
	for (uint32_t i = n; i-- > 1;) {
		uint32_t j = below(i + 1), swap = name[i];
		name[i] = name[j];
		name[j] = swap;
	}
	for (uint32_t i = 0; i < ninner; i++) {
		uint32_t parent = i ? name[(i - 1) / 2] : n;
		from[nedges] = parent;
		to[nedges++] = name[i];
		from[nedges] = name[i];
		to[nedges++] = name[ninner + i];
		if (!below(8)) {
			from[nedges] = name[i];
			to[nedges++] = name[below(ninner)];
		}
	}
	to_rows(&h, from, to, nedges);
	free(name);
	free(from);
	free(to);
	return h;
}

// ------------------------------------------------------------------- timing

struct clocks {
	double user, wall;
};

static struct clocks now(void)
{
	struct timespec wall;
	struct rusage usage;

	clock_gettime(CLOCK_MONOTONIC, &wall);
	getrusage(RUSAGE_SELF, &usage);
	return (struct clocks){
		.user = usage.ru_utime.tv_sec * 1e3 +
			usage.ru_utime.tv_usec / 1e3,
		.wall = wall.tv_sec * 1e3 + wall.tv_nsec / 1e6,
	};
}

static void report(const char *what, struct clocks start,
		   const struct gr_budget *budget, uint32_t n)
{
	struct clocks end = now();

	printf("%-12s %8.1f ms user %8.1f ms wall, held %5.1f, "
	       "peak %5.1f B an object\n",
	       what, end.user - start.user, end.wall - start.wall,
	       (double)budget->held_bytes / n, (double)budget->peak_bytes / n);
}

static void check(struct gr_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", err->message);
	_Exit(1);
}

// --------------------------------------------------------------- the phases

static struct gr_objects *make_objects(struct gr_budget *budget, uint32_t n)
{
	uint32_t nruns = (n + SPAN_SLOTS - 1) / SPAN_SLOTS;
	struct gr_run_spec *runs = take(nruns, sizeof(*runs));
	uint64_t *slots = take(n / 64 + 1, sizeof(*slots));
	struct gr_objects *objects = NULL;

	for (uint32_t i = 0; i < nruns; i++)
		runs[i] = (struct gr_run_spec){
			.base = 0xc000000000 + i * UINT64_C(0x10000),
			.elem_bytes = 16 + i % 5 * 16,
			.nslots = i + 1 < nruns ? SPAN_SLOTS :
						  n - i * SPAN_SLOTS,
		};
	gr_bitmap_set_range(slots, 0, n);
	check(gr_objects_create(budget, runs, nruns, slots, &objects));
	free(runs);
	free(slots);
	return objects;
}

static struct gr_graph *copy_edges(struct gr_budget *budget,
				   const struct heap *h)
{
	struct gr_graph *graph = NULL;
	struct gr_edges part;
	gr_vertex end = h->n + h->nroots;
	gr_vertex *holders = take(h->nroots + 1, sizeof(*holders));

	for (uint32_t i = 0; i < h->nroots; i++)
		holders[i] = end;
	holders[h->nroots] = end + 1;
	check(gr_edges_init(&part, budget, 0, end, h->n, h->nedges));
	for (gr_vertex v = 0; v < end; v++) {
		gr_edges_begin(&part, v);
		for (uint32_t e = h->first[v]; e < h->first[v + 1]; e++)
			gr_edges_add(&part, h->to[e]);
	}
	const struct gr_graph_spec spec = {
		.budget = budget,
		.objects = make_objects(budget, h->n),
		.parts = &part,
		.nparts = 1,
		.nroots = h->nroots,
		.ngroups = 1,
		.holders = holders,
	};
	check(gr_graph_create(&spec, &graph));
	free(holders);
	return graph;
}

/* When the last poll was, and the longest time without one. */
struct gaps {
	double last, longest;
};

static struct gr_error *measure_gap(void *ctx)
{
	struct gaps *gaps = ctx;
	double at = now().wall;

	if (at - gaps->last > gaps->longest)
		gaps->longest = at - gaps->last;
	gaps->last = at;
	return NULL;
}

static void phase(struct gr_graph *graph, unsigned int part, const char *name)
{
	struct clocks start = now();
	struct gaps gaps = { .last = start.wall };
	const struct gr_poll poll = { measure_gap, &gaps };

	check(gr_graph_need(graph, part, &poll));
	report(name, start, graph->budget, graph->nobjects);
	printf("%40.1f ms without a poll\n", gaps.longest);
}

static void run(const struct heap *h)
{
	struct gr_budget budget = { 0 };
	struct clocks start = now(), all = start;
	struct gr_graph *graph = copy_edges(&budget, h);

	report("edges", start, &budget, h->n);
	phase(graph, GR_PART_NEAREST, "nearest");
	phase(graph, GR_PART_REVERSE, "reverse");
	phase(graph, GR_PART_DOMINATORS, "dominators");
	report("all", all, &budget, h->n);
	phase(graph, GR_PART_CHILDREN, "children");
	gr_graph_drop(graph, GR_PART_CHILDREN);
	start = now();
	const gr_vertex some[] = { h->n / 4, h->n / 2, h->n / 3 };
	struct gr_kept kept;
	check(gr_graph_keeps(graph, some, 3, NULL, NULL, &kept));
	report("a set", start, &budget, h->n);
	printf("reached %u of %u, %.2f edges an object, retained by all "
	       "%" PRIu64 ", by the set %" PRIu64 "\n\n",
	       graph->nreached, graph->nvertices,
	       (double)graph->first[graph->nvertices] / h->n,
	       graph->retained[gr_graph_top(graph)], kept.bytes);
	gr_graph_destroy(graph);
}

int main(int argc, char **argv)
{
	bool is_shuffled = false;
	uint32_t n = 5000000;
	int option, runs = 3;

	while ((option = getopt(argc, argv, "n:r:s:")) != -1) {
		if (option == 'n')
			n = strtoul(optarg, NULL, 0);
		else if (option == 'r')
			runs = atoi(optarg);
		else if (option == 's')
			is_shuffled = !strcmp(optarg, "shuffled");
		else
			return 2;
	}
	struct heap h = is_shuffled ? make_shuffled(n) : make_friendly(n);
	while (runs-- > 0)
		run(&h);
	free(h.first);
	free(h.to);
	return 0;
}
