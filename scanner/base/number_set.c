// SPDX-License-Identifier: Apache-2.0
#include "base/number_set.h"

#include "base/hash.h"

enum { FIRST_SLOTS = 64 };

void gr_number_set_deinit(struct gr_number_set *set)
{
	free(set->slots);
	memset(set, 0, sizeof(*set));
}

/* Return the slot that holds the number, or the free slot for it. */
static uint64_t *slot_of(const struct gr_number_set *set, uint64_t number)
{
	size_t at = gr_hash_number(number) & (set->nslots - 1);

	while (set->slots[at] && set->slots[at] != number + 1)
		at = (at + 1) & (set->nslots - 1);
	return &set->slots[at];
}

bool gr_number_set_has(const struct gr_number_set *set, uint64_t number)
{
	return set->count && *slot_of(set, number);
}

static bool grow(struct gr_number_set *set)
{
	struct gr_number_set grown = {
		.nslots = set->nslots ? set->nslots * 2 : FIRST_SLOTS,
		.count = set->count,
	};

	grown.slots = calloc(grown.nslots, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < set->nslots; i++)
		if (set->slots[i])
			*slot_of(&grown, set->slots[i] - 1) = set->slots[i];
	free(set->slots);
	*set = grown;
	return true;
}

bool gr_number_set_add(struct gr_number_set *set, uint64_t number, bool *is_new)
{
	// Half of the slots stay free, so that searches are short.
	if (set->count * 2 >= set->nslots && !grow(set))
		return false;
	uint64_t *slot = slot_of(set, number);
	*is_new = !*slot;
	if (*is_new) {
		*slot = number + 1;
		set->count++;
	}
	return true;
}
