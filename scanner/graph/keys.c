// SPDX-License-Identifier: Apache-2.0
/* Open addressing with linear probing, and the mixer of splitmix64. Some keys are
 * the target's choice: hence the seed. */
#include "graph/keys.h"

#include "base/hash.h"

#include <assert.h>

enum { MIN_CAPACITY = 64 };

static uint64_t mix(uint64_t key, uint32_t parent)
{
	uint64_t x =
		(key ^ gr_hash_seed()) + parent * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* The slot of a pair, or the free one where it belongs. */
static struct gr_key_slot *slot_of(const struct gr_keys *keys, uint64_t key,
				   uint32_t parent)
{
	for (uint64_t i = mix(key, parent);; i++) {
		struct gr_key_slot *slot =
			&keys->slots[i & (keys->capacity - 1)];
		if (!slot->index ||
		    (slot->key == key && slot->parent == parent))
			return slot;
	}
}

static bool grow(struct gr_keys *keys)
{
	struct gr_keys more = {
		.capacity = keys->capacity ? keys->capacity * 2 : MIN_CAPACITY,
		.count = keys->count,
	};

	more.slots = calloc(more.capacity, sizeof(*more.slots));
	if (!more.slots)
		return false;
	for (uint64_t i = 0; i < keys->capacity; i++) {
		const struct gr_key_slot *slot = &keys->slots[i];
		if (slot->index)
			*slot_of(&more, slot->key, slot->parent) = *slot;
	}
	free(keys->slots);
	*keys = more;
	return true;
}

uint32_t gr_keys_find(const struct gr_keys *keys, uint64_t key, uint32_t parent)
{
	if (!keys->capacity)
		return UINT32_MAX;
	return slot_of(keys, key, parent)->index - 1;
}

bool gr_keys_add(struct gr_keys *keys, uint64_t key, uint32_t parent,
		 uint32_t index)
{
	if (keys->count >= keys->capacity / 2 && !grow(keys))
		return false;
	struct gr_key_slot *slot = slot_of(keys, key, parent);
	assert(!slot->index && index != UINT32_MAX);
	*slot = (struct gr_key_slot){ .key = key,
				      .parent = parent,
				      .index = index + 1 };
	keys->count++;
	return true;
}

void gr_keys_deinit(struct gr_keys *keys)
{
	free(keys->slots);
	memset(keys, 0, sizeof(*keys));
}
