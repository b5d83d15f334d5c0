// SPDX-License-Identifier: Apache-2.0
/* blockers and cycles: who keeps whom waiting, on random tables of locks against
 * the plainest of algorithms, and on the longest chains. */
#include "goroutines/waits/blockers.h"
#include "base/cleanup.h"
#include "goroutines/waits/deadlocks.h"

#include "polls.h"

enum { NTABLES = 3000, MAX_GOROUTINES = 24, MANY = 100000 };
#define NOBODY UINT32_MAX

/** Goroutine i waits for lock i if it waits, and owns what others have next[]
 * of. */
struct world {
	struct gr_runtime rt;
	struct gr_sched sched;
	struct gr_wait_table table;
	struct gr_waits waits;
	uint32_t n, *next;
	struct polls polls;
};

static struct world *world_new(uint32_t n)
{
	struct world *w = suite_alloc(sizeof(*w));

	w->n = n;
	w->sched.rt = &w->rt;
	w->next = calloc(n + 1, sizeof(*w->next));
	w->waits.rows = calloc(n + 1, sizeof(*w->waits.rows));
	w->waits.first = calloc(n + 2, sizeof(*w->waits.first));
	w->table.primitives = calloc(n + 1, sizeof(*w->table.primitives));
	w->table.of_row = calloc(n + 1, sizeof(*w->table.of_row));
	w->table.waiters = calloc(n + 1, sizeof(*w->table.waiters));
	assert_true(w->next && w->waits.rows && w->waits.first &&
		    w->table.primitives && w->table.of_row && w->table.waiters);
	w->table.waits = &w->waits;
	w->sched.ngoroutines = n;
	polls_set(&w->polls, &w->rt, 0);
	return w;
}

static void world_free(struct world *w)
{
	free(w->next);
	free(w->waits.rows);
	free(w->waits.first);
	free(w->table.primitives);
	free(w->table.of_row);
	free(w->table.waiters);
	free(w);
}

static void place_waiters(struct world *w)
{
	uint32_t *filled = calloc(w->n + 1, sizeof(*filled));

	assert_non_null(filled);
	for (uint32_t g = 0; g < w->n; g++) {
		uint32_t p = w->next[g];

		if (p != NOBODY)
			w->table.waiters[w->table.primitives[p].first_waiter +
					 filled[p]++] = g;
	}
	free(filled);
}

/* Goroutines whose next is the same wait for one lock, which that one owns. The
 * primitive of an owner has its index; there may be some without waiters. */
static void make_table(struct world *w)
{
	struct gr_wait_table *t = &w->table;
	uint32_t nrows = 0, at = 0;

	for (uint32_t g = 0; g < w->n; g++) {
		w->waits.first[g] = nrows;
		if (w->next[g] == NOBODY)
			continue;
		w->waits.rows[nrows] =
			(struct gr_wait){ .goroutine = g,
					  .kind = GR_WAIT_MUTEX };
		t->of_row[nrows++] = w->next[g];
		t->primitives[w->next[g]].nwaiters++;
	}
	w->waits.first[w->n] = w->waits.nrows = t->nrows = nrows;
	t->nprimitives = w->n;
	for (uint32_t p = 0; p < w->n; p++) {
		struct gr_primitive *primitive = &t->primitives[p];

		*primitive = (struct gr_primitive){
			.object = 0x1000 + p * 8,
			.kind = GR_WAIT_MUTEX,
			.is_state_known = true,
			.nwaiters = primitive->nwaiters,
			.first_waiter = at,
			.owners = { { .goroutine = p,
				      .rank = GR_OWNER_DEFERS,
				      .is_pointer = true } },
			.nowners = 1,
		};
		at += primitive->nwaiters;
	}
	place_waiters(w);
}

/* How many others come to @p v, and does it come to itself? */
static uint32_t naive_behind(const struct world *w, uint32_t v, bool *is_cycle)
{
	uint32_t behind = 0;

	*is_cycle = false;
	for (uint32_t g = 0; g < w->n; g++) {
		uint32_t at = w->next[g];

		for (uint32_t i = 0; i < w->n && at != NOBODY && at != v; i++)
			at = w->next[at];
		behind += at == v && g != v;
		*is_cycle |= at == v && g == v;
	}
	return behind;
}

/* The longest way to @p v by goroutines that are in no cycle. */
static uint32_t naive_depth(const struct world *w, uint32_t v)
{
	uint32_t depth = 0;

	for (uint32_t g = 0; g < w->n; g++) {
		uint32_t at = g, steps = 0;
		bool is_cycle = false;

		while (at != v && at != NOBODY && !is_cycle && steps <= w->n) {
			naive_behind(w, at, &is_cycle);
			at = w->next[at];
			steps++;
		}
		if (at == v && !is_cycle && steps > depth)
			depth = steps;
	}
	return depth;
}

static const struct gr_blocker *find_row(const struct gr_blocker_vector *rows,
					 uint32_t g)
{
	for (size_t i = 0; i < rows->size; i++)
		if (rows->data[i].goroutine == g)
			return &rows->data[i];
	return NULL;
}

static void check_blockers(struct world *w)
{
	_cleanup_(gr_blocker_vector_deinit) struct gr_blocker_vector found = {
		0
	};
	uint32_t nwanted = 0;
	bool is_cycle;

	assert_null(gr_blockers_find(&w->sched, &w->table, &found));
	for (uint32_t g = 0; g < w->n; g++) {
		uint32_t behind = naive_behind(w, g, &is_cycle);
		const struct gr_blocker *row = find_row(&found, g);

		if (!is_cycle && (!behind || w->next[g] != NOBODY)) {
			assert_null(row);
			continue;
		}
		assert_non_null(row);
		assert_int_equal(row->behind, behind);
		assert_int_equal(row->depth, naive_depth(w, g));
		assert_int_equal(row->is_in_cycle, is_cycle);
		assert_int_equal(row->primitive, g);
		nwanted++;
	}
	assert_int_equal(found.size, nwanted);
	for (size_t i = 1; i < found.size; i++)
		assert_true(found.data[i - 1].behind >= found.data[i].behind);
}

/* All that come to a member of the cycle, and are in none. */
static uint32_t naive_waiters(const struct world *w,
			      const struct gr_cycle *cycle)
{
	uint32_t ret = 0;
	bool is_cycle;

	for (uint32_t g = 0; g < w->n; g++) {
		uint32_t at = g;
		bool comes = false;

		for (uint32_t i = 0; i < w->n && at != NOBODY; i++)
			at = w->next[at];
		for (size_t j = 0; j < cycle->members.size; j++)
			comes |= cycle->members.data[j].goroutine == at;
		naive_behind(w, g, &is_cycle);
		ret += comes && !is_cycle;
	}
	return ret;
}

/* Each goroutine of a cycle waits for the primitive of its index, which the next
 * one owns; all that come to themselves are in one. */
static void check_cycles(struct world *w)
{
	_cleanup_(gr_cycles_deinit) struct gr_cycle_vector found = { 0 };
	uint32_t nmembers = 0, nwanted = 0;
	bool is_cycle;

	assert_null(gr_cycles_find(&w->sched, &w->table, NULL, NULL, &found));
	for (size_t i = 0; i < found.size; i++) {
		const struct gr_cycle *cycle = &found.data[i];
		size_t n = cycle->members.size;

		assert_int_equal(cycle->primitives.size, n);
		assert_false(cycle->is_certain);
		assert_int_equal(cycle->behind, naive_waiters(w, cycle));
		for (size_t j = 0; j < n; j++) {
			const struct gr_cycle_member *member =
				&cycle->members.data[j];
			uint32_t g = member->goroutine;

			assert_int_equal(cycle->primitives.data[member->awaits],
					 w->next[g]);
			assert_int_equal(member->owner, w->next[g]);
			assert_int_equal(
				cycle->members.data[(j + 1) % n].goroutine,
				w->next[g]);
			naive_behind(w, g, &is_cycle);
			assert_true(is_cycle);
		}
		nmembers += n;
	}
	for (uint32_t g = 0; g < w->n; g++) {
		naive_behind(w, g, &is_cycle);
		nwanted += is_cycle;
	}
	assert_int_equal(nmembers, nwanted);
}

TEST(random)
{
	uint64_t seed = 3;

	for (int i = 0; i < NTABLES; i++) {
		uint32_t n = 1 + (suite_random(&seed) >> 16) % MAX_GOROUTINES;
		uint32_t density = 1 + (suite_random(&seed) >> 16) % 8;
		struct world *w = world_new(n);

		for (uint32_t g = 0; g < n; g++) {
			uint64_t chance = suite_random(&seed) >> 16;

			w->next[g] = chance % 8 < density ? (chance >> 8) % n :
							    NOBODY;
		}
		make_table(w);
		check_blockers(w);
		check_cycles(w);
		world_free(w);
	}
}

/** Who waits for whom among very many. */
struct shape {
	const char *name;
	uint32_t (*next)(uint32_t g);
	size_t nblockers;
	uint64_t behind; /* the first one */
};

static uint32_t upwards(uint32_t g)
{
	return g + 1 < MANY ? g + 1 : NOBODY;
}

static uint32_t downwards(uint32_t g)
{
	return g ? g - 1 : NOBODY;
}

static uint32_t ring(uint32_t g)
{
	return (g + 1) % MANY;
}

static uint32_t star(uint32_t g)
{
	return g == MANY / 2 ? NOBODY : MANY / 2;
}

/* Half of them wait for a ring of the others, each for another place. */
static uint32_t fringed(uint32_t g)
{
	return g % 2 ? g - 1 : (g + 2) % MANY;
}

/* Every lock is taken twice. */
static uint32_t itself(uint32_t g)
{
	return g;
}

static const struct shape shapes[] = {
	{ "a chain upwards", upwards, 1, MANY - 1 },
	{ "a chain downwards", downwards, 1, MANY - 1 },
	{ "a ring", ring, MANY, MANY - 1 },
	{ "a star", star, 1, MANY - 1 },
	{ "a fringed ring", fringed, MANY / 2, MANY - 1 },
	{ "itself", itself, MANY, 0 },
};

static struct gr_error *find_all(struct world *w,
				 struct gr_blocker_vector *blockers)
{
	_cleanup_(gr_cycles_deinit) struct gr_cycle_vector cycles = { 0 };
	struct gr_error *err = gr_blockers_find(&w->sched, &w->table, blockers);

	return err ? err :
		     gr_cycles_find(&w->sched, &w->table, NULL, NULL, &cycles);
}

/* In linear time; and whatever it does then, poll ends it. */
TEST_ROWS(many, shapes, shape)
{
	struct world *w = world_new(MANY);

	for (uint32_t g = 0; g < MANY; g++)
		w->next[g] = shape->next(g);
	make_table(w);
	struct gr_blocker_vector found = { 0 };
	assert_null(find_all(w, &found));
	assert_int_equal(found.size, shape->nblockers);
	assert_int_equal(found.data[0].behind, shape->behind);
	gr_blocker_vector_deinit(&found);
	uint64_t polls = w->polls.seen;
	assert_in_range(polls, 100, 20 * (MANY / GR_POLL_STEPS));
	for (uint64_t i = 0; i < 8; i++) {
		found = (struct gr_blocker_vector){ 0 };
		polls_set(&w->polls, &w->rt, 1 + polls * i / 8);
		polls_check_ended(&w->polls, find_all(w, &found));
		gr_blocker_vector_deinit(&found);
	}
	world_free(w);
}

GR_SUITE_WITH("blockers", polls_set_alarm, NULL)
