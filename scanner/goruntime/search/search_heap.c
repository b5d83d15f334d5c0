// SPDX-License-Identifier: Apache-2.0
/*
 * This file finds runtime.mheap_ by its list of spans. The list is the only
 * slice of the program's data that points to spans to which the arenas also
 * point. The arenas are at a fixed distance from the slice. Source:
 * runtime/mheap.go.
 */
#include "goruntime/search/search_internal.h"

#include <string.h>

#define MAX_SPANS (UINT64_C(1) << 28)

enum {
	SAMPLE_SPANS = 64,
	SPANCLASS_NOSCAN = 1, /* in an mspan's spanclass: no pointers */
};

struct gr_error *gr_search_read_mspan(struct gr_search *s, uint64_t addr,
				      uint8_t *record, bool *ret)
{
	const struct gr_layout *layout = &s->rt->layout;
	const typeof(layout->mspan) *f = &layout->mspan;
	uint64_t page = layout->consts.page_bytes;
	struct gr_error *err;

	*ret = false;
	if (!addr || addr % GR_WORD_BYTES ||
	    f->size_bytes > GR_SEARCH_MAX_RECORD)
		return NULL;
	err = gr_image_read(s->rt->image, addr, record, f->size_bytes);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	if (err)
		return err;
	uint8_t state = gr_field_uint(record, f->state);
	*ret = state <= 2 && gr_field_uint(record, f->start_addr) % page == 0;
	if (!*ret || state != layout->consts.span_in_use)
		return NULL;
	uint64_t npages = gr_field_uint(record, f->npages);
	uint64_t elems = gr_field_uint(record, f->nelems);
	uint64_t bytes = gr_field_uint(record, f->elemsize);
	*ret = npages && npages < UINT64_C(1) << 35 && elems && bytes &&
	       bytes <= npages * page / elems;
	return NULL;
}

static bool is_in_use(const struct gr_layout *layout, const uint8_t *record)
{
	return (uint8_t)gr_field_uint(record, layout->mspan.state) ==
	       layout->consts.span_in_use;
}

/* The mspan of a page by the arenas of @p mheap; 0 if the page has none. */
static uint64_t span_by_arena(struct gr_search *s, uint64_t mheap,
			      uint64_t addr)
{
	const struct gr_layout *layout = &s->rt->layout;
	const typeof(layout->consts) *c = &layout->consts;
	struct gr_field spans = layout->heap_arena.spans;
	uint64_t number = (addr - c->arena_base) / c->arena_bytes;
	uint64_t at = mheap + layout->mheap.arenas.off;
	uint64_t second = number >> c->arena_l2_bits;
	uint64_t page = addr / c->page_bytes % (spans.bytes / GR_WORD_BYTES);
	uint64_t ret = 0;
	struct gr_error *err = NULL;

	if (second >= layout->mheap.arenas.bytes / GR_WORD_BYTES)
		return 0;
	number -= second << c->arena_l2_bits;
	// arenas[l1] -> [l2] -> heapArena.spans[page]
	err = gr_image_read_u64(s->rt->image, at + second * 8, &at);
	if (!err && at)
		err = gr_image_read_u64(s->rt->image, at + number * 8, &at);
	if (!err && at)
		err = gr_image_read_u64(s->rt->image, at + spans.off + page * 8,
					&ret);
	gr_error_destroy(err);
	return err || !at ? 0 : ret;
}

static bool is_layout_sane(const struct gr_layout *layout)
{
	return layout->heap_arena.spans.bytes >= GR_WORD_BYTES &&
	       layout->consts.page_bytes > 0 &&
	       layout->consts.arena_bytes > 0 &&
	       layout->consts.arena_l2_bits >= 0 &&
	       layout->consts.arena_l2_bits < 48;
}

/* Is there an mheap at @p mheap? Only the first spans are checked. */
static struct gr_error *check_mheap(struct gr_search *s, uint64_t mheap,
				    bool *ret)
{
	const struct gr_layout *layout = &s->rt->layout;
	uint8_t record[GR_SEARCH_MAX_RECORD];
	uint64_t list[3], good = 0, bad = 0;
	struct gr_error *err;

	*ret = false;
	err = gr_image_read(s->rt->image, mheap + layout->mheap.allspans.off,
			    list, sizeof(list));
	if (err || !list[0] || list[0] % GR_WORD_BYTES || !list[1] ||
	    list[1] > list[2] || list[2] > MAX_SPANS)
		return err;
	for (uint64_t i = 0;
	     i < list[1] && good < SAMPLE_SPANS && bad < SAMPLE_SPANS / 8;
	     i++) {
		uint64_t span;
		bool is_span = false;

		// Spans that are not in use do not count either way; all spans
		// may be unused.
		err = gr_search_pay(s);
		if (!err)
			err = gr_image_read_u64(s->rt->image, list[0] + i * 8,
						&span);
		if (!err)
			err = gr_search_read_mspan(s, span, record, &is_span);
		if (err)
			return err;
		if (is_span && !is_in_use(layout, record))
			continue;
		uint64_t start =
			gr_field_uint(record, layout->mspan.start_addr);
		if (is_span && span_by_arena(s, mheap, start) == span)
			good++;
		else
			bad++;
	}
	// Some bad spans are allowed: the program may be just making a span.
	*ret = good > bad * 8;
	return NULL;
}

struct found {
	uint64_t mheap;
	size_t count;
};

static struct gr_error *visit(struct gr_search *s, void *ctx, uint64_t addr,
			      const uint8_t *at, uint64_t avail)
{
	struct found *found = ctx;
	uint64_t mheap = addr - s->rt->layout.mheap.allspans.off;
	struct gr_error *err;
	bool is_it;

	// This rejects most words: they are not the pointer of such a slice.
	if (avail < 24 || gr_load_u64(at) % GR_WORD_BYTES ||
	    !gr_load_u64(at + 8) || gr_load_u64(at + 8) > MAX_SPANS ||
	    gr_load_u64(at + 16) < gr_load_u64(at + 8))
		return NULL;
	err = check_mheap(s, mheap, &is_it);
	if (!err && is_it) {
		found->mheap = mheap;
		found->count++;
	}
	return err;
}

/* Is the kept address right? No other place has the same spans. */
static struct gr_error *check_kept(struct gr_search *s, struct found *found)
{
	uint64_t mheap = s->kept.mheap ? s->kept.mheap + s->bias : 0;
	bool is_it = false;
	struct gr_error *err;

	if (found->mheap || !mheap ||
	    !gr_search_is_data(s, mheap + s->rt->layout.mheap.allspans.off))
		return NULL;
	err = check_mheap(s, mheap, &is_it);
	gr_error_catch(&err, GR_ERROR_FAULT);
	if (!err && is_it)
		*found = (struct found){ mheap, 1 };
	return err;
}

struct gr_error *gr_search_find_mheap(struct gr_search *s)
{
	struct gr_layout *layout = &s->rt->layout;
	struct found found = { .mheap = layout->vars.mheap };
	struct gr_error *err;
	bool is_it = false;

	if (!is_layout_sane(layout))
		return gr_error_format(GR_ERROR_LAYOUT,
				       "a layout makes no sense");
	err = check_kept(s, &found);
	if (!err && !found.count && found.mheap) {
		err = check_mheap(s, found.mheap, &is_it);
		found.count = is_it;
	} else if (!err && !found.count) {
		err = gr_search_words(s, GR_SEARCH_ALL, visit, &found);
	}
	if (err)
		return err;
	if (found.count != 1)
		return gr_search_failed("the heap (runtime.mheap_)",
					found.count);
	layout->vars.mheap = found.mheap;
	return NULL;
}

/* Fill in @p record with the mspan of @p addr, if it is a span of objects. */
static bool read_heap_span(struct gr_search *s, uint64_t addr, uint8_t *record)
{
	const struct gr_layout *layout = &s->rt->layout;
	bool is_span = false;
	struct gr_error *err = gr_search_read_mspan(
		s, span_by_arena(s, layout->vars.mheap, addr), record,
		&is_span);

	gr_error_destroy(err);
	return !err && is_span && is_in_use(layout, record);
}

bool gr_search_is_heap(struct gr_search *s, uint64_t addr)
{
	uint8_t record[GR_SEARCH_MAX_RECORD];

	return read_heap_span(s, addr, record);
}

bool gr_search_is_array(struct gr_search *s, uint64_t addr, uint64_t count)
{
	const typeof(s->rt->layout.mspan) *f = &s->rt->layout.mspan;
	uint8_t record[GR_SEARCH_MAX_RECORD];

	if (!read_heap_span(s, addr, record) ||
	    gr_field_uint(record, f->spanclass) & SPANCLASS_NOSCAN)
		return false;
	uint64_t off = addr - gr_field_uint(record, f->start_addr);
	uint64_t elem_bytes = gr_field_uint(record, f->elemsize);
	return off / elem_bytes < gr_field_uint(record, f->nelems) &&
	       count <= (elem_bytes - off % elem_bytes) / GR_WORD_BYTES;
}
