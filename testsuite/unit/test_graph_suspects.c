// SPDX-License-Identifier: Apache-2.0
/* graph: suspects of small graphs whose truth is plain, and retained bytes of
 * kinds against the plainest algorithm. */
#include "graph/suspects.h"
#include "graph/topmost.h"

#include "graph_builder.h"

enum {
	MIN_BYTES = 100,
	SECOND = 20, /* objects from here on are of the second sequence */
	ROOT = 40,   /* objects; roots and a group behind them, then the top */
	NROOTS = 2,
	GROUP = ROOT + NROOTS,
	LARGE = 60,
	SMALL = 10,
};

enum { UNKNOWN = 999 }; /* has no key */

/* The answers of form() and key() for a vertex. */
struct shape {
	struct build b;
	uint64_t keys[BUILD_MAX_VERTICES];
	enum gr_vertex_form forms[BUILD_MAX_VERTICES];
	struct gr_budget budget;
	struct gr_graph *graph;
	struct gr_suspects found;
};

static uint64_t key_of(void *ctx, gr_vertex v)
{
	const struct shape *s = ctx;

	if (s->keys[v] == UNKNOWN)
		return 0;
	return s->keys[v] ? s->keys[v] : 1000 + v;
}

static enum gr_vertex_form form_of(void *ctx, gr_vertex v)
{
	const struct shape *s = ctx;

	return v >= GROUP ? GR_FORM_OPEN : s->forms[v];
}

static struct gr_suspect_question question_of(struct shape *s)
{
	return (struct gr_suspect_question){
		.min_bytes = MIN_BYTES, .form = form_of, .key = key_of, .ctx = s
	};
}

/* All objects have one byte at first; two roots in a group. */
static struct shape *begin(void)
{
	struct shape *s = suite_alloc(sizeof(*s));

	s->b.nobjects = ROOT;
	s->b.nsecond = ROOT - SECOND;
	s->b.nroots = NROOTS;
	s->b.ngroups = 1;
	for (gr_vertex v = 0; v < ROOT; v++)
		s->b.bytes[v] = 1;
	s->b.holders[0] = s->b.holders[1] = GROUP;
	s->b.holders[2] = GROUP + 1;
	return s;
}

static void end(struct shape *s)
{
	gr_suspects_deinit(&s->found);
	gr_graph_destroy(s->graph);
	free(s);
}

#define FIXTURE struct shape *s, begin, end

static void find(struct shape *s)
{
	const struct gr_suspect_question question = question_of(s);

	s->graph = build(&s->budget, &s->b);
	assert_null(gr_graph_need(s->graph, GR_PART_CHILDREN, NULL));
	assert_null(gr_graph_suspects(s->graph, &question, NULL, &s->found));
}

static struct gr_child_groups contents(struct shape *s, uint32_t index)
{
	const struct gr_suspect_question question = question_of(s);
	struct gr_child_groups groups = { 0 };

	assert_null(gr_graph_suspect_contents(
		s->graph, &question, &s->found.suspects[index], NULL, &groups));
	return groups;
}

/* @p second: the part of the bytes in objects of the second sequence. */
static void has_group(const struct gr_child_groups *groups, uint64_t key,
		      uint32_t vertices, uint64_t bytes, uint64_t second)
{
	for (uint32_t i = 0; i < groups->count; i++) {
		if (groups->groups[i].key != key)
			continue;
		assert_int_equal(groups->groups[i].vertices, vertices);
		assert_int_equal(groups->groups[i].retained_bytes, bytes);
		assert_int_equal(groups->groups[i].retained_second, second);
		return;
	}
	fail_msg("no group of key %d", (int)key);
}

/* Objects [first, first + n) of a key and a size, below @p above. */
static void hang(struct shape *s, gr_vertex above, gr_vertex first, gr_vertex n,
		 uint64_t bytes, uint64_t key)
{
	for (gr_vertex v = first; v < first + n; v++) {
		build_edge(&s->b, above, v);
		s->b.bytes[v] = bytes;
		s->keys[v] = key;
	}
}

TEST_F(small_heap)
{
	hang(s, ROOT, 0, 9, SMALL, 7);
	hang(s, ROOT + 1, 9, 2, SMALL, 7);
	find(s);
	assert_int_equal(s->found.count, 0);
	assert_int_equal(s->found.largest.holder, ROOT);
	assert_int_equal(s->found.largest.retained.bytes, 90);
}

TEST_F(array)
{
	hang(s, ROOT, 0, 1, SMALL, 1);
	hang(s, 0, 1, 20, SMALL, 7);
	hang(s, ROOT + 1, 30, 2, SMALL, 7);
	find(s);
	assert_int_equal(s->found.count, 1);
	assert_int_equal(s->found.suspects[0].holder, ROOT);
	assert_int_equal(s->found.suspects[0].at.at, 0);
	assert_int_equal(s->found.suspects[0].retained.bytes, 210);
	assert_int_equal(s->found.suspects[0].retained.second, SMALL);
	struct gr_child_groups groups = contents(s, 0);
	assert_int_equal(groups.count, 1);
	has_group(&groups, 7, 20, 200, SMALL);
	gr_child_groups_deinit(&groups);
}

/* One root has a service with two caches, and something of its own. */
TEST_F(fork)
{
	hang(s, ROOT, 0, 1, SMALL, 1);
	hang(s, 0, 1, 1, SMALL, 2);
	hang(s, 0, 2, 1, SMALL, 3);
	hang(s, 1, 3, 20, SMALL, 7);
	hang(s, 2, 23, 15, SMALL, 8);
	find(s);
	assert_int_equal(s->found.count, 2);
	assert_int_equal(s->found.suspects[0].holder, 1);
	assert_int_equal(s->found.suspects[0].retained.bytes, 210);
	assert_int_equal(s->found.suspects[0].retained.second, 3 * SMALL);
	assert_int_equal(s->found.suspects[1].holder, 2);
	assert_int_equal(s->found.suspects[1].retained.bytes, 160);
	assert_int_equal(s->found.suspects[1].retained.second, 15 * SMALL);
}

/* The heavy path goes on, and a smaller cache branches off. */
TEST_F(branch)
{
	hang(s, ROOT, 0, 1, SMALL, 1);
	hang(s, 0, 1, 1, SMALL, 2);
	hang(s, 0, 2, 1, SMALL, 3);
	hang(s, 1, 3, 25, SMALL, 7);
	hang(s, 2, 28, 9, SMALL, 8);
	find(s);
	assert_int_equal(s->found.count, 2);
	assert_int_equal(s->found.suspects[0].holder, 1);
	assert_int_equal(s->found.suspects[0].at.at, 1);
	assert_int_equal(s->found.suspects[0].retained.bytes, 260);
	assert_int_equal(s->found.suspects[1].holder, 2);
	assert_int_equal(s->found.suspects[1].retained.bytes, 100);
}

/* Four large shards are no four suspects; nor are the pieces of one map. */
TEST_F(alike)
{
	hang(s, ROOT, 0, 1, SMALL, 1);
	hang(s, 0, 1, 4, 2 * MIN_BYTES, 2);
	hang(s, ROOT + 1, 10, 1, SMALL, 3);
	hang(s, 10, 11, 2, 2 * MIN_BYTES, 3);
	hang(s, 11, 13, 10, 1, 7);
	find(s);
	assert_int_equal(s->found.count, 2);
	assert_int_equal(s->found.suspects[0].at.at, 0);
	assert_int_equal(s->found.suspects[0].retained.bytes, 810);
	assert_int_equal(s->found.suspects[1].at.at, 10);
	assert_int_equal(s->found.suspects[1].retained.bytes, 420);
	// Pieces of the map are seen through.
	struct gr_child_groups groups = contents(s, 1);
	has_group(&groups, 3, 2, 4 * MIN_BYTES, 0);
	has_group(&groups, 7, 10, 10, 3);
	gr_child_groups_deinit(&groups);
}

/* Only an element that has half of a container is a suspect of its own. */
TEST_F(container)
{
	s->forms[0] = s->forms[10] = GR_FORM_CONTAINER;
	hang(s, ROOT, 0, 1, SMALL, 1);
	hang(s, 0, 1, 1, 2 * MIN_BYTES, 2);
	hang(s, 0, 2, 1, 2 * MIN_BYTES, 3);
	hang(s, 0, 3, 1, 2 * MIN_BYTES, 4);
	hang(s, ROOT + 1, 10, 1, SMALL, 1);
	hang(s, 10, 11, 1, 2 * MIN_BYTES, 2);
	hang(s, 10, 12, 11, SMALL, 5);
	find(s);
	assert_int_equal(s->found.count, 3);
	assert_int_equal(s->found.suspects[0].at.at, 0);
	assert_int_equal(s->found.suspects[1].holder, 11);
	// The rest of the second container, without that element.
	assert_int_equal(s->found.suspects[2].at.at, 10);
	assert_int_equal(s->found.suspects[2].retained.bytes, 120);
	assert_int_equal(s->found.suspects[2].retained.second, 3 * SMALL);
	struct gr_child_groups groups = contents(s, 2);
	assert_int_equal(groups.count, 1);
	has_group(&groups, 5, 11, 110, 3 * SMALL);
	gr_child_groups_deinit(&groups);
}

/* A tree whose nodes hold each other over arrays: its branches are no suspects
 * of their own, and the arrays of its nodes are seen through. */
TEST_F(tree)
{
	s->forms[2] = s->forms[5] = s->forms[16] = GR_FORM_CONTAINER;
	hang(s, ROOT, 0, 1, SMALL, 1);
	hang(s, 0, 1, 1, SMALL, 2);
	hang(s, 1, 2, 1, SMALL, 3);
	hang(s, 2, 3, 2, SMALL, 2);
	hang(s, 3, 5, 1, SMALL, 4);
	hang(s, 5, 6, 10, LARGE, 7);
	hang(s, 4, 16, 1, SMALL, 4);
	hang(s, 16, 17, 7, LARGE, 7);
	find(s);
	assert_int_equal(s->found.count, 1);
	assert_int_equal(s->found.suspects[0].holder, ROOT);
	assert_int_equal(s->found.suspects[0].at.at, 2);
	assert_int_equal(s->found.suspects[0].retained.bytes,
			 7 * SMALL + 17 * LARGE);
	struct gr_child_groups groups = contents(s, 0);
	assert_int_equal(groups.count, 3);
	has_group(&groups, 7, 17, 17 * LARGE, 4 * LARGE);
	has_group(&groups, 2, 2, 2 * SMALL, 0);
	has_group(&groups, 4, 2, 2 * SMALL, 0);
	gr_child_groups_deinit(&groups);
}

TEST_F(list)
{
	build_edge(&s->b, ROOT, 0);
	for (gr_vertex v = 0; v < 20; v++) {
		if (v < 19)
			build_edge(&s->b, v, v + 1);
		s->b.bytes[v] = LARGE;
		s->keys[v] = 2;
		hang(s, v, 20 + v, 1, SMALL, 7);
	}
	find(s);
	assert_int_equal(s->found.count, 1);
	assert_int_equal(s->found.suspects[0].at.kind, GR_ACCUMULATION_CHAIN);
	assert_int_equal(s->found.suspects[0].holder, ROOT);
	struct gr_child_groups groups = contents(s, 0);
	assert_int_equal(groups.count, 1);
	has_group(&groups, 2, 20, 20 * (LARGE + SMALL), 20 * SMALL);
	gr_child_groups_deinit(&groups);
}

/* Objects that two roots share are a suspect together. */
TEST_F(shared)
{
	const struct gr_suspect_question question = question_of(s);
	uint64_t bits[2] = { 0 };

	hang(s, ROOT, 0, 15, SMALL, 7);
	for (gr_vertex v = 0; v < 15; v++)
		build_edge(&s->b, ROOT + 1, v);
	hang(s, 3, 20, 1, SMALL, 8);
	find(s);
	assert_int_equal(s->found.count, 1);
	assert_true(s->found.suspects[0].is_group);
	assert_int_equal(s->found.suspects[0].holder, 3);
	assert_int_equal(s->found.suspects[0].vertices, 15);
	assert_int_equal(s->found.suspects[0].retained.bytes, 160);
	assert_null(gr_graph_suspect_members(
		s->graph, &question, &s->found.suspects[0], NULL, bits));
	assert_int_equal(bits[0], (1 << 15) - 1);
	struct gr_child_groups groups = contents(s, 0);
	assert_int_equal(groups.count, 1);
	has_group(&groups, 7, 15, 160, SMALL);
	gr_child_groups_deinit(&groups);
}

/* Objects whose types are not known are no suspect together; each large one is
 * one of its own, unless several are below one object. */
TEST_F(unknown)
{
	hang(s, ROOT, 0, 15, SMALL, UNKNOWN);
	for (gr_vertex v = 0; v < 15; v++)
		build_edge(&s->b, ROOT + 1, v);
	find(s);
	assert_int_equal(s->found.count, 0);
	assert_int_equal(s->found.largest.retained.bytes, SMALL);
	gr_graph_destroy(s->graph);
	for (gr_vertex v = 4; v < 8; v++)
		s->b.bytes[v] = 2 * MIN_BYTES;
	hang(s, 3, 20, 4, 3 * MIN_BYTES, UNKNOWN);
	find(s);
	assert_int_equal(s->found.count, 5);
	assert_int_equal(s->found.suspects[0].holder, 3);
	assert_int_equal(s->found.suspects[1].holder, 4);
}

/* Roots with one name are one suspect; what is ignored is none. */
TEST_F(roots)
{
	s->keys[ROOT] = s->keys[ROOT + 1] = 9;
	hang(s, ROOT, 0, 1, LARGE, 7);
	hang(s, ROOT + 1, 1, 1, LARGE, 8);
	find(s);
	assert_int_equal(s->found.count, 1);
	assert_true(s->found.suspects[0].is_group);
	assert_int_equal(s->found.suspects[0].retained.bytes, 2 * LARGE);
	struct gr_child_groups groups = contents(s, 0);
	assert_int_equal(groups.count, 2);
	has_group(&groups, 7, 1, LARGE, 0);
	has_group(&groups, 8, 1, LARGE, 0);
	gr_child_groups_deinit(&groups);
}

TEST_F(ignored)
{
	s->forms[ROOT] = GR_FORM_IGNORED;
	hang(s, ROOT, 0, 1, 2 * MIN_BYTES, 7);
	hang(s, ROOT + 1, 1, 1, LARGE, 8);
	find(s);
	assert_int_equal(s->found.count, 0);
	assert_int_equal(s->found.largest.holder, ROOT + 1);
}

/* Suspects of graphs by chance do not overlap, and each is large enough. */
TEST(random)
{
	uint64_t seed = 1;

	for (int i = 0; i < 2000; i++) {
		struct shape s = { 0 };
		uint64_t sum = 0;

		build_random(&s.b, &seed);
		s.graph = build(&s.budget, &s.b);
		for (gr_vertex v = 0; v < s.graph->nvertices; v++) {
			s.keys[v] = build_below(&seed, 4);
			s.forms[v] = build_below(&seed, 3);
		}
		s.forms[gr_graph_top(s.graph)] = GR_FORM_OPEN;
		struct gr_suspect_question question = question_of(&s);
		assert_null(gr_graph_need(s.graph, GR_PART_CHILDREN, NULL));
		uint64_t all = s.graph->retained[gr_graph_top(s.graph)];
		question.min_bytes = all / 10 + 1;
		assert_null(
			gr_graph_suspects(s.graph, &question, NULL, &s.found));
		for (uint32_t k = 0; k < s.found.count; k++) {
			sum += s.found.suspects[k].retained.bytes;
			assert_true(s.found.suspects[k].retained.bytes >=
				    question.min_bytes);
		}
		assert_true(sum <= all);
		gr_suspects_deinit(&s.found);
		gr_graph_destroy(s.graph);
	}
}

/* Is @p v of a kind that no dominator of it has? */
static bool is_topmost(const struct gr_graph *g, const uint32_t *kinds,
		       gr_vertex v)
{
	for (gr_vertex d = g->idom[v]; d != gr_graph_top(g); d = g->idom[d])
		if (d < g->nobjects && kinds[d] == kinds[v])
			return false;
	return true;
}

TEST(topmost)
{
	uint64_t seed = 7;

	for (int i = 0; i < 1000; i++) {
		struct gr_sizes want[4] = { 0 }, got[4] = { 0 };
		uint32_t kinds[BUILD_MAX_VERTICES];
		struct gr_budget budget = { 0 };
		struct build b;

		build_random(&b, &seed);
		struct gr_graph *g = build(&budget, &b);
		assert_null(gr_graph_need(g, GR_PART_CHILDREN, NULL));
		for (gr_vertex v = 0; v < g->nobjects; v++)
			kinds[v] = build_below(&seed, 4);
		for (gr_vertex v = 0; v < g->nobjects; v++)
			if (gr_graph_is_reached(g, v) &&
			    is_topmost(g, kinds, v))
				want[kinds[v]] =
					gr_sizes_add(want[kinds[v]],
						     gr_graph_retained(g, v));
		assert_null(gr_graph_topmost(g, kinds, 4, NULL, got));
		assert_memory_equal(got, want, sizeof(got));
		gr_graph_destroy(g);
	}
}

GR_SUITE("graph suspects")
