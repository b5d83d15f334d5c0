/* SPDX-License-Identifier: Apache-2.0 */
/**
 * profile_writer: a walk's result as a gzip'd profile that pprof tools open.
 * The same result gives the same bytes.
 */
#ifndef GR_PROFILE_WRITER_H
#define GR_PROFILE_WRITER_H

#include "scanner.h"

enum { GR_PROFILE_MAX_SAMPLES = 100000 };

/** All that a profile is made of: plain data, whoever made it. */
struct gr_profile {
	const struct gr_node *nodes;
	size_t nnodes;
	const struct gr_root_total *roots; /**< In any order. */
	size_t nroots;
	const struct gr_ledger *ledger;
	const char *tool_version;
	const char *go_version;
	const char *exe_path;
	const char *build_id;
	/** Paths with objects; past it the smallest fold. 0: no limit. */
	uint64_t max_samples;
	/** Why it is not all, for a comment; NULL: it is. */
	const char *partial;
	/** Called now and then, or NULL; an error ends the writing. */
	struct gr_error *(*poll)(void *ctx);
	void *ctx;
};

/** What was written. */
struct gr_profile_stats {
	uint64_t samples;
	uint64_t folded; /**< Paths folded into their parents. */
	struct gr_total total;
};

/**
 * Check that a profile can be written to @p path, before a scan that takes
 * its time. Changes nothing that exists.
 */
struct gr_error *gr_profile_check_writable(const char *path) GR_MUST_CHECK;

/** Write the profile; @p path gets all of it or stays as it was. */
struct gr_error *gr_profile_write(const struct gr_profile *profile,
				  const char *path,
				  struct gr_profile_stats *ret) GR_MUST_CHECK;

#endif /* GR_PROFILE_WRITER_H */
