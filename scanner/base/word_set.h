/* SPDX-License-Identifier: Apache-2.0 */
/**
 * word_set: a set of words of a 64-bit address space. The words lie in few
 * stretches, so a stretch of 64 MiB with any word has a bitmap.
 */
#ifndef GR_WORD_SET_H
#define GR_WORD_SET_H

#include "base/base.h"

enum {
	GR_SET_PAGE_BYTES = 4096,
	GR_SET_PAGE_WORDS = GR_SET_PAGE_BYTES / 8,
	/** Bitmap words of 64 bits for the words of a page. */
	GR_SET_PAGE_BITMAP = GR_SET_PAGE_WORDS / 64,
};

struct gr_word_stretch;

/** Zero-initialised, it is empty. */
struct gr_word_set {
	struct gr_word_stretch *stretches; /**< A uthash table. */
	struct gr_word_stretch *last;	   /**< The one that was used last. */
};

void gr_word_set_deinit(struct gr_word_set *set);

/**
 * Add all words that [addr, addr + bytes) touches. The range does not wrap.
 * @return false if no memory is left.
 */
bool gr_word_set_add(struct gr_word_set *set, uint64_t addr, uint64_t bytes);

/** Does the set have all words that [addr, addr + bytes) touches? Several
 * threads may ask. */
bool gr_word_set_has(struct gr_word_set *set, uint64_t addr, uint64_t bytes);

/** The bits of a page's words, GR_SET_PAGE_BITMAP of 64; NULL: the set has none
 * of the stretch. @p page is an address. */
uint64_t *gr_word_set_page(struct gr_word_set *set, uint64_t page);

/** The same; makes the stretch if it is missing. NULL: no memory is left. */
uint64_t *gr_word_set_make_page(struct gr_word_set *set, uint64_t page);

/** Put the stretches into the order of their addresses. */
void gr_word_set_sort(struct gr_word_set *set);

/** The position of gr_word_set_next_page(). Zero-initialised, at the start. */
struct gr_word_set_pages {
	struct gr_word_stretch *stretch;
	uint32_t page;
};

/**
 * The next page with a word of the set, in the order of addresses after
 * gr_word_set_sort(): a walk is bounded by the pages of the set.
 *
 * @return false at the end.
 */
bool gr_word_set_next_page(const struct gr_word_set *set,
			   struct gr_word_set_pages *at, uint64_t *page,
			   const uint64_t **bits);

#endif /* GR_WORD_SET_H */
