/* SPDX-License-Identifier: Apache-2.0 */
/** stack_profile: Go's own kinds of profiles, in pprof's format. */
#ifndef GR_STACK_PROFILE_H
#define GR_STACK_PROFILE_H

#include "profiles/bucket_profile.h"
#include "profiles/goroutine_profile.h"
#include "proto/stamp.h"

/** The target of a profile. Strings may be NULL: unknown. */
struct gr_profile_target {
	const char *tool_version;
	const char *go_version;
	const char *exe_path;
	const char *build_id;
	const char *partial; /**< Why it is not all; NULL: it is. */
	struct gr_profile_stamp stamp;
};

/**
 * Write goroutines as pprof.Lookup("goroutine") does: the number of goroutines
 * for each stack and set of labels. A second value is the memory of their
 * stacks. @p name is that of the profile: "goroutine", "goroutineleak".
 */
struct gr_error *gr_goroutine_profile_write(
	const struct gr_goroutine_profile *profile, const char *name,
	const struct gr_profile_target *target, const char *path) GR_MUST_CHECK;

/** The kinds of profiles that are made of the runtime's buckets. */
enum gr_bucket_format {
	GR_FORMAT_HEAP,	      /**< As pprof.Lookup("heap") writes it. */
	GR_FORMAT_ALLOCS,     /**< The same, allocations are shown first. */
	GR_FORMAT_CONTENTION, /**< As "block" and "mutex" are. */
};

/** Write what the runtime has collected in buckets. */
struct gr_error *gr_bucket_profile_write(
	const struct gr_bucket_profile *profile, enum gr_bucket_format format,
	const struct gr_profile_target *target, const char *path) GR_MUST_CHECK;

#endif /* GR_STACK_PROFILE_H */
