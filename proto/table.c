// SPDX-License-Identifier: Apache-2.0
#include "proto/table.h"

#include "base/huge.h"

void gr_table_deinit(struct gr_table *t)
{
	free(t->slots);
	memset(t, 0, sizeof(*t));
}

void gr_table_add(struct gr_table *t, uint32_t hash, uint32_t value)
{
	size_t i = hash;

	while (t->slots[i & t->mask].value != GR_TABLE_NONE)
		i++;
	t->slots[i & t->mask] = (struct gr_table_slot){ hash, value };
	t->used++;
}

bool gr_table_reserve(struct gr_table *t, size_t more)
{
	struct gr_table new = { .mask = t->slots ? t->mask : 1023 };
	size_t limit;

	// A caller may reserve a few thousand values at a time or 2^32 at once.
	while (limit = new.mask / 3 * 2, t->used + more > limit)
		new.mask = 2 * new.mask + 1;
	if (t->slots && new.mask == t->mask)
		return true;
	new.slots = malloc((new.mask + 1) * sizeof(*new.slots));
	if (!new.slots)
		return false;
	gr_huge_advise(new.slots, (new.mask + 1) * sizeof(*new.slots));
	memset(new.slots, 0xff, (new.mask + 1) * sizeof(*new.slots));
	for (size_t i = 0; t->slots && i <= t->mask; i++) {
		if (t->slots[i].value != GR_TABLE_NONE)
			gr_table_add(&new, t->slots[i].hash, t->slots[i].value);
	}
	free(t->slots);
	*t = new;
	return true;
}

uint64_t gr_hash_string(const char *s)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; s && *s; s++)
		hash = (hash ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
	return gr_hash_mix(hash, 0);
}

void gr_strings_deinit(struct gr_strings *s)
{
	free(s->strings);
	gr_table_deinit(&s->table);
	memset(s, 0, sizeof(*s));
}

static bool grow(struct gr_strings *s)
{
	if (s->count < s->capacity)
		return true;
	size_t capacity = s->capacity ? 2 * s->capacity : 256;
	const char **strings = realloc(s->strings, capacity * sizeof(*strings));
	if (!strings)
		return false;
	s->strings = strings;
	s->capacity = capacity;
	return true;
}

int64_t gr_strings_add(struct gr_strings *s, const char *text)
{
	uint32_t hash = (uint32_t)gr_hash_string(text);
	size_t pos = hash;
	uint32_t found;

	if (!text)
		text = "";
	if (!gr_table_reserve(&s->table, 1) || !grow(s))
		return -1;
	while ((found = gr_table_next(&s->table, hash, &pos)) !=
	       GR_TABLE_NONE) {
		if (!strcmp(s->strings[found], text))
			return found;
	}
	gr_table_add(&s->table, hash, (uint32_t)s->count);
	s->strings[s->count] = text;
	return (int64_t)s->count++;
}
