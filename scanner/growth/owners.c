// SPDX-License-Identifier: Apache-2.0
#include "growth/owners.h"

#include "inferior/elf.h"

enum {
	AROUND_BYTES = 64 << 10, /* fault_around_bytes, and a large folio */
	HUGE_BYTES = 2 << 20,
	NSIZES = 2, /* of windows */
	POLL_RANGES = 1 << 12,
};

/** Why the owner of pages is asked for. */
enum cause {
	NEW,	  /* They were not resident. */
	REPLACED, /* They were given back, and may have come again. */
	LATE,	  /* The event of an earlier tick may come now. */
};

/** A fault of the window that was looked at last. */
struct window {
	uint64_t start;
	uint32_t least_order;
	size_t range;	/* of the residency, plus 1; 0: none was */
	uint32_t stack; /* 0: there was no fault */
};

/** An update that runs. */
struct update {
	struct gr_owners *owners;
	const struct gr_residency *now;
	const struct gr_touches *touches;
	const struct gr_poll *poll;
	struct gr_flow flow;
	struct gr_owned_vector owned; /* the new list */
	size_t next_owned;	      /* of the old list */
	size_t next_before;
	uint64_t kept_bytes; /* that were resident, and are */
	/* The range that is looked at, and what is asked of a part of it. */
	size_t range;
	enum cause cause;
	uint32_t least_order; /* of events that may be the cause */
	uint32_t late_stack;  /* of LATE pages for which no event comes */
	struct window windows[NSIZES];
};

void gr_owners_deinit(struct gr_owners *owners)
{
	gr_page_ranges_deinit(&owners->before);
	gr_owned_vector_deinit(&owners->owned);
}

// ---------------------------------------------------------------- the answer

static struct gr_error *append(struct update *u, struct gr_owned_pages pages)
{
	struct gr_owned_pages *last =
		u->owned.size ? &u->owned.data[u->owned.size - 1] : NULL;

	if (last && last->end == pages.start && last->stack == pages.stack &&
	    last->is_inferred == pages.is_inferred) {
		last->end = pages.end;
		return NULL;
	}
	return gr_owned_vector_append(&u->owned, pages) ? NULL : &gr_enomem;
}

static struct gr_error *keep(struct update *u, uint64_t start, uint64_t end);

/* Pages have an owner; 0: it is not known who it is. */
static struct gr_error *give(struct update *u, struct gr_owned_pages pages)
{
	uint64_t bytes = pages.end - pages.start;

	if (u->cause != LATE)
		u->flow.new_bytes += bytes;
	if (u->cause == REPLACED)
		u->flow.gone_bytes += bytes;
	if (u->cause != LATE && !pages.stack)
		u->flow.unattributed_bytes += bytes;
	return append(u, pages);
}

/* No event tells where pages come from. */
static struct gr_error *give_up(struct update *u, uint64_t start, uint64_t end)
{
	uint32_t stack = u->cause == LATE ? u->late_stack : 0;

	return u->cause == REPLACED ?
		       keep(u, start, end) :
		       give(u, (struct gr_owned_pages){ start, end, stack,
							false });
}

// ------------------------------------------------------------------- windows

static const struct gr_resident *range_of(const struct update *u)
{
	return &u->now->ranges.data[u->range];
}

/* The part of a window in which one fault may have mapped all: pages around it
 * in the mapping of a file, or a large page, which is resident as a whole. */
static bool bound_window(const struct update *u, size_t size, uint64_t *start,
			 uint64_t *end)
{
	const struct gr_resident *range = range_of(u);
	const struct gr_mapping *m =
		&u->now->mappings.list.data[range->mapping];

	if (range->is_anonymous)
		return range->start <= *start && *end <= range->end;
	if (*start < m->start)
		*start = m->start;
	if (*end > m->end)
		*end = m->end;
	return size == 0;
}

/* The stack of the first fault in the window of this size that holds @p addr; 0:
 * there is none. A second fault in a window says that the first one has not
 * mapped a large page. */
static uint32_t find_in_window(struct update *u, size_t size, uint64_t addr)
{
	static const uint64_t bytes[NSIZES] = { AROUND_BYTES, HUGE_BYTES };
	const struct gr_fault_vector *list = &u->touches->faults;
	struct window *w = &u->windows[size];
	uint64_t start = addr & ~(bytes[size] - 1);
	uint64_t end = start + bytes[size];
	uint32_t first = UINT32_MAX, nfaults = 0;

	if (w->range == u->range + 1 && w->start == start &&
	    w->least_order == u->least_order)
		return w->stack;
	*w = (struct window){ start, u->least_order, u->range + 1, 0 };
	if (!bound_window(u, size, &start, &end))
		return 0;
	// Bounded by the pages of a window.
	for (size_t i = gr_touches_from(u->touches, start);
	     i < list->size && list->data[i].page < end; i++) {
		const struct gr_fault *fault = &list->data[i];

		if (fault->order < u->least_order)
			continue;
		nfaults++;
		if (fault->order >= first || !fault->stack)
			continue;
		first = fault->order;
		w->stack = fault->stack;
	}
	if (range_of(u)->is_anonymous && nfaults > 1)
		w->stack = 0;
	return w->stack;
}

/*
 * Pages without a fault of their own or around them: were they mapped with their
 * pages?
 *
 * Recursion: give_up() of pages that were replaced keeps their owners, and that
 * asks once more for those that have none, and whose pages are not replaced.
 */
static struct gr_error *give_by_mapping(struct update *u, uint64_t start,
					uint64_t end)
{
	const struct gr_remap_vector *list = &u->touches->mapped;
	size_t i = gr_count_before(list->size, k, list->data[k].end <= start);
	struct gr_error *err = NULL;

	// Bounded by the mappings: each turn passes one.
	for (;
	     !err && start < end && i < list->size && list->data[i].start < end;
	     i++) {
		const struct gr_remap *remap = &list->data[i];
		uint64_t from = remap->start > start ? remap->start : start;
		uint64_t to = remap->end < end ? remap->end : end;

		if (remap->order < u->least_order || !remap->stack)
			continue;
		if (start < from)
			err = give_up(u, start, from);
		if (!err)
			err = give(u, (struct gr_owned_pages){
					      from, to, remap->stack, true });
		start = to;
	}
	return err || start >= end ? err : give_up(u, start, end);
}

static struct gr_error *give_gap(struct update *u, size_t size, uint64_t start,
				 uint64_t end);

/* Give pages of one window of this size. */
static struct gr_error *give_in_window(struct update *u, size_t size,
				       uint64_t start, uint64_t end)
{
	uint32_t stack = find_in_window(u, size, start);

	return stack ? give(u, (struct gr_owned_pages){ start, end, stack,
							true }) :
		       give_gap(u, size + 1, start, end);
}

/* Give pages without faults. Only the windows at the ends have any. */
static struct gr_error *give_gap(struct update *u, size_t size, uint64_t start,
				 uint64_t end)
{
	const uint64_t mask = (size ? HUGE_BYTES : AROUND_BYTES) - 1;
	struct gr_error *err = NULL;

	// Only its own fault tells, if another one may have been missed.
	if (u->cause == LATE || u->touches->has_gaps)
		return give_up(u, start, end);
	if (size == NSIZES)
		return give_by_mapping(u, start, end);
	uint64_t first = (start | mask) + 1, last = end & ~mask;

	if (first >= end)
		return give_in_window(u, size, start, end);
	if (start & mask) {
		err = give_in_window(u, size, start, first);
		start = first;
	}
	if (!err && start < last)
		err = give_gap(u, size + 1, start, last);
	if (!err && last < end)
		err = give_in_window(u, size, last, end);
	return err;
}

/* Find the owners of [start, end), which lies in the range. */
static struct gr_error *resolve(struct update *u, uint64_t start, uint64_t end,
				enum cause cause, uint32_t least_order)
{
	const struct gr_fault_vector *list = &u->touches->faults;
	size_t i = gr_touches_from(u->touches, start);
	enum cause outer = u->cause;
	uint32_t outer_order = u->least_order;
	struct gr_error *err = NULL;

	u->cause = cause;
	u->least_order = least_order;
	// Bounded by the faults: each turn passes one, or is the last.
	while (!err && start < end) {
		while (i < list->size && list->data[i].order < least_order)
			i++;
		uint64_t page = i < list->size ? list->data[i].page : end;

		if (page > end)
			page = end;
		if (start < page)
			err = give_gap(u, 0, start, page);
		if (!err && page < end)
			err = give(u, (struct gr_owned_pages){
					      page, page + GR_PAGE_BYTES,
					      list->data[i].stack, false });
		start = page + GR_PAGE_BYTES;
		i++;
	}
	u->cause = outer;
	u->least_order = outer_order;
	return err;
}

// --------------------------------------------------------------------- pages

/* Keep the owners of pages that were resident, and are. Those that were given
 * back have been touched again, if that may have been missed. */
static struct gr_error *keep(struct update *u, uint64_t start, uint64_t end)
{
	const struct gr_owned_vector *list = &u->owners->owned;
	bool is_doubtful = u->cause == REPLACED && u->touches->has_gaps;
	struct gr_error *err = NULL;

	// Bounded by the old owners, which are passed in order.
	while (u->next_owned < list->size &&
	       list->data[u->next_owned].end <= start)
		u->next_owned++;
	for (size_t i = u->next_owned;
	     !err && i < list->size && list->data[i].start < end; i++) {
		const struct gr_owned_pages *owned = &list->data[i];
		uint64_t from = owned->start > start ? owned->start : start;
		uint64_t to = owned->end < end ? owned->end : end;

		uint32_t stack = is_doubtful ? 0 : owned->stack;

		u->late_stack = u->touches->has_gaps ? 0 : stack;
		if (is_doubtful || (stack && !owned->is_inferred))
			err = append(u, (struct gr_owned_pages){
						from, to, stack, false });
		else
			err = resolve(u, from, to, LATE, 0);
	}
	return err;
}

/* Pages were resident, and are: some may have been given back in between. */
static struct gr_error *update_kept(struct update *u, uint64_t start,
				    uint64_t end)
{
	const struct gr_remap_vector *list = &u->touches->given_back;
	size_t i = gr_count_before(list->size, k, list->data[k].end <= start);
	struct gr_error *err = NULL;

	u->kept_bytes += end - start;
	// Bounded by what was given back: each turn passes one.
	for (; !err && i < list->size && list->data[i].start < end; i++) {
		const struct gr_remap *back = &list->data[i];
		uint64_t from = back->start > start ? back->start : start;
		uint64_t to = back->end < end ? back->end : end;

		if (start < from)
			err = keep(u, start, from);
		if (!err)
			err = resolve(u, from, to, REPLACED, back->order);
		start = to;
	}
	return err || start >= end ? err : keep(u, start, end);
}

/* Part a range that is resident now into pages that were, and new ones. */
static struct gr_error *update_range(struct update *u, uint64_t start,
				     uint64_t end)
{
	const struct gr_page_ranges *list = &u->owners->before;
	struct gr_error *err = NULL;

	// Bounded by the ranges of both lists, which are passed in order.
	while (!err && start < end) {
		while (u->next_before < list->size &&
		       list->data[u->next_before].end <= start)
			u->next_before++;
		const struct gr_page_range *before =
			u->next_before < list->size ?
				&list->data[u->next_before] :
				NULL;
		bool was = before && before->start <= start;
		uint64_t stop = !before ? end :
				was	? before->end :
					  before->start;

		if (stop > end)
			stop = end;
		err = was ? update_kept(u, start, stop) :
			    resolve(u, start, stop, NEW, 0);
		start = stop;
	}
	return err;
}

/* The pages of now, for the next tick. */
static struct gr_error *take_pages(const struct gr_residency *now,
				   struct gr_page_ranges *ret)
{
	ret->size = 0;
	for (size_t i = 0; i < now->ranges.size; i++) {
		const struct gr_resident *range = &now->ranges.data[i];
		struct gr_page_range *last =
			ret->size ? &ret->data[ret->size - 1] : NULL;

		if (last && last->end == range->start)
			last->end = range->end;
		else if (!gr_page_ranges_append(
				 ret, (struct gr_page_range){ range->start,
							      range->end }))
			return &gr_enomem;
	}
	return NULL;
}

static uint64_t sum_pages(const struct gr_page_ranges *list)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < list->size; i++)
		bytes += list->data[i].end - list->data[i].start;
	return bytes;
}

static struct gr_error *update_all(struct update *u)
{
	struct gr_error *err = NULL;

	for (; !err && u->range < u->now->ranges.size; u->range++) {
		const struct gr_resident *range = range_of(u);

		err = update_range(u, range->start, range->end);
		if (!err && u->range % POLL_RANGES == 0)
			err = gr_poll_ask(u->poll);
	}
	return err;
}

struct gr_error *gr_owners_update(struct gr_owners *owners,
				  const struct gr_residency *now,
				  const struct gr_touches *touches,
				  const struct gr_poll *poll,
				  struct gr_flow *ret)
{
	struct update u = {
		.owners = owners, .now = now, .touches = touches, .poll = poll
	};
	struct gr_error *err = owners->has_begun ? update_all(&u) : NULL;

	if (err) {
		gr_owned_vector_deinit(&u.owned);
		return err;
	}
	u.flow.gone_bytes += sum_pages(&owners->before) - u.kept_bytes;
	*ret = u.flow;
	gr_owned_vector_deinit(&owners->owned);
	owners->owned = u.owned;
	owners->has_begun = true;
	return take_pages(now, &owners->before);
}
