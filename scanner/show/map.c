// SPDX-License-Identifier: Apache-2.0
/* Maps, in the order of their memory. */
#include "goruntime/types/map_entries.h"
#include "show/show_internal.h"

#include <inttypes.h>

enum {
	/* Buckets or groups, which may all be empty (Delve has this limit for
	 * variables). */
	PIECES_PER_ELEMENT = 100,
};

/** A map while its entries are printed. */
struct map {
	struct gr_show *s;
	struct gr_map_cursor cursor;
	gr_type_id type, key, elem;
	uint32_t level; /* of the entries */
	uint64_t count, shown, max;
	uint64_t max_bytes; /* of buckets or groups */
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

static struct gr_error *put_entry(struct map *map,
				  const struct gr_map_entry *slot)
{
	const struct gr_map_shape *shape = &map->cursor.shape;
	struct gr_error *err =
		put_part(map, map->key, &shape->key, slot->key_addr);

	gr_text_put(map->s->text, ": ");
	if (!err)
		err = put_part(map, map->elem, &shape->elem, slot->elem_addr);
	gr_text_put(map->s->text, ", ");
	map->shown++;
	return err;
}

/* The map goes on where there is no memory, or makes no sense, or has many more
 * buckets than entries: nothing more is printed. */
static struct gr_error *end_early(struct map *map, struct gr_error *err)
{
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		gr_show_put_missing(map->s, map->cursor.missing_addr);
	else
		gr_error_catch(&err, GR_ERROR_FORMAT);
	return err;
}

static struct gr_error *put_entries(struct map *map, uint64_t header)
{
	struct gr_map_entry slot;
	bool is_end = false;

	if (!map->max)
		return NULL;
	struct gr_error *err = gr_map_cursor_begin(
		map->s->types, map->type, header, map->max_bytes, &map->cursor);
	// Bounded by max entries, and the cursor's bytes.
	while (!err && map->shown < map->max && !map->s->text->is_cut) {
		err = gr_map_cursor_next_slot(&map->cursor, &slot, &is_end);
		if (err || is_end)
			break;
		err = put_entry(map, &slot);
		if (err)
			return err;
	}
	return end_early(map, err);
}

static struct gr_error *put_in_brackets(struct map *map, uint64_t header)
{
	struct gr_text *text = map->s->text;

	gr_text_put(text, "[");
	struct gr_error *err = put_entries(map, header);
	if (map->shown < map->count && map->shown)
		gr_text_put(text, ",...+%" PRIu64 " more",
			    map->count - map->shown);
	else if (map->shown < map->count)
		gr_text_put(text, "...");
	gr_text_put(text, "]");
	return err;
}

/* How many entries are printed at most. */
static struct gr_error *limit(struct map *map, const struct gr_show_at *at)
{
	struct gr_show *s = map->s;
	struct gr_map_shape shape;
	struct gr_error *err = gr_map_find_shape(&s->rt->layout, s->types,
						 gr_show_type(s, at), &shape);

	if (err || at->level > s->limits.max_depth ||
	    map->key == GR_TYPE_NONE || map->elem == GR_TYPE_NONE)
		return err;
	map->max = map->count < s->limits.max_elements ? map->count :
							 s->limits.max_elements;
	// The cursor refuses a shape that makes no sense.
	map->max_bytes = (map->max + 1) * PIECES_PER_ELEMENT * shape.bytes;
	return NULL;
}

struct gr_error *gr_show_put_map(struct gr_show *s, const struct gr_show_at *at)
{
	const struct gr_layout *layout = &s->rt->layout;
	const struct gr_type *type = gr_show_type(s, at);
	struct map map = { .s = s,
			   .type = at->value.type,
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
	err = limit(&map, at);
	return err ? err : put_in_brackets(&map, addr);
}
