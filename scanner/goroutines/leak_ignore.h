/* SPDX-License-Identifier: Apache-2.0 */
/** leak_ignore: goroutines that an answer about leaks leaves out. */
#ifndef GR_LEAK_IGNORE_H
#define GR_LEAK_IGNORE_H

#include "goroutines/call_match.h"

/** Which functions of a goroutine a pattern is compared with. */
#define GR_IGNORE_FIELDS(X)                                                  \
	/** Those of the calls up to the innermost one that is the user's. \
	 */ \
	X(TOP, "top")                                                        \
	/** Those of all calls. */                                           \
	X(ANY, "any")                                                        \
	/** The one with the go statement. */                                \
	X(CREATED_BY, "created-by")

enum gr_ignore_field {
#define X(id, name) GR_IGNORE_##id,
	GR_IGNORE_FIELDS(X)
#undef X
		GR_NIGNORE_FIELDS,
};

/** The field of a name; GR_NIGNORE_FIELDS if there is none. */
enum gr_ignore_field gr_ignore_field_of(const char *name);

struct gr_ignore_pattern {
	uint8_t field;	  /**< enum gr_ignore_field */
	const char *text; /**< gr_name_matches_pattern() */
};

/** Patterns, and what is known of functions that they were compared with. */
struct gr_ignores {
	const struct gr_ignore_pattern *patterns;
	size_t npatterns;
	struct gr_call_match *matches; /**< [npatterns] */
};

struct gr_error *gr_ignores_make(struct gr_runtime *rt,
				 const struct gr_ignore_pattern *patterns,
				 size_t npatterns,
				 struct gr_ignores *ret) GR_MUST_CHECK;
void gr_ignores_deinit(struct gr_ignores *ignores);

/** Find the first pattern that takes a goroutine; npatterns: none does. Linear
 * in its frames, for each pattern. */
struct gr_error *gr_ignores_find(struct gr_ignores *ignores,
				 const struct gr_goroutine *g,
				 size_t *ret) GR_MUST_CHECK;

#endif /* GR_LEAK_IGNORE_H */
