// SPDX-License-Identifier: Apache-2.0
/*
 * The keys and elements of maps of both designs. Source: runtime/map.go (hmap,
 * bmap, mapextra), internal/runtime/maps (Map, table, groupReference).
 */
#include "waste/objects/views.h"

#include "inferior/recorder.h"

enum {
	MAX_B = 48,
	MAX_OVERFLOW = 1 << 20, /* buckets in a chain */
};

/* Memory from an address to the end of its object. */
struct piece {
	const uint8_t *host; /* NULL: no words to read */
	uint64_t bytes;
};

/* A map while it is read. */
struct reader {
	struct gr_views *v;
	const struct gr_layout *layout;
	gr_type_id key, elem;
	struct gr_map_shape shape;
	bool has_pointers; /* Its keys or elements may have some. */
};

/* The piece at an address, whose words are the map's. */
static struct piece find_piece(struct gr_views *v, uint64_t addr)
{
	const struct gr_heap *heap = v->run->heap;
	const struct gr_span *span;
	gr_obj obj = addr ? gr_heap_object_at(heap, addr, &span) : GR_OBJ_NONE;

	if (obj == GR_OBJ_NONE)
		return (struct piece){ NULL, 0 };
	uint64_t slot = gr_span_slot_addr(span, obj - span->first_obj);
	uint64_t off = addr - span->base_addr;
	gr_bitmap_set(v->walked, obj);
	return (struct piece){ span->host ? span->host + off : NULL,
			       slot + span->elem_bytes - addr };
}

/* The piece at an address; all of it is in use. */
static struct piece take(struct gr_views *v, uint64_t addr)
{
	gr_views_add(v, addr, GR_VIEW_WHOLE, GR_VIEW_WHOLE);
	return find_piece(v, addr);
}

/* The piece at an address, if no map has had it yet. */
static struct piece take_new(struct gr_views *v, uint64_t addr)
{
	const struct gr_span *span;
	gr_obj obj = addr ? gr_heap_object_at(v->run->heap, addr, &span) :
			    GR_OBJ_NONE;

	if (obj == GR_OBJ_NONE || gr_bitmap_test(v->walked, obj))
		return (struct piece){ NULL, 0 };
	return take(v, addr);
}

// ------------------------------------------------------------------- entries

/* Follow a key or an element, or a word that may be stale. */
static void follow_part(struct reader *r, const struct gr_map_part *part,
			gr_type_id type, const uint8_t *at, bool is_full)
{
	const struct gr_slot to = { .op = GR_SLOT_POINTER, .type = type };

	if (part->is_indirect)
		gr_views_follow(r->v, is_full ? &to : NULL, at);
	else if (is_full)
		gr_views_follow_value(r->v, gr_views_plan(r->v, type), at);
	else
		gr_views_follow_stale(r->v, gr_views_plan(r->v, type), at);
}

/* Follow a bucket or group. */
static void follow_slots(struct reader *r, const uint8_t *host)
{
	uint64_t full = gr_map_full_slots(r->layout, host);

	if (!r->v->err)
		r->v->err = gr_runtime_step(r->v->run->heap->rt, GR_MAP_SLOTS);
	gr_recorder_note(r->v->run->heap->rt->recorder, host, GR_MAP_SLOTS);
	for (unsigned int i = 0; i < GR_MAP_SLOTS && !r->v->err; i++) {
		bool is_full = full >> i * 8 & 0x80;
		const struct gr_map_part *key = &r->shape.key;
		const struct gr_map_part *elem = &r->shape.elem;

		if (r->key != GR_TYPE_NONE)
			follow_part(r, key, r->key,
				    host + key->off_bytes + i * key->stride,
				    is_full);
		if (r->elem != GR_TYPE_NONE)
			follow_part(r, elem, r->elem,
				    host + elem->off_bytes + i * elem->stride,
				    is_full);
	}
}

static bool part_fits(const struct reader *r, const struct gr_map_part *part,
		      gr_type_id type)
{
	uint64_t bytes =
		part->is_indirect || type == GR_TYPE_NONE ?
			GR_WORD_BYTES :
			gr_types_get(r->v->run->types, type)->size_bytes;

	return part->off_bytes <= r->shape.bytes &&
	       (GR_MAP_SLOTS - 1) * part->stride + bytes <=
		       r->shape.bytes - part->off_bytes;
}

static bool part_has_pointers(struct reader *r, const struct gr_map_part *part,
			      gr_type_id type)
{
	return type != GR_TYPE_NONE &&
	       (part->is_indirect ||
		!gr_type_plan_is_empty(gr_views_plan(r->v, type)));
}

/* Follow @p count buckets or groups, as far as there are so many. */
static void follow_array(struct reader *r, struct piece array, uint64_t count)
{
	uint64_t most = r->shape.bytes ? array.bytes / r->shape.bytes : 0;

	if (!array.host || !r->has_pointers)
		return;
	if (count > most)
		r->v->run->waste->broken_views++;
	// Bounded by the bytes of the array.
	for (uint64_t i = 0; i < most && i < count && !r->v->err; i++)
		follow_slots(r, array.host + i * r->shape.bytes);
}

// ------------------------------------------------------------------- buckets

/* Follow the buckets behind a bucket. */
static void follow_chain(struct reader *r, const uint8_t *bucket)
{
	for (int n = 0; n < MAX_OVERFLOW && !r->v->err; n++) {
		uint64_t next =
			gr_load_u64(bucket + r->shape.bytes - GR_WORD_BYTES);
		const struct gr_span *span;
		gr_obj obj =
			next ? gr_heap_object_at(r->v->run->heap, next, &span) :
			       GR_OBJ_NONE;

		// A bucket in the array itself is not followed again.
		if (obj == GR_OBJ_NONE || gr_bitmap_test(r->v->walked, obj))
			return;
		struct piece piece = take(r->v, next);
		if (!piece.host || piece.bytes < r->shape.bytes)
			return;
		follow_slots(r, piece.host);
		bucket = piece.host;
	}
}

static void follow_buckets(struct reader *r, uint64_t addr)
{
	struct piece array = take_new(r->v, addr);
	uint64_t all = r->shape.bytes ? array.bytes / r->shape.bytes : 0;

	// Overflow buckets that were made with the array lie behind it.
	follow_array(r, array, all);
	if (!array.host || !r->has_pointers)
		return;
	// Bounded by the bytes of the array.
	for (uint64_t i = 0; i < all && !r->v->err; i++)
		follow_chain(r, array.host + i * r->shape.bytes);
}

/* The list that keeps overflow buckets without pointers. */
static void take_list(struct reader *r, struct piece extra,
		      struct gr_field field)
{
	struct piece slice, list;

	if (field.off + GR_WORD_BYTES > extra.bytes)
		return;
	slice = take(r->v, gr_load_u64(extra.host + field.off));
	if (!slice.host || slice.bytes < 3 * GR_WORD_BYTES)
		return;
	uint64_t count = gr_load_u64(slice.host + GR_WORD_BYTES);
	list = take_new(r->v, gr_load_u64(slice.host));
	// Bounded by the bytes of the list, which is read once.
	for (uint64_t i = 0;
	     list.host && i < count && (i + 1) * GR_WORD_BYTES <= list.bytes &&
	     !r->v->err;
	     i++) {
		take(r->v, gr_load_u64(list.host + i * GR_WORD_BYTES));
		if (!r->v->err)
			r->v->err = gr_runtime_step(r->v->run->heap->rt, 1);
	}
}

static void read_hmap(struct reader *r, const uint8_t *host)
{
	const typeof(r->layout->hmap) *f = &r->layout->hmap;
	struct piece extra;

	if (gr_field_uint(host, f->b) > MAX_B)
		r->v->run->waste->broken_views++;
	follow_buckets(r, gr_field_word(host, f->buckets));
	follow_buckets(r, gr_field_word(host, f->oldbuckets));
	extra = take(r->v, gr_field_word(host, f->extra));
	if (!extra.host || extra.bytes < r->layout->mapextra.size_bytes)
		return;
	take_list(r, extra, r->layout->mapextra.overflow);
	take_list(r, extra, r->layout->mapextra.oldoverflow);
}

// -------------------------------------------------------------------- groups

static void read_table(struct reader *r, struct piece table)
{
	const typeof(r->layout->swiss_table) *f = &r->layout->swiss_table;

	if (!table.host || table.bytes < f->size_bytes)
		return;
	uint64_t mask = gr_field_uint(table.host, f->groups_mask);
	follow_array(r,
		     take_new(r->v, gr_field_word(table.host, f->groups_data)),
		     mask < UINT64_MAX ? mask + 1 : mask);
}

static void read_swiss(struct reader *r, const uint8_t *host)
{
	const typeof(r->layout->swiss_map) *f = &r->layout->swiss_map;
	uint64_t count = gr_field_uint(host, f->dir_len);
	struct piece dir = take_new(r->v, gr_field_word(host, f->dir_ptr));
	uint64_t last = 0;

	if (!count) {
		follow_array(r, dir, 1);
		return;
	}
	if (!dir.host)
		return;
	// Bounded by the bytes of the directory.
	for (uint64_t i = 0;
	     i < count && (i + 1) * GR_WORD_BYTES <= dir.bytes && !r->v->err;
	     i++) {
		uint64_t addr = gr_load_u64(dir.host + i * GR_WORD_BYTES);

		// Neighbours may point to one table.
		if (addr != last)
			read_table(r, take_new(r->v, addr));
		last = addr;
	}
}

// ---------------------------------------------------------------------- maps

/* The shape of a map type; the last one is kept. */
static bool find_shape(struct gr_views *v, gr_type_id type)
{
	struct gr_error *err;

	if (v->shape.bytes && v->shape_type == type)
		return true;
	const struct gr_type info = *gr_types_get(v->run->types, type);
	err = gr_map_find_shape(&v->run->heap->rt->layout, v->run->types, &info,
				&v->shape);
	v->shape_type = type;
	if (!err)
		return v->shape.bytes >= GR_WORD_BYTES;
	v->shape.bytes = 0;
	if (v->err)
		gr_error_destroy(err);
	else
		v->err = err;
	return false;
}

void gr_views_read_map(struct gr_views *v, struct gr_map_header header)
{
	struct gr_runtime *rt = v->run->heap->rt;
	bool is_swiss = rt->layout.swiss_map.size_bytes;
	uint64_t bytes = is_swiss ? rt->layout.swiss_map.size_bytes :
				    rt->layout.hmap.size_bytes;
	// The word that leads to the header has added its view.
	struct piece piece = find_piece(v, header.addr);

	if (!piece.host || piece.bytes < bytes || !find_shape(v, header.type))
		return;
	const struct gr_type *info = gr_types_get(v->run->types, header.type);
	struct reader r = { .v = v,
			    .layout = &rt->layout,
			    .key = info->key,
			    .elem = info->elem,
			    .shape = v->shape };
	if (!part_fits(&r, &r.shape.key, r.key) ||
	    !part_fits(&r, &r.shape.elem, r.elem))
		return;
	r.has_pointers = part_has_pointers(&r, &r.shape.key, r.key) ||
			 part_has_pointers(&r, &r.shape.elem, r.elem);
	gr_recorder_note(rt->recorder, piece.host, bytes);
	if (is_swiss)
		read_swiss(&r, piece.host);
	else
		read_hmap(&r, piece.host);
}
