/* SPDX-License-Identifier: Apache-2.0 */
/**
 * batches: packs pages into frames on several threads, and writes these in the
 * order of the pages. The bytes do not depend on the number of threads. Only the
 * caller's thread polls and writes.
 */
#ifndef GR_BATCHES_H
#define GR_BATCHES_H

#include "base/base.h"
#include "base/error.h"
#include "savedfile/frames.h"
#include "savedfile/pages.h"

/** The most threads that pack. */
enum { GR_BATCH_THREADS = 16 };

struct gr_batches_spec {
	/** Fill in the words of a page: @p page has its address, and which of
	 * its words count. Several threads call it. @return false to leave the
	 * page out. */
	bool (*read)(void *ctx, struct gr_page_words *page);
	void *ctx;
	struct gr_frame_writer *frames;
	/** Asked before memory is taken, and from time to time; may be NULL. */
	struct gr_error *(*want)(void *ctx, uint64_t bytes);
	struct gr_error *(*poll)(void *ctx);
	void *want_ctx, *poll_ctx;
	unsigned int nthreads; /**< 1 to GR_BATCH_THREADS; 1: the caller's. */
};

struct gr_batches;

/** Begin. @p spec is not kept. With less memory, or if threads cannot be
 * started, there are fewer. */
struct gr_error *gr_batches_create(const struct gr_batches_spec *spec,
				   struct gr_batches **ret) GR_MUST_CHECK;
/** End all threads, whatever is left. */
void gr_batches_destroy(struct gr_batches *batches);

/** Add a page, whose address is above that of the page before. @p present has
 * GR_SET_PAGE_BITMAP words and lives until gr_batches_end(). */
struct gr_error *gr_batches_add(struct gr_batches *batches, uint64_t addr,
				const uint64_t *present) GR_MUST_CHECK;

/** Write what is left. */
struct gr_error *gr_batches_end(struct gr_batches *batches) GR_MUST_CHECK;

#endif /* GR_BATCHES_H */
