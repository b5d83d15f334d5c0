// SPDX-License-Identifier: Apache-2.0
/* owners: faults joined with pages, by hand and at random against a plain
 * algorithm that looks at each page alone. */
#include "growth/owners.h"

#include "inferior/elf.h"
#include "suite.h"

enum {
	NPAGES = 2048, /* four windows of large pages */
	AROUND = 16,   /* pages */
	HUGE = 512,
	MAX_EVENTS = 200,
	NTICKS = 6,
	NRUNS = 400,
	OLD = -1, /* the page was there at the first tick, or is not there */
};
#define BASE (UINT64_C(0x7f) << 40)

/** An event, as goref-trace sends it. */
struct event {
	uint64_t addr;
	uint32_t stack, flags;
	uint64_t bytes;
};
_Static_assert(sizeof(struct event) == GR_TOUCH_EVENT_BYTES, "as it is sent");

/** A process, page by page. */
struct world {
	struct gr_owners owners;
	struct gr_touches touches;
	bool is_file[NPAGES]; /* by page */
	int mapping[NPAGES];
	bool before[NPAGES], now[NPAGES];
	int owner[NPAGES];
	bool is_inferred[NPAGES]; /* at the last tick */
	struct event events[MAX_EVENTS];
	size_t nevents;
	bool has_begun, has_gaps;
};

static const struct gr_poll nobody = { 0 };

static struct world *start(void)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	for (int i = 0; i < NPAGES; i++)
		w->owner[i] = OLD;
	return w;
}

static void stop(struct world *w)
{
	gr_owners_deinit(&w->owners);
	gr_touches_deinit(&w->touches);
	free(w);
}

#define FIXTURE struct world *w, start, stop

static uint64_t addr_of(int page)
{
	return BASE + (uint64_t)page * GR_PAGE_BYTES;
}

static void happen(struct world *w, int page, uint32_t flags, uint32_t stack,
		   int npages)
{
	assert_true(w->nevents < MAX_EVENTS);
	w->events[w->nevents++] =
		(struct event){ addr_of(page), stack, flags,
				(uint64_t)npages * GR_PAGE_BYTES };
}

static void set(struct world *w, int first, int count, bool is_resident)
{
	for (int i = first; i < first + count; i++)
		w->now[i] = is_resident;
}

/* All pages from @p first on are of a file. */
static void make_file(struct world *w, int first)
{
	for (int i = first; i < NPAGES; i++) {
		w->is_file[i] = true;
		w->mapping[i] = 1;
	}
}

/* The residency of now. */
static void fill(const struct world *w, struct gr_residency *r)
{
	uint32_t at = 0;

	for (int i = 0, end; i < NPAGES; i = end, at++) {
		for (end = i; end < NPAGES && w->mapping[end] == w->mapping[i];
		     end++)
			;
		assert_null(gr_mappings_add(
			&r->mappings,
			(struct gr_mapping){ .start = addr_of(i),
					     .end = addr_of(end) }));
		for (int k = i; k < end; k++) {
			struct gr_resident range = { addr_of(k), addr_of(k + 1),
						     at, !w->is_file[k],
						     false };
			struct gr_resident *last =
				r->ranges.size ?
					&r->ranges.data[r->ranges.size - 1] :
					NULL;

			if (!w->now[k])
				continue;
			if (last && last->end == range.start &&
			    last->mapping == at &&
			    last->is_anonymous == range.is_anonymous)
				last->end = range.end;
			else
				assert_true(gr_resident_vector_append(
					&r->ranges, range));
		}
	}
}

// ---------------------------------------------------------- the plain algorithm

static bool holds(const struct event *e, int page)
{
	return e->addr <= addr_of(page) && addr_of(page) < e->addr + e->bytes;
}

/* The order of the last event with these flags at a page; -1: there is none. */
static int last_of(const struct world *w, uint32_t flags, int page)
{
	for (int i = (int)w->nevents - 1; i >= 0; i--)
		if (w->events[i].flags == flags && holds(&w->events[i], page))
			return i;
	return -1;
}

/* The order of the last fault of a page, as of all faults. */
static int last_fault(const struct world *w, int page)
{
	for (int i = (int)w->nevents - 1; i >= 0; i--)
		if (!(w->events[i].flags &
		      (GR_TOUCH_MAPPED | GR_TOUCH_GIVEN_BACK)) &&
		    w->events[i].addr == addr_of(page))
			return i;
	return -1;
}

static uint32_t stack_of(const struct event *e)
{
	return e->flags & GR_TOUCH_BRIEF ? 0 : e->stack;
}

static bool is_whole(const struct world *w, int first, int count)
{
	for (int i = first; i < first + count; i++)
		if (!w->now[i] || w->mapping[i] != w->mapping[first] ||
		    w->is_file[i] != w->is_file[first])
			return false;
	return true;
}

/* The stack of the first fault behind order @p after in a window. */
static uint32_t in_window(const struct world *w, int page, int count, int after)
{
	int first = page / count * count, found = -1, nfaults = 0;

	if (w->is_file[page] ? count != AROUND : !is_whole(w, first, count))
		return 0;
	for (int i = first; i < first + count; i++) {
		int order = last_fault(w, i);

		if (w->mapping[i] != w->mapping[page] || order <= after)
			continue;
		nfaults++;
		if (!stack_of(&w->events[order]))
			continue;
		if (found < 0 || order < found)
			found = order;
	}
	return found < 0 || (!w->is_file[page] && nfaults > 1) ?
		       0 :
		       stack_of(&w->events[found]);
}

/* The owner of a page by events behind order @p after; OLD: none tells. */
static int find(const struct world *w, int page, int after)
{
	int own = last_fault(w, page), mapped;
	uint32_t stack;

	if (own > after)
		return (int)stack_of(&w->events[own]);
	if (w->has_gaps)
		return OLD;
	stack = in_window(w, page, AROUND, after);
	if (!stack)
		stack = in_window(w, page, HUGE, after);
	if (stack)
		return (int)stack;
	mapped = last_of(w, GR_TOUCH_MAPPED, page);
	return mapped > after && w->events[mapped].stack ?
		       (int)w->events[mapped].stack :
		       OLD;
}

static void tick_plainly(struct world *w, struct gr_flow *flow)
{
	for (int i = 0; i < NPAGES; i++) {
		int back = last_of(w, GR_TOUCH_GIVEN_BACK, i);
		bool is_new = !w->before[i], was = w->before[i];
		bool was_inferred = w->is_inferred[i];
		int found = find(w, i, -1), after = -1;

		if (w->now[i] && was && back >= 0 && find(w, i, back) != OLD) {
			is_new = true;
			found = find(w, i, back);
			after = back;
		}
		w->is_inferred[i] = w->now[i] && is_new && found > 0 &&
				    last_fault(w, i) <= after;
		flow->gone_bytes += was && (!w->now[i] || is_new) ? 4096 : 0;
		if (!w->now[i]) {
			w->owner[i] = OLD;
		} else if (is_new) {
			w->owner[i] = found == OLD ? 0 : found;
			flow->new_bytes += 4096;
			flow->unattributed_bytes += w->owner[i] ? 0 : 4096;
		} else if (back >= 0 && w->has_gaps && w->owner[i] != OLD) {
			w->owner[i] = 0; // it was touched again, unseen
		} else if (last_fault(w, i) >= 0) {
			if (w->owner[i] == 0 || was_inferred)
				w->owner[i] = found; // the event has come late
		} else if (was_inferred && w->has_gaps) {
			w->owner[i] = 0; // it may have been missed
		}
	}
}

// ---------------------------------------------------------------------- ticks

static void check_owners(const struct world *w)
{
	const struct gr_owned_vector *list = &w->owners.owned;
	size_t at = 0;

	for (int i = 0; i < NPAGES; i++) {
		while (at < list->size && list->data[at].end <= addr_of(i))
			at++;
		bool is_in = at < list->size &&
			     list->data[at].start <= addr_of(i);

		assert_int_equal(is_in ? (int)list->data[at].stack : OLD,
				 w->owner[i]);
	}
}

static struct gr_flow tick(struct world *w)
{
	struct gr_residency now = { 0 };
	struct gr_flow flow = { 0 }, plain = { 0 };

	fill(w, &now);
	assert_null(gr_touches_add(&w->touches, (const uint8_t *)w->events,
				   w->nevents, &nobody));
	assert_null(gr_touches_settle(&w->touches, &nobody));
	w->touches.has_gaps = w->has_gaps;
	assert_null(gr_owners_update(&w->owners, &now, &w->touches, &nobody,
				     &flow));
	if (w->has_begun)
		tick_plainly(w, &plain);
	w->has_begun = true;
	check_owners(w);
	assert_int_equal(flow.new_bytes, plain.new_bytes);
	assert_int_equal(flow.gone_bytes, plain.gone_bytes);
	assert_int_equal(flow.unattributed_bytes, plain.unattributed_bytes);
	memcpy(w->before, w->now, sizeof(w->before));
	w->nevents = 0;
	gr_touches_clear(&w->touches);
	assert_false(w->touches.has_gaps);
	gr_residency_deinit(&now);
	return flow;
}

TEST_F(faults_have_stacks)
{
	set(w, 0, 10, true);
	tick(w);
	set(w, 10, 3, true);
	happen(w, 10, 0, 5, 0);
	happen(w, 11, GR_TOUCH_IN_KERNEL, 6, 0);
	happen(w, 11, GR_TOUCH_IN_KERNEL, 7, 0); // the latest wins
	struct gr_flow flow = tick(w);

	assert_int_equal(flow.new_bytes, 3 * 4096);
	assert_int_equal(flow.unattributed_bytes, 4096);
	assert_int_equal(w->owner[9], OLD);
	assert_int_equal(w->owner[10], 5);
	assert_int_equal(w->owner[11], 7);
	assert_int_equal(w->owner[12], 0);
	set(w, 10, 2, false);
	flow = tick(w);
	assert_int_equal(flow.gone_bytes, 2 * 4096);
	assert_int_equal(w->owners.owned.size, 1);
}

TEST_F(file_pages_around)
{
	memset(w->is_file, true, sizeof(w->is_file));
	tick(w);
	set(w, 18, 16, true); // of two windows
	happen(w, 20, 0, 5, 0);
	tick(w);
	assert_int_equal(w->owner[18], 5);
	assert_int_equal(w->owner[31], 5);
	assert_int_equal(w->owner[32], 0);
}

TEST_F(large_pages)
{
	tick(w);
	set(w, HUGE, HUGE, true);
	set(w, 2 * HUGE, HUGE - 1, true); // not a whole one
	happen(w, HUGE + 77, 0, 5, 0);
	happen(w, 2 * HUGE + 77, 0, 6, 0);
	set(w, 0, HUGE, true); // and another one, whose pages are small
	happen(w, 3, 0, 7, 0);
	happen(w, 100, 0, 8, 0);
	tick(w);
	assert_int_equal(w->owner[4], 7);
	assert_int_equal(w->owner[20], 0);
	assert_int_equal(w->owner[HUGE], 5);
	assert_int_equal(w->owner[2 * HUGE - 1], 5);
	assert_int_equal(w->owner[2 * HUGE], 0);
	assert_int_equal(w->owner[2 * HUGE + 64], 6); // a whole small window
}

TEST_F(populated_mappings)
{
	tick(w);
	set(w, 100, 50, true);
	happen(w, 90, GR_TOUCH_MAPPED, 5, 30);
	happen(w, 110, GR_TOUCH_MAPPED, 6, 5);
	happen(w, 130, GR_TOUCH_MAPPED | GR_TOUCH_BRIEF, 7, 5);
	tick(w);
	assert_int_equal(w->owner[100], 5);
	assert_int_equal(w->owner[114], 6);
	assert_int_equal(w->owner[115], 5);
	assert_int_equal(w->owner[120], 0);
	assert_int_equal(w->owner[130], 0);
}

TEST_F(pages_that_were_replaced)
{
	set(w, 0, 64, true);
	tick(w);
	happen(w, 10, GR_TOUCH_GIVEN_BACK, 3, 10);
	happen(w, 12, 0, 5, 0);
	struct gr_flow flow = tick(w);

	assert_int_equal(w->owner[12], 5);
	assert_int_equal(w->owner[9], OLD);
	assert_int_equal(flow.new_bytes, flow.gone_bytes);
	happen(w, 12, 0, 6, 0); // a fault that brings no page
	happen(w, 0, GR_TOUCH_GIVEN_BACK, 3, 64);
	tick(w);
	assert_int_equal(w->owner[12], 5);
}

/* A fault of another stack may have been missed. */
TEST_F(events_that_are_missing)
{
	make_file(w, 3 * HUGE);
	tick(w);
	w->has_gaps = true;
	set(w, HUGE, HUGE, true);
	happen(w, HUGE + 77, 0, 5, 0);
	set(w, 16, 16, true);
	happen(w, 10, GR_TOUCH_MAPPED, 6, 100);
	set(w, 3 * HUGE, 16, true);
	happen(w, 3 * HUGE + 2, 0, 7, 0);
	struct gr_flow flow = tick(w);

	assert_int_equal(w->owner[HUGE + 77], 5);
	assert_int_equal(w->owner[HUGE + 78], 0);
	assert_int_equal(w->owner[16], 0);
	assert_int_equal(w->owner[3 * HUGE + 2], 7);
	assert_int_equal(w->owner[3 * HUGE + 3], 0);
	assert_int_equal(flow.unattributed_bytes, flow.new_bytes - 2 * 4096);
	happen(w, HUGE + 77, GR_TOUCH_GIVEN_BACK, 0, 1);
	flow = tick(w); // nobody knows who has touched it again
	assert_int_equal(w->owner[HUGE + 77], 0);
	assert_int_equal(flow.new_bytes, 0);
	w->has_gaps = false;
	set(w, 0, 16, true);
	happen(w, 0, GR_TOUCH_MAPPED, 6, 16);
	tick(w);
	assert_int_equal(w->owner[0], 6);
}

TEST_F(events_that_come_late)
{
	tick(w);
	set(w, 10, 1, true);
	tick(w);
	assert_int_equal(w->owner[10], 0);
	happen(w, 10, 0, 5, 0);
	struct gr_flow flow = tick(w);
	assert_int_equal(w->owner[10], 5);
	assert_int_equal(flow.new_bytes, 0);
}

/* The pages of the mapping were touched after the events had been taken, and
 * before they were read. */
TEST_F(late_events_of_pages_with_an_inferred_stack)
{
	tick(w);
	set(w, 8, 4, true);
	happen(w, 0, GR_TOUCH_MAPPED, 6, 100);
	tick(w);
	assert_int_equal(w->owner[8], 6);
	happen(w, 8, 0, 5, 0);
	struct gr_flow flow = tick(w);
	assert_int_equal(w->owner[8], 5);
	assert_int_equal(w->owner[9], 6);
	assert_int_equal(flow.new_bytes, 0);
	happen(w, 9, 0, 5, 0); // too late for that: it brings no page
	w->has_gaps = true;
	tick(w);
	assert_int_equal(w->owner[9], 6);
	w->has_gaps = false;
	set(w, 20, 2, true);
	happen(w, 0, GR_TOUCH_MAPPED, 6, 100);
	tick(w);
	assert_int_equal(w->owner[20], 6);
	happen(w, 21, 0, 5, 0);
	w->has_gaps = true;
	tick(w);
	assert_int_equal(w->owner[20], 0);
	assert_int_equal(w->owner[21], 5);
}

// --------------------------------------------------------------------- random

static void make_mappings(struct world *w)
{
	int left = 0, mapping = 0;
	bool is_file = false;

	for (int i = 0; i < NPAGES; i++) {
		if (!left--) {
			left = 1 + rand() % 1200;
			mapping++;
			is_file = rand() % 3 == 0;
		}
		w->mapping[i] = mapping;
		w->is_file[i] = is_file;
	}
}

static void happen_at_random(struct world *w)
{
	static const uint32_t flags[] = {
		0,
		0,
		0,
		GR_TOUCH_IN_KERNEL,
		GR_TOUCH_BRIEF,
		GR_TOUCH_MAPPED,
		GR_TOUCH_GIVEN_BACK,
	};
	uint32_t which = flags[rand() % (int)GR_ARRAY_SIZE(flags)];
	int page = rand() % NPAGES;
	int most = NPAGES - page < 300 ? NPAGES - page : 300;

	happen(w, page, which, 1 + (uint32_t)rand() % 20,
	       which & (GR_TOUCH_MAPPED | GR_TOUCH_GIVEN_BACK) ?
		       1 + rand() % most :
		       0);
}

static void change_at_random(struct world *w)
{
	for (int n = rand() % 12; n; n--) {
		int page = rand() % NPAGES;
		int count = 1 + rand() % (rand() % 2 ? 20 : 800);

		if (count > NPAGES - page)
			count = NPAGES - page;
		set(w, page, count, rand() % 3);
	}
	for (int n = rand() % MAX_EVENTS; n; n--)
		happen_at_random(w);
}

TEST(random_ticks)
{
	srand(7);
	for (int run = 0; run < NRUNS; run++) {
		struct world *w = start();

		make_mappings(w);
		for (int i = 0; i < NTICKS; i++) {
			change_at_random(w);
			w->has_gaps = rand() % 4 == 0;
			tick(w);
		}
		stop(w);
	}
}

// ---------------------------------------------------------------------- limits

TEST(too_many_faults_are_counted)
{
	struct gr_touches touches = { 0 };
	struct event *events = calloc(1 << 16, sizeof(*events));
	const int total = GR_MAX_FAULTS + 3 * (1 << 16);

	assert_non_null(events);
	for (int i = 0; i < total; i += 1 << 16) {
		for (int k = 0; k < 1 << 16; k++)
			events[k] = (struct event){ (uint64_t)(i + k) << 12, 5,
						    0, 0 };
		assert_null(gr_touches_add(&touches, (const uint8_t *)events,
					   1 << 16, &nobody));
	}
	assert_int_equal(touches.lost, 3 << 16);
	assert_int_equal(touches.faults.size, GR_MAX_FAULTS);
	assert_true(touches.has_gaps);
	// Pages that fault again and again take no more room.
	gr_touches_clear(&touches);
	for (int i = 0; i < total; i += 1 << 16) {
		for (int k = 0; k < 1 << 16; k++)
			events[k].addr = (uint64_t)k << 12;
		assert_null(gr_touches_add(&touches, (const uint8_t *)events,
					   1 << 16, &nobody));
	}
	assert_null(gr_touches_settle(&touches, &nobody));
	assert_int_equal(touches.lost, 3 << 16);
	assert_int_equal(touches.faults.size, 1 << 16);
	gr_touches_deinit(&touches);
	free(events);
}

GR_SUITE("owners of pages")
