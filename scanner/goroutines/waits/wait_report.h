/* SPDX-License-Identifier: Apache-2.0 */
/** wait_report: what goroutines wait for, who could wake them, deadlocks. */
#ifndef GR_WAIT_REPORT_H
#define GR_WAIT_REPORT_H

#include "goroutines/goroutine_list.h"

struct gr_scan;

/** A goroutine that owns what others wait for, or may. Strings belong to the
 * scan. */
struct gr_wait_owner {
	uint64_t id;
	bool is_certain;      /**< It is proven (gr_owner.is_proven). */
	bool is_likely;	      /**< gr_owner_is_likely() */
	const char *evidence; /**< A sentence without a subject. */
	const char *state, *wait_reason;
	struct gr_source_place user; /**< Where it is. */
};

/** Goroutines that wait for one thing. Strings belong to the scan. */
struct gr_wait_group {
	/** "mutex", "read lock", "write lock", "wait group", "condition",
	 * "chan send", "chan receive", "select", "nil chan", "empty select". */
	const char *kind;
	uint64_t addr;	   /**< 0: there is nothing. */
	const char *path;  /**< `main.store.mu`; or "". */
	const char *type;  /**< The type it lies in; or "". */
	const char *state; /**< `locked`, `counter 1`, `full, 10 of 10`; or "" */
	/** A remark for when nobody is a likely owner; or "". */
	const char *verdict;
	uint64_t waiters;
	uint64_t senders; /**< Those that would send in a select. */
	/** Nanoseconds that one of them has waited for at least; 0: not known. */
	uint64_t waited_ns;
	uint64_t *ids; /**< The first waiters. */
	size_t nids;
	struct gr_source_place user;  /**< Where the first one waits. */
	struct gr_wait_owner *owners; /**< The likeliest first. */
	size_t nowners;
	uint64_t reaching; /**< All goroutines that have a pointer to it. */
	uint64_t likely;   /**< Those that something speaks for. */
};

/** Goroutines that wait for each other. */
struct gr_deadlock {
	uint64_t *ids;
	/** By member: the index of what it waits for in primitives, and the
	 * member that alone owns that or could use it; 0: several could. */
	uint64_t *awaits, *owner_ids;
	size_t nids;
	struct gr_wait_group *primitives; /**< Without waiters and owners. */
	size_t nprimitives;
	bool is_certain; /**< It is proven that none goes on. */
	/** Others that wait for what they hold, or for one that does. */
	uint64_t behind;
};

/** A goroutine that keeps others waiting, and waits for no owner itself, or is
 * in a cycle with it. */
struct gr_wait_blocker {
	struct gr_wait_owner owner;
	/** The one it owns; of several, the one that most wait for. Without
	 * waiters and owners. */
	struct gr_wait_group primitive;
	uint64_t behind; /**< That wait for it, or for one that does. */
	uint32_t depth;	 /**< The longest chain that leads to it. */
	bool is_in_cycle;
};

struct gr_waits_query {
	uint64_t goroutine_id; /**< Only what it awaits or may own; 0: all. */
	uint32_t max_groups;   /**< And blockers; 0: no limit. */
	uint32_t max_ids; /**< Ids of a group; 0: no limit, nor of owners. */
	bool with_paths;  /**< Make the object graph for paths. */
};

/** The answer. Belongs to the caller. */
struct gr_wait_report {
	uint64_t goroutines; /**< That wait for something of a group. */
	uint64_t total;	     /**< Groups, those left out included. */
	struct gr_wait_group *groups; /**< Most waiters first. */
	size_t ngroups;
	struct gr_deadlock *deadlocks; /**< Most waiters first. */
	size_t ndeadlocks;
	struct gr_wait_blocker *blockers; /**< Most waiters first. */
	size_t nblockers;
};

/**
 * Describe what goroutines wait for. GR_ERROR_NOT_FOUND if there is no goroutine
 * of that number.
 */
struct gr_error *gr_scan_waits(struct gr_scan *scan,
			       const struct gr_waits_query *query,
			       struct gr_wait_report **ret) GR_MUST_CHECK;
void gr_wait_report_destroy(struct gr_wait_report *report);

#endif /* GR_WAIT_REPORT_H */
