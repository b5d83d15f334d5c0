/* SPDX-License-Identifier: Apache-2.0 */
/**
 * pages: words of pages of memory as bytes that compress well.
 *
 * A batch is the words of some pages. Which words of a page are there is a
 * bitmap; which of these are not 0 is another one. A word that is not 0 is the
 * difference to the one before it in its column: in memory that is an array of
 * records of `stride` words, the same word of an earlier record. The bytes of
 * the differences are stored by their place: first the lowest of all words,
 * last the highest.
 */
#ifndef GR_PAGES_H
#define GR_PAGES_H

#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/word_set.h"

enum {
	GR_BATCH_PAGES = 1024,
	GR_MAX_STRIDE = 1024, /**< Words: GR_SAVED_MAX_STRIDE. */
	/** The most bytes of a batch: four numbers, two numbers and a bitmap for
	 * each page, and eight bytes and three bits for each word. */
	GR_BATCH_MAX_BYTES =
		32 + GR_BATCH_PAGES * (16 + GR_SET_PAGE_BITMAP * 8) +
		GR_BATCH_PAGES / 8 + GR_BATCH_PAGES * GR_SET_PAGE_WORDS / 8 +
		GR_BATCH_PAGES * GR_SET_PAGE_WORDS * 8,
};

/** A page, its words, and which of these count. */
struct gr_page_words {
	uint64_t addr;	 /**< A multiple of GR_SET_PAGE_BYTES. */
	uint32_t stride; /**< Words of a record of an array; or 1. */
	uint32_t column; /**< The page's first word's, below stride. */
	uint64_t present[GR_SET_PAGE_BITMAP];
	uint64_t words[GR_SET_PAGE_WORDS]; /**< 0 if not present. */
};

struct gr_batch_writer;

/** NULL: no memory. */
struct gr_batch_writer *gr_batch_writer_create(void);
void gr_batch_writer_destroy(struct gr_batch_writer *writer);

/** Add a page, whose address is above that of the page before. The batch is
 * full after GR_BATCH_PAGES pages. */
void gr_batch_add(struct gr_batch_writer *writer,
		  const struct gr_page_words *page);

/** The number of pages in the batch. */
uint32_t gr_batch_pages(const struct gr_batch_writer *writer);

/** The bytes of the batch, valid until the next page is added; the next batch
 * begins. */
struct gr_bytes gr_batch_take(struct gr_batch_writer *writer);

/**
 * Read the pages of a batch in order: @p take is called for each. @p page is
 * working memory. *@p is_fine is false if the bytes make no sense.
 */
struct gr_error *gr_batch_read(
	struct gr_bytes batch, struct gr_page_words *page,
	struct gr_error *(*take)(void *ctx, const struct gr_page_words *page),
	void *ctx, bool *is_fine) GR_MUST_CHECK;

#endif /* GR_PAGES_H */
