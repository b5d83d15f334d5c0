/* SPDX-License-Identifier: Apache-2.0 */
/**
 * presence: which parts of a process are in memory, asked just before a read.
 *
 * Reading a page that is not in memory makes it resident, and a page of a
 * mapped file also raises the Rss of the process. So only pages that are in
 * memory, or in swap, are read from the process. The others are filled in
 * without it: untouched anonymous memory is zeros, and the pages of a file are
 * read from the file.
 */
#ifndef GR_PRESENCE_H
#define GR_PRESENCE_H

#include "inferior/source.h"

/** Where the bytes of a run come from. */
enum gr_run_kind {
	GR_RUN_PRESENT, /**< From the process. */
	GR_RUN_ZEROS,	/**< Anonymous memory that nothing has touched. */
	GR_RUN_FILE,	/**< From the file that is mapped. */
	GR_RUN_MISSING, /**< Not at all: the pages are a device's, say. */
};

/** A part of a piece, all of one kind. */
struct gr_run {
	struct gr_piece piece;
	enum gr_run_kind kind;
	const struct gr_mapping *mapping; /**< NULL if present. */
};

/**
 * Cut the leading bytes of @p pieces into at most @p max_runs runs, in order.
 * Without /proc/PID/pagemap, and if the source reads absent pages, all is
 * GR_RUN_PRESENT.
 *
 * @return the number of runs; at least one if there is a piece.
 */
size_t gr_presence_cut(const struct gr_source *source,
		       const struct gr_piece *pieces, size_t npieces,
		       struct gr_run *runs, size_t max_runs);

/**
 * Fill a run that is not present, without touching the process.
 *
 * @return the leading bytes that were filled; -1 if the file of the run is not
 *	at hand, so that only the process can tell.
 */
int64_t gr_presence_fill(const struct gr_source *source,
			 const struct gr_run *run);

enum {
	/** The pages that one look at memory without access is worth. */
	GR_PRESENCE_PAGES = 1024,
};

/**
 * Find memory that is there: the first pages from *@p start on, and below @p end,
 * that are in memory or in swap. At most *@p pages_left pages or GR_PRESENCE_PAGES
 * more are looked at, which are counted down: a walk is bounded by them.
 *
 * @return true: they are [*@p start, *@p ret_end), and more may follow. False:
 *	there are none before *@p start, or all of this is not known.
 */
bool gr_presence_find(const struct gr_source *source, uint64_t *start,
		      uint64_t end, uint64_t *pages_left, uint64_t *ret_end);

#endif /* GR_PRESENCE_H */
