// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/places.h"

#include "base/hash.h"

enum {
	SLOTS = 1 << 17,
	MAX_PLACES = SLOTS / 2,
};

/** A slot of the table; id 0: free. */
struct gr_place_slot {
	uint64_t pc;
	uint32_t id;
};

struct gr_places {
	struct gr_unwinder *unwinder;
	struct gr_place_slot *slots;
	size_t count;
	uint64_t generation;
	uint32_t last_id;
	char name[GR_PLACE_NAME_BYTES];
};

struct gr_error *gr_places_new(struct gr_unwinder *unwinder,
			       struct gr_places **ret)
{
	struct gr_places *places = calloc(1, sizeof(*places));

	if (places)
		places->slots = calloc(SLOTS, sizeof(*places->slots));
	if (!places || !places->slots) {
		free(places);
		return &gr_enomem;
	}
	places->unwinder = unwinder;
	*ret = places;
	return NULL;
}

void gr_places_destroy(struct gr_places *places)
{
	if (!places)
		return;
	free(places->slots);
	free(places);
}

static struct gr_place_slot *slot_of(struct gr_places *places, uint64_t pc)
{
	uint64_t i = gr_hash_number(pc) % SLOTS;

	// Bounded by SLOTS: at least half of them are free.
	while (places->slots[i].id && places->slots[i].pc != pc)
		i = (i + 1) % SLOTS;
	return &places->slots[i];
}

static void clear(struct gr_places *places)
{
	memset(places->slots, 0, SLOTS * sizeof(*places->slots));
	places->count = 0;
}

static void describe(struct gr_places *places, uint64_t pc,
		     const struct gr_code_place *where,
		     struct gr_trace_place *ret)
{
	gr_unwinder_name(places->unwinder, pc, where, places->name,
			 sizeof(places->name));
	ret->name = places->name;
	ret->path = "";
	ret->off = where->off;
	if (!where->file)
		return;
	ret->file = where->file->id;
	ret->path = where->file->path;
	ret->is_new_file = !where->file->is_named;
	where->file->is_named = true;
}

void gr_places_find(struct gr_places *places, uint64_t pc,
		    struct gr_trace_place *ret)
{
	struct gr_code_place where;

	*ret = (struct gr_trace_place){ .name = "", .path = "" };
	gr_unwinder_find(places->unwinder, pc, &where);
	uint64_t generation = gr_unwinder_generation(places->unwinder);
	if (places->generation != generation || places->count == MAX_PLACES)
		clear(places);
	places->generation = generation;
	struct gr_place_slot *slot = slot_of(places, pc);
	if (!slot->id) {
		*slot = (struct gr_place_slot){ pc, ++places->last_id };
		places->count++;
		ret->is_new = true;
		describe(places, pc, &where, ret);
	}
	ret->id = slot->id;
}
