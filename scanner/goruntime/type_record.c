// SPDX-License-Identifier: Apache-2.0
#include "goruntime/type_record.h"

#include "base/cleanup.h"

#include <string.h>

enum {
	MAX_NAME_BYTES = 4096,
	MAX_RECORD_BYTES = 256,
	MAX_TYPES_BYTES = 1 << 30,
	MAX_SIZE_BITS = 50, /* cmd/compile: MAXWIDTH */
	/* abi.TFlagUncommon, abi.TFlagExtraStar, abi.TFlagNamed */
	TFLAG_UNCOMMON = 1,
	TFLAG_EXTRA_STAR = 2,
	TFLAG_NAMED = 4,
};

struct gr_error *gr_type_record_read_name(struct gr_runtime *rt, uint64_t addr,
					  const char **ret)
{
	struct gr_error *err;
	uint64_t len = 0, byte;
	unsigned int i = 0;
	_cleanup_free_ char *text = NULL;

	// A flag byte, a varint length, the bytes.
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

/* Bytes of a record before its UncommonType; 0 if that is not known. */
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

/* Where a type's own name begins in "pkg.Name[arg,arg]". */
static const char *own_name(const char *name)
{
	const char *end = name + strcspn(name, "["), *at = end;

	while (at > name && at[-1] != '.')
		at--;
	return at > name ? at : NULL;
}

/* Put the import path in the place of the package's name. */
static struct gr_error *qualify(struct gr_runtime *rt, uint64_t addr,
				const struct gr_module *module,
				struct gr_type_record *record)
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
		err = gr_type_record_read_name(rt, module->types + (int32_t)off,
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
				       struct gr_type_record *record)
{
	const struct gr_module *module = module_of(rt, addr);
	struct gr_error *err;

	record->name = "?";
	record->has_name = tflag & TFLAG_NAMED;
	if (!module)
		return NULL;
	err = gr_type_record_read_name(rt, module->types + (int32_t)str,
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

struct gr_error *gr_type_record_read(struct gr_runtime *rt, uint64_t addr,
				     struct gr_type_record *ret)
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

/* What is searched: records whose name stands at one place. */
struct finder {
	struct gr_runtime *rt;
	const struct gr_module *module;
	struct gr_bytes bytes; /* [types, etypes) */
	const char *name;
};

/* A record whose Str is @p str and whose full name is the wanted one. */
static struct gr_error *find_record(const struct finder *f, uint32_t str,
				    uint64_t *ret)
{
	const typeof(f->rt->layout.type) *t = &f->rt->layout.type;
	struct gr_error *err;

	for (uint64_t off = 0; gr_bytes_has(f->bytes, off, t->size_bytes);
	     off += GR_WORD_BYTES) {
		struct gr_type_record record;

		if (gr_load_u32(f->bytes.data + off + t->str.off) != str)
			continue;
		err = gr_type_record_read(f->rt, f->module->types + off,
					  &record);
		if (gr_error_catch(&err, GR_ERROR_FAULT))
			continue;
		if (err)
			return err;
		if (!strcmp(record.name, f->name)) {
			*ret = f->module->types + off;
			return NULL;
		}
	}
	return NULL;
}

/* Try every place where `text` stands as a name with its length before it. */
static struct gr_error *find_named(const struct finder *f, const char *text,
				   uint64_t *ret)
{
	size_t len = strlen(text);
	const uint8_t *at = f->bytes.data;
	const uint8_t *end = at + f->bytes.size;
	struct gr_error *err = NULL;

	while (!err && !*ret && (at = memmem(at, end - at, text, len))) {
		uint64_t off = at++ - f->bytes.data;
		uint64_t before = len < 0x80 ? 2 : 3;

		if (off < before ||
		    f->bytes.data[off - 1] != (len < 0x80 ? len : len >> 7) ||
		    (before == 3 &&
		     f->bytes.data[off - 2] != ((len & 0x7f) | 0x80)))
			continue;
		err = find_record(f, off - before, ret);
	}
	return err;
}

struct gr_error *gr_type_record_find(struct gr_runtime *rt,
				     const struct gr_module *module,
				     const char *name, uint64_t *ret)
{
	struct finder f = { .rt = rt, .module = module, .name = name };
	size_t args = strcspn(name, "[");
	struct gr_error *err;
	const char *text = name;

	*ret = 0;
	if (module->etypes <= module->types ||
	    module->etypes - module->types > MAX_TYPES_BYTES ||
	    strlen(name) >= MAX_NAME_BYTES)
		return NULL;
	f.bytes.size = module->etypes - module->types;
	err = gr_image_map(rt->image, module->types, f.bytes.size,
			   &f.bytes.data);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	// In the record a package has its name only, not its path.
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
