// SPDX-License-Identifier: Apache-2.0
#include "goruntime/types/typemask.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "goruntime/types/types_internal.h"

#include <stdlib.h>

enum {
	KIND_ARRAY = 17,
	KIND_STRUCT = 25,
	MAX_DEPTH = 64,
	MAX_GC_PROGRAM_BYTES = 1 << 20,
};
/* A value cannot be larger than the address space that goref reads. */
#define MAX_TYPE_BYTES (UINT64_C(1) << 36)
/* All structs together may have the fields of the modules' types, and this
 * many more in types that reflect made. */
#define SPARE_FIELDS (UINT64_C(1) << 20)

struct mask_entry {
	UT_hash_handle hh;
	uint64_t addr;
	struct gr_type_mask mask;
	bool is_good;
	bool is_counted; /* as a gap */
};

struct gr_type_masks {
	struct mask_entry *entries;
	uint64_t nfields; /* read so far */
};

void gr_type_masks_destroy(struct gr_type_masks *masks)
{
	struct mask_entry *entry, *next;

	if (!masks)
		return;
	HASH_ITER(hh, masks->entries, entry, next) {
		HASH_DEL(masks->entries, entry);
		free(entry->mask.bits);
		free(entry);
	}
	free(masks);
}

/* The part of a runtime type record that masks need. */
struct mask_type {
	uint64_t size_bytes, ptr_bytes, gcdata;
	uint8_t kind, tflag;
};

static struct gr_error *record_read(struct gr_types *types, uint64_t addr,
				    struct mask_type *ret)
{
	struct gr_runtime *rt = types->rt;
	const typeof(rt->layout.type) *f = &rt->layout.type;
	uint8_t record[256];
	struct gr_error *err;

	if (f->size_bytes > sizeof(record))
		return gr_error_format(GR_ERROR_LAYOUT,
				       "the runtime's type record is absurdly "
				       "large");
	err = gr_image_read(rt->image, addr, record, f->size_bytes);
	if (err)
		return err;
	ret->size_bytes = gr_field_uint(record, f->size);
	ret->ptr_bytes = gr_field_uint(record, f->ptr_bytes);
	ret->gcdata = gr_field_word(record, f->gcdata);
	ret->kind = gr_field_uint(record, f->kind);
	ret->tflag = gr_field_uint(record, f->tflag);
	// No object with pointers is larger than all of them together.
	if (ret->size_bytes > MAX_TYPE_BYTES ||
	    (types->mask_words_max &&
	     ret->ptr_bytes / GR_WORD_BYTES > types->mask_words_max) ||
	    ret->ptr_bytes > ret->size_bytes || ret->ptr_bytes % GR_WORD_BYTES)
		return gr_error_fault(addr, f->size_bytes);
	return NULL;
}

/* A running GC program. */
struct gc_program {
	struct gr_runtime *rt;
	struct gr_bytes bytes;
	uint64_t *bits;
	uint64_t nwords, done;
};

/* Append the last `n` bits `count` times. *ret is false if there are fewer than
 * `n` bits. */
static struct gr_error *repeat_bits(struct gc_program *p, uint64_t n,
				    uint64_t count, bool *ret)
{
	struct gr_error *err = NULL;

	*ret = n && n <= p->done;
	for (; *ret && !err && count && p->done < p->nwords; count--) {
		for (uint64_t i = 0; i < n && p->done < p->nwords;
		     i++, p->done++)
			if (gr_bitmap_test(p->bits, p->done - n))
				gr_bitmap_set(p->bits, p->done);
		err = gr_runtime_step(p->rt, n / 64 + 1);
	}
	return err;
}

/* Append `n` bits from the program. Return false if it is too short. */
static bool append_literal(struct gc_program *p, uint64_t *off, uint64_t n)
{
	if (!gr_bytes_has(p->bytes, *off, (n + 7) / 8))
		return false;
	for (uint64_t i = 0; i < n && p->done < p->nwords; i++, p->done++)
		if (p->bytes.data[*off + i / 8] >> (i % 8) & 1)
			gr_bitmap_set(p->bits, p->done);
	*off += (n + 7) / 8;
	return true;
}

struct gr_error *gr_gc_program_run(struct gr_runtime *rt,
				   struct gr_bytes program, uint64_t *bits,
				   uint64_t nwords, bool *ret)
{
	struct gc_program p = {
		.rt = rt, .bytes = program, .bits = bits, .nwords = nwords
	};
	struct gr_error *err = NULL;
	uint64_t off = 0, count;

	*ret = true;
	while (!err && *ret && p.done < nwords) {
		uint8_t op;
		*ret = gr_bytes_get(program, off++, &op, 1);
		if (!*ret || !op)
			return NULL;
		uint64_t n = op & 0x7f;
		if (!(op & 0x80)) {
			*ret = append_literal(&p, &off, n);
			continue;
		}
		*ret = (n || gr_bytes_uvarint(program, &off, &n)) &&
		       gr_bytes_uvarint(program, &off, &count);
		if (*ret)
			err = repeat_bits(&p, n, count, ret);
	}
	return err;
}

static struct gr_error *mask_from_program(struct gr_runtime *rt,
					  uint64_t gcdata,
					  struct gr_type_mask *mask)
{
	struct gr_error *err;
	uint64_t bytes;
	const uint8_t *program;
	bool is_fine;

	err = gr_image_read_uint(rt->image, gcdata, 4, &bytes);
	if (err)
		return err;
	if (bytes > MAX_GC_PROGRAM_BYTES)
		return gr_error_fault(gcdata, bytes);
	err = gr_image_map(rt->image, gcdata + 4, bytes, &program);
	if (!err)
		err = gr_gc_program_run(rt, (struct gr_bytes){ program, bytes },
					mask->bits, mask->nwords, &is_fine);
	if (!err && !is_fine)
		return gr_error_fault(gcdata, bytes);
	return err;
}

static struct gr_error *entry_get(struct gr_types *types, uint64_t addr,
				  unsigned int depth, struct mask_entry **ret);

/* OR the mask of a part into the mask of the whole, starting at a word. */
static struct gr_error *mask_or(struct gr_runtime *rt,
				struct gr_type_mask *mask, uint64_t first_word,
				const struct gr_type_mask *part)
{
	for (uint64_t w = 0; w < part->nwords; w += 64) {
		uint64_t left = part->nwords - w;

		gr_bitmap_or(mask->bits, first_word + w,
			     gr_bitmap_extract(part->bits, w,
					       left < 64 ? left : 64));
	}
	return gr_runtime_step(rt, part->nwords / 64 + 1);
}

/* Return the cached mask of an element's or field's type, or NULL if the type
 * has no pointers. */
static struct gr_error *mask_of_part(struct gr_types *types, uint64_t addr,
				     unsigned int depth,
				     const struct gr_type_mask **ret)
{
	struct mask_entry *entry;
	struct gr_error *err = entry_get(types, addr, depth + 1, &entry);

	*ret = NULL;
	if (err)
		return err;
	if (!entry->is_good)
		return gr_error_fault(addr, GR_WORD_BYTES);
	if (entry->mask.nwords)
		*ret = &entry->mask;
	return NULL;
}

/* Build the mask of an array (runtime/type.go: buildGCMask). */
static struct gr_error *mask_build_array(struct gr_types *types, uint64_t addr,
					 const struct mask_type *type,
					 struct gr_type_mask *mask,
					 unsigned int depth)
{
	struct gr_runtime *rt = types->rt;
	const struct gr_type_mask *part = NULL;
	struct gr_error *err;
	uint64_t elem, len;
	uint64_t at = addr + rt->layout.type.size_bytes;

	// abi.ArrayType: Type, Elem, Slice, Len.
	err = gr_image_read_u64(rt->image, at, &elem);
	if (!err)
		err = gr_image_read_u64(rt->image, at + 16, &len);
	if (!err)
		err = mask_of_part(types, elem, depth, &part);
	if (err || !part)
		return err;
	uint64_t words = part->size_bytes / GR_WORD_BYTES;
	if (!len || !words || len > type->size_bytes / part->size_bytes)
		return gr_error_fault(addr, type->size_bytes);
	for (uint64_t i = 0; !err && i < len; i++) {
		if (i * words + part->nwords > mask->nwords)
			return gr_error_fault(addr, type->ptr_bytes);
		err = mask_or(rt, mask, i * words, part);
	}
	return err;
}

/* Add one field of a struct. *@p words counts the words of all fields. */
static struct gr_error *mask_add_field(struct gr_types *types, uint64_t addr,
				       const struct mask_type *type,
				       struct gr_type_mask *mask,
				       unsigned int depth, uint64_t *words)
{
	struct gr_runtime *rt = types->rt;
	const struct gr_type_mask *part = NULL;
	uint64_t field[3];
	struct gr_error *err =
		gr_image_read(rt->image, addr, field, sizeof(field));

	if (err)
		return err;
	// Older releases store the offset doubled or not at all. A value
	// outside the pointer words of the type is not an offset.
	if (field[2] >= type->ptr_bytes || field[2] % GR_WORD_BYTES)
		return NULL;
	err = mask_of_part(types, field[1], depth, &part);
	if (err || !part)
		return err;
	// Fields do not overlap, so all of them together must fit.
	*words += part->nwords;
	if (field[2] / GR_WORD_BYTES + part->nwords > mask->nwords ||
	    *words > mask->nwords)
		return gr_error_fault(addr, type->ptr_bytes);
	return mask_or(rt, mask, field[2] / GR_WORD_BYTES, part);
}

/* Return the limit for the fields of all structs together. The record of a
 * field has three words. */
static uint64_t max_fields(const struct gr_types *types)
{
	const struct gr_runtime *rt = types->rt;
	uint64_t fields = SPARE_FIELDS;

	for (size_t i = 0; i < rt->nmodules; i++)
		fields += (rt->modules[i].etypes - rt->modules[i].types) /
			  (3 * GR_WORD_BYTES);
	return fields;
}

static struct gr_error *mask_build_struct(struct gr_types *types, uint64_t addr,
					  const struct mask_type *type,
					  struct gr_type_mask *mask,
					  unsigned int depth)
{
	struct gr_runtime *rt = types->rt;
	struct gr_error *err;
	struct gr_go_slice fields;
	uint64_t words = 0;

	// abi.StructType: Type, PkgPath, Fields; a field is Name, Typ, Offset.
	err = gr_runtime_read_slice(rt, addr + rt->layout.type.size_bytes + 8,
				    1 << 20, &fields);
	if (gr_error_catch(&err, GR_ERROR_FORMAT))
		return gr_error_fault(addr, 24);
	for (uint64_t i = 0; !err && i < fields.len; i++) {
		if (++types->masks->nfields > max_fields(types))
			return gr_error_fault(addr, type->ptr_bytes);
		err = gr_runtime_step(rt, 1);
		if (!err)
			err = mask_add_field(types, fields.addr + i * 24, type,
					     mask, depth, &words);
	}
	return err;
}

static struct gr_error *mask_from_bitmap(struct gr_runtime *rt, uint64_t addr,
					 struct gr_type_mask *mask)
{
	uint64_t nwords = mask->nwords;
	const uint8_t *bytes;
	struct gr_error *err =
		gr_image_map(rt->image, addr, (nwords + 7) / 8, &bytes);

	if (err)
		return err;
	memcpy(mask->bits, bytes, (nwords + 7) / 8);
	if (nwords % 64)
		mask->bits[nwords / 64] &= (UINT64_C(1) << nwords % 64) - 1;
	return gr_runtime_step(rt, nwords / 64 + 1);
}

static struct gr_error *mask_build(struct gr_types *types, uint64_t addr,
				   const struct mask_type *type,
				   struct gr_type_mask *mask,
				   unsigned int depth)
{
	struct gr_runtime *rt = types->rt;
	const struct gr_layout *layout = &rt->layout;
	uint8_t kind = type->kind & layout->consts.kind_mask;

	if (depth > MAX_DEPTH)
		return gr_error_fault(addr, type->size_bytes);
	if (layout->has.kind_gc_prog && !layout->has.tflag_mask_on_demand &&
	    type->kind & layout->consts.kind_gc_prog)
		return mask_from_program(rt, type->gcdata, mask);
	if (!(layout->has.tflag_mask_on_demand &&
	      type->tflag & layout->consts.tflag_mask_on_demand))
		return mask_from_bitmap(rt, type->gcdata, mask);
	if (kind == KIND_ARRAY)
		return mask_build_array(types, addr, type, mask, depth);
	if (kind == KIND_STRUCT)
		return mask_build_struct(types, addr, type, mask, depth);
	return gr_error_fault(addr, type->size_bytes);
}

static struct gr_error *entry_fill(struct gr_types *types,
				   struct mask_entry *entry, unsigned int depth)
{
	struct gr_runtime *rt = types->rt;
	struct gr_error *err;
	struct mask_type type;

	err = record_read(types, entry->addr, &type);
	if (!err)
		err = gr_image_want(rt->image, type.ptr_bytes / 64);
	if (err)
		return err;
	entry->mask.size_bytes = type.size_bytes;
	entry->mask.nwords = type.ptr_bytes / GR_WORD_BYTES;
	entry->mask.bits = gr_bitmap_alloc(entry->mask.nwords);
	if (!entry->mask.bits)
		return &gr_enomem;
	if (!type.ptr_bytes)
		return NULL;
	return mask_build(types, entry->addr, &type, &entry->mask, depth);
}

/*
 * Return the entry of the type at @p addr, which is made on first use. The
 * entry is not good while it is being made, so a type that contains itself is
 * found to be invalid.
 *
 * Recursion: each type once; 64 levels.
 */
static struct gr_error *entry_get(struct gr_types *types, uint64_t addr,
				  unsigned int depth, struct mask_entry **ret)
{
	struct gr_runtime *rt = types->rt;
	struct gr_error *err;
	struct mask_entry *entry;

	HASH_FIND(hh, types->masks->entries, &addr, sizeof(addr), entry);
	*ret = entry;
	if (entry)
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return &gr_enomem;
	entry->addr = addr;
	HASH_ADD(hh, types->masks->entries, addr, sizeof(addr), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return &gr_enomem;
	}
	*ret = entry;
	err = gr_runtime_step(rt, 1);
	if (!err)
		err = entry_fill(types, entry, depth);
	entry->is_good = !err;
	if (gr_error_catch(&err, GR_ERROR_FAULT)) {
		free(entry->mask.bits);
		entry->mask.bits = NULL;
	}
	return err;
}

struct gr_error *gr_type_mask_get(struct gr_types *types, uint64_t addr,
				  const struct gr_type_mask **ret)
{
	struct gr_runtime *rt = types->rt;
	struct gr_error *err;
	struct mask_entry *entry;

	*ret = NULL;
	if (!types->masks) {
		types->masks = calloc(1, sizeof(*types->masks));
		if (!types->masks)
			return &gr_enomem;
	}
	err = entry_get(types, addr, 0, &entry);
	if (err)
		return err;
	if (!entry->is_good && !entry->is_counted)
		gr_gap_add(rt->gaps, GR_GAP_UNKNOWN_TYPES, 1);
	entry->is_counted = true;
	if (entry->is_good)
		*ret = &entry->mask;
	return NULL;
}

void gr_type_masks_limit(struct gr_types *types, uint64_t nwords)
{
	types->mask_words_max = nwords;
}
