/* SPDX-License-Identifier: Apache-2.0 */
/** native_report: the memory of the C allocators (`goref native'). */
#ifndef GR_NATIVE_REPORT_H
#define GR_NATIVE_REPORT_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/gaps.h"
#include "native/native.h"

struct gr_scan;

/** Blocks of one size. */
struct gr_native_size {
	uint64_t bytes; /**< Those of each, its header included. */
	uint64_t blocks;
};

/** Arenas of one allocator. */
struct gr_native_heap {
	const char *name, *version;
	bool is_checked;
	const char *refusal; /**< As that of gr_native_allocator. */
	struct gr_native_arena *arenas;
	size_t narenas;
	/** The sums of its arenas. */
	struct gr_native_arena sum;
};

/** The answer. It belongs to the caller. */
struct gr_native_report {
	/** The program may have C memory: it has loaded libraries. */
	bool is_expected;
	/** The target tells what is mapped; else all is empty. */
	bool is_known;
	struct gr_native_heap *heaps;
	size_t nheaps;
	/** Blocks in use of arenas that are checked, most bytes first. */
	struct gr_native_size *sizes;
	size_t nsizes;
	struct gr_gaps gaps;
};

struct gr_error *gr_scan_native(struct gr_scan *scan,
				struct gr_native_report **ret) GR_MUST_CHECK;
void gr_native_report_destroy(struct gr_native_report *report);

#endif /* GR_NATIVE_REPORT_H */
