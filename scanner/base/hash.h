/* SPDX-License-Identifier: Apache-2.0 */
/** hash: hashes keys that the target chooses, with a seed for each process. */
#ifndef GR_HASH_H
#define GR_HASH_H

#include "base/base.h"

/** Set at load time; different in every process. */
extern uint64_t gr_hash_seed_value;

static inline uint64_t gr_hash_seed(void)
{
	return gr_hash_seed_value;
}

/** Hash a number, for tables of 2^n slots. */
static inline uint64_t gr_hash_number(uint64_t number)
{
	uint64_t hash =
		(number ^ gr_hash_seed()) * UINT64_C(0x9e3779b97f4a7c15);

	hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return hash ^ hash >> 32;
}

/** Hash some bytes, and the hash of the bytes before them, or any number. */
uint64_t gr_hash_content(uint64_t before, const void *data, size_t bytes);

/** Hash some bytes. This replaces uthash's own function, which has no seed. */
static inline uint32_t gr_hash_bytes(const void *data, size_t bytes)
{
	return (uint32_t)gr_hash_content(0, data, bytes);
}

#define GR_UTHASH_FUNCTION(key, bytes, hash) \
	((hash) = gr_hash_bytes((key), (bytes)))

#endif /* GR_HASH_H */
