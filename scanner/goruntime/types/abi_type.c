// SPDX-License-Identifier: Apache-2.0
#include "goruntime/types/abi_type.h"

#include "base/cleanup.h"
#include "base/vector.h"
#include "inferior/recorder.h"

#include <string.h>

enum {
	MAX_NAME_BYTES = 4096,
	MAX_RECORD_BYTES = 256,
	MAX_TYPES_BYTES = 1 << 30,
	MAX_PLACES = 1 << 16, /* occurrences of one name */
	SEARCH_BYTES = 1 << 20,
	MAX_SIZE_BITS = 50, /* cmd/compile: MAXWIDTH */
	/* abi.TFlagUncommon, abi.TFlagExtraStar, abi.TFlagNamed */
	TFLAG_UNCOMMON = 1,
	TFLAG_EXTRA_STAR = 2,
	TFLAG_NAMED = 4,
};

struct gr_error *gr_abi_type_read_name(struct gr_runtime *rt, uint64_t addr,
				       const char **ret)
{
	struct gr_error *err;
	uint64_t len = 0, byte;
	unsigned int i = 0;
	_cleanup_free_ char *text = NULL;

	// A name is a flag byte, the length as varint, and the bytes.
	do {
		if (i == 4)
			return gr_error_fault(addr, i);
		err = gr_image_read_uint(rt->image, addr + 1 + i, 1, &byte);
		if (err)
			return err;
		len |= (byte & 0x7f) << (7 * i++);
	} while (byte & 0x80);
	if (len > MAX_NAME_BYTES)
		len = MAX_NAME_BYTES;
	text = malloc(len + 1);
	if (!text)
		return &gr_enomem;
	err = gr_image_read(rt->image, addr + 1 + i, text, len);
	if (err)
		return err;
	*ret = gr_arena_intern(rt->arena, text, len);
	return *ret ? NULL : &gr_enomem;
}

static const struct gr_module *module_of(const struct gr_runtime *rt,
					 uint64_t type_addr)
{
	for (size_t i = 0; i < rt->nmodules; i++)
		if (type_addr >= rt->modules[i].types &&
		    type_addr < rt->modules[i].etypes)
			return &rt->modules[i];
	return NULL;
}

/* Return the bytes of a record before its UncommonType, or 0 if not known. */
static uint64_t kind_bytes(const struct gr_layout *layout, uint8_t kind)
{
	uint64_t common = layout->type.size_bytes;

	switch (kind) {
	case GR_KIND_ARRAY: // Elem, Slice, Len
		return common + 24;
	case GR_KIND_CHAN: // Elem, Dir
		return common + 16;
	case GR_KIND_FUNC: // InCount, OutCount
	case GR_KIND_PTR:  // Elem
	case GR_KIND_SLICE:
		return common + 8;
	case GR_KIND_INTERFACE: // PkgPath, a slice
	case GR_KIND_STRUCT:
		return common + 32;
	case GR_KIND_MAP:
		return layout->map_type.size_bytes;
	default:
		return common;
	}
}

/* Return the start of a type's own name in "pkg.Name[arg,arg]", or NULL. */
static const char *own_name(const char *name)
{
	const char *end = name + strcspn(name, "["), *at = end;

	while (at > name && at[-1] != '.')
		at--;
	return at > name ? at : NULL;
}

/* Replace the package's name by its import path. */
static struct gr_error *qualify(struct gr_runtime *rt, uint64_t addr,
				const struct gr_module *module,
				struct gr_abi_type *record)
{
	uint64_t bytes = kind_bytes(&rt->layout, record->kind), off;
	const char *own = own_name(record->name), *path;
	struct gr_error *err;

	if (!bytes || !own)
		return NULL;
	err = gr_image_read_uint(rt->image, addr + bytes, 4, &off);
	if (!err && !off)
		return NULL;
	if (!err)
		err = gr_abi_type_read_name(rt, module->types + (int32_t)off,
					    &path);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || (!err && !*path))
		return NULL;
	if (err)
		return err;
	record->name = gr_arena_internf(rt->arena, "%s.%s", path, own);
	return record->name ? NULL : &gr_enomem;
}

static struct gr_error *read_full_name(struct gr_runtime *rt, uint64_t addr,
				       uint32_t str, uint8_t tflag,
				       struct gr_abi_type *record)
{
	const struct gr_module *module = module_of(rt, addr);
	struct gr_error *err;

	record->name = "?";
	record->has_name = tflag & TFLAG_NAMED;
	if (!module)
		return NULL;
	err = gr_abi_type_read_name(rt, module->types + (int32_t)str,
				    &record->name);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		record->name = "?";
	if (err)
		return err;
	if (tflag & TFLAG_EXTRA_STAR && *record->name == '*')
		record->name++;
	if (!*record->name)
		record->name = "?";
	if (record->has_name && tflag & TFLAG_UNCOMMON)
		return qualify(rt, addr, module, record);
	return NULL;
}

struct gr_error *gr_abi_type_read(struct gr_runtime *rt, uint64_t addr,
				  struct gr_abi_type *ret)
{
	const typeof(rt->layout.type) *f = &rt->layout.type;
	struct gr_error *err;
	uint8_t record[MAX_RECORD_BYTES];

	if (f->size_bytes > sizeof(record))
		return gr_error_fault(addr, f->size_bytes);
	err = gr_image_read(rt->image, addr, record, f->size_bytes);
	if (err)
		return err;
	ret->size_bytes = gr_field_uint(record, f->size);
	ret->kind = gr_field_uint(record, f->kind) &
		    rt->layout.consts.kind_mask;
	if (!ret->kind || ret->kind > GR_KIND_UNSAFE_POINTER ||
	    ret->size_bytes > UINT64_C(1) << MAX_SIZE_BITS)
		return gr_error_fault(addr, f->size_bytes);
	return read_full_name(rt, addr, gr_field_uint(record, f->str),
			      gr_field_uint(record, f->tflag), ret);
}

GR_VECTOR(place_vector, uint32_t);

/* A search for a record whose name lies at one of some places. */
struct finder {
	struct gr_runtime *rt;
	const struct gr_module *module;
	struct gr_bytes bytes; /* [types, etypes) */
	const char *name;
	struct place_vector places; /* in ascending order */
};

static void finder_deinit(struct finder *f)
{
	place_vector_deinit(&f->places);
}

/* Find every place where `text` occurs as a name with its length before it. */
static struct gr_error *find_places(struct finder *f, const char *text)
{
	size_t len = strlen(text);
	uint64_t before = len < 0x80 ? 2 : 3, off = 0;
	struct gr_error *err = NULL;

	while (!err && off < f->bytes.size) {
		// Search in pieces, because the user may cancel in between.
		uint64_t left = f->bytes.size - off;
		uint64_t piece = left < SEARCH_BYTES + len ? left :
							     SEARCH_BYTES + len;
		const uint8_t *at =
			memmem(f->bytes.data + off, piece, text, len);

		err = gr_runtime_step(f->rt, GR_POLL_STEPS / 8);
		if (!at) {
			off += left < SEARCH_BYTES ? left : SEARCH_BYTES;
			continue;
		}
		off = at - f->bytes.data;
		if (off >= before && at[-1] == (len < 0x80 ? len : len >> 7) &&
		    (before == 2 || at[-2] == ((len & 0x7f) | 0x80))) {
			gr_recorder_note(f->rt->recorder, at - before,
					 before + len);
			if (f->places.size < MAX_PLACES &&
			    !place_vector_append(&f->places, off - before))
				return &gr_enomem;
		}
		off++;
	}
	return err;
}

static bool is_place(const struct finder *f, uint32_t str)
{
	const uint32_t *places = f->places.data;
	size_t i = gr_count_before(f->places.size, j, places[j] < str);

	return i < f->places.size && places[i] == str;
}

/* Find a record whose name lies at one of the places and whose full name
 * matches. */
static struct gr_error *find_record(const struct finder *f, uint64_t *ret)
{
	const typeof(f->rt->layout.type) *t = &f->rt->layout.type;
	struct gr_error *err = NULL;

	for (uint64_t off = 0;
	     !err && !*ret && gr_bytes_has(f->bytes, off, t->size_bytes);
	     off += GR_WORD_BYTES) {
		struct gr_abi_type record;

		err = gr_runtime_step(f->rt, 1);
		if (err ||
		    !is_place(f, gr_load_u32(f->bytes.data + off + t->str.off)))
			continue;
		err = gr_abi_type_read(f->rt, f->module->types + off, &record);
		if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
			continue;
		if (!strcmp(record.name, f->name))
			*ret = f->module->types + off;
	}
	return err;
}

/* Find a record whose name is stored as `text`. */
static struct gr_error *find_named(struct finder *f, const char *text,
				   uint64_t *ret)
{
	struct gr_error *err;

	f->places.size = 0;
	err = find_places(f, text);
	return err || !f->places.size ? err : find_record(f, ret);
}

struct gr_error *gr_abi_type_find(struct gr_runtime *rt,
				  const struct gr_module *module,
				  const char *name, uint64_t *ret)
{
	_cleanup_(finder_deinit) struct finder f = { .rt = rt,
						     .module = module,
						     .name = name };
	size_t args = strcspn(name, "[");
	struct gr_error *err;
	const char *text = name;

	*ret = 0;
	if (module->etypes <= module->types ||
	    module->etypes - module->types > MAX_TYPES_BYTES ||
	    strlen(name) >= MAX_NAME_BYTES)
		return NULL;
	f.bytes.size = module->etypes - module->types;
	// The search goes through constants of the program, too.
	gr_recorder_pause(rt->recorder);
	err = gr_image_map(rt->image, module->types, f.bytes.size,
			   &f.bytes.data);
	gr_recorder_resume(rt->recorder);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	// The record contains the package's name only, not its import path.
	for (size_t i = 0; i < args; i++)
		if (name[i] == '/')
			text = name + i + 1;
	_cleanup_free_ char *starred = NULL;
	if (err || asprintf(&starred, "*%s", text) < 0)
		return err ? err : &gr_enomem;
	err = find_named(&f, starred, ret);
	if (!err && !*ret)
		err = find_named(&f, text, ret);
	return err;
}
