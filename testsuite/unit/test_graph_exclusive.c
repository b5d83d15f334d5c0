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
	const struct gr_root_sets sets = { m->vertices, m->set, NMANY, NMANY };
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
