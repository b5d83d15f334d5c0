// SPDX-License-Identifier: Apache-2.0
#include "goruntime/types/map_shape.h"

enum { SLOTS = GR_MAP_SLOTS };

static uint64_t type_size(const struct gr_types *types, gr_type_id id)
{
	return id == GR_TYPE_NONE ? 0 : gr_types_get(types, id)->size_bytes;
}

/* The type of a field, after removing `deref` levels of pointers or arrays. */
static gr_type_id field_type(const struct gr_types *types, gr_type_id id,
			     const char *name, unsigned int deref)
{
	const struct gr_type_field *f = gr_types_field_named(types, id, name);
	gr_type_id type = f ? f->type : GR_TYPE_NONE;

	while (deref-- && type != GR_TYPE_NONE)
		type = gr_types_get(types, type)->elem;
	return type;
}

static void shape_sizes(const struct gr_layout *layout,
			const struct gr_types *types, const struct gr_type *map,
			struct gr_map_shape *shape)
{
	uint64_t key = type_size(types, map->key);
	uint64_t elem = type_size(types, map->elem);

	shape->key.is_indirect = key > (uint64_t)layout->consts.map_max_key;
	shape->elem.is_indirect = elem > (uint64_t)layout->consts.map_max_elem;
	shape->key.stride = shape->key.is_indirect ? GR_WORD_BYTES : key;
	shape->elem.stride = shape->elem.is_indirect ? GR_WORD_BYTES : elem;
}

/* A bmap has tophash[8], keys[8], elems[8] and an overflow pointer. */
static void bucket_shape(struct gr_map_shape *shape)
{
	shape->key.off_bytes = SLOTS;
	shape->elem.off_bytes =
		shape->key.off_bytes + SLOTS * shape->key.stride;
	shape->bytes = shape->elem.off_bytes + SLOTS * shape->elem.stride +
		       GR_WORD_BYTES;
}

/* The alignment of a type, as the compiler lays out fields. */
static uint64_t type_align(const struct gr_types *types, gr_type_id id,
			   unsigned int depth)
{
	if (id == GR_TYPE_NONE || depth > 32)
		return 1;
	const struct gr_type *type = gr_types_get(types, id);
	uint64_t align = 1;

	switch (type->kind) {
	case GR_KIND_ARRAY:
		return type_align(types, type->elem, depth + 1);
	case GR_KIND_STRUCT:
		for (uint32_t i = 0; i < type->nfields; i++) {
			uint64_t a = type_align(
				types, gr_types_field(types, type, i)->type,
				depth + 1);
			align = a > align ? a : align;
		}
		return align;
	case GR_KIND_COMPLEX128 - 1: // complex64
		return 4;
	default:
		return type->size_bytes < GR_WORD_BYTES && type->size_bytes ?
			       type->size_bytes :
			       GR_WORD_BYTES;
	}
}

static uint64_t round_up(uint64_t n, uint64_t align)
{
	return (n + align - 1) / align * align;
}

/* Compute the layout of a group that has no DIE: a control word, then slots
 * {key, elem}. */
static void group_shape_computed(const struct gr_types *types,
				 const struct gr_type *map,
				 struct gr_map_shape *shape)
{
	uint64_t key_align = shape->key.is_indirect ?
				     GR_WORD_BYTES :
				     type_align(types, map->key, 0);
	uint64_t elem_align = shape->elem.is_indirect ?
				      GR_WORD_BYTES :
				      type_align(types, map->elem, 0);
	uint64_t align = key_align > elem_align ? key_align : elem_align;
	uint64_t elem_at = round_up(shape->key.stride, elem_align);
	// A struct that ends in a zero-sized field is one byte longer.
	uint64_t end =
		elem_at +
		(shape->elem.stride || !elem_at ? shape->elem.stride : 1);

	shape->key.off_bytes = GR_WORD_BYTES;
	shape->elem.off_bytes = shape->key.off_bytes + elem_at;
	shape->key.stride = shape->elem.stride = round_up(end, align);
	shape->bytes = GR_WORD_BYTES + SLOTS * shape->key.stride;
}

/* Take offsets from the DIE of the group: slots, or split keys and elems. */
static bool group_shape_from_die(const struct gr_types *types, gr_type_id group,
				 struct gr_map_shape *shape)
{
	const struct gr_type_field *slots =
		gr_types_field_named(types, group, "slots");
	const struct gr_type_field *keys =
		gr_types_field_named(types, group, "keys");
	const struct gr_type_field *elems =
		gr_types_field_named(types, group, "elems");

	if (slots) {
		gr_type_id slot = field_type(types, group, "slots", 1);
		const struct gr_type_field *key =
			gr_types_field_named(types, slot, "key");
		const struct gr_type_field *elem =
			gr_types_field_named(types, slot, "elem");
		if (!key || !elem)
			return false;
		shape->key.off_bytes = slots->off_bytes + key->off_bytes;
		shape->elem.off_bytes = slots->off_bytes + elem->off_bytes;
		shape->key.stride = shape->elem.stride = type_size(types, slot);
	} else if (keys && elems) {
		shape->key.off_bytes = keys->off_bytes;
		shape->key.stride =
			type_size(types, field_type(types, group, "keys", 1));
		shape->elem.off_bytes = elems->off_bytes;
		shape->elem.stride =
			type_size(types, field_type(types, group, "elems", 1));
	} else {
		return false;
	}
	shape->bytes = type_size(types, group);
	return true;
}

static void group_shape(const struct gr_types *types, const struct gr_type *map,
			struct gr_map_shape *shape)
{
	// map<K,V>.dirPtr **table; table.groups; groupReference.data *group.
	gr_type_id table = field_type(types, map->header, "dirPtr", 2);
	gr_type_id groups = field_type(types, table, "groups", 0);
	gr_type_id group = field_type(types, groups, "data", 1);

	if (!group_shape_from_die(types, group, shape))
		group_shape_computed(types, map, shape);
}

void gr_map_find_shape(const struct gr_layout *layout,
		       const struct gr_types *types, const struct gr_type *map,
		       struct gr_map_shape *ret)
{
	memset(ret, 0, sizeof(*ret));
	shape_sizes(layout, types, map, ret);
	if (layout->swiss_map.size_bytes)
		group_shape(types, map, ret);
	else
		bucket_shape(ret);
}
