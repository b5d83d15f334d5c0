// SPDX-License-Identifier: Apache-2.0
/* graph: what only queued roots hold, and the roots that are there for an object
 * that they lead to, against plain marks. */
#include "graph/deferred.h"

#include "graph_builder.h"

enum { NGRAPHS = 20000 };

#define BIT(v) (UINT64_C(1) << (v))

/** Roots of a graph: deferred, queued, or neither. */
struct roots {
	struct gr_deferred_root deferred[BUILD_MAX_VERTICES];
	gr_vertex queued[BUILD_MAX_VERTICES];
	gr_vertex weak[2];
	struct gr_deferred_spec spec;
};

static int compare_owners(const void *a, const void *b)
{
	const struct gr_deferred_root *x = a, *y = b;

	return x->owner < y->owner ? -1 : x->owner > y->owner;
}

static void random_roots(struct roots *r, uint64_t *seed, const struct build *b)
{
	uint32_t ndeferred = 0, nqueued = 0;

	for (gr_vertex i = 0; i < b->nroots; i++) {
		uint32_t kind = build_below(seed, 6);
		if (!kind)
			r->queued[nqueued++] = b->nobjects + i;
		if (!kind || kind == 5)
			continue;
		r->deferred[ndeferred++] = (struct gr_deferred_root){
			.root = b->nobjects + i,
			.owner = b->nobjects && kind > 1 ?
					 build_below(seed, b->nobjects) :
					 GR_VERTEX_NONE,
		};
	}
	qsort(r->deferred, ndeferred, sizeof(*r->deferred), compare_owners);
	r->spec = (struct gr_deferred_spec){
		.roots = r->deferred,
		.nroots = ndeferred,
		.queued = r->queued,
		.nqueued = nqueued,
		.weak = r->weak,
		.nweak = b->nobjects && !build_below(seed, 4),
	};
	if (r->spec.nweak)
		r->weak[0] = build_below(seed, b->nobjects);
}

/* A mark without the queued roots, if @p without says so, that enters a deferred
 * root only once its owner is marked. */
static uint64_t naive_live(const struct build *b, const struct roots *r,
			   uint64_t without, uint64_t begin)
{
	uint64_t left_out = without, before, marked;

	for (uint32_t i = 0; i < r->spec.nroots; i++)
		left_out |= BIT(r->deferred[i].root);
	do {
		before = left_out;
		marked = naive_mark_from(b, begin, left_out);
		for (uint32_t i = 0; i < r->spec.nroots; i++)
			if (r->deferred[i].owner != GR_VERTEX_NONE &&
			    marked & BIT(r->deferred[i].owner))
				left_out &= ~BIT(r->deferred[i].root);
	} while (left_out != before);
	return marked;
}

static uint64_t queued_bits(const struct roots *r)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < r->spec.nqueued; i++)
		bits |= BIT(r->queued[i]);
	return bits;
}

/* Collect owners until none is left that is garbage: the roots that remain. */
static uint64_t naive_stuck(const struct build *b, const struct roots *r,
			    uint64_t live)
{
	uint64_t left = 0, before, reached;

	for (uint32_t i = 0; i < r->spec.nroots; i++)
		left |= BIT(r->deferred[i].root) & ~live;
	do {
		before = left;
		reached = naive_mark_from(b, left,
					  ~UINT64_C(0) >> 1 & ~left &
						  ~(BIT(b->nobjects) - 1));
		for (uint32_t i = 0; i < r->spec.nroots; i++)
			if (r->deferred[i].owner == GR_VERTEX_NONE ||
			    !(reached & BIT(r->deferred[i].owner)))
				left &= ~BIT(r->deferred[i].root);
	} while (left != before);
	return left;
}

/* Objects that the whole graph reaches, for weak pointers to them. */
static uint64_t weak_bits(const struct build *b, const struct roots *r)
{
	return r->spec.nweak ? BIT(r->weak[0]) & naive_mark(b, 0) : 0;
}

static uint64_t check_graph(struct build *b, struct roots *r)
{
	struct gr_budget budget = { 0 };
	struct gr_graph *g = build(&budget, b);
	struct gr_kept queued;
	uint64_t stuck[2] = { 0 };
	uint64_t objects = BIT(b->nobjects) - 1;
	uint64_t all = naive_live(b, r, 0, 0);
	uint64_t lost = all & ~naive_live(b, r, queued_bits(r), 0);
	uint64_t live = naive_live(b, r, 0, weak_bits(b, r));
	uint64_t want = naive_stuck(b, r, live), roots = 0;

	assert_null(gr_graph_deferred(g, &r->spec, NULL, &queued, stuck));
	assert_int_equal(queued.bytes, naive_bytes(b, lost));
	assert_int_equal(queued.second_bytes, naive_second_bytes(b, lost));
	assert_int_equal(queued.objects, __builtin_popcountll(lost & objects));
	for (uint32_t i = 0; i < r->spec.nroots; i++)
		roots |= BIT(r->deferred[i].root);
	// Roots without objects are no use to anybody.
	assert_int_equal(stuck[0] & roots, want);
	gr_graph_destroy(g);
	assert_int_equal(budget.held_bytes, 0);
	return want;
}

TEST(random)
{
	uint64_t seed = 43;
	int nstuck = 0;

	for (int i = 0; i < NGRAPHS; i++) {
		struct roots r = { 0 };
		struct build b;

		build_random(&b, &seed);
		random_roots(&r, &seed, &b);
		nstuck += check_graph(&b, &r) != 0;
	}
	assert_true(nstuck > 500);
}

/* Objects in a circle, with a root each. */
static void build_circle(struct build *b, gr_vertex n)
{
	*b = (struct build){ .nobjects = n, .nroots = n };
	for (gr_vertex v = 0; v < n; v++) {
		b->bytes[v] = 16;
		b->holders[v] = 2 * n;
		build_edge(b, v, (v + 1) % n);
	}
}

/* A finalizer's root leads to what its object leads to. */
TEST(finalizers_in_a_circle)
{
	struct roots r = { .spec = { .roots = r.deferred, .nroots = 2 } };
	struct build b;

	build_circle(&b, 2);
	for (gr_vertex v = 0; v < 2; v++) {
		build_edge(&b, 2 + v, (v + 1) % 2);
		r.deferred[v] = (struct gr_deferred_root){ 2 + v, v };
	}
	assert_int_equal(check_graph(&b, &r), BIT(2) | BIT(3));
}

/* A cleanup's root does not: the circle is garbage. */
TEST(cleanups_in_a_circle)
{
	struct roots r = { .spec = { .roots = r.deferred, .nroots = 2 } };
	struct build b;

	build_circle(&b, 2);
	for (gr_vertex v = 0; v < 2; v++)
		r.deferred[v] = (struct gr_deferred_root){ 2 + v, v };
	assert_int_equal(check_graph(&b, &r), 0);
}

// --------------------------------------------------------------------- a list

enum { NMANY = 200000 };

static struct gr_graph *build_list(struct gr_budget *budget)
{
	gr_vertex *holders = calloc(NMANY, sizeof(*holders));
	struct gr_edges edges = { 0 };
	struct gr_graph *g = NULL;

	assert_non_null(holders);
	assert_null(gr_edges_init(&edges, budget, 0, 2 * NMANY, NMANY, 0));
	for (gr_vertex v = 0; v < 2 * NMANY; v++) {
		gr_edges_begin(&edges, v);
		gr_edges_add(&edges, (v + 1) % NMANY);
	}
	for (gr_vertex v = 0; v < NMANY; v++)
		holders[v] = 2 * NMANY;
	const struct gr_graph_spec spec = {
		.budget = budget,
		.objects = build_equal_objects(budget, NMANY, 16),
		.parts = &edges,
		.nparts = 1,
		.nroots = NMANY,
		.holders = holders,
	};
	assert_null(gr_graph_create(&spec, &g));
	free(holders);
	return g;
}

static struct gr_error *count_poll(void *ctx)
{
	(*(uint32_t *)ctx)++;
	return NULL;
}

/* A circle of many objects, each with a finalizer: the search has its own stack,
 * and its steps are a few for each vertex. */
TEST(many_in_a_circle)
{
	struct gr_budget budget = { 0 };
	struct gr_deferred_root *roots = calloc(NMANY, sizeof(*roots));
	struct gr_deferred_spec spec = { .roots = roots, .nroots = NMANY };
	uint64_t *stuck = gr_bitmap_alloc(2 * NMANY + 1);
	struct gr_kept queued;
	uint32_t npolls = 0;
	const struct gr_poll poll = { count_poll, &npolls, NULL };

	assert_non_null(roots);
	assert_non_null(stuck);
	for (gr_vertex v = 0; v < NMANY; v++)
		roots[v] = (struct gr_deferred_root){ NMANY + v, v };
	struct gr_graph *g = build_list(&budget);
	assert_null(gr_graph_deferred(g, &spec, &poll, &queued, stuck));
	assert_int_equal(gr_bitmap_count(stuck, 0, 2 * NMANY), 2 * NMANY);
	assert_int_equal(queued.bytes, 0);
	assert_true(npolls < 100);
	gr_graph_destroy(g);
	assert_int_equal(budget.held_bytes, 0);
	free(stuck);
	free(roots);
}

GR_SUITE("graph deferred")
