// SPDX-License-Identifier: Apache-2.0
#include "native/allocators/reader.h"

#include "base/bitmap.h"
#include "inferior/elf.h"

/* So that the end of a block is no small number. */
#define MOST_ADDRESS (UINT64_MAX - 2 * GR_PAGE_BYTES)

// -------------------------------------------------------------------- memory

struct gr_error *gr_reader_add_arena(struct gr_native_reader *r, uint64_t addr,
				     const char *kind)
{
	const struct gr_native_arena arena = {
		.addr = addr,
		.kind = kind,
		.is_checked = true,
		.counted_bytes = UINT64_MAX,
		.counted_blocks = UINT64_MAX,
	};

	return gr_runtime_append(r->spec->rt, gr_native_arena_vector,
				 &r->native->arenas, arena);
}

bool gr_reader_meets_go(const struct gr_native_reader *r, uint64_t start,
			uint64_t end)
{
	const struct gr_heap_arenas *list = r->spec->go_arenas;
	uint64_t first = start >> GR_ARENA_SHIFT;
	size_t n = gr_count_before(list->size, i, list->data[i].index < first);

	return n < list->size &&
	       list->data[n].index <= (end - 1) >> GR_ARENA_SHIFT;
}

struct gr_error *gr_reader_take(struct gr_native_reader *r, size_t first)
{
	const struct gr_native_range_vector *from = &r->native->memory;
	struct gr_runtime *rt = r->spec->rt;
	struct gr_error *err = NULL;

	for (size_t i = first; !err && i < from->size; i++) {
		err = gr_runtime_append(rt, gr_native_range_vector, &r->taken,
					from->data[i]);
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	return err ? err : gr_native_sort_ranges(rt, &r->taken);
}

/* Append a range that is not empty to one of the lists. */
static struct gr_error *append(struct gr_native_reader *r,
			       struct gr_native_range_vector *list,
			       uint32_t arena, uint64_t start, uint64_t end)
{
	const struct gr_native_range range = { start, end, arena };

	return start < end ?
		       gr_runtime_append(r->spec->rt, gr_native_range_vector,
					 list, range) :
		       NULL;
}

struct gr_error *gr_reader_add_memory(struct gr_native_reader *r,
				      uint32_t index, uint64_t start,
				      uint64_t end)
{
	struct gr_native_arena *arena = &r->native->arenas.data[index];

	if (end < start || end > MOST_ADDRESS) {
		gr_arena_fail(arena,
			      "an address range of its memory is invalid");
		return NULL;
	}
	if (start < end && gr_reader_meets_go(r, start, end)) {
		gr_arena_fail(arena, "its memory overlaps the Go heap");
		return NULL;
	}
	arena->mapped_bytes += end - start;
	return append(r, &r->native->memory, index, start, end);
}

struct gr_error *gr_reader_add_other(struct gr_native_reader *r, uint32_t arena,
				     uint64_t start, uint64_t end)
{
	return append(r, &r->native->others, arena, start, end);
}

struct gr_error *gr_reader_add_trimmable(struct gr_native_reader *r,
					 uint32_t arena, uint64_t start,
					 uint64_t end)
{
	start = (start + GR_PAGE_BYTES - 1) & ~(GR_PAGE_BYTES - 1);
	end &= ~(GR_PAGE_BYTES - 1);
	return append(r, &r->native->trimmable, arena, start, end);
}

struct gr_error *gr_reader_add_structure(struct gr_native_reader *r,
					 uint64_t start, uint64_t end)
{
	return append(r, &r->native->structures, 0, start, end);
}

// -------------------------------------------------------------------- blocks

struct gr_error *gr_reader_add_block(struct gr_native_reader *r,
				     struct gr_blocks *list, uint32_t arena,
				     uint64_t addr, uint64_t bytes,
				     unsigned int header_words)
{
	struct gr_native_arena *of = &r->native->arenas.data[arena];
	const struct gr_block block = { .addr = addr,
					.units = bytes / GR_BLOCK_UNIT,
					.arena = arena,
					.header_words = header_words };

	if (list->list.size >= GR_NBLOCK_MAX ||
	    bytes / GR_BLOCK_UNIT > UINT32_MAX) {
		gr_arena_fail(
			of, "it has too many blocks, or one that is too large");
		return NULL;
	}
	of->in_use_blocks++;
	of->in_use_bytes += bytes;
	return gr_runtime_append(r->spec->rt, gr_block_vector, &list->list,
				 block);
}

void gr_reader_count_free(const struct gr_native_reader *r,
			  struct gr_native_arena *arena, uint64_t start,
			  uint64_t bytes)
{
	arena->free_bytes += bytes;
	arena->free_resident_bytes += gr_native_resident_bytes(
		r->spec->residency, start, start + bytes);
}

void gr_reader_count_cached(const struct gr_native_reader *r,
			    const struct gr_block *block)
{
	struct gr_native_arena *arena = &r->native->arenas.data[block->arena];
	uint64_t bytes = gr_block_bytes(block);

	arena->in_use_blocks--;
	arena->in_use_bytes -= bytes;
	arena->free_blocks++;
	arena->cached_bytes += bytes;
	gr_reader_count_free(r, arena, gr_block_start(block), bytes);
}

struct gr_error *gr_reader_keep_blocks(struct gr_native_reader *r,
				       struct gr_blocks *blocks,
				       const uint64_t *dropped)
{
	struct gr_block_vector *from = &blocks->list;
	struct gr_block_vector *to = &r->native->blocks.list;
	size_t kept = 0;

	for (size_t i = 0; i < from->size; i++)
		if (!dropped || !gr_bitmap_test(dropped, i))
			from->data[kept++] = from->data[i];
	from->size = kept;
	if (!to->size) {
		gr_block_vector_deinit(to);
		*to = *from;
		memset(from, 0, sizeof(*from));
		return NULL;
	}
	struct gr_error *err = gr_image_want(
		r->spec->rt->image, (to->size + kept) * sizeof(*to->data));
	if (err)
		return err;
	if (!gr_block_vector_reserve(to, to->size + kept))
		return &gr_enomem;
	if (kept)
		memcpy(to->data + to->size, from->data,
		       kept * sizeof(*to->data));
	to->size += kept;
	return NULL;
}

// ---------------------------------------------------------------- allocators

struct gr_error *gr_reader_add_allocator(struct gr_native_reader *r,
					 const char *name, const char *version,
					 uint32_t first_arena)
{
	struct gr_native_arena_vector *arenas = &r->native->arenas;
	struct gr_native_allocator allocator = {
		.name = name,
		.version = version,
		.first_arena = first_arena,
		.narenas = arenas->size - first_arena,
		.is_checked = true,
	};

	for (size_t i = first_arena; i < arenas->size; i++) {
		struct gr_native_arena *a = &arenas->data[i];
		uint64_t known = a->in_use_bytes + a->free_bytes;

		allocator.is_checked &= a->is_checked;
		a->other_bytes =
			known < a->mapped_bytes ? a->mapped_bytes - known : 0;
	}
	return gr_native_allocator_vector_append(&r->native->allocators,
						 allocator) ?
		       NULL :
		       &gr_enomem;
}

struct gr_error *gr_reader_refuse(struct gr_native_reader *r, const char *name,
				  const char *version, const char *refusal)
{
	const struct gr_native_allocator allocator = {
		.name = name,
		.version = version,
		.first_arena = r->native->arenas.size,
		.refusal = refusal,
	};

	return gr_native_allocator_vector_append(&r->native->allocators,
						 allocator) ?
		       NULL :
		       &gr_enomem;
}
