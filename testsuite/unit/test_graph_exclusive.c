// SPDX-License-Identifier: Apache-2.0
/* graph: what many sets of roots keep alive, each alone and together, against a
 * plain mark without each of them. */
#include "graph/exclusive.h"

#include "graph_builder.h"

enum { NGRAPHS = 10000, MAX_SETS = 4 };

/** Roots in sets, as lists and as bits. */
struct sets {
	gr_vertex vertices[BUILD_MAX_VERTICES];
	uint32_t set[BUILD_MAX_VERTICES];
	struct gr_root_sets lists;
	uint64_t bits[MAX_SETS], all;
};

/* Some roots are in no set, some are in a list twice. */
static void random_sets(struct sets *s, uint64_t *seed, const struct build *b)
{
	*s = (struct sets){ 0 };
	s->lists = (struct gr_root_sets){
		.vertices = s->vertices,
		.set = s->set,
		.nsets = build_below(seed, MAX_SETS + 1),
	};
	for (gr_vertex i = 0; s->lists.nsets && i < b->nroots; i++) {
		uint32_t set = build_below(seed, s->lists.nsets);
		for (uint32_t n = build_below(seed, 3); n; n--) {
			s->vertices[s->lists.count] = b->nobjects + i;
			s->set[s->lists.count++] = set;
			s->bits[set] |= UINT64_C(1) << (b->nobjects + i);
		}
	}
	for (uint32_t k = 0; k < MAX_SETS; k++)
		s->all |= s->bits[k];
}

static void check_kept(const struct build *b, uint64_t without,
		       const struct gr_kept *kept)
{
	uint64_t lost = naive_mark(b, 0) & ~naive_mark(b, without);
	uint64_t objects = lost & ((UINT64_C(1) << b->nobjects) - 1);

	assert_int_equal(kept->bytes, naive_bytes(b, lost));
	assert_int_equal(kept->second_bytes, naive_second_bytes(b, lost));
	assert_int_equal(kept->objects, __builtin_popcountll(objects));
}

TEST(random)
{
	uint64_t seed = 41, nshared = 0;
	struct build b;
	struct sets s;

	for (int i = 0; i < NGRAPHS; i++) {
		struct gr_budget budget = { 0 };
		struct gr_kept kept[MAX_SETS], together;
		uint64_t sum = 0;
		build_random(&b, &seed);
		random_sets(&s, &seed, &b);
		struct gr_graph *g = build(&budget, &b);

		assert_null(
			gr_graph_exclusive(g, &s.lists, NULL, kept, &together));
		for (uint32_t k = 0; k < s.lists.nsets; k++) {
			check_kept(&b, s.bits[k], &kept[k]);
			sum += kept[k].bytes;
		}
		check_kept(&b, s.all, &together);
		nshared += together.bytes > sum;
		gr_graph_destroy(g);
		assert_int_equal(budget.held_bytes, 0);
	}
	assert_true(nshared > 100);
}

// -------------------------------------------------------- sets of references

/** Holders, and some of what they lead to, in sets. */
struct references {
	struct sets sets; /* their bits are those of what the sets refer to */
	gr_vertex holders[BUILD_MAX_VERTICES];
	uint64_t held; /* bits of the holders */
};

/* Some objects and roots are holders; some of their edges are in a set. */
static void random_references(struct references *r, uint64_t *seed,
			      const struct build *b)
{
	gr_vertex n = b->nobjects + b->nroots;

	*r = (struct references){ 0 };
	r->sets.lists = (struct gr_root_sets){
		.vertices = r->sets.vertices,
		.set = r->sets.set,
		.nsets = 1 + build_below(seed, MAX_SETS),
		.holders = r->holders,
	};
	for (uint32_t i = build_below(seed, 12); n && i; i--) {
		gr_vertex holder = build_below(seed, n);
		r->held |= UINT64_C(1) << holder;
		r->holders[r->sets.lists.nholders++] = holder;
	}
	for (uint32_t i = 0; i < b->nedges; i++) {
		struct gr_root_sets *lists = &r->sets.lists;
		if (!(r->held >> b->edges[i].from & 1) ||
		    lists->count == BUILD_MAX_VERTICES || !build_below(seed, 3))
			continue;
		uint32_t set = build_below(seed, lists->nsets);
		r->sets.vertices[lists->count] = b->edges[i].to;
		r->sets.set[lists->count++] = set;
		r->sets.bits[set] |= UINT64_C(1) << b->edges[i].to;
	}
}

/* All that is reached, but for what only the sets of @p without refer to. */
static uint64_t mark_references(const struct build *b,
				const struct references *r, uint32_t without)
{
	uint64_t begin = 0;

	for (uint32_t k = 0; k < r->sets.lists.nsets; k++)
		if (!(without >> k & 1))
			begin |= r->sets.bits[k];
	return naive_mark_from(b, begin & ~r->held, r->held);
}

static void check_lost(const struct build *b, uint64_t lost,
		       const struct gr_kept *kept)
{
	uint64_t objects = lost & ((UINT64_C(1) << b->nobjects) - 1);

	assert_int_equal(kept->bytes, naive_bytes(b, lost));
	assert_int_equal(kept->objects, __builtin_popcountll(objects));
}

TEST(references)
{
	uint64_t seed = 43, nkept = 0, nshared = 0;
	struct references r;
	struct build b;

	for (int i = 0; i < NGRAPHS; i++) {
		struct gr_budget budget = { 0 };
		struct gr_kept kept[MAX_SETS], together;
		uint64_t all, sum = 0;
		build_random(&b, &seed);
		random_references(&r, &seed, &b);
		struct gr_graph *g = build(&budget, &b);

		assert_null(gr_graph_exclusive(g, &r.sets.lists, NULL, kept,
					       &together));
		all = mark_references(&b, &r, 0);
		for (uint32_t k = 0; k < r.sets.lists.nsets; k++) {
			uint64_t without = mark_references(&b, &r, 1u << k);
			check_lost(&b, all & ~without, &kept[k]);
			sum += kept[k].bytes;
		}
		check_lost(&b, all & ~mark_references(&b, &r, UINT32_MAX),
			   &together);
		nkept += sum > 0;
		nshared += together.bytes > sum;
		gr_graph_destroy(g);
		assert_int_equal(budget.held_bytes, 0);
	}
	assert_true(nkept > 1000 && nshared > 100);
}

/* Two runs, the second of which is another heap: a root leads to a holder, that
 * to an object, and the object to one of the second sequence. */
TEST(second_heap)
{
	const struct gr_run_spec runs[] = {
		{ .base = 0x1000, .elem_bytes = 48, .nslots = 2 },
		{ .base = 0x100, .elem_bytes = 32, .nslots = 1 },
	};
	struct gr_budget budget = { 0 };
	struct gr_edges edges = { 0 };
	struct gr_objects *objects = NULL;
	struct gr_graph *g = NULL;
	const uint64_t slots[] = { 7 };
	const gr_vertex top = 4, to[] = { 1 }, holders[] = { 0 };
	const uint32_t set[] = { 0 };
	struct gr_kept kept, together;

	assert_null(gr_objects_create(&budget, runs, 1, 2, slots, &objects));
	assert_null(gr_edges_init(&edges, &budget, 0, 4, 3, 0));
	for (gr_vertex v = 0; v < 4; v++) {
		gr_edges_begin(&edges, v);
		if (v != 2)
			gr_edges_add(&edges, v == 3 ? 0 : v + 1);
	}
	const struct gr_graph_spec spec = {
		.budget = &budget,
		.objects = objects,
		.parts = &edges,
		.nparts = 1,
		.nroots = 1,
		.holders = &top,
	};
	assert_null(gr_graph_create(&spec, &g));
	const struct gr_root_sets sets = { to, set, 1, 1, holders, 1 };
	assert_null(gr_graph_exclusive(g, &sets, NULL, &kept, &together));
	assert_int_equal(kept.bytes, 80);
	assert_int_equal(kept.second_bytes, 32);
	assert_int_equal(together.second_bytes, 32);
	gr_graph_destroy(g);
	assert_int_equal(budget.held_bytes, 0);
}

// ------------------------------------------------------------------ many sets

enum { NMANY = 100000 };

/** A list of NMANY objects, and as many roots: each leads to the first one, so
 * that each mark could go the whole way. */
static struct gr_graph *build_list(struct gr_budget *budget)
{
	uint64_t *bytes = calloc(NMANY, sizeof(*bytes));
	gr_vertex *holders = calloc(NMANY, sizeof(*holders));
	struct gr_edges edges = { 0 };
	struct gr_objects *objects = NULL;
	struct gr_graph *g = NULL;

	assert_true(bytes && holders);
	assert_null(gr_edges_init(&edges, budget, 0, 2 * NMANY, NMANY, 0));
	for (gr_vertex i = 0; i < NMANY; i++) {
		bytes[i] = 32;
		holders[i] = 2 * NMANY;
		gr_edges_begin(&edges, i);
		if (i + 1 < NMANY)
			gr_edges_add(&edges, i + 1);
	}
	for (gr_vertex i = 0; i < NMANY; i++) {
		gr_edges_begin(&edges, NMANY + i);
		gr_edges_add(&edges, 0);
	}
	assert_null(build_objects(budget, bytes, NMANY, &objects));
	const struct gr_graph_spec spec = {
		.budget = budget,
		.objects = objects,
		.parts = &edges,
		.nparts = 1,
		.nroots = NMANY,
		.holders = holders,
	};
	assert_null(gr_graph_create(&spec, &g));
	free(bytes);
	free(holders);
	return g;
}

/** NMANY sets of one root each. */
struct many {
	gr_vertex vertices[NMANY];
	uint32_t set[NMANY];
	struct gr_kept kept[NMANY];
};

static struct gr_error *count_poll(void *ctx)
{
	++*(uint64_t *)ctx;
	return NULL;
}

TEST(many_sets)
{
	struct many *m = suite_alloc(sizeof(*m));
	struct gr_budget budget = { 0 };
	struct gr_graph *g = build_list(&budget);
	uint64_t npolls = 0, nruns = 0;
	const struct gr_poll poll = { count_poll, &npolls };
	struct gr_error *err = NULL;
	struct gr_kept together;

	for (uint32_t i = 0; i < NMANY; i++) {
		m->vertices[i] = NMANY + i;
		m->set[i] = i;
	}
	const struct gr_root_sets sets = { .vertices = m->vertices,
					   .set = m->set,
					   .count = NMANY,
					   .nsets = NMANY };
	assert_null(gr_graph_exclusive(g, &sets, &poll, m->kept, &together));
	assert_int_equal(m->kept[0].bytes, 0);
	assert_int_equal(together.bytes, UINT64_C(32) * NMANY);
	assert_int_equal(together.objects, NMANY);
	assert_true(npolls < 100);
	do {
		uint64_t left = nruns++;
		const struct gr_poll refusing = { suite_refuse, &left };
		err = gr_graph_exclusive(g, &sets, &refusing, m->kept,
					 &together);
	} while (gr_error_catch(&err, GR_ERROR_INTERRUPTED));
	assert_null(err);
	assert_int_equal(nruns, npolls + 1);
	budget.limit_bytes = budget.held_bytes + 1000;
	err = gr_graph_exclusive(g, &sets, NULL, m->kept, &together);
	assert_non_null(err);
	gr_error_destroy(err);
	gr_graph_destroy(g);
	assert_int_equal(budget.held_bytes, 0);
	free(m);
}

GR_SUITE("graph exclusive")
