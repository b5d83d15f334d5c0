// SPDX-License-Identifier: Apache-2.0
#include "base/bitmap.h"

size_t gr_bitmap_next(const uint64_t *map, size_t start, size_t end)
{
	if (start >= end)
		return end;
	size_t word = start / 64;
	uint64_t bits = map[word] & ~UINT64_C(0) << (start % 64);
	while (!bits) {
		if (++word * 64 >= end)
			return end;
		bits = map[word];
	}
	size_t bit = word * 64 + __builtin_ctzll(bits);
	return bit < end ? bit : end;
}

/* The bits of word @p word that lie in [start, end). */
static uint64_t range_mask(size_t word, size_t start, size_t end)
{
	uint64_t mask = ~UINT64_C(0);
	if (word == start / 64)
		mask &= ~UINT64_C(0) << (start % 64);
	if (word == end / 64)
		mask &= (UINT64_C(1) << (end % 64)) - 1;
	return mask;
}

size_t gr_bitmap_count(const uint64_t *map, size_t start, size_t end)
{
	size_t count = 0;

	for (size_t word = start / 64; word * 64 < end; word++)
		count += gr_popcount(map[word] & range_mask(word, start, end));
	return count;
}

void gr_bitmap_set_range(uint64_t *map, size_t start, size_t end)
{
	for (size_t word = start / 64; word * 64 < end; word++)
		map[word] |= range_mask(word, start, end);
}

void gr_bitmap_clear_range(uint64_t *map, size_t start, size_t end)
{
	for (size_t word = start / 64; word * 64 < end; word++)
		map[word] &= ~range_mask(word, start, end);
}
