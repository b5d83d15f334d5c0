/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/**
 * native_event: what the BPF programs at the functions of C allocators share
 * with their reader. An allocation is a struct gr_event whose head has one of
 * the kinds below; its flags are the kind of the function, and its number is
 * that of the window, or the bytes that a sample stands for.
 */
#ifndef GR_TRACE_NATIVE_EVENT_H
#define GR_TRACE_NATIVE_EVENT_H

#include "helpers/trace/event.h"

enum gr_native_event_kind {
	/** struct gr_event, after the return; rip is within the call. */
	GR_NATIVE_ALLOC = 16,
	/** Its number is the time (CLOCK_MONOTONIC). */
	GR_NATIVE_FREE, /**< a head; it comes before the memory is free */
	/** struct gr_event: a sample of a library (USDT otel_memory:alloc). */
	GR_NATIVE_SAMPLE,
};

/** A function by its arguments and its result. */
enum gr_alloc_kind {
	GR_ALLOC_NONE,
	GR_ALLOC_MALLOC,	 /**< (size, ...) */
	GR_ALLOC_CALLOC,	 /**< (count, size) */
	GR_ALLOC_REALLOC,	 /**< (old, size, ...) */
	GR_ALLOC_REALLOCARRAY,	 /**< (old, count, size) */
	GR_ALLOC_ALIGNED,	 /**< (alignment, size) */
	GR_ALLOC_POSIX_MEMALIGN, /**< (out, alignment, size); 0 is success */
	GR_ALLOC_NEW,		 /**< (size, ...); it may throw */
	GR_ALLOC_MMAP,		 /**< (address, size, ...) */
	GR_ALLOC_FREE,		 /**< (old, ...) */
	GR_ALLOC_MUNMAP,	 /**< (old, size) */
	GR_ALLOC_KINDS,
};

/** The cookie of a probe is the number of its function, and in these bits the
 * kind. */
enum { GR_NATIVE_KIND = 0xff, GR_NATIVE_FUNCTION = 0x100 };

/** The programs do this with a call. */
enum gr_native_state {
	GR_NATIVE_CLOSED,   /**< nothing */
	GR_NATIVE_COUNTING, /**< count it */
	GR_NATIVE_OPEN,	    /**< record it */
};

/** Calls of `new' from this size on are left out: if such a call fails, it throws
 * an exception, which cannot pass a return probe. */
#define GR_NATIVE_MOST_NEW (16ULL << 20)

/** Written by the reader, beside struct gr_event_config. */
struct gr_native_config {
	__u32 state;	   /**< enum gr_native_state */
	__u32 window;	   /**< its number, from 1 */
	__u32 first;	   /**< the window in which the probes came */
	__u32 sample;	   /**< one call of so many is recorded; 0, 1: each */
	__u32 is_alone;	   /**< the probes are in no other process */
	__u32 is_sampling; /**< samples of libraries are recorded */
	__u64 min_bytes, max_bytes; /**< sizes in [min_bytes, max_bytes] */
	/** From this time on, an open window is closed, also if the reader has
	 * not come to that (CLOCK_MONOTONIC); 0: never. */
	__u64 closes_ns;
};

/** Counted on each processor. */
struct gr_native_counts {
	struct gr_event_counts events;
	__u64 calls; /**< allocations of the size that is asked for */
	__u64 frees; /**< recorded ones, and lost ones */
	__u64 lost_frees;
	__u64 skipped; /**< hits of a probe for which nothing was recorded */
	__u64 lost;    /**< calls that should have been recorded */
};

#endif /* GR_TRACE_NATIVE_EVENT_H */
