// SPDX-License-Identifier: Apache-2.0
/* graph: candidates that come alive, against rounds of a plain mark; and chains
 * and crowds that rounds would take too long for. */
#include "graph/liveness.h"

#include "graph_builder.h"

enum { NGRAPHS = 10000, MAX_CANDIDATES = 8, MAX_LIST = 64, MAX_HIDDEN = 32 };

/** A random mark begins with these, as lists and as bits. */
struct spec {
	uint64_t without;
	uint32_t ncandidates;
	uint32_t first_held[MAX_CANDIDATES + 1];
	uint32_t first_awaited[MAX_CANDIDATES + 1];
	gr_vertex held[MAX_LIST], awaited[MAX_LIST];
	struct gr_hidden_edge hidden[MAX_HIDDEN];
	uint32_t nhidden;
	uint64_t held_bits[MAX_CANDIDATES], awaited_bits[MAX_CANDIDATES];
};

static gr_vertex random_vertex(uint64_t *seed, const struct build *b)
{
	return build_below(seed, build_top(b));
}

/* Mostly roots, as the words of stacks are. */
static gr_vertex random_held(uint64_t *seed, const struct build *b)
{
	return b->nroots && build_below(seed, 4) ?
		       b->nobjects + build_below(seed, b->nroots) :
		       random_vertex(seed, b);
}

static void add_candidate(struct spec *s, uint64_t *seed, const struct build *b)
{
	uint32_t i = s->ncandidates++;
	uint32_t nheld = s->first_held[i], nawaited = s->first_awaited[i];

	for (uint32_t n = build_below(seed, 5); n; n--) {
		s->held[nheld] = random_held(seed, b);
		s->held_bits[i] |= UINT64_C(1) << s->held[nheld++];
	}
	for (uint32_t n = build_below(seed, 4); n; n--) {
		s->awaited[nawaited] = random_vertex(seed, b);
		s->awaited_bits[i] |= UINT64_C(1) << s->awaited[nawaited++];
	}
	s->first_held[i + 1] = nheld;
	s->first_awaited[i + 1] = nawaited;
}

static void random_spec(struct spec *s, uint64_t *seed, const struct build *b)
{
	*s = (struct spec){ 0 };
	if (build_top(b) == 0)
		return;
	for (uint32_t n = build_below(seed, MAX_CANDIDATES + 1); n; n--)
		add_candidate(s, seed, b);
	if (b->nedges)
		s->nhidden = build_below(seed, MAX_HIDDEN);
	for (uint32_t i = 0; i < s->nhidden; i++) {
		const struct build_edge *edge =
			&b->edges[build_below(seed, b->nedges)];
		s->hidden[i] = (struct gr_hidden_edge){ edge->from, edge->to };
	}
	if (build_below(seed, 2))
		s->without = UINT64_C(1) << random_vertex(seed, b);
}

/* The graph without hidden edges, and the vertices that may be entered only
 * once a holder is alive. */
static void without_hidden(const struct build *b, const struct spec *s,
			   struct build *ret)
{
	*ret = *b;
	ret->nedges = 0;
	for (uint32_t i = 0; i < b->nedges; i++) {
		bool is_hidden = false;
		for (uint32_t j = 0; j < s->nhidden; j++)
			is_hidden |= s->hidden[j].from == b->edges[i].from &&
				     s->hidden[j].to == b->edges[i].to;
		if (!is_hidden)
			ret->edges[ret->nedges++] = b->edges[i];
	}
}

/* Mark, add, repeat: as the collector does. */
static uint64_t naive_alive(const struct build *b, const struct spec *s,
			    uint64_t *marked)
{
	uint64_t held = 0, alive = 0, before;
	struct build visible;

	without_hidden(b, s, &visible);
	for (uint32_t i = 0; i < s->ncandidates; i++)
		held |= s->held_bits[i];
	do {
		uint64_t begin = 0;
		before = alive;
		for (uint32_t i = 0; i < s->ncandidates; i++)
			if (alive >> i & 1)
				begin |= s->held_bits[i] | s->awaited_bits[i];
		begin &= ~s->without;
		*marked = naive_mark_from(&visible, begin, held | s->without);
		for (uint32_t i = 0; i < s->ncandidates; i++)
			if (*marked & s->awaited_bits[i])
				alive |= UINT64_C(1) << i;
	} while (alive != before);
	return alive;
}

static struct gr_liveness_spec lists_of(const struct spec *s)
{
	return (struct gr_liveness_spec){
		.without = s->without ? &s->without : NULL,
		.ncandidates = s->ncandidates,
		.first_held = s->first_held,
		.held = s->held,
		.first_awaited = s->first_awaited,
		.awaited = s->awaited,
		.hidden = s->hidden,
		.nhidden = s->nhidden,
	};
}

TEST(random)
{
	uint64_t seed = 31, nalive = 0, ndead = 0;
	struct build b;
	struct spec s;

	for (int i = 0; i < NGRAPHS; i++) {
		struct gr_budget budget = { 0 };
		uint64_t alive = 0, marked = 0, want_marked;
		build_random(&b, &seed);
		random_spec(&s, &seed, &b);
		struct gr_graph *g = build(&budget, &b);
		struct gr_liveness_spec lists = lists_of(&s);
		uint64_t want = naive_alive(&b, &s, &want_marked);

		assert_null(
			gr_graph_liveness(g, &lists, NULL, &alive, &marked));
		assert_int_equal(alive, want);
		assert_int_equal(marked, want_marked);
		nalive += __builtin_popcountll(alive);
		ndead += s.ncandidates - __builtin_popcountll(alive);
		gr_graph_destroy(g);
		assert_int_equal(budget.held_bytes, 0);
	}
	assert_true(nalive > NGRAPHS / 4 && ndead > NGRAPHS / 4);
}

// ------------------------------------------------------------- many candidates

enum { NMANY = 100000 };

/**
 * NMANY objects and as many roots; root i leads to object i. One root more
 * leads to object `first`, and candidate i holds root i.
 */
struct many {
	struct gr_budget budget;
	struct gr_graph *graph;
	uint32_t first_held[NMANY + 1], first_awaited[NMANY + 1];
	gr_vertex held[NMANY], awaited[NMANY];
	uint64_t alive[NMANY / 64 + 1];
	uint64_t npolls;
};

static struct many *many_create(gr_vertex first)
{
	struct many *m = calloc(1, sizeof(*m));
	uint64_t *bytes = calloc(NMANY, sizeof(*bytes));
	gr_vertex *holders = calloc(NMANY + 1, sizeof(*holders));
	struct gr_edges edges = { 0 };
	struct gr_objects *objects = NULL;

	assert_true(m && bytes && holders);
	assert_null(
		gr_edges_init(&edges, &m->budget, 0, 2 * NMANY + 1, NMANY, 0));
	for (gr_vertex i = 0; i <= NMANY; i++) {
		holders[i] = 2 * NMANY + 1;
		gr_edges_begin(&edges, NMANY + i);
		gr_edges_add(&edges, i < NMANY ? i : first);
		m->first_held[i < NMANY ? i + 1 : 0] = i < NMANY ? i + 1 : 0;
	}
	for (gr_vertex i = 0; i < NMANY; i++) {
		bytes[i] = 32;
		m->held[i] = NMANY + i;
	}
	assert_null(build_objects(&m->budget, bytes, NMANY, &objects));
	const struct gr_graph_spec spec = {
		.budget = &m->budget,
		.objects = objects,
		.parts = &edges,
		.nparts = 1,
		.nroots = NMANY + 1,
		.holders = holders,
	};
	assert_null(gr_graph_create(&spec, &m->graph));
	free(bytes);
	free(holders);
	return m;
}

static struct gr_error *count_poll(void *ctx)
{
	struct many *m = ctx;

	m->npolls++;
	return NULL;
}

/* How many candidates are alive. The steps are in proportion to the graph. */
static uint32_t many_alive(struct many *m)
{
	const struct gr_liveness_spec spec = {
		.ncandidates = NMANY,
		.first_held = m->first_held,
		.held = m->held,
		.first_awaited = m->first_awaited,
		.awaited = m->awaited,
	};
	const struct gr_poll poll = { count_poll, m };
	uint32_t count = 0;

	assert_null(gr_graph_liveness(m->graph, &spec, &poll, m->alive, NULL));
	for (size_t i = 0; i < NMANY; i++)
		count += gr_bitmap_test(m->alive, i);
	return count;
}

static void many_destroy(struct many *m)
{
	gr_graph_destroy(m->graph);
	assert_int_equal(m->budget.held_bytes, 0);
	free(m);
}

TEST(chain)
{
	// Candidate i awaits the object that candidate i + 1 holds; the last one
	// awaits an object that everybody can reach. Rounds would be as many as
	// candidates.
	struct many *m = many_create(0);

	for (uint32_t i = 0; i < NMANY; i++) {
		m->awaited[i] = i + 1 < NMANY ? i + 1 : 0;
		m->first_awaited[i + 1] = i + 1;
	}
	assert_int_equal(many_alive(m), NMANY);
	assert_true(m->npolls < 1000);
	many_destroy(m);
}

TEST(ring)
{
	// The last one awaits what the first one holds: nobody comes alive.
	struct many *m = many_create(0);

	for (uint32_t i = 0; i < NMANY; i++) {
		m->awaited[i] = i + 1 < NMANY ? i + 1 : 1;
		m->first_awaited[i + 1] = i + 1;
	}
	assert_int_equal(many_alive(m), 0);
	many_destroy(m);
}

TEST(crowd)
{
	// All of them await one object, that only the last one holds, except
	// for the last one, which awaits the reached one.
	struct many *m = many_create(7);

	for (uint32_t i = 0; i < NMANY; i++) {
		m->awaited[i] = i + 1 < NMANY ? NMANY - 1 : 7;
		m->first_awaited[i + 1] = i + 1;
	}
	assert_int_equal(many_alive(m), NMANY);
	assert_true(m->npolls < 1000);
	many_destroy(m);
}

// -------------------------------------------------------------------- no end

TEST(interrupted)
{
	struct many *m = many_create(0);
	struct gr_error *err = NULL;
	uint64_t nruns = 0;

	for (uint32_t i = 0; i < NMANY; i++) {
		m->awaited[i] = i + 1 < NMANY ? i + 1 : 0;
		m->first_awaited[i + 1] = i + 1;
	}
	const struct gr_liveness_spec spec = {
		.ncandidates = NMANY,
		.first_held = m->first_held,
		.held = m->held,
		.first_awaited = m->first_awaited,
		.awaited = m->awaited,
	};
	do {
		uint64_t left = nruns++;
		const struct gr_poll poll = { suite_refuse, &left };
		memset(m->alive, 0, sizeof(m->alive));
		err = gr_graph_liveness(m->graph, &spec, &poll, m->alive, NULL);
		if (err)
			assert_error_code(err, GR_ERROR_INTERRUPTED);
	} while (gr_error_catch(&err, GR_ERROR_INTERRUPTED));
	assert_null(err);
	assert_true(nruns > 4);
	many_destroy(m);
}

TEST(within_the_limit)
{
	struct many *m = many_create(0);
	const struct gr_liveness_spec spec = {
		.first_held = m->first_held,
		.first_awaited = m->first_awaited,
	};

	m->budget.limit_bytes = m->budget.held_bytes + 1000;
	struct gr_error *err =
		gr_graph_liveness(m->graph, &spec, NULL, m->alive, NULL);
	assert_non_null(err);
	gr_error_destroy(err);
	many_destroy(m);
}

GR_SUITE("graph liveness")
