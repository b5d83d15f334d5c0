// SPDX-License-Identifier: Apache-2.0
#include "goruntime/types/map_entries.h"

#include "base/cleanup.h"
#include "inferior/recorder.h"

enum {
	MAX_B = 48,
	EMPTY_ONE = 1,		   /* tophash of a slot that is empty */
	MAX_PIECE_BYTES = 1 << 16, /* of a bucket or group: 2 kB are usual */
	STEP_BYTES = 100,	   /* runtime.h: of a step */
};

/* Keys and elements are values, which a file may be saved without. */
static struct gr_error *read_bytes(struct gr_map_cursor *c, uint64_t addr,
				   void *buf, uint64_t bytes)
{
	gr_recorder_pause(c->rt->recorder);
	struct gr_error *err =
		gr_image_read_late(c->rt->image, addr, buf, bytes);
	gr_recorder_resume(c->rt->recorder);
	if (err && err->code == GR_ERROR_FAULT)
		c->missing_addr = addr;
	return err;
}

/* Read an unsigned field of the runtime's record at @p addr. */
static struct gr_error *read_field(struct gr_map_cursor *c, uint64_t addr,
				   struct gr_field field, uint64_t *ret)
{
	uint8_t bytes[sizeof(*ret)] = { 0 };
	struct gr_error *err;

	if (field.bytes > sizeof(bytes))
		field.bytes = sizeof(bytes);
	err = read_bytes(c, addr + field.off, bytes, field.bytes);
	*ret = gr_load_u64(bytes);
	return err;
}

static struct gr_error *read_word(struct gr_map_cursor *c, uint64_t addr,
				  uint64_t *ret)
{
	*ret = 0;
	return read_bytes(c, addr, ret, sizeof(*ret));
}

// --------------------------------------------------------------------- begin

/* Do the keys, or the elements, of all slots lie inside a piece? */
static bool is_part_sound(const struct gr_map_shape *shape,
			  const struct gr_map_part *part, uint64_t bytes)
{
	if (part->is_indirect)
		bytes = GR_WORD_BYTES;
	return part->off_bytes <= shape->bytes &&
	       part->stride <= MAX_PIECE_BYTES && bytes <= MAX_PIECE_BYTES &&
	       part->off_bytes + (GR_MAP_SLOTS - 1) * part->stride + bytes <=
		       shape->bytes;
}

static struct gr_error *find_shape(struct gr_types *types, gr_type_id id,
				   struct gr_map_cursor *c)
{
	// A copy, because types may be made.
	struct gr_type map = *gr_types_get(types, id);
	struct gr_error *err;

	if (map.key == GR_TYPE_NONE || map.elem == GR_TYPE_NONE)
		return gr_error_format(GR_ERROR_FORMAT,
				       "the types of the keys and elements of "
				       "%s are not known",
				       map.name);
	err = gr_map_find_shape(&c->rt->layout, types, &map, &c->shape);
	if (err)
		return err;
	if (c->shape.bytes < GR_MAP_SLOTS + GR_WORD_BYTES ||
	    c->shape.bytes > MAX_PIECE_BYTES ||
	    !is_part_sound(&c->shape, &c->shape.key,
			   gr_types_get(types, map.key)->size_bytes) ||
	    !is_part_sound(&c->shape, &c->shape.elem,
			   gr_types_get(types, map.elem)->size_bytes))
		return gr_error_format(
			GR_ERROR_FORMAT,
			"the debug information of %s makes no sense", map.name);
	return NULL;
}

static struct gr_error *begin_buckets(struct gr_map_cursor *c, uint64_t header)
{
	const typeof(c->rt->layout.hmap) *f = &c->rt->layout.hmap;
	uint64_t log = 0, flags = 0;
	struct gr_error *err = read_field(c, header, f->b, &log);

	if (!err)
		err = read_field(c, header, f->flags, &flags);
	if (!err)
		err = read_field(c, header, f->buckets, &c->array);
	if (!err)
		err = read_field(c, header, f->oldbuckets, &c->old);
	if (err)
		return err;
	if (log > MAX_B)
		return gr_error_format(GR_ERROR_FORMAT,
				       "the map makes no sense: it has 2^%u "
				       "buckets",
				       (unsigned int)log);
	// The buckets of an empty map are made with its first entry.
	c->count = c->array ? UINT64_C(1) << log : 0;
	c->old_count = c->count > 1 && !(flags & GR_MAP_SAME_SIZE_GROW) ?
			       c->count / 2 :
			       c->count;
	return NULL;
}

static struct gr_error *begin_groups(struct gr_map_cursor *c, uint64_t header)
{
	const typeof(c->rt->layout.swiss_map) *f = &c->rt->layout.swiss_map;
	struct gr_error *err = read_field(c, header, f->dir_ptr, &c->dir);

	if (!err)
		err = read_field(c, header, f->dir_len, &c->tables);
	if (err || c->tables)
		return err;
	// A small map: the pointer is that of its only group.
	c->array = c->dir;
	c->count = c->dir != 0;
	return NULL;
}

struct gr_error *gr_map_count(struct gr_runtime *rt, uint64_t header,
			      uint64_t *ret)
{
	const struct gr_layout *layout = &rt->layout;
	struct gr_map_cursor cursor = { .rt = rt };

	*ret = 0;
	if (!header)
		return NULL;
	return read_field(&cursor, header,
			  layout->swiss_map.size_bytes ?
				  layout->swiss_map.used :
				  layout->hmap.count,
			  ret);
}

struct gr_error *gr_map_cursor_begin(struct gr_types *types, gr_type_id map,
				     uint64_t header, uint64_t max_bytes,
				     struct gr_map_cursor *ret)
{
	struct gr_runtime *rt = gr_types_runtime(types);
	struct gr_error *err;

	*ret = (struct gr_map_cursor){
		.rt = rt,
		.is_swiss = rt->layout.swiss_map.size_bytes,
	};
	err = find_shape(types, map, ret);
	if (err || !header)
		return err;
	ret->pieces_left = max_bytes / ret->shape.bytes;
	return ret->is_swiss ? begin_groups(ret, header) :
			       begin_buckets(ret, header);
}

// -------------------------------------------------------------------- pieces

/*
 * Find where the entries of bucket @p i are. While a map grows, they are in the
 * old bucket until that is evacuated; two new buckets share it, and the first
 * one stands for it. 0: there are none.
 */
static struct gr_error *find_bucket(struct gr_map_cursor *c, uint64_t i,
				    uint64_t *ret)
{
	static const struct gr_field first = { .off = 0, .bytes = 1 };
	uint64_t old, top;

	*ret = c->array + i * c->shape.bytes;
	if (!c->old)
		return NULL;
	old = c->old + (i & (c->old_count - 1)) * c->shape.bytes;
	struct gr_error *err = read_field(c, old, first, &top);
	if (!err && (top <= EMPTY_ONE || top >= GR_MAP_MIN_TOP_HASH))
		*ret = i < c->old_count ? old : 0;
	return err;
}

/* The next bucket: of the chain at hand, or the first one of the next chain. */
static struct gr_error *next_bucket(struct gr_map_cursor *c, uint64_t *ret)
{
	uint64_t overflow = c->shape.bytes - GR_WORD_BYTES;
	struct gr_error *err = NULL;

	if (c->piece && c->copy)
		*ret = gr_load_u64(c->copy + overflow);
	else if (c->piece)
		err = read_word(c, c->piece + overflow, ret);
	while (!err && !*ret && c->next < c->count) {
		err = gr_runtime_step(c->rt, 1);
		if (!err)
			err = find_bucket(c, c->next++, ret);
	}
	return err;
}

/* Enter the groups of the next table that is not the one before. */
static struct gr_error *enter_table(struct gr_map_cursor *c)
{
	const typeof(c->rt->layout.swiss_table) *f = &c->rt->layout.swiss_table;
	uint64_t table, mask;
	struct gr_error *err = gr_runtime_step(c->rt, 1);

	if (!err)
		err = read_word(c, c->dir + c->next_table++ * GR_WORD_BYTES,
				&table);
	// Neighbouring entries may lead to one table.
	if (err || table == c->last_table)
		return err;
	c->last_table = table;
	err = read_field(c, table, f->groups_data, &c->array);
	if (!err)
		err = read_field(c, table, f->groups_mask, &mask);
	c->next = 0;
	c->count = err ? 0 : mask < UINT64_MAX ? mask + 1 : mask;
	return err;
}

static struct gr_error *next_group(struct gr_map_cursor *c, uint64_t *ret)
{
	struct gr_error *err = NULL;

	*ret = 0;
	while (!err && c->next >= c->count && c->next_table < c->tables)
		err = enter_table(c);
	if (!err && c->next < c->count)
		*ret = c->array + c->next++ * c->shape.bytes;
	return err;
}

/* Find the slots in use of the piece at hand. A search needs all bytes of it. */
static struct gr_error *read_piece(struct gr_map_cursor *c)
{
	uint8_t control[GR_WORD_BYTES];
	uint8_t *bytes = c->copy ? c->copy : control;
	struct gr_error *err = read_bytes(
		c, c->piece, bytes, c->copy ? c->shape.bytes : sizeof(control));

	if (!err)
		c->full = gr_map_full_slots(&c->rt->layout, bytes);
	return err;
}

/* Go to the next bucket or group; c->piece is 0 behind the last one. */
static struct gr_error *next_piece(struct gr_map_cursor *c)
{
	uint64_t piece = 0;
	struct gr_error *err = c->is_swiss ? next_group(c, &piece) :
					     next_bucket(c, &piece);

	c->piece = piece;
	if (err || !c->piece)
		return err;
	if (!c->pieces_left--)
		return gr_error_format(GR_ERROR_FORMAT,
				       "the map makes no sense: it is larger "
				       "than the heap");
	err = gr_runtime_step(c->rt, 1 + c->shape.bytes / STEP_BYTES);
	return err ? err : read_piece(c);
}

// ------------------------------------------------------------------- entries

static uint64_t slot_addr(const struct gr_map_cursor *c,
			  const struct gr_map_part *part, unsigned int slot)
{
	return c->piece + part->off_bytes + slot * part->stride;
}

/* Go from a slot to the key or element, behind a pointer if that is large. */
static struct gr_error *follow(struct gr_map_cursor *c,
			       const struct gr_map_part *part, uint64_t *addr)
{
	return part->is_indirect ? read_word(c, *addr, addr) : NULL;
}

struct gr_error *gr_map_cursor_next_slot(struct gr_map_cursor *c,
					 struct gr_map_entry *ret, bool *is_end)
{
	*is_end = false;
	while (!c->full) {
		struct gr_error *err = next_piece(c);

		*is_end = !err && !c->piece;
		if (err || *is_end)
			return err;
	}
	unsigned int slot = (unsigned int)__builtin_ctzll(c->full) / 8;
	c->full &= c->full - 1;
	ret->key_addr = slot_addr(c, &c->shape.key, slot);
	ret->elem_addr = slot_addr(c, &c->shape.elem, slot);
	return NULL;
}

struct gr_error *gr_map_cursor_next(struct gr_map_cursor *c,
				    struct gr_map_entry *ret, bool *is_end)
{
	struct gr_error *err = gr_map_cursor_next_slot(c, ret, is_end);

	if (err || *is_end)
		return err;
	err = follow(c, &c->shape.key, &ret->key_addr);
	return err ? err : follow(c, &c->shape.elem, &ret->elem_addr);
}

static struct gr_error *search(struct gr_map_cursor *c, gr_map_keys_fn *find,
			       void *ctx, uint64_t *elem_addr)
{
	struct gr_map_keys keys = { .first = c->copy + c->shape.key.off_bytes,
				    .stride = c->shape.key.stride };
	unsigned int slot = GR_MAP_SLOTS;

	while (slot == GR_MAP_SLOTS) {
		struct gr_error *err = next_piece(c);

		if (err || !c->piece)
			return err;
		keys.full = c->full;
		err = find(ctx, &keys, &slot);
		if (err)
			return err;
	}
	*elem_addr = slot_addr(c, &c->shape.elem, slot);
	return follow(c, &c->shape.elem, elem_addr);
}

struct gr_error *gr_map_cursor_find(struct gr_map_cursor *c,
				    gr_map_keys_fn *find, void *ctx,
				    uint64_t *elem_addr)
{
	_cleanup_free_ uint8_t *copy = malloc(c->shape.bytes);

	*elem_addr = 0;
	if (!copy)
		return &gr_enomem;
	if (c->shape.key.is_indirect)
		return gr_error_format(GR_ERROR_FORMAT,
				       "the keys of the map are too large to "
				       "be looked for");
	c->copy = copy;
	struct gr_error *err = search(c, find, ctx, elem_addr);
	c->copy = NULL;
	return err;
}
