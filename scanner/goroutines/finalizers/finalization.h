/* SPDX-License-Identifier: Apache-2.0 */
/** finalization: what should free memory, and whether it does: finalizers,
 * cleanups, pools. */
#ifndef GR_FINALIZATION_H
#define GR_FINALIZATION_H

#include "goroutines/finalizers/pools.h"
#include "goroutines/waits/wait_report.h"
#include "inferior/gaps.h"
#include "goroutines/finalizers/finalizers.h"

struct gr_scan;
struct gr_stop;

#define GR_RUNNER_STATES(X)                                            \
	/** It waits for finalizers or cleanups. */                    \
	X(IDLE, "idle")                                                \
	/** It runs, or is about to. */                                \
	X(RUNNING, "running")                                          \
	/** It sleeps, or waits for the network or for the runtime. */ \
	X(WAITING, "waiting")                                          \
	X(IN_SYSCALL, "in a system call")                              \
	X(IN_C, "in C")                                                \
	/** It waits for a channel or for package sync. */             \
	X(BLOCKED, "blocked")

enum gr_runner_state {
#define X(id, name) GR_RUNNER_##id,
	GR_RUNNER_STATES(X)
#undef X
};

/** A goroutine that runs finalizers or cleanups. Strings belong to the scan. */
struct gr_finalizer_runner {
	struct gr_goroutine_info goroutine;
	uint32_t index;	   /**< In sched.goroutines. */
	const char *runs;  /**< "finalizers" or "cleanups" */
	const char *doing; /**< The name of a state. */
	enum gr_runner_state state;
	/** The call that the runtime has made: the finalizer or the cleanup, or
	 * the function of a closure; pc 0: none. */
	struct gr_source_place call;
	/** If it is blocked: what it waits for, with its owners. */
	struct gr_wait_group *awaits;
	size_t nawaits;
};

/** The answer. Belongs to the caller. */
struct gr_finalization {
	/** Those that run now are not in these. */
	uint64_t queued_finalizers, queued_cleanups;
	struct gr_finalizers finalizers;
	bool knows_c; /**< Blocks of C were read, and are counted. */
	struct gr_finalizer_runner *runners; /**< The worst state first. */
	size_t nrunners;
	struct gr_pools pools; /**< If asked. */
	struct gr_gaps gaps;
};

/** Ask. With @p with_pools, this makes the dominators. */
struct gr_error *
gr_scan_finalization(struct gr_scan *scan, bool with_pools,
		     struct gr_finalization **ret) GR_MUST_CHECK;
void gr_finalization_destroy(struct gr_finalization *f);

/** Find the goroutines that run finalizers and cleanups. Entries that one of
 * them runs are taken off the numbers of those queued, which are known. @p f
 * needs gr_finalization_destroy(), or free() of its runners. */
struct gr_error *
gr_finalization_find_runners(struct gr_stop *stop,
			     struct gr_finalization *f) GR_MUST_CHECK;

#endif /* GR_FINALIZATION_H */
