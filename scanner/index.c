// SPDX-License-Identifier: Apache-2.0
/*
 * Elements by a constant index or key. Maps are searched through, not hashed:
 * the hash depends on a seed and on the processor. Source: runtime/map.go
 * (hmap, bmap), internal/runtime/maps (Map, table, groupReference).
 */
#include "place_internal.h"

#include <inttypes.h>

enum {
	MAX_B = 48,
	MAX_PART_BYTES = 1 << 16, /* of a bucket or group: 2 kB are usual */
	OTHER_PARTS = 1024, /* buckets outside of the heap, of small maps */
	STEP_BYTES = 100,   /* runtime.h: of a step */
	REFLECT_INT64 = 6,  /* reflect.Kind: of signed integers the last */
	SHOWN_KEY_BYTES = 40,
};

/** The names of the kinds of literals, for errors. */
static const char *const literal_names[] = {
	[GR_LITERAL_NUMBER] = "number",
	[GR_LITERAL_STRING] = "string",
	[GR_LITERAL_BOOL] = "bool",
};

static const struct gr_type *type_of(struct gr_scan *scan, gr_type_id id)
{
	return gr_types_get(scan->types, id);
}

/* The literal as it is said in errors; the buffer holds 64 bytes. */
static const char *shown(const struct gr_literal *index, char *buf)
{
	int bytes = index->text_bytes < SHOWN_KEY_BYTES ?
			    (int)index->text_bytes :
			    SHOWN_KEY_BYTES;

	if (index->kind == GR_LITERAL_BOOL)
		return index->truth ? "true" : "false";
	if (index->kind == GR_LITERAL_NUMBER)
		snprintf(buf, 64, "%s%" PRIu64, index->is_negative ? "-" : "",
			 index->magnitude);
	else
		snprintf(buf, 64, "\"%.*s%s\"", bytes, index->text,
			 (size_t)bytes < index->text_bytes ? "..." : "");
	return buf;
}

// --------------------------------------------------------- arrays and slices

static struct gr_error *element(const struct gr_literal *index, uint64_t first,
				uint64_t count, uint64_t elem_bytes,
				const char *name, struct gr_place *place)
{
	char buf[64];
	uint64_t off;

	if (index->kind != GR_LITERAL_NUMBER)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "%s has elements by number, not by %s",
				       name, shown(index, buf));
	if (index->is_negative || index->magnitude >= count)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "index %s is out of range: %s has "
				       "%" PRIu64 " element%s",
				       shown(index, buf), name, count,
				       count == 1 ? "" : "s");
	if (__builtin_mul_overflow(index->magnitude, elem_bytes, &off) ||
	    __builtin_add_overflow(first, off, &place->addr))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "the length of %s makes no sense", name);
	return NULL;
}

/* The first two words of a slice or string: where it begins, its length. */
static struct gr_error *header_element(struct gr_scan *scan,
				       const struct gr_literal *index,
				       uint64_t elem_bytes, const char *name,
				       struct gr_place *place)
{
	uint64_t header[2];
	struct gr_error *err =
		gr_image_read(scan->image, place->addr, header, sizeof(header));

	return err ? err :
		     element(index, header[0], header[1], elem_bytes, name,
			     place);
}

// ---------------------------------------------------------------------- maps

/** A search for one key. */
struct search {
	struct gr_scan *scan;
	const struct gr_literal *key;
	const struct gr_type *map;
	struct gr_map_shape shape;
	uint8_t *part;	    /* The bytes of a bucket or group. */
	uint64_t found;	    /* The address of the element; 0: not yet. */
	uint64_t parts;	    /* Number seen so far. */
	uint64_t max_parts; /* Limit, by the size of the heap. */
	uint64_t key_bytes; /* Size of a key in its slot. */
	unsigned int key_kind;
};

/* Does the slot hold the key? Bytes that cannot be read are an error, because
 * they might be the key. */
static struct gr_error *is_string(struct search *s, const uint8_t *slot,
				  bool *ret)
{
	uint64_t addr = gr_load_u64(slot);
	uint64_t bytes = gr_load_u64(slot + GR_WORD_BYTES);
	const struct gr_literal *key = s->key;
	char buf[256];

	*ret = bytes == key->text_bytes;
	for (uint64_t done = 0; *ret && done < bytes;) {
		uint64_t n = bytes - done < sizeof(buf) ? bytes - done :
							  sizeof(buf);
		struct gr_error *err =
			gr_image_read(s->scan->image, addr + done, buf, n);
		if (err)
			return err;
		*ret = !memcmp(buf, key->text + done, n);
		done += n;
	}
	return NULL;
}

static struct gr_error *is_key(struct search *s, const uint8_t *slot, bool *ret)
{
	switch (s->key->kind) {
	case GR_LITERAL_STRING:
		return is_string(s, slot, ret);
	case GR_LITERAL_BOOL:
		*ret = !*slot == !s->key->truth;
		return NULL;
	case GR_LITERAL_NUMBER:
		*ret = gr_literal_is_integer(s->key, slot,
					     (unsigned int)s->key_bytes,
					     s->key_kind <= REFLECT_INT64);
		return NULL;
	}
	return NULL;
}

/* Look at the slots of the part at @addr whose bytes in @full are 0x80
 * (gr_map_full_slots()). */
static struct gr_error *search_slots(struct search *s, uint64_t addr,
				     uint64_t full)
{
	const struct gr_map_part *elem = &s->shape.elem;
	struct gr_error *err = NULL;
	bool is_it = false;

	for (unsigned int i = 0; i < GR_MAP_SLOTS && !err; i++) {
		if (!(full >> i * 8 & 0x80))
			continue;
		uint64_t key_off =
			s->shape.key.off_bytes + i * s->shape.key.stride;
		uint64_t elem_off = elem->off_bytes + i * elem->stride;
		err = is_key(s, s->part + key_off, &is_it);
		if (err || !is_it)
			continue;
		s->found = elem->is_indirect ? gr_load_u64(s->part + elem_off) :
					       addr + elem_off;
		return NULL;
	}
	return err;
}

/* Read the bucket or group at @addr. */
static struct gr_error *read_part(struct search *s, uint64_t addr)
{
	if (++s->parts > s->max_parts)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "the map makes no sense: it is larger "
				       "than the heap");
	struct gr_error *err =
		gr_runtime_step(&s->scan->rt, 1 + s->shape.bytes / STEP_BYTES);
	if (err)
		return err;
	return gr_image_read(s->scan->image, addr, s->part, s->shape.bytes);
}

/* Read a struct of the runtime into new memory: *@p ret is for free(). */
static struct gr_error *read_struct(struct search *s, uint64_t addr,
				    uint64_t bytes, uint8_t **ret)
{
	*ret = malloc(bytes);
	return *ret ? gr_image_read(s->scan->image, addr, *ret, bytes) :
		      &gr_enomem;
}

/* Buckets, each with its chain of overflow buckets. */
static struct gr_error *search_buckets(struct search *s, uint64_t array,
				       uint64_t count)
{
	struct gr_error *err = NULL;

	for (uint64_t i = 0; array && i < count && !err && !s->found; i++) {
		uint64_t bucket = array + i * s->shape.bytes;
		while (bucket && !err && !s->found) {
			err = read_part(s, bucket);
			if (!err)
				err = search_slots(
					s, bucket,
					gr_map_full_in_bucket(s->part));
			if (!err)
				bucket = gr_load_u64(s->part + s->shape.bytes -
						     GR_WORD_BYTES);
		}
	}
	return err;
}

/* An entry is in the new array, or in a bucket of the old one that was not
 * yet moved: one that was has no slot in use. */
static struct gr_error *search_hmap(struct search *s, uint64_t addr)
{
	const typeof(s->scan->rt.layout.hmap) *f = &s->scan->rt.layout.hmap;
	_cleanup_free_ uint8_t *header = NULL;
	struct gr_error *err = read_struct(s, addr, f->size_bytes, &header);

	if (err)
		return err;
	uint64_t b = gr_field_uint(header, f->b);
	if (b > MAX_B)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "the map makes no sense");
	uint64_t buckets = gr_field_uint(header, f->buckets);
	uint64_t old = gr_field_uint(header, f->oldbuckets);
	// Growing to the same size: as many as now, not half of them.
	uint64_t flags = gr_field_uint(header, f->flags);
	uint64_t count = UINT64_C(1) << b;
	err = search_buckets(s, buckets, count);
	return err || s->found ?
		       err :
		       search_buckets(s, old,
				      b && !(flags & 8) ? count / 2 : count);
}

static struct gr_error *search_groups(struct search *s, uint64_t groups,
				      uint64_t count)
{
	struct gr_error *err = NULL;

	for (uint64_t i = 0; i < count && !err && !s->found; i++) {
		uint64_t group = groups + i * s->shape.bytes;

		err = read_part(s, group);
		if (!err)
			err = search_slots(s, group,
					   gr_map_full_in_group(s->part));
	}
	return err;
}

static struct gr_error *search_table(struct search *s, uint64_t addr)
{
	const typeof(s->scan->rt.layout.swiss_table) *f =
		&s->scan->rt.layout.swiss_table;
	_cleanup_free_ uint8_t *table = NULL;
	struct gr_error *err = read_struct(s, addr, f->size_bytes, &table);

	if (err)
		return err;
	uint64_t mask = gr_field_uint(table, f->groups_mask);
	return search_groups(s, gr_field_uint(table, f->groups_data),
			     mask < UINT64_MAX ? mask + 1 : mask);
}

static struct gr_error *search_swiss(struct search *s, uint64_t addr)
{
	const typeof(s->scan->rt.layout.swiss_map) *f =
		&s->scan->rt.layout.swiss_map;
	_cleanup_free_ uint8_t *header = NULL;
	uint64_t table, last = 0;
	struct gr_error *err = read_struct(s, addr, f->size_bytes, &header);

	if (err)
		return err;
	uint64_t dir = gr_field_uint(header, f->dir_ptr);
	uint64_t dir_len = gr_field_uint(header, f->dir_len);
	// A small map: the pointer is that of its only group.
	if (!dir_len)
		return dir ? search_groups(s, dir, 1) : NULL;
	for (uint64_t i = 0; i < dir_len && !err && !s->found; i++) {
		err = gr_image_read_u64(s->scan->image, dir + i * GR_WORD_BYTES,
					&table);
		// One table stands in several neighbouring entries.
		if (!err && table != last)
			err = search_table(s, table);
		else if (!err)
			err = gr_runtime_step(&s->scan->rt, 1);
		last = table;
	}
	return err;
}

static bool fits(const struct search *s)
{
	switch (s->key->kind) {
	case GR_LITERAL_STRING:
		return s->key_kind == GR_KIND_STRING &&
		       s->key_bytes == 2 * GR_WORD_BYTES;
	case GR_LITERAL_BOOL:
		return s->key_kind == GR_KIND_BOOL && s->key_bytes == 1;
	case GR_LITERAL_NUMBER:
		return s->key_kind >= GR_KIND_INT &&
		       s->key_kind <= GR_KIND_UINTPTR && s->key_bytes &&
		       s->key_bytes <= 8;
	}
	return false;
}

/* Do all slots of a part lie in it? */
static bool is_sound(const struct search *s)
{
	const struct gr_map_shape *shape = &s->shape;
	const struct gr_map_part *elem = &shape->elem;
	uint64_t elem_bytes = elem->is_indirect ? GR_WORD_BYTES : 0;

	return shape->bytes >= GR_MAP_SLOTS + GR_WORD_BYTES &&
	       shape->bytes <= MAX_PART_BYTES && !shape->key.is_indirect &&
	       shape->key.off_bytes <= shape->bytes &&
	       shape->key.stride <= MAX_PART_BYTES &&
	       elem->off_bytes <= shape->bytes &&
	       elem->stride <= MAX_PART_BYTES &&
	       shape->key.off_bytes + (GR_MAP_SLOTS - 1) * shape->key.stride +
			       s->key_bytes <=
		       shape->bytes &&
	       elem->off_bytes + (GR_MAP_SLOTS - 1) * elem->stride +
			       elem_bytes <=
		       shape->bytes;
}

/* Parts lie in objects of the heap; while a map of buckets grows, it has half
 * as many again. */
static uint64_t max_parts(const struct search *s)
{
	const struct gr_heap *heap = s->scan->heap;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < heap->nspans; i++)
		bytes += heap->spans[i].limit_addr - heap->spans[i].base_addr;
	return 2 * (bytes / s->shape.bytes) + OTHER_PARTS;
}

static struct gr_error *search_map(struct search *s, uint64_t header)
{
	const struct gr_layout *layout = &s->scan->rt.layout;

	s->max_parts = max_parts(s);

	return layout->swiss_map.size_bytes ? search_swiss(s, header) :
	       layout->hmap.size_bytes	    ? search_hmap(s, header) :
					      NULL;
}

static struct gr_error *no_such_key(const struct search *s, const char *name)
{
	char buf[64];

	if (!fits(s))
		return gr_error_format(
			GR_ERROR_ARGUMENT,
			"%s has keys of type %s: no %s finds one", name,
			type_of(s->scan, s->map->key)->name,
			literal_names[s->key->kind]);
	return gr_error_format(GR_ERROR_ARGUMENT, "%s has no key %s", name,
			       shown(s->key, buf));
}

static struct gr_error *map_element(struct gr_scan *scan,
				    const struct gr_literal *index,
				    const struct gr_type *map, const char *name,
				    struct gr_place *place)
{
	struct search s = { .scan = scan, .key = index, .map = map };
	struct gr_error *err;
	uint64_t header;

	if (map->key == GR_TYPE_NONE || map->elem == GR_TYPE_NONE)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "the types of the keys and elements of "
				       "%s are not known",
				       name);
	s.key_bytes = type_of(scan, map->key)->size_bytes;
	s.key_kind = type_of(scan, map->key)->kind;
	if (!fits(&s))
		return no_such_key(&s, name);
	err = gr_image_read_u64(scan->image, place->addr, &header);
	if (err || !header)
		return err ? err : no_such_key(&s, name);
	err = gr_map_find_shape(&scan->rt.layout, scan->types, map, &s.shape);
	if (err)
		return err;
	if (!is_sound(&s))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "the debug information of %s makes no "
				       "sense",
				       map->name);
	s.part = malloc(s.shape.bytes);
	if (!s.part)
		return &gr_enomem;
	err = search_map(&s, header);
	free(s.part);
	if (!err && !s.found)
		return no_such_key(&s, name);
	place->addr = s.found;
	return err;
}

struct gr_error *gr_place_index(struct gr_scan *scan,
				const struct gr_literal *index,
				struct gr_place *place, const char *name)
{
	struct gr_error *err = gr_place_follow(scan, place, name, "[");

	if (err)
		return err;
	// A copy: types may be made while a map is searched.
	struct gr_type type = *type_of(scan, place->type);
	uint64_t elem_bytes = type.elem == GR_TYPE_NONE ?
				      0 :
				      type_of(scan, type.elem)->size_bytes;
	switch (type.kind) {
	case GR_KIND_ARRAY:
		err = element(index, place->addr, type.count, elem_bytes, name,
			      place);
		break;
	case GR_KIND_SLICE:
		err = header_element(scan, index, elem_bytes, name, place);
		break;
	case GR_KIND_STRING:
		type.elem = GR_TYPE_NONE;
		err = header_element(scan, index, 1, name, place);
		break;
	case GR_KIND_MAP:
		err = map_element(scan, index, &type, name, place);
		break;
	default:
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "%s has no elements: it is a %s", name,
				       type.name);
	}
	place->type = type.elem;
	return err;
}
