// SPDX-License-Identifier: Apache-2.0
/* blocked: who waits forever, and cycles, on random graphs against the plainest
 * of algorithms. */
#include "graph/blocked.h"

#include "suite.h"

enum { NGRAPHS = 20000, MAX_VERTICES = 12, MANY = 200000 };

struct sample {
	uint32_t n;
	bool has_edge[MAX_VERTICES][MAX_VERTICES];
	uint8_t need[MAX_VERTICES];
	uint32_t first[MAX_VERTICES + 1], to[MAX_VERTICES * MAX_VERTICES];
};

static uint32_t below(uint64_t *seed, uint32_t n)
{
	return (suite_random(seed) >> 16) % n;
}

static void make_sample(struct sample *s, uint64_t *seed)
{
	uint32_t nedges = 0, density = 1 + below(seed, 8);

	*s = (struct sample){ .n = below(seed, MAX_VERTICES + 1) };
	for (uint32_t v = 0; v < s->n; v++) {
		s->need[v] = below(seed, 10) ? GR_NEED_ALL + below(seed, 2) :
					       GR_NEED_NOTHING;
		for (uint32_t w = 0; w < s->n; w++) {
			s->has_edge[v][w] = below(seed, 10) < density;
			if (s->has_edge[v][w])
				s->to[nedges++] = w;
		}
		s->first[v + 1] = nedges;
	}
}

static bool goes_on(const struct sample *s, const bool *free, uint32_t v)
{
	bool any = false, all = true;

	for (uint32_t w = 0; w < s->n; w++) {
		any |= s->has_edge[v][w] && free[w];
		all &= !s->has_edge[v][w] || free[w];
	}
	return s->need[v] == GR_NEED_NOTHING ||
	       (s->need[v] == GR_NEED_ANY ? any : all);
}

/* Until nothing changes, let go who can. */
static void naive_forever(const struct sample *s, uint8_t *is_stuck)
{
	bool free[MAX_VERTICES] = { false };

	for (uint32_t round = 0; round <= s->n; round++)
		for (uint32_t v = 0; v < s->n; v++)
			free[v] = free[v] || goes_on(s, free, v);
	for (uint32_t v = 0; v < s->n; v++)
		is_stuck[v] = !free[v];
}

/* Which stuck vertex leads to which, over one edge or more. */
static void naive_reach(const struct sample *s, const uint8_t *is_stuck,
			bool reach[MAX_VERTICES][MAX_VERTICES])
{
	for (uint32_t v = 0; v < s->n; v++)
		for (uint32_t w = 0; w < s->n; w++)
			reach[v][w] = s->has_edge[v][w] && is_stuck[v] &&
				      is_stuck[w];
	for (uint32_t k = 0; k < s->n; k++)
		for (uint32_t v = 0; v < s->n; v++)
			for (uint32_t w = 0; w < s->n; w++)
				reach[v][w] |= reach[v][k] && reach[k][w];
}

static void check_cycles(const struct sample *s, const uint8_t *is_stuck,
			 const uint32_t *cycle, uint32_t count)
{
	bool reach[MAX_VERTICES][MAX_VERTICES];
	uint32_t seen = 0;

	naive_reach(s, is_stuck, reach);
	for (uint32_t v = 0; v < s->n; v++) {
		assert_int_equal(cycle[v] != UINT32_MAX, reach[v][v]);
		if (cycle[v] == UINT32_MAX)
			continue;
		assert_true(cycle[v] < count);
		seen |= 1u << cycle[v];
		for (uint32_t w = 0; w < s->n; w++)
			if (cycle[w] != UINT32_MAX)
				assert_int_equal(cycle[v] == cycle[w],
						 v == w || (reach[v][w] &&
							    reach[w][v]));
	}
	assert_int_equal(seen, (1u << count) - 1);
}

TEST(random)
{
	uint64_t seed = 31;
	struct sample s;
	uint32_t stuck = 0, cycles = 0;

	for (int i = 0; i < NGRAPHS; i++) {
		uint8_t found[MAX_VERTICES], wanted[MAX_VERTICES];
		uint32_t cycle[MAX_VERTICES], count;

		make_sample(&s, &seed);
		const struct gr_blocked b = { s.n, s.first, s.to, s.need };
		assert_null(gr_blocked_forever(&b, NULL, found));
		naive_forever(&s, wanted);
		assert_memory_equal(found, wanted, s.n);
		assert_null(gr_blocked_cycles(&b, found, NULL, cycle, &count));
		check_cycles(&s, found, cycle, count);
		for (uint32_t v = 0; v < s.n; v++)
			stuck += found[v];
		cycles += count;
	}
	// Neither is rare in the sample.
	assert_true(stuck > NGRAPHS && cycles > NGRAPHS / 4);
}

/* Deep graphs need no deep stack: a queue of waiters whose first one waits for
 * the last, and then for nobody. */
TEST(long)
{
	uint32_t *first = calloc(MANY + 1, sizeof(*first));
	uint32_t *to = calloc(MANY, sizeof(*to));
	uint32_t *cycle = calloc(MANY, sizeof(*cycle));
	uint8_t *need = malloc(MANY), *is_stuck = malloc(MANY);
	uint32_t count;

	assert_true(first && to && cycle && need && is_stuck);
	memset(need, GR_NEED_ALL, MANY);
	for (uint32_t v = 0; v < MANY; v++) {
		first[v + 1] = v + 1;
		to[v] = (v + 1) % MANY;
	}
	const struct gr_blocked b = { MANY, first, to, need };
	assert_null(gr_blocked_forever(&b, NULL, is_stuck));
	assert_null(gr_blocked_cycles(&b, is_stuck, NULL, cycle, &count));
	assert_int_equal(count, 1);
	assert_int_equal(cycle[MANY - 1], 0);
	need[MANY - 1] = GR_NEED_NOTHING;
	assert_null(gr_blocked_forever(&b, NULL, is_stuck));
	assert_null(gr_blocked_cycles(&b, is_stuck, NULL, cycle, &count));
	assert_int_equal(count, 0);
	assert_int_equal(is_stuck[0], 0);
	free(first);
	free(to);
	free(cycle);
	free(need);
	free(is_stuck);
}

TEST(interrupted)
{
	const uint32_t first[] = { 0, 1 }, to[] = { 0 };
	const uint8_t need[] = { GR_NEED_ALL };
	const struct gr_blocked b = { 1, first, to, need };
	const struct gr_poll poll = { suite_refuse, NULL };
	uint8_t is_stuck[1] = { 1 };
	uint32_t cycle[1], count;
	struct gr_error *err = gr_blocked_forever(&b, &poll, is_stuck);

	assert_non_null(err);
	gr_error_destroy(err);
	is_stuck[0] = 1;
	err = gr_blocked_cycles(&b, is_stuck, &poll, cycle, &count);
	assert_non_null(err);
	gr_error_destroy(err);
}

GR_SUITE("graph blocked")
