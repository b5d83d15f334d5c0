// SPDX-License-Identifier: Apache-2.0
#include "goruntime/typemask.h"

#include "base/bitmap.h"
#include "base/cleanup.h"

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum {
	KIND_ARRAY = 17,
	KIND_STRUCT = 25,
	MAX_DEPTH = 64,
	MAX_GC_PROGRAM_BYTES = 1 << 20,
};
/* A value cannot be larger than the address space that we look at. */
#define MAX_TYPE_BYTES (UINT64_C(1) << 36)

struct mask_entry {
	UT_hash_handle hh;
	uint64_t addr;
	struct gr_type_mask mask;
	bool is_good;
};

struct gr_type_masks {
	struct mask_entry *entries;
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

/* The runtime.Type record, as far as masks need it. */
struct type_record {
	uint64_t size_bytes, ptr_bytes, gcdata;
	uint8_t kind, tflag;
};

static struct gr_error *record_read(struct gr_runtime *rt, uint64_t addr,
				    struct type_record *ret)
{
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
	if (ret->size_bytes > MAX_TYPE_BYTES ||
	    ret->ptr_bytes > ret->size_bytes || ret->ptr_bytes % GR_WORD_BYTES)
		return gr_error_fault(addr, f->size_bytes);
	return NULL;
}

/* Append `count` times the last `n` of `*done` bits. */
static bool repeat_bits(uint64_t *bits, uint64_t nwords, uint64_t *done,
			uint64_t n, uint64_t count)
{
	if (!n || n > *done)
		return false;
	for (; count && *done < nwords; count--)
		for (uint64_t i = 0; i < n && *done < nwords; i++, (*done)++)
			if (gr_bitmap_test(bits, *done - n))
				gr_bitmap_set(bits, *done);
	return true;
}

bool gr_gc_program_run(struct gr_bytes program, uint64_t *bits, uint64_t nwords)
{
	uint64_t off = 0, done = 0;

	while (done < nwords) {
		uint8_t op;
		if (!gr_bytes_get(program, off++, &op, 1))
			return false;
		uint64_t n = op & 0x7f;
		if (!op)
			return true;
		if (!(op & 0x80)) {
			if (!gr_bytes_has(program, off, (n + 7) / 8))
				return false;
			for (uint64_t i = 0; i < n && done < nwords;
			     i++, done++)
				if (program.data[off + i / 8] >> (i % 8) & 1)
					gr_bitmap_set(bits, done);
			off += (n + 7) / 8;
			continue;
		}
		uint64_t count;
		if ((!n && !gr_bytes_uvarint(program, &off, &n)) ||
		    !gr_bytes_uvarint(program, &off, &count) ||
		    !repeat_bits(bits, nwords, &done, n, count))
			return false;
	}
	return true;
}

static struct gr_error *mask_from_program(struct gr_runtime *rt,
					  uint64_t gcdata,
					  struct gr_type_mask *mask)
{
	struct gr_error *err;
	uint64_t bytes;
	const uint8_t *program;

	err = gr_image_read_uint(rt->image, gcdata, 4, &bytes);
	if (err)
		return err;
	if (bytes > MAX_GC_PROGRAM_BYTES)
		return gr_error_fault(gcdata, bytes);
	err = gr_image_map(rt->image, gcdata + 4, bytes, &program);
	if (err)
		return err;
	if (!gr_gc_program_run((struct gr_bytes){ program, bytes }, mask->bits,
			       mask->nwords))
		return gr_error_fault(gcdata, bytes);
	return NULL;
}

static struct gr_error *mask_build(struct gr_runtime *rt, uint64_t addr,
				   const struct type_record *type,
				   struct gr_type_mask *mask,
				   uint64_t first_word, unsigned int depth);

/* runtime/type.go: buildGCMask, for an element or field at a word. */
static struct gr_error *mask_build_at(struct gr_runtime *rt, uint64_t addr,
				      struct gr_type_mask *mask,
				      uint64_t first_word, unsigned int depth)
{
	struct gr_error *err;
	struct type_record type;

	err = record_read(rt, addr, &type);
	if (err || !type.ptr_bytes)
		return err;
	if (first_word + type.ptr_bytes / GR_WORD_BYTES > mask->nwords)
		return gr_error_fault(addr, type.ptr_bytes);
	return mask_build(rt, addr, &type, mask, first_word, depth + 1);
}

static struct gr_error *mask_build_array(struct gr_runtime *rt, uint64_t addr,
					 const struct type_record *type,
					 struct gr_type_mask *mask,
					 uint64_t first_word,
					 unsigned int depth)
{
	struct gr_error *err;
	uint64_t elem, len;
	struct type_record elem_type;
	uint64_t at = addr + rt->layout.type.size_bytes;

	// abi.ArrayType: Type, Elem, Slice, Len.
	err = gr_image_read_u64(rt->image, at, &elem);
	if (!err)
		err = gr_image_read_u64(rt->image, at + 16, &len);
	if (!err)
		err = record_read(rt, elem, &elem_type);
	if (err)
		return err;
	uint64_t words = elem_type.size_bytes / GR_WORD_BYTES;
	if (!elem_type.ptr_bytes)
		return NULL;
	if (!len || !words || len > type->size_bytes / elem_type.size_bytes)
		return gr_error_fault(addr, type->size_bytes);
	err = mask_build_at(rt, elem, mask, first_word, depth);
	for (uint64_t i = 1; !err && i < len; i++)
		for (uint64_t w = 0; w < elem_type.ptr_bytes / GR_WORD_BYTES;
		     w += 64) {
			uint64_t left = elem_type.ptr_bytes / GR_WORD_BYTES - w;
			uint64_t at_word = first_word + i * words + w;
			if (at_word >= mask->nwords)
				return NULL;
			if (left > mask->nwords - at_word)
				left = mask->nwords - at_word;
			gr_bitmap_or(mask->bits, at_word,
				     gr_bitmap_extract(mask->bits,
						       first_word + w,
						       left < 64 ? left : 64));
		}
	return err;
}

static struct gr_error *mask_build_struct(struct gr_runtime *rt, uint64_t addr,
					  const struct type_record *type,
					  struct gr_type_mask *mask,
					  uint64_t first_word,
					  unsigned int depth)
{
	struct gr_error *err;
	struct gr_go_slice fields;

	// abi.StructType: Type, PkgPath, Fields; a field is Name, Typ, Offset.
	err = gr_runtime_read_slice(rt, addr + rt->layout.type.size_bytes + 8,
				    1 << 20, &fields);
	if (gr_error_catch(&err, GR_ERROR_FORMAT))
		return gr_error_fault(addr, 24);
	for (uint64_t i = 0; !err && i < fields.len; i++) {
		uint64_t field[3];
		err = gr_image_read(rt->image, fields.addr + i * sizeof(field),
				    field, sizeof(field));
		if (err)
			return err;
		// Before its present form the offset was kept doubled or not
		// at all; what lies outside the type is not an offset.
		if (field[2] >= type->ptr_bytes || field[2] % GR_WORD_BYTES)
			continue;
		err = mask_build_at(rt, field[1], mask,
				    first_word + field[2] / GR_WORD_BYTES,
				    depth);
	}
	return err;
}

static struct gr_error *mask_from_bitmap(struct gr_runtime *rt, uint64_t addr,
					 struct gr_type_mask *mask,
					 uint64_t first_word, uint64_t nwords)
{
	struct gr_error *err;
	const uint8_t *bytes;

	err = gr_image_map(rt->image, addr, (nwords + 7) / 8, &bytes);
	for (uint64_t i = 0; !err && i < nwords; i++)
		if (bytes[i / 8] >> (i % 8) & 1)
			gr_bitmap_set(mask->bits, first_word + i);
	return err;
}

static struct gr_error *mask_build(struct gr_runtime *rt, uint64_t addr,
				   const struct type_record *type,
				   struct gr_type_mask *mask,
				   uint64_t first_word, unsigned int depth)
{
	const struct gr_layout *layout = &rt->layout;
	uint8_t kind = type->kind & layout->consts.kind_mask;

	if (depth > MAX_DEPTH)
		return gr_error_fault(addr, type->size_bytes);
	if (layout->has.kind_gc_prog && !layout->has.tflag_mask_on_demand &&
	    type->kind & layout->consts.kind_gc_prog)
		return first_word ? gr_error_fault(addr, type->size_bytes) :
				    mask_from_program(rt, type->gcdata, mask);
	if (!(layout->has.tflag_mask_on_demand &&
	      type->tflag & layout->consts.tflag_mask_on_demand))
		return mask_from_bitmap(rt, type->gcdata, mask, first_word,
					type->ptr_bytes / GR_WORD_BYTES);
	if (kind == KIND_ARRAY)
		return mask_build_array(rt, addr, type, mask, first_word,
					depth);
	if (kind == KIND_STRUCT)
		return mask_build_struct(rt, addr, type, mask, first_word,
					 depth);
	return gr_error_fault(addr, type->size_bytes);
}

static struct gr_error *entry_fill(struct gr_runtime *rt, uint64_t addr,
				   struct mask_entry *entry)
{
	struct gr_error *err;
	struct type_record type;

	err = record_read(rt, addr, &type);
	if (err)
		return err;
	entry->mask.size_bytes = type.size_bytes;
	entry->mask.nwords = type.ptr_bytes / GR_WORD_BYTES;
	entry->mask.bits = gr_bitmap_alloc(entry->mask.nwords);
	if (!entry->mask.bits)
		return &gr_enomem;
	if (!type.ptr_bytes)
		return NULL;
	return mask_build(rt, addr, &type, &entry->mask, 0, 0);
}

struct gr_error *gr_type_mask_get(struct gr_runtime *rt, uint64_t addr,
				  const struct gr_type_mask **ret)
{
	struct gr_error *err;
	struct mask_entry *entry;

	if (!rt->masks) {
		rt->masks = calloc(1, sizeof(*rt->masks));
		if (!rt->masks)
			return &gr_enomem;
	}
	HASH_FIND(hh, rt->masks->entries, &addr, sizeof(addr), entry);
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return &gr_enomem;
		entry->addr = addr;
		HASH_ADD(hh, rt->masks->entries, addr, sizeof(addr), entry);
		if (!entry->hh.tbl) {
			free(entry);
			return &gr_enomem;
		}
		err = entry_fill(rt, addr, entry);
		if (gr_error_catch(&err, GR_ERROR_FAULT))
			gr_gap_add(rt->gaps, GR_GAP_UNKNOWN_TYPES, 1);
		else if (err)
			return err;
		else
			entry->is_good = true;
	}
	*ret = entry->is_good ? &entry->mask : NULL;
	return NULL;
}
