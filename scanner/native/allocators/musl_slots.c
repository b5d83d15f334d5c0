// SPDX-License-Identifier: Apache-2.0
/*
 * A slot that is in use has a block, or a smaller group. The four bytes before
 * its address are its header: the slot's number, and how far from the group it
 * begins. It need not begin where the slot does: malloc() moves blocks inside of
 * slots that have room, so that addresses are used again less soon, and
 * aligned_alloc() must. Then the header at the start of the slot says how far it
 * was moved.
 */
#include "native/allocators/musl.h"

#include "base/cleanup.h"
#include "base/sort.h"

#include <elf.h>

enum {
	MOVED = 7 << 5,	    /* the header leads to the block */
	FREED = 0xff,	    /* free() has it; also of blocks that were freed */
	RESERVED_GROUP = 6, /* the slot has a group */
	MOST_OFFSET = 0xffff,
	/* Steps of all slots whose blocks were moved farther than a header can
	 * tell. Each is 1 MiB of a slot. */
	MOST_FAR_STEPS = 1 << 22,
};
#define FAR_STEP (UINT64_C(16) << 16)

/** The header of a block (get_slot_index() in malloc/mallocng/meta.h). */
struct header {
	uint8_t is_wide; /* its offset has 32 bits */
	uint8_t number;	 /* the slot's, and in three bits: reserved */
	uint16_t offset; /* in units */
	uint32_t wide_offset;
};

/** A slot of a group. */
struct slot {
	const struct gr_musl_group *group;
	unsigned int number;
	uint64_t start, end;
};

/** The content of a slot that is in use. */
struct content {
	uint64_t addr; /* 0: no block, as its header says */
	bool is_group;
	bool is_freed; /* its header says that free() has it */
	bool is_missing;
};

// -------------------------------------------------------------------- memory

static int compare_places(const void *a, const void *b)
{
	const struct gr_musl_place *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static struct gr_error *sort_places(struct gr_musl *m,
				    struct gr_musl_place_vector *list)
{
	const struct gr_runtime *rt = m->r->spec->rt;

	return gr_sort(list->data, list->size, sizeof(*list->data),
		       compare_places, rt->poll, rt->poll_ctx);
}

/* List the areas, and the groups that are in no other one. */
static struct gr_error *list_places(struct gr_musl *m,
				    struct gr_musl_place_vector *places)
{
	struct gr_runtime *rt = m->r->spec->rt;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < m->areas.size; i++) {
		uint64_t at = m->areas.data[i];
		const struct gr_musl_place place = { at,
						     at + GR_MUSL_AREA_BYTES,
						     UINT32_MAX };

		err = gr_runtime_append(rt, gr_musl_place_vector, places,
					place);
	}
	for (size_t i = 0; !err && i < m->groups.size; i++) {
		const struct gr_musl_group *group = &m->groups.data[i];
		const struct gr_musl_place place = { group->mem,
						     group->memory_end, i };

		err = gr_runtime_append(
			rt, gr_musl_place_vector,
			group->kind == GR_MUSL_NESTED ? &m->nested : places,
			place);
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	if (!err)
		err = sort_places(m, &m->nested);
	return err ? err : sort_places(m, places);
}

/* Is all of it memory that the program may write? Bounded by the mappings in
 * it. */
static bool is_mapped(const struct gr_musl *m,
		      const struct gr_musl_place *place)
{
	const struct gr_mapping_vector *list =
		&m->r->spec->residency->mappings.list;
	uint64_t at = place->start;

	for (size_t i = gr_count_before(list->size, k, list->data[k].end <= at);
	     i < list->size && at < place->end && list->data[i].start <= at &&
	     (list->data[i].flags & PF_W);
	     i++)
		at = list->data[i].end > at ? list->data[i].end : at;
	return at >= place->end;
}

/* Add the memory of an area or group. */
static struct gr_error *add_place(struct gr_musl *m,
				  const struct gr_musl_place *place)
{
	size_t before = m->r->native->memory.size;
	struct gr_error *err =
		gr_reader_add_memory(m->r, m->arena, place->start, place->end);

	if (err || m->r->native->memory.size == before)
		return err;
	if (place->group == UINT32_MAX)
		return gr_reader_add_other(m->r, m->arena, place->start,
					   place->end);
	struct gr_musl_group *group = &m->groups.data[place->group];

	group->is_placed = true;
	return gr_reader_add_other(m->r, m->arena, group->end,
				   group->memory_end);
}

static struct gr_error *add_places(struct gr_musl *m,
				   const struct gr_musl_place_vector *places)
{
	struct gr_error *err = NULL;
	uint64_t end = 0;

	for (size_t i = 0; !err && i < places->size; i++) {
		const struct gr_musl_place *place = &places->data[i];

		err = gr_runtime_step(m->r->spec->rt, 8);
		if (err)
			break;
		if (place->start < end) {
			gr_arena_fail(gr_musl_arena(m), "its groups overlap");
			continue;
		}
		end = place->end;
		if (is_mapped(m, place))
			err = add_place(m, place);
		else
			gr_arena_fail(gr_musl_arena(m),
				      "its memory is not mapped");
	}
	return err;
}

// ------------------------------------------------------------------- headers

/* Read the header before @p addr; false if it is not at hand. The four bytes
 * before it are the program's, mostly. */
static bool read_header(struct gr_musl *m, uint64_t addr, struct header *ret)
{
	struct gr_recorder *recorder = m->r->spec->rt->recorder;
	uint64_t word;

	if (!gr_view_word(&m->quiet, addr - GR_WORD_BYTES, &word))
		return false;
	ret->is_wide = word >> 32;
	ret->number = word >> 40;
	ret->offset = word >> 48;
	ret->wide_offset = word;
	if (recorder) {
		uint64_t bytes = ret->is_wide == 1 ? GR_WORD_BYTES :
						     GR_MUSL_HEADER_BYTES;

		gr_recorder_add(recorder, addr - bytes, bytes);
	}
	return true;
}

/* Is it the header of the slot's block, if that is at @p addr? */
static bool is_header(const struct slot *slot, uint64_t addr,
		      const struct header *h)
{
	uint64_t from = slot->group->mem + GR_MUSL_GROUP_BYTES;
	uint64_t offset = h->is_wide ? h->wide_offset : h->offset;

	return (h->number & 31) == slot->number &&
	       h->number >> 5 <= RESERVED_GROUP &&
	       (!h->is_wide || (h->is_wide == 1 && !h->offset &&
				h->wide_offset > MOST_OFFSET)) &&
	       from + offset * GR_MUSL_UNIT == addr;
}

static bool is_freed(const struct header *h)
{
	return h->is_wide <= 1 && h->number == FREED && !h->offset;
}

/* Is there a block of a slot at @p addr? */
static void look_at(struct gr_musl *m, const struct slot *slot, uint64_t addr,
		    struct content *ret)
{
	struct header h;

	if (!read_header(m, addr, &h)) {
		ret->is_missing = true;
	} else if (is_header(slot, addr, &h)) {
		ret->addr = addr;
		ret->is_group = h.number >> 5 == RESERVED_GROUP;
	} else {
		ret->is_freed |= is_freed(&h);
	}
}

/* Find the block of a slot that is in use. If it was moved, a header tells only
 * the lower 16 bits of how far. Bounded by MiB of the slot. */
static struct gr_error *find_block(struct gr_musl *m, const struct slot *slot,
				   struct content *ret)
{
	uint64_t end = slot->end - GR_MUSL_HEADER_BYTES, at = slot->start;
	struct gr_error *err = NULL;
	struct header h;

	*ret = (struct content){ 0 };
	ret->is_missing = !read_header(m, at, &h);
	if (ret->is_missing)
		return NULL;
	if (h.number != MOVED) {
		look_at(m, slot, at, ret);
		return NULL;
	}
	for (at += (uint64_t)h.offset * GR_MUSL_UNIT;
	     !err && at < end && !ret->addr; at += FAR_STEP) {
		look_at(m, slot, at, ret);
		if (!ret->addr && m->far_steps++ >= MOST_FAR_STEPS)
			break;
		err = gr_runtime_step(m->r->spec->rt, 1);
	}
	return err;
}

/* Does a slot that is free have the header of a block? free() leaves none. */
static bool has_block(struct gr_musl *m, const struct slot *slot)
{
	uint64_t end = slot->end - GR_MUSL_HEADER_BYTES, at = slot->start;
	struct header h;

	// Memory that was donated is zeros at first.
	if (slot->group->kind == GR_MUSL_DONATED ||
	    slot->number > slot->group->last_active || !read_header(m, at, &h))
		return false;
	if (h.number == MOVED) {
		at += (uint64_t)h.offset * GR_MUSL_UNIT;
		if (at >= end || !read_header(m, at, &h))
			return false;
	}
	return is_header(slot, at, &h) && h.number >> 5 != RESERVED_GROUP;
}

// --------------------------------------------------------------------- slots

static void add_free(struct gr_musl *m, const struct slot *slot)
{
	struct gr_native_arena *arena = gr_musl_arena(m);
	uint64_t bytes = slot->end - slot->start;

	if (has_block(m, slot))
		gr_arena_fail(arena, "its groups are damaged");
	arena->free_blocks++;
	if (arena->largest_free_bytes < bytes)
		arena->largest_free_bytes = bytes;
	gr_reader_count_free(m->r, arena, slot->start, bytes);
}

/* Add the group in a slot to those that are walked. It is smaller than the slot,
 * and in no other one. */
static struct gr_error *add_nested(struct gr_musl *m, const struct slot *slot,
				   uint64_t mem,
				   struct gr_musl_place_vector *places)
{
	const struct gr_musl_place_vector *list = &m->nested;
	size_t n = gr_count_before(list->size, i, list->data[i].start < mem);
	struct gr_musl_group *group =
		n < list->size && list->data[n].start == mem ?
			&m->groups.data[list->data[n].group] :
			NULL;

	if (!group || group->is_placed || group->end > slot->end) {
		gr_arena_fail(gr_musl_arena(m), "its groups are damaged");
		return NULL;
	}
	group->is_placed = true;
	struct gr_error *err = gr_runtime_append(
		m->r->spec->rt, gr_musl_place_vector, places, list->data[n]);
	if (!err)
		err = gr_reader_add_other(m->r, m->arena, slot->start, mem);
	return err ? err :
		     gr_reader_add_other(m->r, m->arena, group->end, slot->end);
}

/* May the block of a slot have no header yet? Memory of a new group is zeros,
 * which are a header in the first slot. */
static bool is_fresh(struct gr_musl *m, const struct slot *slot, uint64_t addr)
{
	struct gr_recorder *recorder = m->r->spec->rt->recorder;
	uint64_t word;
	struct header h;

	if (slot->number || addr != slot->start || !read_header(m, addr, &h) ||
	    h.is_wide || h.number || h.offset ||
	    !gr_view_word(&m->quiet, addr, &word))
		return false;
	// One byte tells that a word is not 0. The others are the program's.
	if (recorder && word)
		gr_recorder_add(recorder, addr + __builtin_ctzll(word) / 8, 1);
	else if (recorder)
		gr_recorder_add(recorder, addr, GR_WORD_BYTES);
	return !word;
}

/* Add a slot without a block or group: nobody knows what a header says that is
 * not written so far, or was. What the slot has may be a block, and hold others. */
static struct gr_error *add_unknown(struct gr_musl *m, const struct slot *slot)
{
	const struct gr_native_range range = { slot->start, slot->end,
					       m->arena };

	m->ncoming++;
	return gr_runtime_append(m->r->spec->rt, gr_native_range_vector,
				 &m->r->native->foreign, range);
}

/* Add what is in a slot that is in use. */
static struct gr_error *add_in_use(struct gr_musl *m, const struct slot *slot,
				   struct gr_musl_place_vector *places)
{
	struct content content;
	struct gr_error *err = find_block(m, slot, &content);

	if (err)
		return err;
	if (content.addr && content.is_group)
		return add_nested(m, slot, content.addr, places);
	if (content.addr) {
		m->nfresh += is_fresh(m, slot, content.addr);
		err = gr_reader_add_block(m->r, &m->blocks, m->arena,
					  content.addr,
					  slot->end - content.addr, 0);
		return err ? err :
			     gr_reader_add_other(m->r, m->arena, slot->start,
						 content.addr);
	}
	if (content.is_missing)
		gr_arena_miss(gr_musl_arena(m));
	else if (content.is_freed)
		m->nleaving++;
	else
		err = add_unknown(m, slot);
	return err ? err :
		     gr_reader_add_other(m->r, m->arena, slot->start,
					 slot->end);
}

static struct gr_error *walk_group(struct gr_musl *m, uint32_t index,
				   struct gr_musl_place_vector *places)
{
	const struct gr_musl_group *group = &m->groups.data[index];
	uint64_t from = group->mem + GR_MUSL_GROUP_BYTES;
	struct gr_error *err =
		gr_reader_add_other(m->r, m->arena, group->mem, from);

	for (unsigned int i = 0; !err && i < group->nslots; i++) {
		const struct slot slot = { group, i, from + i * group->stride,
					   from + (i + 1) * group->stride };

		if (group->free >> i & 1)
			add_free(m, &slot);
		else
			err = add_in_use(m, &slot, places);
		if (!err)
			err = gr_runtime_step(m->r->spec->rt, 2);
	}
	return err;
}

/* Walk the groups, also those in slots of others, which become more places. Each
 * is walked once. */
static struct gr_error *walk_places(struct gr_musl *m,
				    struct gr_musl_place_vector *places)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < places->size; i++) {
		uint32_t group = places->data[i].group;

		if (group != UINT32_MAX && m->groups.data[group].is_placed)
			err = walk_group(m, group, places);
	}
	for (size_t i = 0; !err && i < m->groups.size; i++) {
		if (!m->groups.data[i].is_placed)
			gr_arena_fail(gr_musl_arena(m),
				      "its groups are damaged");
		err = gr_runtime_step(m->r->spec->rt, 1);
	}
	return err;
}

struct gr_error *gr_musl_read_slots(struct gr_musl *m)
{
	_cleanup_(gr_musl_place_vector_deinit) struct gr_musl_place_vector
		places = { 0 };
	struct gr_error *err = list_places(m, &places);

	if (!err)
		err = add_places(m, &places);
	return err ? err : walk_places(m, &places);
}
