// SPDX-License-Identifier: Apache-2.0
#include "goruntime/memory/page_bits.h"

#include "base/bitmap.h"
#include "goruntime/heap/heap.h"

enum { MAX_ENTRY_BYTES = 256 };

void gr_page_bits_deinit(struct gr_page_bits *bits)
{
	gr_palloc_chunk_vector_deinit(&bits->list);
}

/* Fill in how an entry of the table looks: a pallocData. */
static bool find_entry(struct gr_types *types, gr_type_id chunks,
		       struct gr_page_bits *bits)
{
	const struct gr_type *l1 = gr_types_get(types, chunks);

	if (l1->elem == GR_TYPE_NONE)
		return false;
	gr_type_id l2_id = gr_types_get(types, l1->elem)->elem;
	if (l2_id == GR_TYPE_NONE)
		return false;
	const struct gr_type *l2 = gr_types_get(types, l2_id);
	const struct gr_type_field *in_use =
		gr_types_field_named(types, l2->elem, "pallocBits");
	const struct gr_type_field *scavenged =
		gr_types_field_named(types, l2->elem, "scavenged");
	if (!in_use || !scavenged)
		return false;
	bits->l1_count = l1->count;
	bits->l2_count = l2->count;
	bits->in_use_off = in_use->off_bytes;
	bits->scavenged_off = scavenged->off_bytes;
	bits->entry_bytes = gr_types_get(types, l2->elem)->size_bytes;
	return bits->entry_bytes <= MAX_ENTRY_BYTES &&
	       bits->in_use_off + GR_PALLOC_WORDS * 8 <= bits->entry_bytes &&
	       bits->scavenged_off + GR_PALLOC_WORDS * 8 <= bits->entry_bytes;
}

struct gr_error *gr_page_bits_find(struct gr_types *types,
				   struct gr_page_bits *ret)
{
	const struct gr_runtime *rt = gr_types_runtime(types);
	const struct gr_layout *layout = &rt->layout;

	*ret = (struct gr_page_bits){ 0 };
	gr_type_id heap = GR_TYPE_NONE;
	uint64_t unused;
	gr_types_variable(types, "runtime.mheap_", &unused, &heap);
	const struct gr_type_field *pages =
		gr_types_field_named(types, heap, "pages");
	gr_type_id alloc = pages ? pages->type : GR_TYPE_NONE;
	const struct gr_type_field *chunks =
		gr_types_field_named(types, alloc, "chunks");
	const struct gr_type_field *start =
		gr_types_field_named(types, alloc, "start");
	const struct gr_type_field *end =
		gr_types_field_named(types, alloc, "end");
	if (!layout->vars.mheap || !chunks || !start || !end ||
	    chunks->type == GR_TYPE_NONE ||
	    !find_entry(types, chunks->type, ret))
		return NULL;
	uint64_t addr = layout->vars.mheap + pages->off_bytes;
	struct gr_error *err = gr_image_read_u64(
		rt->image, addr + start->off_bytes, &ret->first);
	if (!err)
		err = gr_image_read_u64(rt->image, addr + end->off_bytes,
					&ret->end);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	ret->chunks_addr = addr + chunks->off_bytes;
	ret->arena_base = (uint64_t)layout->consts.arena_base;
	return NULL;
}

static uint64_t index_of(const struct gr_page_bits *bits, uint64_t addr)
{
	return (addr - bits->arena_base) >> GR_PALLOC_SHIFT;
}

/* Read one chunk. */
static struct gr_error *read_chunk(struct gr_runtime *rt,
				   struct gr_page_bits *bits, uint64_t index)
{
	struct gr_palloc_chunk chunk = { .index = index };
	uint8_t entry[MAX_ENTRY_BYTES];
	uint64_t l2 = 0;

	if (index / bits->l2_count >= bits->l1_count)
		return NULL;
	struct gr_error *err = gr_image_read_u64(
		rt->image,
		bits->chunks_addr + index / bits->l2_count * GR_WORD_BYTES,
		&l2);
	if (!err && l2)
		err = gr_image_read(rt->image,
				    l2 + index % bits->l2_count *
						    bits->entry_bytes,
				    entry, bits->entry_bytes);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err || !l2)
		return err;
	memcpy(chunk.in_use, entry + bits->in_use_off, sizeof(chunk.in_use));
	memcpy(chunk.scavenged, entry + bits->scavenged_off,
	       sizeof(chunk.scavenged));
	return gr_palloc_chunk_vector_append(&bits->list, chunk) ? NULL :
								   &gr_enomem;
}

struct gr_error *gr_page_bits_read(struct gr_types *types,
				   struct gr_page_bits *bits, uint64_t start,
				   uint64_t end)
{
	struct gr_runtime *rt = gr_types_runtime(types);
	struct gr_error *err = NULL;

	if (!bits->chunks_addr || !bits->l2_count || start >= end)
		return NULL;
	uint64_t index = index_of(bits, start);
	uint64_t stop = index_of(bits, end - 1) + 1;
	if (bits->list.size &&
	    index <= bits->list.data[bits->list.size - 1].index)
		index = bits->list.data[bits->list.size - 1].index + 1;
	if (index < bits->first)
		index = bits->first;
	if (stop > bits->end)
		stop = bits->end;
	for (; !err && index < stop; index++) {
		err = read_chunk(rt, bits, index);
		if (!err)
			err = gr_runtime_step(rt, GR_PALLOC_WORDS);
	}
	return err;
}

enum gr_page_state gr_page_bits_at(const struct gr_page_bits *bits,
				   uint64_t addr)
{
	uint64_t index = index_of(bits, addr);
	uint64_t page =
		addr >> GR_PAGE_SHIFT &
		((UINT64_C(1) << (GR_PALLOC_SHIFT - GR_PAGE_SHIFT)) - 1);
	size_t n = gr_count_before(bits->list.size, i,
				   bits->list.data[i].index <= index);

	if (!n || bits->list.data[n - 1].index != index)
		return GR_PAGE_UNKNOWN;
	const struct gr_palloc_chunk *chunk = &bits->list.data[n - 1];
	if (gr_bitmap_test(chunk->in_use, page))
		return GR_PAGE_IN_USE;
	return gr_bitmap_test(chunk->scavenged, page) ? GR_PAGE_SCAVENGED :
							GR_PAGE_FREE;
}
