/* SPDX-License-Identifier: Apache-2.0 */
/** nearest: the names that are most similar to a wrong one, for errors. */
#ifndef GR_NEAREST_H
#define GR_NEAREST_H

#include "base/base.h"

enum {
	GR_NEAR_BYTES = 255, /**< Longer names are far from all others. */
	GR_NEAREST_NAMES = 3,
	GR_NEAREST_TEXT = 700, /**< Bytes for gr_nearest_text(). */
};

/**
 * The nearest names so far, the nearest first. Zero-initialised: none. The
 * names must stay valid.
 */
struct gr_nearest {
	const char *names[GR_NEAREST_NAMES];
	unsigned int distances[GR_NEAREST_NAMES];
	size_t count;
};

/**
 * The number of letters that must be put in, taken out or replaced to make @p a
 * into @p b; @p max + 1 if it is more than @p max. It takes a step for each
 * letter of one, in a band of @p max letters of the other.
 */
unsigned int gr_edit_distance(const char *a, const char *b, unsigned int max);

/**
 * The most letters by which another name may differ: a third of its own, and two
 * of a name of four or five.
 */
unsigned int gr_near_limit(const char *name);

/**
 * Enter a name unless it is there or others are nearer. The first of several
 * that are equally near stays in front.
 */
void gr_nearest_enter(struct gr_nearest *nearest, const char *name,
		      unsigned int distance);

/** Write `; did you mean A, B or C?`, or nothing if there is no name. Returns @p text. */
const char *gr_nearest_text(const struct gr_nearest *nearest,
			    char text[static GR_NEAREST_TEXT]);

#endif /* GR_NEAREST_H */
