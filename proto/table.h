/* SPDX-License-Identifier: Apache-2.0 */
/**
 * table: an open-addressing table of numbers, which the caller hashes and
 * compares, and a table of strings in the order of their addition.
 */
#ifndef GR_TABLE_H
#define GR_TABLE_H

#include "base/base.h"

#define GR_TABLE_NONE UINT32_MAX

struct gr_table_slot {
	uint32_t hash;
	uint32_t value; /**< GR_TABLE_NONE: free. */
};

/** Invariant: at most two thirds full. Zero-initialised is ready to reserve. */
struct gr_table {
	struct gr_table_slot *slots;
	size_t mask;
	size_t used;
};

void gr_table_deinit(struct gr_table *t);

/** Make room for @p more values; false if no memory is left. */
bool gr_table_reserve(struct gr_table *t, size_t more);

/** The next value with this hash, or GR_TABLE_NONE. *@p pos starts as the
 * hash. The table has been reserved. */
static inline uint32_t gr_table_next(const struct gr_table *t, uint32_t hash,
				     size_t *pos)
{
	for (;; ++*pos) {
		const struct gr_table_slot *slot = &t->slots[*pos & t->mask];

		if (slot->value == GR_TABLE_NONE)
			return GR_TABLE_NONE;
		if (slot->hash == hash) {
			++*pos;
			return slot->value;
		}
	}
}

/** Add a value. gr_table_reserve() has made room. */
void gr_table_add(struct gr_table *t, uint32_t hash, uint32_t value);

static inline uint64_t gr_hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/** Hash a string; NULL is allowed. */
uint64_t gr_hash_string(const char *s);

/** A table that holds each string once. The caller keeps owning the strings. */
struct gr_strings {
	const char **strings;
	size_t count;
	size_t capacity;
	struct gr_table table;
};

void gr_strings_deinit(struct gr_strings *s);

/** The number of a string, NULL as ""; -1 if no memory is left. */
int64_t gr_strings_add(struct gr_strings *s, const char *text);

#endif /* GR_TABLE_H */
