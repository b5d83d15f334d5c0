// SPDX-License-Identifier: Apache-2.0
/*
 * Both map designs. Source: runtime/map.go (hmap, bmap, evacuated),
 * internal/runtime/maps (Map, table, groupReference), cmd/compile's
 * reflectdata (layout of buckets and groups).
 */
#include "mark/container.h"

enum {
	SLOTS = 8,	    /* of a bucket or group, in both designs */
	MIN_TOP_HASH = 5,   /* runtime/map.go: minTopHash */
	SAME_SIZE_GROW = 8, /* hmap.flags */
	MAX_B = 48,
	MAX_OVERFLOW = 1 << 20,
};

/* A byte a slot: that of a control word is set if it is empty or deleted. */
#define SLOT_BITS UINT64_C(0x8080808080808080)

static uint64_t type_size(struct gr_walk *w, gr_type_id id)
{
	return id == GR_TYPE_NONE ? 0 :
				    gr_types_get(w->rt->types, id)->size_bytes;
}

static const struct gr_type_field *find_field(struct gr_walk *w, gr_type_id id,
					      const char *name)
{
	if (id == GR_TYPE_NONE)
		return NULL;
	const struct gr_type *type = gr_types_get(w->rt->types, id);
	for (uint32_t i = 0; i < type->nfields; i++) {
		const struct gr_type_field *f =
			gr_types_field(w->rt->types, type, i);
		if (!strcmp(f->name, name))
			return f;
	}
	return NULL;
}

/* The type of a field, pointers and arrays taken off `deref` times. */
static gr_type_id field_type(struct gr_walk *w, gr_type_id id, const char *name,
			     unsigned int deref)
{
	const struct gr_type_field *f = find_field(w, id, name);
	gr_type_id type = f ? f->type : GR_TYPE_NONE;

	while (deref-- && type != GR_TYPE_NONE)
		type = gr_types_get(w->rt->types, type)->elem;
	return type;
}

static void shape_sizes(struct gr_container *c, struct gr_map_shape *shape)
{
	const struct gr_layout *layout = &c->w->rt->layout;
	uint64_t key = type_size(c->w, c->info->key);
	uint64_t elem = type_size(c->w, c->info->elem);

	shape->key.is_indirect = key > (uint64_t)layout->consts.map_max_key;
	shape->elem.is_indirect = elem > (uint64_t)layout->consts.map_max_elem;
	shape->key.stride = shape->key.is_indirect ? GR_WORD_BYTES : key;
	shape->elem.stride = shape->elem.is_indirect ? GR_WORD_BYTES : elem;
}

/* The shape of this map type; that of the last one is kept. */
static void find_shape(struct gr_container *c,
		       void (*make)(struct gr_container *,
				    struct gr_map_shape *),
		       struct gr_map_shape *ret)
{
	struct gr_walk *w = c->w;

	if (!w->map_shape.bytes || w->map_shape_type != c->type) {
		make(c, &w->map_shape);
		w->map_shape_type = c->type;
	}
	*ret = w->map_shape;
}

/* The names of keys (part 0) or elements (1), if they lead anywhere. */
static void open_part(struct gr_container *c, const struct gr_map_shape *shape,
		      const struct gr_map_part *at, gr_type_id type,
		      uint32_t part)
{
	struct gr_scope *scope = &c->values[part];

	if (type == GR_TYPE_NONE)
		return;
	gr_container_scope(c, type, part);
	uint64_t bytes = at->is_indirect ? GR_WORD_BYTES :
					   scope->program->size_bytes;
	if ((!at->is_indirect && gr_program_is_empty(scope->program)) ||
	    at->off_bytes > shape->bytes ||
	    (SLOTS - 1) * at->stride + bytes > shape->bytes - at->off_bytes)
		scope->program = NULL;
}

/* The slots of a bucket or group whose bytes in @p full are 0x80. */
static void run_entries(struct gr_container *c,
			const struct gr_map_shape *shape,
			const struct gr_piece *piece, uint64_t full)
{
	gr_walk_run_entries(c->w, shape, &c->values[0], &c->values[1], full,
			    piece->host, piece->word);
	gr_container_drop_done(c, piece, shape->bytes / GR_WORD_BYTES);
}

/* bmap: tophash[8], keys[8], elems[8], overflow pointer. */
static void bucket_shape(struct gr_container *c, struct gr_map_shape *shape)
{
	shape_sizes(c, shape);
	shape->key.off_bytes = SLOTS;
	shape->elem.off_bytes =
		shape->key.off_bytes + SLOTS * shape->key.stride;
	shape->bytes = shape->elem.off_bytes + SLOTS * shape->elem.stride +
		       GR_WORD_BYTES;
}

static void run_bucket(struct gr_container *c, const struct gr_map_shape *shape,
		       const struct gr_piece *bucket)
{
	uint64_t full = 0;

	for (unsigned int i = 0; i < SLOTS; i++)
		if (bucket->host[i] >= MIN_TOP_HASH)
			full |= UINT64_C(0x80) << i * 8;
	run_entries(c, shape, bucket, full);
}

/* A bucket and its overflow chain. */
static void run_chain(struct gr_container *c, const struct gr_map_shape *shape,
		      struct gr_piece bucket)
{
	for (uint32_t n = 0; bucket.host && n < MAX_OVERFLOW; n++) {
		run_bucket(c, shape, &bucket);
		bucket = gr_container_follow(c, &bucket,
					     shape->bytes - GR_WORD_BYTES);
		if (bucket.bytes < shape->bytes)
			break;
	}
}

/*
 * An array of buckets. Behind them lie overflow buckets made with the array:
 * most are in a chain that was run already, but growing unlinks some that
 * still lead to others (runtime/map.go, evacuate).
 */
static void run_bucket_array(struct gr_container *c,
			     const struct gr_map_shape *shape,
			     const struct gr_piece *array, uint64_t count)
{
	if (!array->host)
		return;
	if (count > array->bytes / shape->bytes) {
		gr_gap_add(c->w->rt->gaps, GR_GAP_BROKEN_CONTAINERS, 1);
		count = array->bytes / shape->bytes;
	}
	uint64_t all = array->bytes / shape->bytes;
	for (uint64_t i = 0; i < all && !c->w->err; i++) {
		struct gr_piece bucket = {
			array->host + i * shape->bytes,
			array->word + i * shape->bytes / GR_WORD_BYTES,
			shape->bytes,
		};
		run_chain(c, shape, bucket);
	}
}

/* Overflow buckets without pointers are kept alive by lists in hmap.extra. */
static void run_overflow_list(struct gr_container *c,
			      const struct gr_piece *extra, uint64_t off)
{
	struct gr_piece slice = gr_container_follow(c, extra, off);

	if (!slice.host || slice.bytes < 3 * GR_WORD_BYTES)
		return;
	uint64_t count = gr_load_u64(slice.host + GR_WORD_BYTES);
	struct gr_piece list = gr_container_follow(c, &slice, 0);
	for (uint64_t i = 0;
	     list.host && i < count && (i + 1) * GR_WORD_BYTES <= list.bytes;
	     i++)
		gr_container_take(c, &list, i * GR_WORD_BYTES);
}

void gr_map_run_buckets(struct gr_container *c, const struct gr_piece *header)
{
	const struct gr_layout *layout = &c->w->rt->layout;
	const typeof(layout->hmap) *f = &layout->hmap;
	uint64_t b = gr_field_uint(header->host, f->b);
	uint64_t flags = gr_field_uint(header->host, f->flags);
	struct gr_map_shape shape;

	if (b > MAX_B) {
		gr_gap_add(c->w->rt->gaps, GR_GAP_BROKEN_CONTAINERS, 1);
		return;
	}
	find_shape(c, bucket_shape, &shape);
	open_part(c, &shape, &shape.key, c->info->key, 0);
	open_part(c, &shape, &shape.elem, c->info->elem, 1);
	uint64_t count = UINT64_C(1) << b;
	uint64_t old = b && !(flags & SAME_SIZE_GROW) ? count / 2 : count;
	struct gr_piece array = gr_container_follow(c, header, f->buckets.off);
	run_bucket_array(c, &shape, &array, count);
	array = gr_container_follow(c, header, f->oldbuckets.off);
	run_bucket_array(c, &shape, &array, old);
	struct gr_piece extra = gr_container_follow(c, header, f->extra.off);
	if (!extra.host || extra.bytes < layout->mapextra.size_bytes)
		return;
	run_overflow_list(c, &extra, layout->mapextra.overflow.off);
	run_overflow_list(c, &extra, layout->mapextra.oldoverflow.off);
	gr_container_take(c, &extra, layout->mapextra.next_overflow.off);
}

/* Alignment of a type, as the compiler lays out its fields. */
static uint64_t type_align(struct gr_walk *w, gr_type_id id, unsigned int depth)
{
	if (id == GR_TYPE_NONE || depth > 32)
		return 1;
	const struct gr_type *type = gr_types_get(w->rt->types, id);
	uint64_t align = 1;

	switch (type->kind) {
	case GR_KIND_ARRAY:
		return type_align(w, type->elem, depth + 1);
	case GR_KIND_STRUCT:
		for (uint32_t i = 0; i < type->nfields; i++) {
			uint64_t a = type_align(
				w, gr_types_field(w->rt->types, type, i)->type,
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

/* Without a DIE of the group: control word, then slots {key, elem}. */
static void group_shape_computed(struct gr_container *c,
				 struct gr_map_shape *shape)
{
	uint64_t key_align = shape->key.is_indirect ?
				     GR_WORD_BYTES :
				     type_align(c->w, c->info->key, 0);
	uint64_t elem_align = shape->elem.is_indirect ?
				      GR_WORD_BYTES :
				      type_align(c->w, c->info->elem, 0);
	uint64_t align = key_align > elem_align ? key_align : elem_align;
	uint64_t elem_at = round_up(shape->key.stride, elem_align);
	// A struct that ends in a field of no size is one byte longer.
	uint64_t end =
		elem_at +
		(shape->elem.stride || !elem_at ? shape->elem.stride : 1);

	shape->key.off_bytes = GR_WORD_BYTES;
	shape->elem.off_bytes = shape->key.off_bytes + elem_at;
	shape->key.stride = shape->elem.stride = round_up(end, align);
	shape->bytes = GR_WORD_BYTES + SLOTS * shape->key.stride;
}

/* Offsets by the DIE of the group: slots, or split keys and elems. */
static bool group_shape_from_die(struct gr_walk *w, gr_type_id group,
				 struct gr_map_shape *shape)
{
	const struct gr_type_field *slots = find_field(w, group, "slots");
	const struct gr_type_field *keys = find_field(w, group, "keys");
	const struct gr_type_field *elems = find_field(w, group, "elems");

	if (slots) {
		gr_type_id slot = field_type(w, group, "slots", 1);
		const struct gr_type_field *key = find_field(w, slot, "key");
		const struct gr_type_field *elem = find_field(w, slot, "elem");
		if (!key || !elem)
			return false;
		shape->key.off_bytes = slots->off_bytes + key->off_bytes;
		shape->elem.off_bytes = slots->off_bytes + elem->off_bytes;
		shape->key.stride = shape->elem.stride = type_size(w, slot);
	} else if (keys && elems) {
		shape->key.off_bytes = keys->off_bytes;
		shape->key.stride =
			type_size(w, field_type(w, group, "keys", 1));
		shape->elem.off_bytes = elems->off_bytes;
		shape->elem.stride =
			type_size(w, field_type(w, group, "elems", 1));
	} else {
		return false;
	}
	shape->bytes = type_size(w, group);
	return true;
}

static void group_shape(struct gr_container *c, struct gr_map_shape *shape)
{
	struct gr_walk *w = c->w;
	// map<K,V>.dirPtr **table; table.groups; groupReference.data *group.
	gr_type_id table = field_type(w, c->info->header, "dirPtr", 2);
	gr_type_id groups = field_type(w, table, "groups", 0);
	gr_type_id group = field_type(w, groups, "data", 1);

	shape_sizes(c, shape);
	if (!group_shape_from_die(w, group, shape))
		group_shape_computed(c, shape);
}

static void run_groups(struct gr_container *c, const struct gr_map_shape *shape,
		       const struct gr_piece *groups, uint64_t count)
{
	if (!groups->host || !shape->bytes)
		return;
	if (count > groups->bytes / shape->bytes) {
		gr_gap_add(c->w->rt->gaps, GR_GAP_BROKEN_CONTAINERS, 1);
		count = groups->bytes / shape->bytes;
	}
	for (uint64_t g = 0; g < count && !c->w->err; g++) {
		struct gr_piece group = {
			groups->host + g * shape->bytes,
			groups->word + g * shape->bytes / GR_WORD_BYTES,
			shape->bytes,
		};
		// The control word, a byte a slot.
		run_entries(c, shape, &group,
			    ~gr_load_u64(group.host) & SLOT_BITS);
	}
}

static void run_table(struct gr_container *c, const struct gr_map_shape *shape,
		      const struct gr_piece *table)
{
	const typeof(c->w->rt->layout.swiss_table) *f =
		&c->w->rt->layout.swiss_table;

	if (!table->host || table->bytes < f->size_bytes)
		return;
	uint64_t mask = gr_field_uint(table->host, f->groups_mask);
	struct gr_piece groups =
		gr_container_follow(c, table, f->groups_data.off);
	run_groups(c, shape, &groups, mask < UINT64_MAX ? mask + 1 : mask);
}

void gr_map_run_groups(struct gr_container *c, const struct gr_piece *header)
{
	const typeof(c->w->rt->layout.swiss_map) *f =
		&c->w->rt->layout.swiss_map;
	uint64_t dir_len = gr_field_uint(header->host, f->dir_len);
	struct gr_piece dir = gr_container_follow(c, header, f->dir_ptr.off);
	struct gr_map_shape shape;

	if (!dir.host)
		return;
	find_shape(c, group_shape, &shape);
	open_part(c, &shape, &shape.key, c->info->key, 0);
	open_part(c, &shape, &shape.elem, c->info->elem, 1);
	if (!dir_len) {
		// A small map: the pointer is that of its only group.
		run_groups(c, &shape, &dir, 1);
		gr_container_finish(c, &dir);
		return;
	}
	if (dir_len > dir.bytes / GR_WORD_BYTES) {
		gr_gap_add(c->w->rt->gaps, GR_GAP_BROKEN_CONTAINERS, 1);
		dir_len = dir.bytes / GR_WORD_BYTES;
	}
	for (uint64_t i = 0; i < dir_len && !c->w->err; i++) {
		// A table stands in several neighbouring entries; its own
		// words are taken the first time.
		struct gr_piece table =
			gr_container_follow(c, &dir, i * GR_WORD_BYTES);
		run_table(c, &shape, &table);
	}
}
