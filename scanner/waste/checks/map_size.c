// SPDX-License-Identifier: Apache-2.0
#include "waste/checks/map_size.h"

#include "goruntime/types/map_shape.h"

enum {
	SLOTS = GR_MAP_SLOTS,
	MAX_TABLE = 1024,    /* slots of a table: maxTableCapacity */
	MAX_LOAD = 7,	     /* of 8 slots: maxAvgGroupLoad */
	MIN_SPARE_LOG = 4,   /* of so many buckets on: makeBucketArray */
	MAX_TERMS = 1 << 12, /* of a distribution, to each side of its mean */
	LIST_BYTES = 3 * GR_WORD_BYTES,
	DOUBLED = 256, /* elements up to which append doubles a slice */
};

static uint64_t power_above(uint64_t n)
{
	uint64_t power = 1;

	// Bounded by the bits of a number.
	while (power < n && power < GR_MAP_MAX_ENTRIES)
		power *= 2;
	return power;
}

// ------------------------------------------------------------ distributions

/** The entries in one of @ref places when @ref entries of them are spread by
 * their hashes: a binomial distribution. */
struct spread {
	uint64_t entries, places;
};

/* P(n + 1) / P(n) */
static double ratio(const struct spread *s, uint64_t n)
{
	return (double)(s->entries - n) / (double)(n + 1) /
	       (double)(s->places - 1);
}

/*
 * The expected number of times that a place has more than @p most entries, more
 * than 2 * most ... if @p is_repeated, else only the first. Terms are relative
 * to the one at the mean, so that none is too small for a double.
 */
static double expect_above(const struct spread *s, uint64_t most,
			   bool is_repeated)
{
	uint64_t mean = s->entries / s->places;
	double all = 0, above = 0, p = 1;

	for (uint64_t n = mean, i = 0; n <= s->entries && i < MAX_TERMS; i++) {
		uint64_t times = n ? (n - 1) / most : 0;

		all += p;
		above += p * (is_repeated ? (double)times : times > 0);
		p *= ratio(s, n++);
	}
	p = 1;
	for (uint64_t n = mean, i = 0; n > 0 && i < MAX_TERMS; i++) {
		uint64_t times = --n ? (n - 1) / most : 0;

		p /= ratio(s, n);
		all += p;
		above += p * (is_repeated ? (double)times : times > 0);
	}
	return above / all;
}

static double root_of(double x)
{
	double root = x > 1 ? x : 1;

	for (int i = 0; i < 100; i++) // Newton's method
		root = (root + x / root) / 2;
	return root;
}

/* As many of @p places as are expected to overflow, and three deviations
 * more. */
static uint64_t bound(double places, double each)
{
	double mean = places * each;
	double variance = mean * (each < 1 ? 1 - each : 1);

	return (uint64_t)(mean + 3 * root_of(variance) + 0.999);
}

// ---------------------------------------------------------------- Swiss maps

/* Tables with so many slots each, and their groups. */
static uint64_t tables_bytes(const struct gr_map_pieces *p, uint64_t count,
			     uint64_t slots)
{
	return count * (gr_slot_of(p->classes, p->table_bytes, false) +
			gr_slot_of(p->classes, slots / SLOTS * p->piece_bytes,
				   p->is_noscan));
}

static uint64_t swiss_bytes(const struct gr_map_pieces *p, uint64_t entries)
{
	if (entries <= SLOTS)
		return gr_slot_of(p->classes, entries ? p->piece_bytes : 0,
				  p->is_noscan);
	uint64_t target = entries * SLOTS / MAX_LOAD, full = 0;
	uint64_t dir = power_above((target + MAX_TABLE - 1) / MAX_TABLE);
	uint64_t each = target / dir > SLOTS ? target / dir : SLOTS;
	uint64_t slots = power_above(each), pointers = dir;
	struct spread spread = { entries, dir };

	// Tables that are full grow, or are split when they cannot.
	if (dir > 1)
		full = bound((double)dir,
			     expect_above(&spread, slots * MAX_LOAD / SLOTS,
					  false));
	if (full > dir)
		full = dir;
	if (full && slots == MAX_TABLE)
		pointers = 2 * dir;
	return gr_slot_of(p->classes, pointers * GR_WORD_BYTES, false) +
	       tables_bytes(p, dir - full, slots) +
	       (slots < MAX_TABLE ? tables_bytes(p, full, 2 * slots) :
				    tables_bytes(p, 2 * full, slots));
}

// --------------------------------------------------------------- bucket maps

/* The list that keeps @p count overflow buckets without pointers. Source:
 * runtime/slice.go (nextslicecap). */
static uint64_t list_bytes(const struct gr_map_pieces *p, uint64_t count)
{
	uint64_t most = count < DOUBLED ? 2 * count :
					  count + count / 4 + DOUBLED;

	return count ? gr_slot_of(p->classes, LIST_BYTES, false) +
			       gr_slot_of(p->classes, most * GR_WORD_BYTES,
					  false) :
		       0;
}

static uint64_t bucket_bytes(const struct gr_map_pieces *p, uint64_t entries)
{
	uint64_t buckets = 1, log = 0, overflow = 0;

	while (entries > SLOTS && entries * 2 > p->double_load * buckets) {
		buckets *= 2;
		log++;
	}
	uint64_t bytes = (log < MIN_SPARE_LOG ?
				  buckets :
				  buckets + (buckets >> MIN_SPARE_LOG)) *
			 p->piece_bytes;
	uint64_t slot = gr_slot_of(p->classes, bytes, p->is_noscan);
	uint64_t spare = log < MIN_SPARE_LOG ? 0 :
					       slot / p->piece_bytes - buckets;
	struct spread spread = { entries, buckets };

	if (buckets > 1)
		overflow = bound((double)buckets,
				 expect_above(&spread, SLOTS, true));
	if (spare || (overflow && p->is_noscan))
		slot += gr_slot_of(p->classes, p->extra_bytes, false);
	if (p->is_noscan)
		slot += list_bytes(p, overflow);
	if (overflow > spare)
		slot += (overflow - spare) *
			gr_slot_of(p->classes, p->piece_bytes, p->is_noscan);
	return slot;
}

uint64_t gr_map_fresh_bytes(const struct gr_map_pieces *p, uint64_t entries)
{
	uint64_t header = gr_slot_of(p->classes, p->header_bytes, false);

	if (!entries || !p->piece_bytes)
		return header;
	if (entries > GR_MAP_MAX_ENTRIES)
		return UINT64_MAX;
	return header + (p->table_bytes ? swiss_bytes(p, entries) :
					  bucket_bytes(p, entries));
}
