/* SPDX-License-Identifier: Apache-2.0 */
/**
 * running: reads a process while it runs, of a scan that is prepared and not
 * finished: its resident pages, the spans of its heap, and its threads. The
 * parts may be of different moments.
 */
#ifndef GR_SCAN_RUNNING_H
#define GR_SCAN_RUNNING_H

#include "base/error.h"
#include "inferior/target.h"

struct gr_c_block_memo;
struct gr_scan;
struct gr_stop;

/** How well the heap of a process that runs could be read. */
struct gr_running_heap {
	bool is_read;	    /**< False: it has changed too much meanwhile. */
	uint64_t bad_spans; /**< Those that were left out. */
};

/**
 * Read the process anew. The stop then has residency and heap, which is empty
 * if it is not read, and the Ms.
 *
 * @param threads Their stack pointers, as far as they are known. They belong to
 *	the caller until gr_scan_end_running().
 * @param memo Of the last time; belongs to the caller, as the threads do.
 */
struct gr_error *gr_scan_read_running(struct gr_scan *scan,
				      const struct gr_target_thread *threads,
				      size_t nthreads,
				      struct gr_c_block_memo *memo,
				      struct gr_running_heap *heap,
				      struct gr_stop **ret) GR_MUST_CHECK;

/** Drop what was read. It may have been nothing. */
void gr_scan_end_running(struct gr_scan *scan);

#endif /* GR_SCAN_RUNNING_H */
