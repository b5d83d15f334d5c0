/* SPDX-License-Identifier: Apache-2.0 */
/** leaks: goroutines that can never wake, in groups. */
#ifndef GR_LEAKS_H
#define GR_LEAKS_H

#include "goroutines/blocked_places.h"
#include "goroutines/leak_ignore.h"

#include "inferior/gaps.h"

struct gr_scan;

#define GR_LEAK_STATES(X)                                                     \
	/** It waits for nothing that the rule is about, or does not wait. */ \
	X(NO_CANDIDATE, "no candidate")                                       \
	/** A candidate that can still be woken. */                           \
	X(AWAKENABLE, "can be woken")                                         \
	X(LEAKED, "leaked")                                                   \
	/** No record tells what it waits for. */                             \
	X(UNKNOWN_WAIT, "unknown wait")                                       \
	/** It would have leaked, but a pointer to what it waits for may   \
	 * lie in memory that is missing or damaged. */  \
	X(MISSING_MEMORY, "missing memory")

/** States of a goroutine. The last two are unproven. */
enum gr_leak_state {
#define X(id, name) GR_LEAK_##id,
	GR_LEAK_STATES(X)
#undef X
};

/** Goroutines that wait for the same reason, in the same line, and that the same
 * go statement has created. Strings belong to the scan. */
struct gr_leak_group {
	enum gr_leak_state state; /**< GR_LEAK_LEAKED, or an unproven one. */
	const char *verdict;	  /**< The name of @ref state. */
	uint64_t goroutines;
	/** The innermost call that is the user's. */
	struct gr_source_place at;
	struct gr_source_place start; /**< The goroutines' function. */
	struct gr_source_place go;    /**< The go statement. */
	const char *wait_reason;
	/** The kind of thing they wait for: "channel", "Mutex" ..., or "" if
	 * that is nothing or not known. */
	const char *awaited;
	/** As the channel of the first goroutine has it; or "". */
	const char *element_type;
	uint64_t nawaited; /**< Different channels, locks ... */
	/** A mark without their stacks, g's and sudogs loses these; and the
	 * part of them in blocks of C. */
	uint64_t retained_bytes, retained_objects, retained_c_bytes;
	uint64_t stack_bytes; /**< Their stacks, which are no objects. */
	size_t first, nids;   /**< Their ids: [first, first + nids). */
};

/** The goroutines that a pattern has left out. */
struct gr_leak_ignored {
	uint64_t blocked; /**< Goroutines, leaked or not. */
	uint64_t leaked;  /**< Those that leaked. */
};

struct gr_leak_query {
	const struct gr_ignore_pattern *ignored;
	size_t nignored;
};

/** The answer. Belongs to the caller. */
struct gr_leak_report {
	uint64_t goroutines; /**< Without the runtime's own. */
	/** Those that wait for a channel, a select, or for package sync: the
	 * next two are among them. */
	uint64_t blocked;
	uint64_t leaked, unproven;
	bool knows_c; /**< Blocks of C were read, and are counted. */
	/** All leaked goroutines keep these alive together. */
	uint64_t retained_bytes, retained_objects, retained_c_bytes;
	uint64_t stack_bytes;
	/** Those that leaked first, most retained bytes first. */
	struct gr_leak_group *groups;
	size_t ngroups;
	uint64_t *ids;
	size_t nids;
	/** By pattern of the query: goroutines that no other number or group has,
	 * but for @ref goroutines and @ref blocked. */
	struct gr_leak_ignored *ignored;
	size_t nignored;
	/** Those of blocked goroutines, most goroutines first. */
	struct gr_blocked_place *places;
	size_t nplaces;
	struct gr_gaps gaps; /**< The target's and the walk's. */
};

/** Find leaked goroutines by the rule of the runtime (leak_rule.h). Makes the
 * object graph. @p query may be NULL: no goroutine is left out. */
struct gr_error *gr_scan_leaks(struct gr_scan *scan,
			       const struct gr_leak_query *query,
			       struct gr_leak_report **ret) GR_MUST_CHECK;
void gr_leak_report_destroy(struct gr_leak_report *report);

#endif /* GR_LEAKS_H */
