/* SPDX-License-Identifier: Apache-2.0 */
/**
 * rss: where the resident memory is: every resident page, or part of one,
 * belongs to one class, so that the classes add up. If a core does not tell which
 * pages were resident, all its pages have a class. Those of zeros, which the
 * process may never have had, are one class then.
 */
#ifndef GR_RSS_H
#define GR_RSS_H

#include "goruntime/memory/collector.h"
#include "inferior/gaps.h"

struct gr_scan;

/** X(id, name, what it is). The names are part of the JSON. */
#define GR_RSS_CLASSES(X)                                                      \
	X(LIVE, "go_heap_live", "Go heap: reached objects")                    \
	X(GARBAGE, "go_heap_garbage", "Go heap: garbage")                      \
	X(FREE_SLOTS, "go_heap_free_slots", "Go heap: free slots")             \
	X(TAILS, "go_heap_tails", "Go heap: ends of spans")                    \
	X(IDLE, "go_heap_idle", "Go heap: free pages")                         \
	X(SCAVENGED, "go_heap_scavenged",                                      \
	  "Go heap: free pages that were given back")                          \
	X(STACKS, "go_stacks", "goroutine stacks")                             \
	X(RUNTIME_SPANS, "go_runtime_spans", "Go runtime: in its own spans")   \
	X(RUNTIME_RECORDS, "go_runtime_mspan", "Go runtime: records of spans") \
	X(RUNTIME_CACHES, "go_runtime_mcache", "Go runtime: caches of Ps")     \
	X(RUNTIME_ARENAS, "go_runtime_arenas",                                 \
	  "Go runtime: arenas of the heap, with bitmaps")                      \
	X(RUNTIME_PAGES, "go_runtime_pages", "Go runtime: page allocator")     \
	X(RUNTIME_GC_BITS, "go_runtime_gc_bits", "Go runtime: mark bits")      \
	X(RUNTIME_PROFILE, "go_runtime_profile", "Go runtime: profiles")       \
	X(RUNTIME, "go_runtime", "Go runtime: other")                          \
	X(THREAD_STACKS, "thread_stacks", "thread stacks")                     \
	X(MODULES, "modules", "executable and libraries")                      \
	X(FILES, "mapped_files", "other mapped files")                         \
	X(C_HELD_BY_GO, "c_heap_go", "C heap: blocks that Go holds")           \
	X(C_HELD_BY_C, "c_heap_c", "C heap: blocks that only C holds")         \
	X(C_LEAKED, "c_heap_leaked", "C heap: blocks that nothing holds")      \
	X(C_FREE, "c_heap_free", "C heap: free, or the allocator's own")       \
	X(C_TRIMMABLE, "c_heap_trimmable",                                     \
	  "C heap: free, which the allocator could give back")                 \
	X(C_HEAP, "c_heap", "C heap: other")                                   \
	X(SHARED, "shared", "shared memory")                                   \
	X(OTHER, "other_anonymous", "named anonymous memory")                  \
	X(ANONYMOUS, "anonymous_mappings", "other anonymous mappings")         \
	X(UNKNOWN, "unknown", "unknown")                                       \
	X(ZEROS, "zero_pages",                                                 \
	  "pages of zeros, which may never have been touched")

enum gr_rss_class {
#define X(id, name, text) GR_RSS_##id,
	GR_RSS_CLASSES(X)
#undef X
		GR_NRSS_CLASSES,
};

/** The name and the text of a class; static. */
const char *gr_rss_class_name(enum gr_rss_class class);
const char *gr_rss_class_text(enum gr_rss_class class);

/** A class and its resident bytes. Texts are static. */
struct gr_rss_row {
	const char *name, *text;
	uint64_t bytes;
};

/** The answer. It belongs to the caller. */
struct gr_rss {
	const char *residency; /**< "exact", "anonymous" or "unknown" */
	struct gr_rss_row rows[GR_NRSS_CLASSES];
	uint64_t total_bytes; /**< The sum of the rows. */
	/** The part of total_bytes that is in anonymous pages. */
	uint64_t anonymous_bytes;
	uint64_t allocated_bytes; /**< Slots in use, resident or not. */
	uint64_t garbage_bytes;	  /**< Those of them that are not reached. */
	/** Resident free pages that the scavenger could give back now;
	 * UINT64_MAX: not known. */
	uint64_t returnable_bytes;
	/** The part of allocated_bytes in pages that were never touched;
	 * UINT64_MAX: not known. */
	uint64_t untouched_bytes;
	struct gr_collector collector;
	struct gr_gaps gaps; /**< The target's and the walk's. */
};

/**
 * Classify all resident memory. The scan of a process was prepared for
 * GR_EXTENT_RESIDENCY or GR_EXTENT_REPORT.
 *
 * @param is_marked Walk the heap to tell live objects, garbage and free slots
 *	apart. If false, all memory of spans in use is GR_RSS_LIVE, and nothing
 *	is garbage.
 */
struct gr_error *gr_scan_rss(struct gr_scan *scan, bool is_marked,
			     struct gr_rss *ret) GR_MUST_CHECK;

#endif /* GR_RSS_H */
