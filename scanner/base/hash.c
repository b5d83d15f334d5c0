// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <sys/auxv.h>

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

uint32_t gr_hash_bytes(const void *data, size_t bytes)
{
	uint64_t hash = gr_hash_seed() + bytes, word;
	const uint8_t *at = data;

	for (; bytes >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = gr_hash_number(hash ^ word);
		bytes -= sizeof(word);
	}
	word = 0;
	memcpy(&word, at, bytes);
	return (uint32_t)gr_hash_number(hash ^ word);
}
