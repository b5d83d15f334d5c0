// SPDX-License-Identifier: Apache-2.0
/* Elements by a constant index or key. */
#include "expr/element.h"

#include "expr/place_internal.h"

#include <inttypes.h>

enum {
	OTHER_BYTES = 1 << 20, /* buckets outside of the heap, of small maps */
	REFLECT_INT64 = 6,     /* reflect.Kind: of signed integers the last */
	SHOWN_KEY_BYTES = 40,
};

/** The names of the kinds of literals, for errors. */
static const char *const literal_names[] = {
	[GR_LITERAL_NUMBER] = "number",
	[GR_LITERAL_STRING] = "string",
	[GR_LITERAL_BOOL] = "bool",
};

static const struct gr_type *type_of(struct gr_program *program, gr_type_id id)
{
	return gr_types_get(program->types, id);
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
static struct gr_error *header_element(struct gr_runtime *rt,
				       const struct gr_literal *index,
				       uint64_t elem_bytes, const char *name,
				       struct gr_place *place)
{
	uint64_t header[2];
	struct gr_error *err =
		gr_image_read(rt->image, place->addr, header, sizeof(header));

	return err ? err :
		     element(index, header[0], header[1], elem_bytes, name,
			     place);
}

// ---------------------------------------------------------------------- maps

/* Buckets and groups lie in spans; while a map of buckets grows, it has half as
 * many again. */
struct gr_error *gr_element_map_cursor(struct gr_heap *heap, gr_type_id map,
				       uint64_t header,
				       struct gr_map_cursor *ret)
{
	return gr_map_cursor_begin(heap->types, map, header,
				   2 * heap->span_bytes + OTHER_BYTES, ret);
}

/** A search for one key. */
struct search {
	struct gr_runtime *rt;
	const struct gr_literal *key;
	const struct gr_type *type; /**< The keys' type. */
};

/* Does the string equal the literal? Only the texts of strings as long as that
 * are read. Bytes that cannot be read are an error, because they might be the
 * key. */
static struct gr_error *is_string(const struct search *s, const uint8_t *header,
				  bool *ret)
{
	uint64_t addr = gr_load_u64(header);
	uint64_t bytes = gr_load_u64(header + GR_WORD_BYTES);
	const struct gr_literal *key = s->key;
	struct gr_error *err = NULL;
	char buf[256];

	*ret = bytes == key->text_bytes;
	// Bounded by the key's own bytes.
	for (uint64_t done = 0; !err && *ret && done < bytes;) {
		uint64_t n = bytes - done < sizeof(buf) ? bytes - done :
							  sizeof(buf);

		err = gr_image_read_late(s->rt->image, addr + done, buf, n);
		*ret = !err && !memcmp(buf, key->text + done, n);
		done += n;
	}
	return err;
}

static struct gr_error *is_key(const struct search *s, const uint8_t *key,
			       bool *ret)
{
	switch (s->key->kind) {
	case GR_LITERAL_STRING:
		return is_string(s, key, ret);
	case GR_LITERAL_BOOL:
		*ret = !*key == !s->key->truth;
		break;
	case GR_LITERAL_NUMBER:
		*ret = gr_literal_is_integer(s->key, key,
					     (unsigned int)s->type->size_bytes,
					     s->type->kind <= REFLECT_INT64);
		break;
	}
	return NULL;
}

static struct gr_error *find_slot(void *ctx, const struct gr_map_keys *keys,
				  unsigned int *ret)
{
	struct gr_error *err = NULL;
	bool is_it = false;

	for (*ret = 0; *ret < GR_MAP_SLOTS; ++*ret) {
		if (!(keys->full >> *ret * 8 & 0x80))
			continue;
		err = is_key(ctx, keys->first + *ret * keys->stride, &is_it);
		if (err || is_it)
			break;
	}
	return err;
}

bool gr_element_key_fits(const struct gr_program *program, gr_type_id map,
			 const struct gr_literal *key)
{
	gr_type_id id = gr_types_get(program->types, map)->key;

	if (id == GR_TYPE_NONE)
		return false;
	const struct gr_type *type = gr_types_get(program->types, id);
	switch (key->kind) {
	case GR_LITERAL_STRING:
		return type->kind == GR_KIND_STRING &&
		       type->size_bytes == 2 * GR_WORD_BYTES;
	case GR_LITERAL_BOOL:
		return type->kind == GR_KIND_BOOL && type->size_bytes == 1;
	case GR_LITERAL_NUMBER:
		return type->kind >= GR_KIND_INT &&
		       type->kind <= GR_KIND_UINTPTR && type->size_bytes &&
		       type->size_bytes <= GR_WORD_BYTES;
	}
	return false;
}

struct gr_error *gr_element_find_key(struct gr_stop *stop, gr_type_id map,
				     uint64_t header,
				     const struct gr_literal *key,
				     uint64_t *elem_addr)
{
	struct gr_map_cursor cursor;
	struct gr_error *err =
		gr_element_map_cursor(stop->heap, map, header, &cursor);

	*elem_addr = 0;
	if (err)
		return err;
	// No type is made from here on.
	struct search s = {
		.rt = &stop->program->rt,
		.key = key,
		.type = type_of(stop->program,
				type_of(stop->program, map)->key),
	};
	return gr_map_cursor_find(&cursor, find_slot, &s, elem_addr);
}

static struct gr_error *map_element(struct gr_stop *stop,
				    const struct gr_literal *index,
				    const char *name, struct gr_place *place)
{
	const struct gr_type *map = type_of(stop->program, place->type);
	uint64_t header, addr = 0;
	char buf[64];

	if (map->key == GR_TYPE_NONE || map->elem == GR_TYPE_NONE)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "the types of the keys and elements of "
				       "%s are not known",
				       name);
	if (!gr_element_key_fits(stop->program, place->type, index))
		return gr_error_format(
			GR_ERROR_ARGUMENT,
			"%s has keys of type %s: no %s finds one", name,
			type_of(stop->program, map->key)->name,
			literal_names[index->kind]);
	struct gr_error *err =
		gr_image_read_u64(stop->image, place->addr, &header);
	if (!err && header)
		err = gr_element_find_key(stop, place->type, header, index,
					  &addr);
	if (!err && !addr)
		return gr_error_format(GR_ERROR_ARGUMENT, "%s has no key %s",
				       name, shown(index, buf));
	place->addr = addr;
	return err;
}

struct gr_error *gr_place_index(struct gr_stop *stop,
				const struct gr_literal *index,
				struct gr_place *place, const char *name)
{
	struct gr_error *err = gr_place_follow(stop->program, place, name, "[");

	if (err)
		return err;
	// A copy: types may be made while a map is searched.
	struct gr_type type = *type_of(stop->program, place->type);
	uint64_t elem_bytes =
		type.elem == GR_TYPE_NONE ?
			0 :
			type_of(stop->program, type.elem)->size_bytes;
	switch (type.kind) {
	case GR_KIND_ARRAY:
		err = element(index, place->addr, type.count, elem_bytes, name,
			      place);
		break;
	case GR_KIND_SLICE:
		err = header_element(&stop->program->rt, index, elem_bytes,
				     name, place);
		break;
	case GR_KIND_STRING:
		type.elem = GR_TYPE_NONE;
		err = header_element(&stop->program->rt, index, 1, name, place);
		break;
	case GR_KIND_MAP:
		err = map_element(stop, index, name, place);
		break;
	default:
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "%s has no elements: it is a %s", name,
				       type.name);
	}
	place->type = type.elem;
	return err;
}
