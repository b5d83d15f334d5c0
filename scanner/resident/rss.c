// SPDX-License-Identifier: Apache-2.0
#include "resident/rss.h"

#include "mark/marking.h"
#include "resident/c_pages.h"
#include "resident/classes.h"
#include "resident/pieces.h"
#include "scan/enter.h"
#include "scan/kept_walk.h"
#include "scan/mark.h"
#include "scan/residency.h"

const char *gr_rss_class_name(enum gr_rss_class class)
{
	static const char *const names[] = {
#define X(id, name, text) [GR_RSS_##id] = name,
		GR_RSS_CLASSES(X)
#undef X
	};

	return names[class];
}

const char *gr_rss_class_text(enum gr_rss_class class)
{
	static const char *const texts[] = {
#define X(id, name, text) [GR_RSS_##id] = text,
		GR_RSS_CLASSES(X)
#undef X
	};

	return texts[class];
}

/** The sums, as they grow. */
struct sums {
	uint64_t bytes[GR_NRSS_CLASSES];
};

static void add(void *ctx, enum gr_rss_class class, uint64_t start,
		uint64_t end)
{
	struct sums *sums = ctx;

	sums->bytes[class] += end - start;
}

static void add_totals(const struct gr_residency *r, struct gr_rss *rss)
{
	for (size_t i = 0; i < r->ranges.size; i++) {
		const struct gr_resident *range = &r->ranges.data[i];
		uint64_t bytes = range->end - range->start;

		rss->total_bytes += bytes;
		if (range->is_anonymous)
			rss->anonymous_bytes += bytes;
	}
}

/* Count the slots in use that are not reached. */
static struct gr_error *count_garbage(const struct gr_pieces *p,
				      struct gr_rss *rss)
{
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < p->heap->nspans; i++) {
		const struct gr_span *span = &p->heap->spans[i];

		err = gr_runtime_step(p->heap->rt, span->nelems);
		for (uint32_t k = 0; !err && k < span->nelems; k++)
			if (gr_pieces_class_of(p, span->first_obj + k) ==
			    GR_RSS_GARBAGE)
				rss->garbage_bytes += span->elem_bytes;
	}
	return err;
}

static void fill_rows(const struct sums *sums, enum gr_residency_kind kind,
		      struct gr_rss *rss)
{
	rss->residency = gr_residency_name(kind);
	for (size_t i = 0; i < GR_NRSS_CLASSES; i++)
		rss->rows[i] = (struct gr_rss_row){ gr_rss_class_name(i),
						    gr_rss_class_text(i),
						    sums->bytes[i] };
}

/* Estimate what the scavenger could give back, and what was never touched. */
static void fill_estimates(const struct gr_pieces *p, const struct sums *sums,
			   const struct gr_residency *residency,
			   struct gr_rss *rss)
{
	uint64_t touched =
		sums->bytes[GR_RSS_LIVE] + sums->bytes[GR_RSS_GARBAGE];
	bool is_known = residency->kind != GR_RESIDENCY_UNKNOWN;

	rss->returnable_bytes = is_known && p->page_bits->chunks_addr ?
					p->returnable_bytes :
					UINT64_MAX;
	// Pages in swap were touched.
	rss->untouched_bytes = is_known && p->marking &&
					       !residency->swapped_bytes &&
					       touched <= rss->allocated_bytes ?
				       rss->allocated_bytes - touched :
				       UINT64_MAX;
}

/* Find out which objects are reached. */
static struct gr_error *mark(struct gr_answers *answers,
			     struct gr_marking *marking, struct gr_gaps *gaps)
{
	struct gr_stop *stop = answers->stop;
	static const struct gr_walk_options options = { .max_depth = 1,
							.max_nodes = 1 };
	struct gr_gaps before = stop->gaps;
	struct gr_ledger unused = { 0 };

	gr_kept_walk_drop(answers);
	gr_answers_make_room(answers);
	struct gr_error *err =
		gr_answers_mark(answers, &options, false, &unused, marking);
	*gaps = stop->gaps;
	gr_gaps_end_walk(&stop->gaps, &before);
	return err;
}

static struct gr_error *answer(struct gr_answers *answers, bool is_marked,
			       struct gr_rss *rss)
{
	struct gr_stop *stop = answers->stop;
	_cleanup_(gr_marking_deinit) struct gr_marking marking = { 0 };
	_cleanup_(gr_c_pages_deinit) struct gr_c_pages c_pages = { 0 };
	_cleanup_free_ uint8_t *classes = NULL;
	struct sums sums = { 0 };
	const struct gr_residency *residency = NULL;
	struct gr_error *err = gr_stop_residency(stop, &residency);

	rss->gaps = stop->gaps;
	// The graph keeps a walk, which a mark drops.
	if (!err && is_marked)
		err = gr_c_pages_read(answers, &c_pages);
	if (!err && is_marked)
		err = mark(answers, &marking, &rss->gaps);
	if (!err)
		err = gr_sys_memory_sort(stop->heap, &stop->pages.arenas,
					 &stop->pages.sys_memory);
	if (!err)
		err = gr_rss_classify(stop, residency, &classes);
	if (err)
		return err;
	struct gr_pieces p = { .heap = stop->heap,
			       .marking = is_marked ? &marking : NULL,
			       .arenas = &stop->pages.arenas,
			       .page_bits = &stop->pages.page_bits,
			       .c_blocks = &stop->pages.c_blocks,
			       .c_pages = &c_pages,
			       .sys_memory = &stop->pages.sys_memory,
			       .add = add,
			       .ctx = &sums };
	rss->allocated_bytes = stop->heap->allocated_bytes;
	add_totals(residency, rss);
	err = gr_pieces_walk(&p, residency, classes);
	if (!err && is_marked)
		err = count_garbage(&p, rss);
	fill_rows(&sums, residency->kind, rss);
	fill_estimates(&p, &sums, residency, rss);
	rss->collector = stop->pages.collector;
	return err;
}

struct gr_error *gr_scan_rss(struct gr_scan *scan, bool is_marked,
			     struct gr_rss *ret)
{
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	*ret = (struct gr_rss){ 0 };
	if (!err)
		err = answer(answers, is_marked, ret);
	return gr_sigbus_guard_end(&guard, err);
}
