// SPDX-License-Identifier: Apache-2.0
/*
 * Maps of both designs, in the order of their buckets or groups. Source:
 * runtime/map.go (hmap, evacuated), internal/runtime/maps (Map, table).
 */
#include "goruntime/types/map_shape.h"
#include "show/show_internal.h"

#include <inttypes.h>

enum {
	MAX_B = 48,
	EMPTY_ONE = 1, /* tophash of a slot that is empty */
	/* Of buckets or groups, which may all be empty (Delve has this limit
	 * for variables). */
	PIECES_PER_ELEMENT = 100,
};

/** A map while its entries are printed. */
struct map {
	struct gr_show *s;
	struct gr_map_shape shape;
	gr_type_id key, elem;
	uint32_t level; /* of the entries */
	uint64_t count, shown, max;
	uint64_t pieces_left;
	bool is_over; /* nothing more is printed */
};

/* Append one key or value. */
static struct gr_error *put_part(struct map *map, gr_type_id type,
				 const struct gr_map_part *part, uint64_t addr)
{
	struct gr_show_at at = { .value = { .type = type, .addr = addr },
				 .level = map->level };
	struct gr_error *err;

	if (part->is_indirect &&
	    !gr_show_read_memory(map->s, addr, &at.value.addr, GR_WORD_BYTES,
				 &err))
		return err;
	return gr_show_put(map->s, &at);
}

static struct gr_error *put_entry(struct map *map, uint64_t piece,
				  unsigned int slot)
{
	const struct gr_map_shape *shape = &map->shape;
	struct gr_error *err;

	err = put_part(map, map->key, &shape->key,
		       piece + shape->key.off_bytes + slot * shape->key.stride);
	gr_text_put(map->s->text, ": ");
	if (!err)
		err = put_part(map, map->elem, &shape->elem,
			       piece + shape->elem.off_bytes +
				       slot * shape->elem.stride);
	gr_text_put(map->s->text, ", ");
	map->is_over = ++map->shown >= map->max || map->s->text->is_cut;
	return err;
}

/* Append the entries of the bucket or group at @p addr. */
static struct gr_error *put_piece(struct map *map, uint64_t addr)
{
	struct gr_runtime *rt = map->s->rt;
	uint8_t control[GR_WORD_BYTES];
	struct gr_error *err = gr_runtime_step(rt, 1);

	if (err)
		return err;
	if (!map->pieces_left-- ||
	    !gr_show_read_memory(map->s, addr, control, sizeof(control),
				 &err)) {
		map->is_over = true;
		return err;
	}
	uint64_t full = gr_map_full_slots(&rt->layout, control);
	for (unsigned int i = 0; !err && i < GR_MAP_SLOTS && !map->is_over; i++)
		if (full >> i * 8 & 0x80)
			err = put_entry(map, addr, i);
	return err;
}

/* Read a field of the map; if it is not there, nothing more is printed. */
static uint64_t read_field(struct map *map, uint64_t addr,
			   struct gr_field field, struct gr_error **err)
{
	uint64_t value = 0;

	if (*err || map->is_over)
		return 0;
	map->is_over = !gr_show_read_field(map->s, addr, field, &value, err);
	return value;
}

// ------------------------------------------------------------------- buckets

/* The buckets of a map, which may be growing. */
struct buckets {
	uint64_t addr, count, old, old_count;
};

static struct gr_error *put_chain(struct map *map, uint64_t bucket)
{
	struct gr_field next = { .off = (uint32_t)map->shape.bytes -
					GR_WORD_BYTES,
				 .bytes = GR_WORD_BYTES };
	struct gr_error *err = NULL;

	while (!err && bucket && !map->is_over) {
		err = put_piece(map, bucket);
		bucket = read_field(map, bucket, next, &err);
	}
	return err;
}

/*
 * Find where the entries of bucket @p i are. While a map grows, they are in the
 * old bucket until that is evacuated; two new buckets share it, and the first
 * one stands for it. 0: there are none.
 */
static uint64_t find_bucket(struct map *map, const struct buckets *b,
			    uint64_t i, struct gr_error **err)
{
	static const struct gr_field first = { .off = 0, .bytes = 1 };
	uint64_t bucket = b->addr + i * map->shape.bytes;
	uint64_t old = b->old + (i & (b->old_count - 1)) * map->shape.bytes;

	if (!b->old)
		return bucket;
	uint64_t top = read_field(map, old, first, err);
	if (top > EMPTY_ONE && top < GR_MAP_MIN_TOP_HASH)
		return bucket;
	return i < b->old_count ? old : 0;
}

static struct gr_error *put_buckets(struct map *map, uint64_t header)
{
	const typeof(map->s->rt->layout.hmap) *f = &map->s->rt->layout.hmap;
	struct gr_error *err = NULL;
	uint64_t log = read_field(map, header, f->b, &err);
	uint64_t flags = read_field(map, header, f->flags, &err);
	struct buckets b = {
		.addr = read_field(map, header, f->buckets, &err),
		.old = read_field(map, header, f->oldbuckets, &err),
		.count = UINT64_C(1) << (log < MAX_B ? log : MAX_B),
	};

	b.old_count = b.count > 1 && !(flags & GR_MAP_SAME_SIZE_GROW) ?
			      b.count / 2 :
			      b.count;
	for (uint64_t i = 0; !err && i < b.count && !map->is_over; i++) {
		uint64_t bucket = find_bucket(map, &b, i, &err);

		if (!err)
			err = gr_runtime_step(map->s->rt, 1);
		if (!err)
			err = put_chain(map, bucket);
	}
	return err;
}

// -------------------------------------------------------------------- groups

static struct gr_error *put_table(struct map *map, uint64_t table)
{
	const typeof(map->s->rt->layout.swiss_table) *f =
		&map->s->rt->layout.swiss_table;
	struct gr_error *err = NULL;
	uint64_t groups = read_field(map, table, f->groups_data, &err);
	uint64_t mask = read_field(map, table, f->groups_mask, &err);

	for (uint64_t i = 0; !err && i <= mask && !map->is_over; i++)
		err = put_piece(map, groups + i * map->shape.bytes);
	return err;
}

static struct gr_error *put_groups(struct map *map, uint64_t header)
{
	const typeof(map->s->rt->layout.swiss_map) *f =
		&map->s->rt->layout.swiss_map;
	static const struct gr_field word = { .off = 0,
					      .bytes = GR_WORD_BYTES };
	struct gr_error *err = NULL;
	uint64_t dir = read_field(map, header, f->dir_ptr, &err);
	uint64_t tables = read_field(map, header, f->dir_len, &err);
	uint64_t last = 0;

	if (!err && !map->is_over && !tables)
		return put_piece(map, dir);
	for (uint64_t i = 0; !err && i < tables && !map->is_over; i++) {
		uint64_t table =
			read_field(map, dir + i * GR_WORD_BYTES, word, &err);

		if (!err)
			err = gr_runtime_step(map->s->rt, 1);
		// Neighbouring entries may lead to one table.
		if (!err && !map->is_over && table != last)
			err = put_table(map, table);
		last = table;
	}
	return err;
}

// ----------------------------------------------------------------------- map

static struct gr_error *put_entries(struct map *map, uint64_t header)
{
	bool is_swiss = map->s->rt->layout.swiss_map.size_bytes;
	struct gr_error *err = NULL;

	gr_text_put(map->s->text, "[");
	map->is_over = !map->max;
	if (!map->is_over)
		err = is_swiss ? put_groups(map, header) :
				 put_buckets(map, header);
	if (map->shown < map->count && map->shown)
		gr_text_put(map->s->text, ",...+%" PRIu64 " more",
			    map->count - map->shown);
	else if (map->shown < map->count)
		gr_text_put(map->s->text, "...");
	gr_text_put(map->s->text, "]");
	return err;
}

struct gr_error *gr_show_put_map(struct gr_show *s, const struct gr_show_at *at)
{
	const struct gr_layout *layout = &s->rt->layout;
	const struct gr_type *type = gr_show_type(s, at);
	struct map map = { .s = s,
			   .key = type->key,
			   .elem = type->elem,
			   .level = at->level + 1 };
	struct gr_error *err;
	uint64_t addr;

	if (!gr_show_read(s, at, 0, &addr, sizeof(addr), &err))
		return err;
	if (addr && !gr_show_read_field(s, addr,
					layout->swiss_map.size_bytes ?
						layout->swiss_map.used :
						layout->hmap.count,
					&map.count, &err))
		return err;
	if (at->flags & GR_SHOW_TYPE)
		gr_text_put(s->text, "%s ", type->name);
	if (!addr) {
		gr_text_put(s->text, "nil");
		return NULL;
	}
	err = gr_map_find_shape(layout, s->types, type, &map.shape);
	if (err)
		return err;
	if (at->level <= s->limits.max_depth && map.key != GR_TYPE_NONE &&
	    map.elem != GR_TYPE_NONE && map.shape.bytes > GR_WORD_BYTES &&
	    map.shape.bytes < UINT32_MAX)
		map.max = map.count < s->limits.max_elements ?
				  map.count :
				  s->limits.max_elements;
	map.pieces_left = (map.max + 1) * PIECES_PER_ELEMENT;
	return put_entries(&map, addr);
}
