// SPDX-License-Identifier: Apache-2.0
#include "goruntime/types/map_shape.h"

#include "goruntime/types/types_internal.h"

enum {
	SLOTS = GR_MAP_SLOTS,
	MAX_DEPTH = 64,	    /* of types inside types */
	VISITS_A_TYPE = 64, /* per type and field, for all alignments */
	FIELDS_A_STEP = 8,  /* whose names are compared */
};
/* Visits that are allowed in addition. */
#define SPARE_VISITS (UINT64_C(1) << 20)

/** The search for the shape of a map. */
struct finder {
	struct gr_types *types;
	const struct gr_type *map;
	struct gr_error *err; /* poll refused: nothing found counts */
};

static uint64_t type_size(const struct gr_types *types, gr_type_id id)
{
	return id == GR_TYPE_NONE ? 0 : gr_types_get(types, id)->size_bytes;
}

static const struct gr_type_field *find_field(struct finder *f, gr_type_id id,
					      const char *name)
{
	if (f->err || id == GR_TYPE_NONE)
		return NULL;
	f->err = gr_runtime_step(f->types->rt,
				 1 + gr_types_get(f->types, id)->nfields /
						 FIELDS_A_STEP);
	return f->err ? NULL : gr_types_field_named(f->types, id, name);
}

/* The type of a field, after removing `deref` levels of pointers or arrays. */
static gr_type_id field_type(struct finder *f, gr_type_id id, const char *name,
			     unsigned int deref)
{
	const struct gr_type_field *field = find_field(f, id, name);
	gr_type_id type = field ? field->type : GR_TYPE_NONE;

	while (deref-- && type != GR_TYPE_NONE)
		type = gr_types_get(f->types, type)->elem;
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

/* May one more field be looked at? Structs may share their fields, as the typedefs
 * of one struct do, so the number of fields alone is no bound. */
static bool pay_visit(struct finder *f)
{
	const struct gr_types *types = f->types;
	uint64_t all = types->types.size + types->fields.size;

	if (f->err || types->align_visits >= all * VISITS_A_TYPE + SPARE_VISITS)
		return false;
	f->types->align_visits++;
	f->err = gr_runtime_step(types->rt, 1);
	return !f->err;
}

static uint8_t align_of(struct finder *f, gr_type_id id, unsigned int depth);

static uint8_t align_of_struct(struct finder *f, const struct gr_type *type,
			       unsigned int depth)
{
	uint8_t align = 1;

	for (uint32_t i = 0; i < type->nfields && align < GR_WORD_BYTES; i++) {
		if (!pay_visit(f))
			return GR_WORD_BYTES;
		uint8_t a = align_of(f, gr_types_field(f->types, type, i)->type,
				     depth + 1);
		align = a > align ? a : align;
	}
	return align;
}

static uint8_t align_of_kind(struct finder *f, const struct gr_type *type,
			     unsigned int depth)
{
	switch (type->kind) {
	case GR_KIND_ARRAY:
		return align_of(f, type->elem, depth + 1);
	case GR_KIND_STRUCT:
		return align_of_struct(f, type, depth);
	case GR_KIND_COMPLEX128 - 1: // complex64
		return 4;
	default:
		return type->size_bytes < GR_WORD_BYTES && type->size_bytes ?
			       (uint8_t)type->size_bytes :
			       GR_WORD_BYTES;
	}
}

/* The alignment of a type, as the compiler lays out fields. Each type is
 * looked into once.
 * Recursion: each type once; 64 visits of fields for each type and field +
 * 2^20, with polls; 64 levels. */
static uint8_t align_of(struct finder *f, gr_type_id id, unsigned int depth)
{
	if (id == GR_TYPE_NONE)
		return 1;
	struct gr_type *type = &f->types->types.data[id];
	if (type->align)
		return type->align;
	if (depth > MAX_DEPTH)
		return GR_WORD_BYTES;
	// A type inside itself adds nothing new.
	type->align = 1;
	uint8_t align = align_of_kind(f, type, depth);
	// Keep no result of a search that was cut short.
	type->align = f->err ? 0 : align;
	return align;
}

struct gr_error *gr_types_align(struct gr_types *types, gr_type_id id,
				uint64_t *ret)
{
	struct finder f = { .types = types };

	*ret = align_of(&f, id, 0);
	return f.err;
}

static uint64_t round_up(uint64_t n, uint64_t align)
{
	return (n + align - 1) / align * align;
}

/* Compute the layout of a group that has no DIE: a control word, then slots
 * {key, elem}. */
static void group_shape_computed(struct finder *f, struct gr_map_shape *shape)
{
	uint64_t key_align = shape->key.is_indirect ?
				     GR_WORD_BYTES :
				     align_of(f, f->map->key, 0);
	uint64_t elem_align = shape->elem.is_indirect ?
				      GR_WORD_BYTES :
				      align_of(f, f->map->elem, 0);
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
static bool group_shape_from_die(struct finder *f, gr_type_id group,
				 struct gr_map_shape *shape)
{
	const struct gr_types *types = f->types;
	const struct gr_type_field *slots = find_field(f, group, "slots");
	const struct gr_type_field *keys = find_field(f, group, "keys");
	const struct gr_type_field *elems = find_field(f, group, "elems");

	if (slots) {
		gr_type_id slot = field_type(f, group, "slots", 1);
		const struct gr_type_field *key = find_field(f, slot, "key");
		const struct gr_type_field *elem = find_field(f, slot, "elem");
		if (!key || !elem)
			return false;
		shape->key.off_bytes = slots->off_bytes + key->off_bytes;
		shape->elem.off_bytes = slots->off_bytes + elem->off_bytes;
		shape->key.stride = shape->elem.stride = type_size(types, slot);
	} else if (keys && elems) {
		shape->key.off_bytes = keys->off_bytes;
		shape->key.stride =
			type_size(types, field_type(f, group, "keys", 1));
		shape->elem.off_bytes = elems->off_bytes;
		shape->elem.stride =
			type_size(types, field_type(f, group, "elems", 1));
	} else {
		return false;
	}
	shape->bytes = type_size(types, group);
	return true;
}

static void group_shape(struct finder *f, struct gr_map_shape *shape)
{
	// map<K,V>.dirPtr **table; table.groups; groupReference.data *group.
	gr_type_id table = field_type(f, f->map->header, "dirPtr", 2);
	gr_type_id groups = field_type(f, table, "groups", 0);
	gr_type_id group = field_type(f, groups, "data", 1);

	if (!group_shape_from_die(f, group, shape))
		group_shape_computed(f, shape);
}

struct gr_error *gr_map_find_shape(const struct gr_layout *layout,
				   struct gr_types *types,
				   const struct gr_type *map,
				   struct gr_map_shape *ret)
{
	struct finder f = { .types = types, .map = map };

	memset(ret, 0, sizeof(*ret));
	shape_sizes(layout, types, map, ret);
	if (layout->swiss_map.size_bytes)
		group_shape(&f, ret);
	else
		bucket_shape(ret);
	return f.err;
}
