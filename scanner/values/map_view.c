// SPDX-License-Identifier: Apache-2.0
#include "map_view.h"

#include "goruntime/sched/channel.h"
#include "scan.h"

enum {
	REFLECT_INT64 = 6,   /* reflect.Kind: the last signed integer */
	OTHER_PIECES = 1024, /* outside of the heap, of small maps */
	LEAST_PIECE_BYTES = 2 * GR_WORD_BYTES,
};

static struct gr_error *check_kind(const struct gr_scan *scan, uint32_t type,
				   uint8_t kind)
{
	if (type < gr_types_count(scan->types) &&
	    gr_types_get(scan->types, type)->kind == kind)
		return NULL;
	return gr_error_format(GR_ERROR_ARGUMENT, "type %u is no map", type);
}

/* Begin a question that reads values. */
static struct gr_error *enter(struct gr_scan *scan,
			      struct gr_sigbus_guard *guard)
{
	struct gr_error *err = gr_scan_enter(scan, guard);

	return !err && gr_image_lacks_values(scan->image) ?
		       gr_error_not_saved() :
		       err;
}

static struct gr_error *read_length(struct gr_scan *scan, uint32_t type,
				    uint64_t header, uint64_t *ret)
{
	struct gr_channel channel;
	struct gr_error *err;

	if (gr_types_get(scan->types, type)->kind == GR_KIND_MAP)
		return gr_map_count(&scan->rt, header, ret);
	err = gr_channel_read(&scan->rt, header, &channel);
	*ret = channel.count;
	return err;
}

struct gr_error *gr_scan_length(struct gr_scan *scan, uint32_t type,
				uint64_t header, uint64_t *ret)
{
	struct gr_error *err = check_kind(scan, type, GR_KIND_MAP);
	struct gr_sigbus_guard guard;

	*ret = 0;
	if (gr_error_catch(&err, GR_ERROR_ARGUMENT))
		err = check_kind(scan, type, GR_KIND_CHAN);
	if (err || !header)
		return err;
	err = enter(scan, &guard);
	if (!err)
		err = read_length(scan, type, header, ret);
	return gr_sigbus_guard_end(&guard, err);
}

// ------------------------------------------------------------------- entries

/* Pieces lie in spans; while a map of buckets grows, it has half as many again.
 */
static uint64_t max_pieces(const struct gr_scan *scan)
{
	return 2 * (scan->heap->span_bytes / LEAST_PIECE_BYTES) + OTHER_PIECES;
}

struct gr_error *gr_scan_map_begin(struct gr_scan *scan, uint32_t type,
				   uint64_t header, struct gr_map_cursor *ret)
{
	struct gr_error *err = check_kind(scan, type, GR_KIND_MAP);
	struct gr_sigbus_guard guard;

	if (err)
		return err;
	err = enter(scan, &guard);
	if (!err)
		err = gr_map_cursor_begin(scan->types, type, header,
					  max_pieces(scan), ret);
	return gr_sigbus_guard_end(&guard, err);
}

struct gr_error *gr_scan_map_next(struct gr_scan *scan,
				  struct gr_map_cursor *cursor,
				  struct gr_map_entry *ret, size_t max,
				  size_t *count)
{
	struct gr_sigbus_guard guard;
	struct gr_error *err = enter(scan, &guard);
	bool is_end = false;

	*count = 0;
	while (!err && *count < max) {
		err = gr_map_cursor_next(cursor, &ret[*count], &is_end);
		if (err || is_end)
			break;
		++*count;
	}
	return gr_sigbus_guard_end(&guard, err);
}

// ---------------------------------------------------------------------- find

/** A search for one key. */
struct search {
	struct gr_scan *scan;
	const struct gr_literal *key;
	uint8_t kind;	/* enum gr_go_kind of the keys */
	uint64_t bytes; /* of a key */
};

/* Does the string at @p header equal the literal? Only the texts of strings as
 * long as that are read. */
static struct gr_error *is_string(const struct search *s,
				  const uint64_t header[2], bool *ret)
{
	const struct gr_literal *key = s->key;
	struct gr_error *err = NULL;
	char buf[256];

	*ret = header[1] == key->text_bytes;
	for (uint64_t done = 0; !err && *ret && done < key->text_bytes;) {
		uint64_t n = key->text_bytes - done;

		n = n < sizeof(buf) ? n : sizeof(buf);
		err = gr_image_read_late(s->scan->image, header[0] + done, buf,
					 n);
		*ret = !err && !memcmp(buf, key->text + done, n);
		done += n;
	}
	return err;
}

static struct gr_error *is_key(const struct search *s, uint64_t addr, bool *ret)
{
	uint64_t words[2] = { 0 };
	uint8_t bytes[GR_WORD_BYTES];
	struct gr_error *err =
		gr_image_read_late(s->scan->image, addr, words, s->bytes);

	*ret = false;
	if (err)
		return err;
	memcpy(bytes, words, sizeof(bytes));
	switch (s->key->kind) {
	case GR_LITERAL_STRING:
		return is_string(s, words, ret);
	case GR_LITERAL_BOOL:
		*ret = !*bytes == !s->key->truth;
		break;
	case GR_LITERAL_NUMBER:
		*ret = gr_literal_is_integer(s->key, bytes,
					     (unsigned int)s->bytes,
					     s->kind <= REFLECT_INT64);
		break;
	}
	return NULL;
}

/* Can a key of this kind equal the literal? */
static bool fits(const struct search *s)
{
	switch (s->key->kind) {
	case GR_LITERAL_STRING:
		return s->kind == GR_KIND_STRING &&
		       s->bytes == 2 * GR_WORD_BYTES;
	case GR_LITERAL_BOOL:
		return s->kind == GR_KIND_BOOL && s->bytes == 1;
	case GR_LITERAL_NUMBER:
		return s->kind >= GR_KIND_INT && s->kind <= GR_KIND_UINTPTR &&
		       s->bytes && s->bytes <= GR_WORD_BYTES;
	}
	return false;
}

static struct gr_error *find(const struct search *s, uint32_t type,
			     uint64_t header, uint64_t *elem_addr)
{
	struct gr_map_cursor cursor;
	struct gr_map_entry entry;
	bool is_end = false, is_it = false;
	struct gr_error *err = gr_map_cursor_begin(
		s->scan->types, type, header, max_pieces(s->scan), &cursor);

	while (!err && !is_it) {
		err = gr_map_cursor_next(&cursor, &entry, &is_end);
		if (err || is_end)
			break;
		err = is_key(s, entry.key_addr, &is_it);
	}
	if (!err && is_it)
		*elem_addr = entry.elem_addr;
	return err;
}

struct gr_error *gr_scan_map_find(struct gr_scan *scan, uint32_t type,
				  uint64_t header, const struct gr_literal *key,
				  uint64_t *elem_addr)
{
	struct gr_error *err = check_kind(scan, type, GR_KIND_MAP);
	struct search s = { .scan = scan, .key = key };
	struct gr_sigbus_guard guard;

	*elem_addr = 0;
	if (err)
		return err;
	const struct gr_type *map = gr_types_get(scan->types, type);
	if (map->key != GR_TYPE_NONE) {
		s.kind = gr_types_get(scan->types, map->key)->kind;
		s.bytes = gr_types_get(scan->types, map->key)->size_bytes;
	}
	if (!fits(&s))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "%s has keys of another kind",
				       map->name);
	err = enter(scan, &guard);
	if (!err)
		err = find(&s, type, header, elem_addr);
	return gr_sigbus_guard_end(&guard, err);
}
