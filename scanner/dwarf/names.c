// SPDX-License-Identifier: Apache-2.0
#include "dwarf/names.h"

#include "base/text.h"
#include "base/vector.h"
#include "dwarf/index.h"
#include "dwarf/store_check.h"

enum {
	PIECE_BYTES = 1 << 18, // between two polls
	// A variable that has escaped has `&` in front of its name.
	MOST_BYTES = GR_NAME_MAX_BYTES + 1,
};

// The slot of a name, or the free one where it belongs. Offset 0: free.
static uint32_t *slot_of(struct gr_names *names, const char *name)
{
	uint32_t i = gr_name_hash(name) & (names->nslots - 1);

	while (names->slots[i] && strcmp(names->text + names->slots[i], name))
		i = (i + 1) & (names->nslots - 1);
	return &names->slots[i];
}

static bool grow_slots(struct gr_names *names)
{
	uint32_t *old = names->slots, nold = names->nslots;

	names->nslots = nold ? nold * 2 : 1 << 14;
	names->slots = calloc(names->nslots, sizeof(*names->slots));
	if (!names->slots) {
		names->slots = old;
		names->nslots = nold;
		return false;
	}
	for (uint32_t i = 0; i < nold; i++)
		if (old[i])
			*slot_of(names, names->text + old[i]) = old[i];
	free(old);
	return true;
}

// Append a new name.
static bool add_name(struct gr_names *names, const char *name, uint32_t *slot)
{
	size_t bytes = strlen(name) + 1;

	if (names->text_bytes + bytes > UINT32_MAX / 2 ||
	    (names->capacity < names->text_bytes + bytes &&
	     !gr_vector_grow((void **)&names->text, &names->capacity,
			     names->text_bytes + bytes, 1)))
		return false;
	memcpy(names->text + names->text_bytes, name, bytes);
	if (slot) {
		*slot = (uint32_t)names->text_bytes;
		names->nused++;
	}
	names->text_bytes += bytes;
	return true;
}

bool gr_names_init(struct gr_names *names)
{
	memset(names, 0, sizeof(*names));
	return add_name(names, "", NULL);
}

void gr_names_deinit(struct gr_names *names)
{
	free(names->text);
	free(names->slots);
}

bool gr_names_pack(struct gr_names *names, const char **slot, bool may_lack)
{
	uint32_t *found;

	(void)may_lack;
	if (!*slot)
		return true;
	if (names->nused * 2 >= names->nslots && !grow_slots(names))
		return false;
	found = slot_of(names, *slot);
	if (!*found && !add_name(names, *slot, found))
		return false;
	*slot = (const char *)(uintptr_t)*found;
	return true;
}

bool gr_names_are_clean(const struct gr_names *names)
{
	const char *text = names->text;
	size_t bytes = names->text_bytes;

	if (!bytes || text[0] || text[bytes - 1])
		return false;
	for (size_t i = 0, start = 0, next = PIECE_BYTES; i < bytes;) {
		size_t n = text[i] == '\0' ?
				   1 :
				   gr_text_character(text + i, bytes - i);
		if (!n)
			return false;
		if (text[i] == '\0')
			start = i + 1;
		i += n;
		if (i > start + MOST_BYTES)
			return false;
		if (i < next)
			continue;
		next = i + PIECE_BYTES;
		if (!gr_store_check_bytes(names->check, PIECE_BYTES))
			return false;
	}
	return true;
}

bool gr_names_unpack(struct gr_names *names, const char **slot, bool may_lack)
{
	uint64_t off = (uintptr_t)*slot;

	if (!off) {
		*slot = NULL;
		return may_lack;
	}
	if (off >= names->text_bytes || names->text[off - 1])
		return false;
	*slot = names->text + off;
	return true;
}
