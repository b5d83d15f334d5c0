// SPDX-License-Identifier: Apache-2.0
/* untouched: memory that was mapped, and never seen in use, by hand and at random
 * against a plain algorithm that looks at each page alone. */
#include "growth/untouched.h"

#include "inferior/elf.h"
#include "suite.h"

enum {
	NPAGES = 256,
	NTICKS = 8,
	NRUNS = 600,
	MAX_EVENTS = 60,
	NONE = -1,
};
#define BASE (UINT64_C(0x7f) << 40)

/** An event, as goref-trace sends it. */
struct event {
	uint64_t addr;
	uint32_t stack, flags;
	uint64_t bytes;
};
_Static_assert(sizeof(struct event) == GR_TOUCH_EVENT_BYTES, "as it is sent");

/** A page as it is now. */
enum page_state { UNMAPPED, RESERVED, WRITABLE, RESIDENT, SWAPPED, OF_A_FILE };

/** A process, page by page. */
struct world {
	struct gr_untouched untouched;
	struct gr_touches touches;
	enum page_state state[NPAGES];
	int owner[NPAGES]; /* the stack, or NONE */
	struct gr_remap_vector mapped;
	uint64_t left_out_bytes; /* of `mapped' */
	int call[NPAGES];	 /* that has mapped the page; 0: none */
	int ncalls;
	bool has_gaps; /* events are missing until the next tick */
};

static const struct gr_poll nobody = { 0 };

static struct world *start(void)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	for (int i = 0; i < NPAGES; i++)
		w->owner[i] = NONE;
	return w;
}

static void stop(struct world *w)
{
	gr_untouched_deinit(&w->untouched);
	gr_touches_deinit(&w->touches);
	gr_remap_vector_deinit(&w->mapped);
	free(w);
}

#define FIXTURE struct world *w, start, stop

static uint64_t addr_of(int page)
{
	return BASE + (uint64_t)page * GR_PAGE_BYTES;
}

static void send(struct world *w, int page, uint32_t flags, uint32_t stack,
		 int npages)
{
	struct event event = { addr_of(page), stack, flags,
			       (uint64_t)npages * GR_PAGE_BYTES };

	assert_null(gr_touches_add(&w->touches, (const uint8_t *)&event, 1,
				   &nobody));
	w->ncalls++;
	for (int i = page; flags & GR_TOUCH_MAPPED && i < page + npages; i++)
		w->call[i] = w->ncalls;
	if (!(flags & GR_TOUCH_GIVEN_BACK) || !w->has_gaps)
		return;
	// Another call may have mapped it again, unseen.
	for (int i = page; i < page + npages; i++)
		w->call[i] = 0;
}

/* An event, and what it means for the plain algorithm. */
static void happen(struct world *w, int page, uint32_t flags, int stack,
		   int npages)
{
	send(w, page, flags, (uint32_t)stack, npages);
	if (!(flags & (GR_TOUCH_MAPPED | GR_TOUCH_GIVEN_BACK)))
		w->owner[page] = NONE;
	for (int i = page; i < page + npages; i++)
		w->owner[i] = flags & GR_TOUCH_MAPPED ? stack : NONE;
}

static void set(struct world *w, int first, int count, enum page_state state)
{
	for (int i = first; i < first + count; i++)
		w->state[i] = state;
}

// ---------------------------------------------------------------------- ticks

static void fill(const struct world *w, struct gr_residency *r)
{
	static const uint32_t flags[] = { [RESERVED] = 0,
					  [WRITABLE] = PF_R | PF_W,
					  [RESIDENT] = PF_R | PF_W,
					  [SWAPPED] = PF_R | PF_W,
					  [OF_A_FILE] = PF_R | PF_W };

	for (int i = 0; i < NPAGES; i++) {
		struct gr_resident range = { .start = addr_of(i),
					     .end = addr_of(i + 1),
					     .mapping = r->mappings.list.size };

		if (w->state[i] == UNMAPPED)
			continue;
		assert_null(gr_mappings_add(
			&r->mappings,
			(struct gr_mapping){ .start = range.start,
					     .end = range.end,
					     .inode = w->state[i] == OF_A_FILE,
					     .flags = flags[w->state[i]] }));
		if (w->state[i] == RESIDENT)
			assert_true(
				gr_resident_vector_append(&r->ranges, range));
		if (w->state[i] == SWAPPED)
			assert_true(
				gr_resident_vector_append(&r->swapped, range));
	}
}

static void tick_plainly(struct world *w)
{
	for (int i = 0; i < NPAGES; i++)
		if (w->state[i] != WRITABLE && w->state[i] != RESERVED)
			w->owner[i] = NONE;
	for (int i = 0; i < NPAGES; i++)
		if (w->state[i] == UNMAPPED || w->state[i] == OF_A_FILE)
			w->call[i] = 0;
}

/* Pages lie in what is left of the mapping of their call. */
static void check_extents(const struct world *w)
{
	const struct gr_owned_pages all = { addr_of(0), addr_of(NPAGES), 7,
					    false };
	struct gr_owned_vector pages = { 0 };
	struct gr_mapped_vector parts = { 0 };
	uint64_t starts[NPAGES], ends[NPAGES];
	int at = 0;

	assert_true(gr_owned_vector_append(&pages, all));
	assert_null(gr_mapped_extents(&w->mapped, &pages, &parts));
	for (size_t i = 0; i < parts.size; i++) {
		const struct gr_mapped_pages *part = &parts.data[i];

		assert_int_equal(part->start, addr_of(at));
		assert_int_equal(part->stack, 7);
		for (; addr_of(at) < part->end; at++) {
			starts[at] = part->map_start;
			ends[at] = part->map_end;
		}
	}
	assert_int_equal(at, NPAGES);
	for (int i = 0, end; i < NPAGES; i = end) {
		for (end = i; end < NPAGES && w->call[end] == w->call[i]; end++)
			;
		for (int k = i; k < end; k++) {
			assert_int_equal(starts[k],
					 w->call[i] ? addr_of(i) : 0);
			assert_int_equal(ends[k],
					 w->call[i] ? addr_of(end) : 0);
		}
	}
	gr_owned_vector_deinit(&pages);
	gr_mapped_vector_deinit(&parts);
}

/* The writable ranges are those of the plain algorithm. */
static void check(const struct world *w, const struct gr_residency *now)
{
	struct gr_owned_vector owned = { 0 };
	struct gr_resident_vector pages = { 0 };
	size_t at = 0;

	assert_null(gr_untouched_writable(&w->untouched, now, &owned, &pages));
	assert_int_equal(owned.size, pages.size);
	for (size_t i = 0; i < pages.size; i++) {
		const struct gr_mapping *m =
			&now->mappings.list.data[pages.data[i].mapping];

		assert_int_equal(pages.data[i].start, owned.data[i].start);
		assert_int_equal(pages.data[i].end, owned.data[i].end);
		assert_true(m->start <= pages.data[i].start &&
			    pages.data[i].end <= m->end);
	}
	for (int i = 0; i < NPAGES; i++) {
		while (at < owned.size && owned.data[at].end <= addr_of(i))
			at++;
		bool is_in = at < owned.size &&
			     owned.data[at].start <= addr_of(i);

		assert_int_equal(is_in ? (int)owned.data[at].stack : NONE,
				 w->state[i] == WRITABLE ? w->owner[i] : NONE);
	}
	gr_owned_vector_deinit(&owned);
	gr_resident_vector_deinit(&pages);
}

static void tick(struct world *w)
{
	struct gr_residency now = { 0 };

	fill(w, &now);
	assert_null(gr_touches_settle(&w->touches, &nobody));
	assert_null(
		gr_untouched_update(&w->untouched, &now, &w->touches, &nobody));
	w->touches.has_gaps = w->has_gaps;
	assert_null(gr_mapped_update(&w->mapped, &now, &w->touches, &nobody,
				     &w->left_out_bytes));
	tick_plainly(w);
	check(w, &now);
	check_extents(w);
	w->has_gaps = false;
	gr_touches_clear(&w->touches);
	gr_residency_deinit(&now);
}

static int count(const struct world *w)
{
	int n = 0;

	for (int i = 0; i < NPAGES; i++)
		n += w->owner[i] != NONE;
	return n;
}

TEST_F(pages_that_were_mapped)
{
	set(w, 0, NPAGES, WRITABLE);
	tick(w);
	assert_int_equal(count(w), 0); // they were there before
	happen(w, 10, GR_TOUCH_MAPPED, 5, 20);
	set(w, 12, 3, RESIDENT);
	tick(w);
	assert_int_equal(count(w), 17);
	assert_int_equal(w->untouched.list.size, 2);
	set(w, 12, 3, WRITABLE); // they were touched, and given back
	tick(w);
	assert_int_equal(count(w), 17);
	happen(w, 11, GR_TOUCH_MAPPED, 6, 3); // anew
	tick(w);
	assert_int_equal(count(w), 19);
}

TEST_F(a_fault_before_the_mapping_is_of_an_older_one)
{
	set(w, 0, NPAGES, WRITABLE);
	happen(w, 5, 0, 7, 0);
	happen(w, 0, GR_TOUCH_MAPPED, 8, 10);
	happen(w, 6, GR_TOUCH_IN_KERNEL, 9, 0);
	tick(w);
	assert_int_equal(w->owner[5], 8);
	assert_int_equal(w->owner[6], NONE);
}

TEST_F(reservations_may_get_rights_later)
{
	set(w, 0, 8, RESERVED);
	happen(w, 0, GR_TOUCH_MAPPED, 8, 8);
	tick(w);
	set(w, 4, 4, WRITABLE); // mprotect()
	tick(w);
	set(w, 2, 2, OF_A_FILE);
	tick(w);
	assert_int_equal(count(w), 6);
}

TEST_F(at_random)
{
	srand(4);
	for (int run = 0; run < NRUNS; run++) {
		struct world *one = start();

		for (int t = 0; t < NTICKS; t++) {
			int nevents = rand() % MAX_EVENTS;

			one->has_gaps = rand() % 4 == 0;

			for (int i = 0; i < nevents; i++) {
				int page = rand() % NPAGES;
				int most = NPAGES - page, n;
				uint32_t flags = rand() % 3 * 2; // 0, 2, 4

				n = flags ? rand() % (most < 40 ? most : 40) :
					    0;
				happen(one, page, flags, rand() % 4 + 1, n);
			}
			for (int i = 0; i < 10; i++) {
				int page = rand() % NPAGES;
				int n = rand() % (NPAGES - page);

				set(one, page, n, rand() % (OF_A_FILE + 1));
			}
			tick(one);
		}
		stop(one);
	}
}

/* Pages in turns: as many ranges as can be. The smallest go. */
TEST_F(too_many_ranges)
{
	struct gr_residency now = { 0 };
	const uint64_t nranges = GR_MAX_UNTOUCHED + 1000;
	struct gr_mapping all = { .start = BASE,
				  .end = BASE + 4 * nranges * GR_PAGE_BYTES,
				  .flags = PF_W };
	struct event event = { all.start, 3, GR_TOUCH_MAPPED,
			       all.end - all.start };

	assert_null(gr_mappings_add(&now.mappings, all));
	for (uint64_t i = 0; i < nranges; i++) {
		uint64_t at = BASE + (4 * i + 3) * GR_PAGE_BYTES;
		struct gr_resident range = { .start = at,
					     .end = at + GR_PAGE_BYTES };

		// The first thousand leave one page, the others three.
		if (i < 1000)
			range.start -= 2 * GR_PAGE_BYTES;
		assert_true(gr_resident_vector_append(&now.ranges, range));
	}
	assert_null(gr_touches_add(&w->touches, (const uint8_t *)&event, 1,
				   &nobody));
	assert_null(gr_touches_settle(&w->touches, &nobody));
	assert_null(
		gr_untouched_update(&w->untouched, &now, &w->touches, &nobody));
	assert_int_equal(w->untouched.list.size, GR_MAX_UNTOUCHED);
	assert_int_equal(w->untouched.left_out_bytes, 1000 * GR_PAGE_BYTES);
	gr_residency_deinit(&now);
}

/* Add mappings [first, end): each has two pages, but the first thousand one. */
static void add_mappings(struct world *w, uint64_t first, uint64_t end)
{
	for (uint64_t i = first; i < end; i++) {
		struct event event = { BASE + 4 * i * GR_PAGE_BYTES, 3,
				       GR_TOUCH_MAPPED,
				       (i < 1000 ? 1 : 2) * GR_PAGE_BYTES };

		assert_null(gr_touches_add(&w->touches, (const uint8_t *)&event,
					   1, &nobody));
	}
	assert_null(gr_touches_settle(&w->touches, &nobody));
}

/* Calls without end that each map some pages: the smallest have no number. */
TEST_F(too_many_calls)
{
	struct gr_residency now = { 0 };
	const uint64_t ncalls = GR_MAX_UNTOUCHED + 1000;
	struct gr_mapping all = { .start = BASE,
				  .end = BASE + 4 * ncalls * GR_PAGE_BYTES,
				  .flags = PF_W };

	assert_null(gr_mappings_add(&now.mappings, all));
	for (uint64_t half = 0; half < 2; half++) {
		add_mappings(w, half * ncalls / 2, (half + 1) * ncalls / 2);
		assert_int_equal(w->left_out_bytes, 0);
		assert_null(gr_mapped_update(&w->mapped, &now, &w->touches,
					     &nobody, &w->left_out_bytes));
		gr_touches_clear(&w->touches);
	}
	assert_int_equal(w->touches.lost, 0);
	assert_int_equal(w->mapped.size, GR_MAX_UNTOUCHED);
	assert_int_equal(w->left_out_bytes, 1000 * GR_PAGE_BYTES);
	gr_residency_deinit(&now);
}

/* A program that maps and unmaps the same few addresses all the time loses no
 * event, and the last one counts. */
TEST_F(a_million_mappings)
{
	set(w, 0, NPAGES, WRITABLE);
	for (int i = 0; i < 1 << 20; i++) {
		send(w, i % 64, GR_TOUCH_MAPPED, (uint32_t)(i % 1000 + 1), 2);
		send(w, i % 64, GR_TOUCH_GIVEN_BACK, 0, 2);
	}
	happen(w, 100, GR_TOUCH_MAPPED, 5, 3);
	assert_true(w->touches.mapped.size <= GR_MAX_MAPPINGS);
	tick(w);
	assert_int_equal(w->touches.lost, 0);
	assert_int_equal(count(w), 3);
}

/* Mappings at different addresses have no room for ever. */
TEST_F(mappings_without_room)
{
	for (uint64_t i = 0; i < GR_MAX_MAPPINGS + 5; i++) {
		struct event event = { BASE + 2 * i * GR_PAGE_BYTES, 1,
				       GR_TOUCH_MAPPED, GR_PAGE_BYTES };

		assert_null(gr_touches_add(&w->touches, (const uint8_t *)&event,
					   1, &nobody));
	}
	assert_int_equal(w->touches.lost, 5);
}

GR_SUITE("memory that was not touched")
