// SPDX-License-Identifier: Apache-2.0
#include "dwarf/index.h"

// With half of the slots free, a look-up takes two or three probes. A crafted
// file may have many names for one slot. Names that would take more probes than
// this limit are not in the index.
enum { PROBES_MAX = 1024 };

static const char *name_at(struct gr_column names, uint32_t row)
{
	const char *name;
	memcpy(&name, (const char *)names.first + row * names.stride,
	       sizeof(name));
	return name;
}

static uint64_t number_at(struct gr_column numbers, uint32_t row)
{
	uint64_t number;
	memcpy(&number, (const char *)numbers.first + row * numbers.stride,
	       sizeof(number));
	return number;
}

uint32_t gr_name_hash(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return hash ^ hash >> 15;
}

static uint32_t hash_number(uint64_t number)
{
	return (uint32_t)(number * 0x9e3779b97f4a7c15u >> 32);
}

bool gr_index_init(struct gr_index *index, size_t count)
{
	size_t nslots = 16;

	while (nslots < count * 2)
		nslots *= 2;
	index->slots = malloc(nslots * sizeof(*index->slots));
	if (!index->slots)
		return false;
	memset(index->slots, 0xff, nslots * sizeof(*index->slots));
	index->mask = (uint32_t)(nslots - 1);
	return true;
}

void gr_index_deinit(struct gr_index *index)
{
	free(index->slots);
	index->slots = NULL;
}

// The slot that holds the name, or the free one where it belongs; or NULL.
static uint32_t *slot_of_name(const struct gr_index *index,
			      struct gr_column names, const char *name)
{
	uint32_t hash = gr_name_hash(name);

	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		uint32_t *slot = &index->slots[(hash + i) & index->mask];
		if (*slot == UINT32_MAX ||
		    strcmp(name_at(names, *slot), name) == 0)
			return slot;
	}
	return NULL;
}

static uint32_t *slot_of_number(const struct gr_index *index,
				struct gr_column numbers, uint64_t number)
{
	uint32_t hash = hash_number(number);

	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		uint32_t *slot = &index->slots[(hash + i) & index->mask];
		if (*slot == UINT32_MAX || number_at(numbers, *slot) == number)
			return slot;
	}
	return NULL;
}

void gr_index_add_name(struct gr_index *index, struct gr_column names,
		       uint32_t row)
{
	uint32_t *slot = slot_of_name(index, names, name_at(names, row));
	if (slot && *slot == UINT32_MAX)
		*slot = row;
}

void gr_index_add_number(struct gr_index *index, struct gr_column numbers,
			 uint32_t row)
{
	uint32_t *slot =
		slot_of_number(index, numbers, number_at(numbers, row));
	if (slot && *slot == UINT32_MAX)
		*slot = row;
}

uint32_t gr_index_find_name(const struct gr_index *index,
			    struct gr_column names, const char *name)
{
	const uint32_t *slot = slot_of_name(index, names, name);

	return slot ? *slot : UINT32_MAX;
}

uint32_t gr_index_find_number(const struct gr_index *index,
			      struct gr_column numbers, uint64_t number)
{
	const uint32_t *slot = slot_of_number(index, numbers, number);

	return slot ? *slot : UINT32_MAX;
}
