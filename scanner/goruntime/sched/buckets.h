/* SPDX-License-Identifier: Apache-2.0 */
/**
 * buckets: the runtime's lists of stacks that it has sampled. Source:
 * runtime/mprof.go (bucket). A bucket is never freed or moved, and its stack
 * does not change.
 */
#ifndef GR_BUCKETS_H
#define GR_BUCKETS_H

#include "base/chain.h"
#include "goruntime/layout/runtime.h"

enum gr_bucket_kind {
	GR_BUCKETS_MEMORY,
	GR_BUCKETS_BLOCK,
	GR_BUCKETS_MUTEX,
};

enum {
	GR_NBUCKET_KINDS = GR_BUCKETS_MUTEX + 1,
	GR_MAX_BUCKET_PCS = 4096, /* debug.profstackdepth is 1,024 at most */
	GR_MAX_RECORD_BYTES = 1024,
};

/** A bucket of the target. */
struct gr_bucket {
	uint64_t addr;
	uint64_t next;	       /**< Address of the next one, or 0. */
	uint64_t object_bytes; /**< Size of each object, for memory. */
	/** Return addresses, the innermost first. */
	uint64_t pcs[GR_MAX_BUCKET_PCS];
	size_t npcs;
	/** The counts: memRecord or blockRecord. */
	uint8_t record[GR_MAX_RECORD_BYTES];
};

/** A walk along the list of all buckets of a kind. */
struct gr_bucket_walk {
	struct gr_runtime *rt;
	enum gr_bucket_kind kind;
	struct gr_chain chain;
	uint64_t next;	   /**< Address of the next bucket, or 0. */
	uint64_t pcs_left; /**< That all buckets may still have. */
	bool is_cut;	   /**< The list is damaged: the walk ends. */
};

/** Does the layout tell where the buckets are and what is in them? */
bool gr_buckets_are_known(const struct gr_runtime *rt,
			  enum gr_bucket_kind kind);

/** Bytes of a bucket's record. */
uint64_t gr_bucket_record_bytes(const struct gr_runtime *rt,
				enum gr_bucket_kind kind);

/**
 * Begin a walk.
 *
 * @return GR_ERROR_FAULT if the head of the list is not there.
 */
struct gr_error *gr_bucket_walk_begin(struct gr_runtime *rt,
				      enum gr_bucket_kind kind,
				      struct gr_bucket_walk *ret) GR_MUST_CHECK;

/**
 * Read the next bucket. Takes as many steps as it has calls.
 *
 * @param[out] got False at the end of the list, also if the list is damaged:
 * then walk->is_cut, and a gap is counted.
 */
struct gr_error *gr_bucket_walk_next(struct gr_bucket_walk *walk,
				     struct gr_bucket *bucket,
				     bool *got) GR_MUST_CHECK;

/**
 * Read one bucket without its list. Takes as many steps as it has calls.
 *
 * @return GR_ERROR_FAULT if there is none that can be read.
 */
struct gr_error *gr_bucket_read(struct gr_runtime *rt, enum gr_bucket_kind kind,
				uint64_t addr,
				struct gr_bucket *ret) GR_MUST_CHECK;

/** How the runtime samples allocations. */
struct gr_memory_sampling {
	int64_t rate;	      /**< Bytes for each sample; 0: it is off. */
	uint32_t cycle_index; /**< Index of memRecord.future now. */
	bool is_disabled;     /**< The linker has left it out. */
};

struct gr_error *
gr_memory_sampling_read(const struct gr_runtime *rt,
			struct gr_memory_sampling *ret) GR_MUST_CHECK;

/** The integer in a variable of the runtime; 0 if there is none. */
struct gr_error *gr_buckets_read_variable(const struct gr_runtime *rt,
					  uint64_t addr, size_t bytes,
					  uint64_t *ret) GR_MUST_CHECK;

/**
 * Plan the capture of all buckets and of what gives them their meaning. The
 * image is lazy.
 */
struct gr_error *gr_buckets_plan(struct gr_runtime *rt) GR_MUST_CHECK;

#endif /* GR_BUCKETS_H */
