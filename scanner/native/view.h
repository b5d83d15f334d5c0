/* SPDX-License-Identifier: Apache-2.0 */
/**
 * view: memory outside of the Go heap, as far as it is at hand. A page that the
 * core lacks, or that the process never had, is not there: it is no zeros, no
 * error and no gap.
 *
 * Nothing is copied: words come from the memory that the image holds. While a
 * target is saved, a word is recorded only if the caller says so, because
 * memory of C has values.
 */
#ifndef GR_VIEW_H
#define GR_VIEW_H

#include "goruntime/layout/runtime.h"
#include "inferior/ranges.h"
#include "inferior/recorder.h"

enum { GR_VIEW_PART_BYTES = 1 << 20 };

struct gr_view {
	struct gr_runtime *rt;
	const struct gr_ranges *ranges;
	size_t last; /**< Hint: the range that was found last. */
	/** Record what gr_view_word() reads. */
	bool is_recording;
};

/** The memory of a target that was captured, or of a file. */
struct gr_view gr_view_of(struct gr_runtime *rt);

/**
 * The first memory in [@p start, @p end) that is at hand, cut to whole words:
 * its addresses and its bytes. False if there is none.
 */
bool gr_view_piece(struct gr_view *view, uint64_t start, uint64_t end,
		   struct gr_range *ret);

/** gr_view_piece(), but of a piece only as much as is read between two polls. */
bool gr_view_part(struct gr_view *view, uint64_t start, uint64_t end,
		  struct gr_range *ret);

/** The range that has all of [addr, addr + bytes), or NULL. */
static inline const struct gr_range *
gr_view_range(struct gr_view *view, uint64_t addr, uint64_t bytes)
{
	const struct gr_ranges *ranges = view->ranges;
	const struct gr_range *range;

	if (view->last >= ranges->count ||
	    addr - ranges->data[view->last].start >=
		    ranges->data[view->last].end -
			    ranges->data[view->last].start)
		view->last = gr_ranges_search(ranges, addr);
	if (view->last >= ranges->count)
		return NULL;
	range = &ranges->data[view->last];
	return addr >= range->start && range->end - addr >= bytes ? range :
								    NULL;
}

/** Read the word at @p addr; false if it is not at hand. */
static inline bool gr_view_word(struct gr_view *view, uint64_t addr,
				uint64_t *ret)
{
	const struct gr_range *range = gr_view_range(view, addr, GR_WORD_BYTES);

	if (!range)
		return false;
	*ret = gr_load_u64(range->host + (addr - range->start));
	if (GR_UNLIKELY(view->is_recording && view->rt->recorder))
		gr_recorder_add(view->rt->recorder, addr, GR_WORD_BYTES);
	return true;
}

/** Copy [addr, addr + bytes), which are whole words, without recording them;
 * false if not all of it is at hand. */
bool gr_view_copy(struct gr_view *view, uint64_t addr, void *ret,
		  uint64_t bytes);

/** Does the word at @p addr have this value? */
static inline bool gr_view_has(struct gr_view *view, uint64_t addr,
			       uint64_t value)
{
	uint64_t word;

	return gr_view_word(view, addr, &word) && word == value;
}

#endif /* GR_VIEW_H */
