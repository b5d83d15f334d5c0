// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <sys/auxv.h>

#include "base/bytes.h"

uint64_t gr_hash_seed_value = 1;

/*
 * Take the seed from the sixteen random bytes that the kernel gives every
 * process.
 */
__attribute__((__constructor__)) static void take_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);

	if (random)
		memcpy(&gr_hash_seed_value, random, sizeof(gr_hash_seed_value));
}

/* Mix two words: both halves of their product. A word that makes the product
 * zero is as hard to guess as the seed. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The last bytes, fewer than 16, as two words. Equal lengths have equal words
 * only if their bytes are equal. */
static inline void load_tail(const uint8_t *at, size_t bytes, uint64_t *a,
			     uint64_t *b)
{
	*a = *b = 0;
	if (bytes >= 8) {
		*a = gr_load_u64(at);
		*b = gr_load_u64(at + bytes - 8);
	} else if (bytes >= 4) {
		*a = gr_load_u32(at);
		*b = gr_load_u32(at + bytes - 4);
	} else if (bytes) {
		*a = (uint64_t)at[0] << 16 | at[bytes / 2] << 8 | at[bytes - 1];
	}
}

uint64_t gr_hash_content(uint64_t before, const void *data, size_t bytes)
{
	const uint64_t first = gr_hash_seed() ^ UINT64_C(0x9e3779b97f4a7c15);
	const uint64_t second = gr_hash_number(bytes);
	uint64_t hash = before ^ second, other = second, a, b;
	const uint8_t *at = data;

	// Two chains, so that the processor multiplies both at a time.
	for (; bytes >= 32; at += 32, bytes -= 32) {
		hash = mix(gr_load_u64(at) ^ first, gr_load_u64(at + 8) ^ hash);
		other = mix(gr_load_u64(at + 16) ^ second,
			    gr_load_u64(at + 24) ^ other);
	}
	if (bytes >= 16) {
		hash = mix(gr_load_u64(at) ^ first, gr_load_u64(at + 8) ^ hash);
		at += 16;
		bytes -= 16;
	}
	load_tail(at, bytes, &a, &b);
	hash = mix(a ^ first ^ other, b ^ hash);
	return mix(hash ^ first, second);
}
