// SPDX-License-Identifier: Apache-2.0
/* The host memory of an address, and its bits in `pending`. */
#include "mark/walk.h"

static bool locate_area(struct gr_walk *w, uint64_t addr, const uint8_t **host,
			uint64_t *word, uint64_t *bytes)
{
	const struct gr_area_list *areas = &w->roots->areas;
	size_t low = 0, high = areas->count;

	// The most frequent addresses, of types and texts, lie before the data.
	if (!high || addr < areas->areas[0].start)
		return false;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (areas->areas[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == areas->count || addr < areas->areas[low].start ||
	    !areas->areas[low].host)
		return false;
	const struct gr_area *area = &areas->areas[low];
	*host = area->host + (addr - area->start);
	*word = w->area_word[low] + (addr - area->start) / GR_WORD_BYTES;
	*bytes = area->end - addr;
	return true;
}

/* Would a visit of this pointer do nothing, whatever its type is? */
static bool is_done(struct gr_walk *w, uint64_t addr)
{
	const uint8_t *host;
	uint64_t word, bytes;
	struct gr_spot at;

	if (!addr)
		return true;
	if (gr_heap_spot(w->heap, addr, &at))
		return w->m.states[at.obj] & GR_OBJECT_WHOLE;
	// An address that is neither in the heap nor in an area leads nowhere.
	return !gr_heap_span_at(w->heap, addr) &&
	       !locate_area(w, addr, &host, &word, &bytes);
}

bool gr_walk_drop_done(struct gr_walk *w, const uint8_t *host, uint64_t word,
		       uint64_t nwords)
{
	bool is_left = false;

	// Bounded by the words, which have a bit each.
	for (uint64_t i = 0; i < nwords; i += 64) {
		uint64_t n = nwords - i < 64 ? nwords - i : 64, done = 0;
		uint64_t bits = gr_bitmap_extract(w->pending, word + i, n);

		for (uint64_t rest = bits; rest; rest &= rest - 1) {
			uint64_t off =
				(i + __builtin_ctzll(rest)) * GR_WORD_BYTES;
			if (is_done(w, gr_load_u64(host + off)))
				done |= rest & -rest;
		}
		gr_bitmap_and_not(w->pending, word + i, done);
		is_left |= bits != done;
	}
	return is_left;
}

bool gr_walk_locate(struct gr_walk *w, uint64_t addr, const uint8_t **host,
		    uint64_t *word, uint64_t *bytes)
{
	const struct gr_span *span;
	struct gr_spot at;

	if (addr % GR_WORD_BYTES)
		return false;
	// The page nearly always has the answer, and it is in the processor's
	// caches, unlike the span.
	if (GR_LIKELY(gr_heap_spot(w->heap, addr, &at))) {
		const struct gr_page_more *page = gr_spot_page(&at, addr);
		uint64_t in_page = addr & (GR_HEAP_PAGE_BYTES - 1);

		if (!page->host || !(w->m.states[at.obj] & GR_OBJECT_ALLOCATED))
			return false;
		*host = page->host + in_page;
		*word = (uint64_t)page->scan_page * GR_PAGE_WORDS +
			in_page / GR_WORD_BYTES;
		*bytes = at.kind->elem_bytes - at.off;
		return true;
	}
	gr_obj obj = gr_heap_object_at(w->heap, addr, &span);
	if (obj == GR_OBJ_NONE)
		return locate_area(w, addr, host, word, bytes);
	if (!span->host || !(w->m.states[obj] & GR_OBJECT_ALLOCATED))
		return false;
	uint64_t off = addr - span->base_addr;
	*host = span->host + off;
	*word = span->first_word + off / GR_WORD_BYTES;
	*bytes = (uint64_t)(obj - span->first_obj + 1) * span->elem_bytes - off;
	return true;
}
