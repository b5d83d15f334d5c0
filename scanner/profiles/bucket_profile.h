/* SPDX-License-Identifier: Apache-2.0 */
/**
 * bucket_profile: the profiles that the runtime collects in its buckets: heap,
 * block, mutex. Source: runtime/mprof.go, runtime/pprof/protomem.go.
 */
#ifndef GR_BUCKET_PROFILE_H
#define GR_BUCKET_PROFILE_H

#include "goruntime/sched/buckets.h"
#include "profiles/stacks.h"

struct gr_scan;
struct gr_stop;

enum { GR_MEMORY_VALUES = 4, GR_BLOCK_VALUES = 2 };

/** The counts of a stack. */
struct gr_bucket_sample {
	uint32_t stack;
	/**
	 * Memory: objects and bytes allocated, objects and bytes in use. Block
	 * and mutex: contentions, and the delay in nanoseconds. Values are
	 * scaled: they stand for what was not sampled, too.
	 */
	int64_t values[GR_MEMORY_VALUES];
	uint64_t object_bytes; /**< Size of each object; 0: no memory. */
};
GR_VECTOR(gr_bucket_sample_vector, struct gr_bucket_sample);

/** The answer. Belongs to the caller. */
struct gr_bucket_profile {
	struct gr_stacks stacks;
	struct gr_bucket_sample_vector samples;
	int64_t period; /**< MemProfileRate for memory, else 1. */
	/** The list is damaged: buckets are missing. */
	bool is_cut;
	/** No cycle of the collector has ended: the values are those of the
	 * allocations so far. */
	bool is_before_gc;
	/** The linker has left out the profiling of memory. */
	bool is_disabled;
	/** Sampling is off at this moment. */
	bool is_off;
	/** The values are estimated from samples. */
	bool is_estimated;
	/** How long a tick of the clock is was never measured: the delays are
	 * in ticks. */
	bool is_in_ticks;
};

/** The moment that a memory profile is of. */
enum gr_bucket_moment {
	/** The last collection, as in the program's own profile. */
	GR_MOMENT_COLLECTION,
	/**
	 * Now: in use is each sampled object that exists, by the specials of
	 * the heap, and all allocations are counted.
	 */
	GR_MOMENT_NOW,
};

/**
 * Read the buckets. This takes time in proportion to their number and their
 * stacks, and needs no walk of the heap; GR_MOMENT_NOW needs the heap's spans.
 * The other kinds are always of now.
 *
 * @return GR_ERROR_NOT_FOUND if the target is a process that was copied without
 * its buckets, or if its symbols do not tell where they are.
 */
struct gr_error *
gr_scan_bucket_profile(struct gr_scan *scan, enum gr_bucket_kind kind,
		       enum gr_bucket_moment moment,
		       struct gr_bucket_profile **ret) GR_MUST_CHECK;
void gr_bucket_profile_destroy(struct gr_bucket_profile *profile);

/** Can the buckets of a kind be read? Errors are those of the profile. */
struct gr_error *gr_stop_check_buckets(struct gr_stop *stop,
				       enum gr_bucket_kind kind) GR_MUST_CHECK;

#endif /* GR_BUCKET_PROFILE_H */
