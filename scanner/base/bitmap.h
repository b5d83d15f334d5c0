/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Bitmaps in arrays of 64-bit words; bit i is word i/64, bit i%64. That is
 * also how the Go runtime lays out its one-bit maps (little endian).
 */
#ifndef GR_BITMAP_H
#define GR_BITMAP_H

#include "base/huge.h"

#include <stdlib.h>

/** Words needed for @p bits bits. */
static inline size_t gr_bitmap_words(size_t bits)
{
	return bits / 64 + (bits % 64 != 0);
}

/** A zeroed bitmap for free(); NULL if no memory is left. Never size 0. */
static inline uint64_t *gr_bitmap_alloc(size_t bits)
{
	return gr_huge_calloc(gr_bitmap_words(bits) + 1, sizeof(uint64_t));
}

static inline bool gr_bitmap_test(const uint64_t *map, size_t bit)
{
	return map[bit / 64] >> (bit % 64) & 1;
}

static inline void gr_bitmap_set(uint64_t *map, size_t bit)
{
	map[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static inline void gr_bitmap_clear(uint64_t *map, size_t bit)
{
	map[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

/**
 * Number of set bits of a word. Without an instruction for it, which a plain
 * build may not use, this is faster than the compiler's function.
 */
static inline unsigned int gr_popcount(uint64_t word)
{
#ifdef __POPCNT__
	return __builtin_popcountll(word);
#else
	word -= word >> 1 & UINT64_C(0x5555555555555555);
	word = (word & UINT64_C(0x3333333333333333)) +
	       (word >> 2 & UINT64_C(0x3333333333333333));
	word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return word * UINT64_C(0x0101010101010101) >> 56;
#endif
}

/** Set the bit; true if it was clear before. */
static inline bool gr_bitmap_set_new(uint64_t *map, size_t bit)
{
	uint64_t mask = UINT64_C(1) << (bit % 64);
	bool is_new = !(map[bit / 64] & mask);
	map[bit / 64] |= mask;
	return is_new;
}

/** Clear the bit; true if it was set before. */
static inline bool gr_bitmap_take(uint64_t *map, size_t bit)
{
	uint64_t mask = UINT64_C(1) << (bit % 64);
	bool was_set = map[bit / 64] & mask;
	map[bit / 64] &= ~mask;
	return was_set;
}

/**
 * Up to 64 bits from @p bit on, the first in bit 0; bits past @p count are 0.
 * Reads the word after the last one: maps come from gr_bitmap_alloc().
 */
static inline uint64_t gr_bitmap_extract(const uint64_t *map, size_t bit,
					 unsigned int count)
{
	unsigned int shift = bit % 64;
	uint64_t bits = map[bit / 64] >> shift;
	if (shift && shift + count > 64)
		bits |= map[bit / 64 + 1] << (64 - shift);
	return count >= 64 ? bits : bits & ((UINT64_C(1) << count) - 1);
}

/** OR up to 64 bits into the map from @p bit on. */
static inline void gr_bitmap_or(uint64_t *map, size_t bit, uint64_t bits)
{
	unsigned int shift = bit % 64;
	map[bit / 64] |= bits << shift;
	if (shift && bits >> (64 - shift))
		map[bit / 64 + 1] |= bits >> (64 - shift);
}

/** Clear those of up to 64 bits from @p bit on that are set in @p bits. */
static inline void gr_bitmap_and_not(uint64_t *map, size_t bit, uint64_t bits)
{
	unsigned int shift = bit % 64;
	map[bit / 64] &= ~(bits << shift);
	if (shift && bits >> (64 - shift))
		map[bit / 64 + 1] &= ~(bits >> (64 - shift));
}

/** Minimum number of bits that gr_bitmap_peek() returns. */
enum { GR_BITMAP_PEEK_BITS = 57 };

/**
 * The next 57 bits or more from @p bit on, by one load that need not be
 * aligned. Reads up to a word after the last one.
 */
static inline uint64_t gr_bitmap_peek(const uint64_t *map, size_t bit)
{
	uint64_t word;

	memcpy(&word, (const uint8_t *)map + bit / 8, sizeof(word));
	return word >> (bit % 8);
}

/** Clear those of the 57 bits from @p bit on that are set in @p bits. */
static inline void gr_bitmap_poke_clear(uint64_t *map, size_t bit,
					uint64_t bits)
{
	uint8_t *at = (uint8_t *)map + bit / 8;
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	word &= ~(bits << (bit % 8));
	memcpy(at, &word, sizeof(word));
}

/** First set bit in [start, end), or @p end. A walk is bounded by the bits. */
size_t gr_bitmap_next(const uint64_t *map, size_t start, size_t end);

/** Number of set bits in [start, end). */
size_t gr_bitmap_count(const uint64_t *map, size_t start, size_t end);

/** Set every bit in [start, end). */
void gr_bitmap_set_range(uint64_t *map, size_t start, size_t end);

/** Clear every bit in [start, end). */
void gr_bitmap_clear_range(uint64_t *map, size_t start, size_t end);

#endif /* GR_BITMAP_H */
