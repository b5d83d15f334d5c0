/* SPDX-License-Identifier: Apache-2.0 */
/**
 * profile_writer: writes a walk's result as a gzip'd profile for pprof tools,
 * or as text (text_profile.h).
 * The same result gives the same bytes.
 */
#ifndef GR_PROFILE_WRITER_H
#define GR_PROFILE_WRITER_H

#include "proto/stamp.h"
#include "walks/result.h"

enum { GR_PROFILE_MAX_SAMPLES = 100000 };

#define GR_PROFILE_FORMATS(X) \
	X(PPROF, "pprof")     \
	X(FOLDED, "folded")   \
	X(DOT, "dot")         \
	X(JSONL, "jsonl")

enum gr_profile_format {
#define X(id, name) GR_PROFILE_##id,
	GR_PROFILE_FORMATS(X)
#undef X
};

/** The input of a profile: plain data. */
struct gr_profile {
	enum gr_profile_format format;
	const struct gr_node *nodes;
	size_t nnodes;
	const struct gr_node_line *lines; /**< A line for each node; or NULL. */
	/** As gr_result_sampling(). */
	const struct gr_result_sampling *sampling;
	const struct gr_root_total *roots; /**< In any order. */
	size_t nroots;
	const struct gr_ledger *ledger;
	/** The unit of all sizes. */
	enum gr_weight weight;
	const char *tool_version;
	const char *go_version;
	const char *exe_path;
	const char *build_id;
	/**
	 * Maximum number of paths with objects. If there are more, the smallest
	 * ones are folded. 0: no limit.
	 */
	uint64_t max_samples;
	/**
	 * Why the profile is partial, for a comment in it; NULL: it is
	 * complete.
	 */
	const char *partial;
	struct gr_profile_stamp stamp; /**< Only pprof has a place for it. */
	/**
	 * Label the samples with the kind of their root and the state of its
	 * goroutine; only in pprof's format. `go tool pprof' draws a box for each such label of
	 * a node.
	 */
	bool has_root_labels;
	/** Called repeatedly, or NULL. An error aborts the write. */
	struct gr_error *(*poll)(void *ctx);
	void *ctx;
};

/** The unit of sizes. */
static inline const char *gr_profile_unit(const struct gr_profile *profile)
{
	return profile->weight == GR_WEIGHT_BYTES ? "bytes" : "words";
}

/** Statistics of a written profile. */
struct gr_profile_stats {
	uint64_t samples;
	uint64_t folded; /**< Paths folded into their parents. */
	struct gr_total total;
};

/**
 * Check that a profile can be written to @p path, before a long scan. Existing
 * files do not change.
 */
struct gr_error *gr_profile_check_writable(const char *path) GR_MUST_CHECK;

/** Write the profile. On an error, @p path does not change. */
struct gr_error *gr_profile_write(const struct gr_profile *profile,
				  const char *path,
				  struct gr_profile_stats *ret) GR_MUST_CHECK;

#endif /* GR_PROFILE_WRITER_H */
