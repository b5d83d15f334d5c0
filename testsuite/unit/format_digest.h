/* SPDX-License-Identifier: Apache-2.0 */
/**
 * format_digest: notices that the bytes of a format have changed and its
 * version has not. A row of `digests` is never edited: a new version gets a new
 * row.
 */
#pragma once

#include "suite.h"

/** The bytes that a version writes for the same content. */
struct format_digest {
	uint64_t version, digest;
};

static inline uint64_t format_digest_of(const void *data, size_t bytes)
{
	const uint8_t *at = data;
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < bytes; i++)
		sum = (sum ^ at[i]) * UINT64_C(0x100000001b3);
	return sum;
}

/** Fail unless the row of @p version, which is the last one, has the digest of
 * the bytes. */
static inline void format_check(const struct format_digest *digests,
				size_t count, uint64_t version,
				const void *data, size_t bytes)
{
	uint64_t digest = format_digest_of(data, bytes);

	for (size_t i = 0; i < count; i++)
		assert_int_equal(digests[i].version == version, i + 1 == count);
	if (digests[count - 1].digest != digest)
		fail_msg("the format has changed: raise its version, and add "
			 "{ version, 0x%llx }",
			 (unsigned long long)digest);
}
