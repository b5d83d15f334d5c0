/* SPDX-License-Identifier: Apache-2.0 */
/** stamp: what the user says of a profile: labels and a time. */
#ifndef GR_STAMP_H
#define GR_STAMP_H

#include "base/base.h"

/** A label that every sample gets: "env" is "staging". */
struct gr_profile_tag {
	const char *key;
	const char *value;
};

/** Zero-initialised: nothing is said. Strings are valid for the writing. */
struct gr_profile_stamp {
	const struct gr_profile_tag *tags;
	size_t ntags;
	int64_t time_ns; /**< Since 1970; 0: not known. */
};

#endif /* GR_STAMP_H */
