// SPDX-License-Identifier: Apache-2.0
/*
 * Words of maps. A label does not tell which piece of the map an object is:
 * its size and what its words lead to do. Source: runtime/map.go (hmap, bmap,
 * mapextra), internal/runtime/maps (Map, table, groupReference).
 */
#include "naming/word_internal.h"

#include "goruntime/types/map_shape.h"

#include <inttypes.h>

enum {
	MAX_B = 48,
	MAX_VISITED = 1024, /* types in types, when looking for pointers */
	LIST_BYTES = 3 * GR_WORD_BYTES,
	LEAST_WASTE = 16, /* between size classes of up to 128 bytes */
};

/** The map that a word belongs to. */
struct map {
	gr_type_id key, elem;
	struct gr_map_shape shape;
};

/* Is a slot with so much room of the smallest size class that fits a struct of
 * the runtime? All of these are small. */
static bool fits(uint64_t bytes, uint64_t room)
{
	return bytes <= room && room - bytes < LEAST_WASTE;
}

static uint64_t load(struct gr_word *word, uint64_t addr)
{
	uint64_t value;

	return gr_word_load(word->heap->rt, addr, &value) ? value : 0;
}

static uint64_t load_field(struct gr_word *word, uint64_t addr,
			   struct gr_field field)
{
	uint64_t value = 0;

	if (field.bytes > sizeof(value) ||
	    !gr_word_read(word->heap->rt, addr + field.off, &value,
			  field.bytes))
		return 0;
	return value;
}

/* The memory that the word at @p addr leads to. */
static struct gr_extent follow(struct gr_word *word, uint64_t addr)
{
	return gr_word_extent(word->heap, load(word, addr));
}

// ----------------------------------------------------------- keys and values

/* Is byte @p off of a bucket or group in that part of one of its slots? */
static bool is_in_part(const struct gr_word *word,
		       const struct gr_map_part *part, gr_type_id type,
		       uint64_t off, unsigned int *slot, uint64_t *in_slot)
{
	uint64_t bytes =
		part->is_indirect ?
			GR_WORD_BYTES :
			gr_types_get(word->heap->types, type)->size_bytes;

	if (off < part->off_bytes || !part->stride)
		return false;
	off -= part->off_bytes;
	if (off / part->stride >= GR_MAP_SLOTS || off % part->stride >= bytes)
		return false;
	*slot = (unsigned int)(off / part->stride);
	*in_slot = off % part->stride;
	return true;
}

/* Append the name of byte @p off of a key or element, which may lie behind a
 * pointer. */
static struct gr_error *put_part(struct gr_word *word,
				 const struct gr_map_part *part,
				 gr_type_id type, uint64_t off)
{
	if (!part->is_indirect)
		return gr_word_put_value(word, type, off);
	word->ret->kind = GR_WORD_POINTER;
	word->ret->type = type;
	word->ret->off_bytes = 0;
	return NULL;
}

/* Append `["abc"]` for the element of a slot in use, else `$mapval`. */
static struct gr_error *put_entry(struct gr_word *word, const struct map *map,
				  uint64_t piece, unsigned int slot)
{
	const struct gr_map_part *part = &map->shape.key;
	uint64_t key = piece + part->off_bytes + slot * part->stride;
	uint8_t control[GR_WORD_BYTES];

	if (!gr_word_read(word->heap->rt, piece, control, sizeof(control)) ||
	    !(gr_map_full_slots(&word->heap->rt->layout, control) >> slot * 8 &
	      0x80)) {
		gr_text_put(&word->text, "$mapval");
		return NULL;
	}
	if (part->is_indirect)
		key = load(word, key);
	return gr_word_put_entry(word, map->key, key);
}

/* Name a word of an array of buckets or groups. */
static struct gr_error *name_slots(struct gr_word *word, const struct map *map)
{
	const struct gr_map_shape *shape = &map->shape;
	uint64_t off = word->off % shape->bytes, in_slot;
	unsigned int slot;

	if (word->off - off + shape->bytes > word->in.bytes) {
		gr_word_put_nameless(word);
		return NULL;
	}
	if (is_in_part(word, &shape->key, map->key, off, &slot, &in_slot)) {
		gr_text_put(&word->text, "$mapkey");
		return put_part(word, &shape->key, map->key, in_slot);
	}
	if (is_in_part(word, &shape->elem, map->elem, off, &slot, &in_slot)) {
		uint64_t piece = word->in.addr + word->off - off;
		struct gr_error *err = put_entry(word, map, piece, slot);

		return err ? err :
			     put_part(word, &shape->elem, map->elem, in_slot);
	}
	if (!word->heap->rt->layout.swiss_map.size_bytes &&
	    off == shape->bytes - GR_WORD_BYTES)
		gr_word_put_piece(word, "$overflow");
	else
		gr_word_put_nameless(word);
	return NULL;
}

// ---------------------------------------------------------------- Swiss maps

static bool is_table(struct gr_word *word, const struct map *map,
		     struct gr_extent at)
{
	const typeof(word->heap->rt->layout.swiss_table) *f =
		&word->heap->rt->layout.swiss_table;

	if (at.is_noscan || !fits(f->size_bytes, at.bytes))
		return false;
	uint64_t mask = load_field(word, at.addr, f->groups_mask);
	struct gr_extent groups = follow(word, at.addr + f->groups_data.off);
	return !(mask & (mask + 1)) && mask < groups.bytes / map->shape.bytes;
}

static bool is_directory(struct gr_word *word, const struct map *map,
			 struct gr_extent at)
{
	return !at.is_noscan && at.bytes >= GR_WORD_BYTES &&
	       is_table(word, map, follow(word, at.addr));
}

static bool is_header(struct gr_word *word, const struct map *map)
{
	const typeof(word->heap->rt->layout.swiss_map) *f =
		&word->heap->rt->layout.swiss_map;
	uint64_t addr = word->in.addr;

	if (!fits(f->size_bytes, word->in.bytes))
		return false;
	uint64_t dir_len = load_field(word, addr, f->dir_len);
	struct gr_extent dir = follow(word, addr + f->dir_ptr.off);
	if (!dir_len)
		return !load(word, addr + f->dir_ptr.off) ||
		       dir.bytes >= map->shape.bytes;
	return dir_len <= dir.bytes / GR_WORD_BYTES &&
	       is_directory(word, map, dir);
}

static struct gr_error *name_swiss(struct gr_word *word, const struct map *map)
{
	const struct gr_layout *layout = &word->heap->rt->layout;
	const typeof(layout->swiss_map) *f = &layout->swiss_map;

	if (word->in.is_noscan)
		return name_slots(word, map);
	if (is_table(word, map, word->in)) {
		if (word->off == layout->swiss_table.groups_data.off)
			gr_word_put_piece(word, "$groups");
		else
			gr_word_put_nameless(word);
		return NULL;
	}
	if (is_directory(word, map, word->in)) {
		gr_word_put_piece(word, "$tables[%" PRIu64 "]",
				  word->off / GR_WORD_BYTES);
		return NULL;
	}
	if (!is_header(word, map))
		return name_slots(word, map);
	if (word->off != f->dir_ptr.off)
		gr_word_put_nameless(word);
	else if (load_field(word, word->in.addr, f->dir_len))
		gr_word_put_piece(word, "$dir");
	else
		gr_word_put_piece(word, "$groups");
	return NULL;
}

// -------------------------------------------------------------- bucket maps

/* May values of this type hold pointers? No more than *@left types are looked
 * at.
 * Recursion: 1,024 types a question. */
static bool may_hold(const struct gr_types *types, gr_type_id id,
		     unsigned int *left)
{
	if (!*left || id == GR_TYPE_NONE)
		return true;
	--*left;
	const struct gr_type *type = gr_types_get(types, id);
	if (type->kind == GR_KIND_ARRAY)
		return type->count && may_hold(types, type->elem, left);
	if (type->kind != GR_KIND_STRUCT)
		return type->kind > GR_KIND_COMPLEX128;
	for (uint32_t i = 0; i < type->nfields; i++)
		if (may_hold(types, gr_types_field(types, type, i)->type, left))
			return true;
	return false;
}

static bool has_pointers(const struct gr_word *word, const struct map *map)
{
	const struct gr_types *types = word->heap->types;
	unsigned int left = MAX_VISITED;

	return map->shape.key.is_indirect || map->shape.elem.is_indirect ||
	       may_hold(types, map->key, &left) ||
	       may_hold(types, map->elem, &left);
}

static bool is_hmap(struct gr_word *word, const struct map *map)
{
	const typeof(word->heap->rt->layout.hmap) *f =
		&word->heap->rt->layout.hmap;
	uint64_t addr = word->in.addr;

	if (!fits(f->size_bytes, word->in.bytes))
		return false;
	uint64_t b = load_field(word, addr, f->b);
	struct gr_extent buckets = follow(word, addr + f->buckets.off);
	return b <= MAX_B &&
	       (!load(word, addr + f->buckets.off) ||
		(UINT64_C(1) << b) <= buckets.bytes / map->shape.bytes);
}

static void name_hmap(struct gr_word *word)
{
	const typeof(word->heap->rt->layout.hmap) *f =
		&word->heap->rt->layout.hmap;

	if (word->off == f->buckets.off)
		gr_word_put_piece(word, "$buckets");
	else if (word->off == f->oldbuckets.off)
		gr_word_put_piece(word, "$oldbuckets");
	else if (word->off == f->extra.off)
		gr_word_put_piece(word, "$extra");
	else
		gr_word_put_nameless(word);
}

/* Is this the header of a slice, to which mapextra points? */
static bool is_list(struct gr_word *word, struct gr_extent at)
{
	if (at.is_noscan || !fits(LIST_BYTES, at.bytes))
		return false;
	uint64_t len = load(word, at.addr + GR_WORD_BYTES);
	uint64_t cap = load(word, at.addr + 2 * GR_WORD_BYTES);
	return cap && len <= cap &&
	       cap <= follow(word, at.addr).bytes / GR_WORD_BYTES;
}

static bool leads_to_list(struct gr_word *word, struct gr_field field)
{
	uint64_t addr = load(word, word->in.addr + field.off);

	return !addr || is_list(word, gr_word_extent(word->heap, addr));
}

static bool is_extra(struct gr_word *word)
{
	const typeof(word->heap->rt->layout.mapextra) *f =
		&word->heap->rt->layout.mapextra;

	return fits(f->size_bytes, word->in.bytes) &&
	       leads_to_list(word, f->overflow) &&
	       leads_to_list(word, f->oldoverflow);
}

static void name_extra(struct gr_word *word)
{
	const typeof(word->heap->rt->layout.mapextra) *f =
		&word->heap->rt->layout.mapextra;

	if (word->off == f->overflow.off)
		gr_word_put_piece(word, "$overflow");
	else if (word->off == f->oldoverflow.off)
		gr_word_put_piece(word, "$oldoverflow");
	else if (word->off == f->next_overflow.off)
		gr_word_put_piece(word, "$nextoverflow");
	else
		gr_word_put_nameless(word);
}

static struct gr_error *name_buckets(struct gr_word *word,
				     const struct map *map)
{
	if (word->in.is_noscan)
		return name_slots(word, map);
	if (is_hmap(word, map))
		name_hmap(word);
	else if (is_list(word, word->in))
		gr_word_put_piece(word, "$overflow");
	else if (is_extra(word))
		name_extra(word);
	else if (has_pointers(word, map))
		return name_slots(word, map);
	else // The list of overflow buckets that have no pointers.
		gr_word_put_piece(word, "$overflow[%" PRIu64 "]",
				  word->off / GR_WORD_BYTES);
	return NULL;
}

/* Find out what the pieces of a map look like. False: its types are not known,
 * or make no sense. */
static bool find_map(struct gr_word *word, struct map *map,
		     struct gr_error **err)
{
	// This is a copy because types may be made.
	struct gr_type type = *gr_types_get(word->heap->types, word->type);

	*map = (struct map){ .key = type.key, .elem = type.elem };
	*err = NULL;
	if (map->key == GR_TYPE_NONE || map->elem == GR_TYPE_NONE)
		return false;
	*err = gr_map_find_shape(&word->heap->rt->layout, word->heap->types,
				 &type, &map->shape);
	return !*err && map->shape.bytes >= GR_MAP_SLOTS + GR_WORD_BYTES &&
	       word->off < word->in.bytes;
}

struct gr_error *gr_word_is_map_header(struct gr_word *word, bool *ret)
{
	bool is_swiss = word->heap->rt->layout.swiss_map.size_bytes;
	struct gr_error *err;
	struct map map;

	*ret = false;
	if (!find_map(word, &map, &err) || word->in.is_noscan)
		return err;
	*ret = is_swiss ? !is_table(word, &map, word->in) &&
				  !is_directory(word, &map, word->in) &&
				  is_header(word, &map) :
			  is_hmap(word, &map);
	return NULL;
}

struct gr_error *gr_word_name_map(struct gr_word *word)
{
	const struct gr_layout *layout = &word->heap->rt->layout;
	struct gr_error *err;
	struct map map;

	if (!find_map(word, &map, &err)) {
		if (!err)
			gr_word_put_nameless(word);
		return err;
	}
	if (layout->swiss_map.size_bytes)
		return name_swiss(word, &map);
	return name_buckets(word, &map);
}
