// SPDX-License-Identifier: Apache-2.0
#include "goruntime/memory/c_blocks.h"

#include "inferior/elf.h"
#include "inferior/recorder.h"

enum {
	/* The bits of a chunk's size that say how it was allocated; of a mapped
	 * one, this one alone. */
	FLAG_BITS = 7,
	IS_MMAPPED = 2,
	/* DEFAULT_MMAP_THRESHOLD_MIN: smaller blocks have no own mapping. */
	LEAST_BYTES = 128 << 10,
	MAX_PROBES = 8192, /* that find no header, in all mappings */
};

/** The search in one mapping. */
struct search {
	struct gr_runtime *rt;
	struct gr_c_blocks *blocks;
	const struct gr_mapping *mapping; /* NULL: blocks cannot be there */
	uint64_t at;			  /* next page that may have a header */
	unsigned int probes_left;
	const struct gr_c_block_memo *memo; /* or NULL */
};

void gr_c_block_memo_deinit(struct gr_c_block_memo *memo)
{
	gr_c_blocks_deinit(&memo->blocks);
	gr_c_blocks_deinit(&memo->seen);
}

// ---------------------------------------------------------------------- memo

/* The first block or range that ends behind @p addr. */
static size_t index_of(const struct gr_c_blocks *list, uint64_t addr)
{
	return gr_count_before(list->size, i, list->data[i].end <= addr);
}

/* The next page from @p addr on that may have a header: one that was not seen
 * before, or where a block was. */
static uint64_t next_page(const struct search *s, uint64_t addr)
{
	const struct gr_c_block_memo *memo = s->memo;

	if (!memo)
		return addr;
	size_t i = index_of(&memo->seen, addr);
	if (i == memo->seen.size || memo->seen.data[i].start > addr)
		return addr;
	uint64_t next = memo->seen.data[i].end;
	size_t k = gr_count_before(memo->blocks.size, j,
				   memo->blocks.data[j].start < addr);
	if (k < memo->blocks.size && memo->blocks.data[k].start < next)
		next = memo->blocks.data[k].start;
	return next;
}

/* Remember a search. */
static struct gr_error *remember(const struct gr_residency *r,
				 const struct gr_c_blocks *found,
				 struct gr_c_block_memo *memo)
{
	struct gr_c_blocks *seen = &memo->seen;

	memo->blocks.size = seen->size = 0;
	for (size_t i = 0; i < found->size; i++)
		if (!gr_c_blocks_append(&memo->blocks, found->data[i]))
			return &gr_enomem;
	for (size_t i = 0; i < r->ranges.size; i++) {
		const struct gr_resident *range = &r->ranges.data[i];
		struct gr_c_block *last =
			seen->size ? &seen->data[seen->size - 1] : NULL;

		if (!range->is_anonymous)
			continue;
		if (last && last->end == range->start)
			last->end = range->end;
		else if (!gr_c_blocks_append(seen,
					     (struct gr_c_block){ range->start,
								  range->end }))
			return &gr_enomem;
	}
	return NULL;
}

// --------------------------------------------------------------------- search

/* Read memory for the search, but do not record it: it may be a value. What
 * cannot be read, or is not in the file, is zeros. */
static struct gr_error *read_value(struct gr_runtime *rt, uint64_t addr,
				   void *ret, size_t bytes)
{
	gr_recorder_pause(rt->recorder);
	struct gr_error *err = gr_image_read(rt->image, addr, ret, bytes);
	gr_recorder_resume(rt->recorder);
	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED))
		memset(ret, 0, bytes);
	return err;
}

/* Is the mapping one of glibc's arenas? The kernel places other mappings there,
 * too: the addresses above an arena are free. */
static struct gr_error *is_c_arena(struct gr_runtime *rt,
				   const struct gr_mapping *m, uint64_t first,
				   bool *ret)
{
	uint64_t arena = 0;

	*ret = m->start % GR_C_ARENA_BYTES == 0;
	// A page that is not resident is not read.
	if (!*ret || first != m->start)
		return NULL;
	struct gr_error *err = read_value(rt, m->start, &arena, sizeof(arena));
	*ret = !err && gr_is_c_arena_pointer(arena) &&
	       gr_image_is_mapped(rt->image, arena);
	// The file has this pointer.
	return err || !*ret ? err :
			      gr_image_read_u64(rt->image, m->start, &arena);
}

/* May blocks be in this mapping? @p first is its first resident page. */
static struct gr_error *is_candidate(struct gr_runtime *rt,
				     const struct gr_heap_arenas *arenas,
				     const struct gr_mapping *m, uint64_t first,
				     bool *ret)
{
	bool is_arena;

	*ret = !m->path && (m->flags & (PF_R | PF_W | PF_X)) == (PF_R | PF_W) &&
	       !gr_heap_arenas_have(arenas, m->start) &&
	       gr_image_module_at(rt->image, m->start) == SIZE_MAX;
	if (!*ret)
		return NULL;
	struct gr_error *err = is_c_arena(rt, m, first, &is_arena);

	*ret = !is_arena;
	return err;
}

/* The bytes of the block that begins at @p addr; 0: none does. */
static struct gr_error *block_at(const struct search *s, uint64_t addr,
				 uint64_t *ret)
{
	uint64_t header[2]; // prev_size, size

	*ret = 0;
	struct gr_error *err = read_value(s->rt, addr, header, sizeof(header));
	if (err)
		return err;
	uint64_t bytes = header[1] & ~(uint64_t)FLAG_BITS;
	if (header[0] || (header[1] & FLAG_BITS) != IS_MMAPPED ||
	    bytes % GR_PAGE_BYTES || bytes < LEAST_BYTES ||
	    bytes > s->mapping->end - addr)
		return NULL;
	*ret = bytes;
	// The file has the header.
	return gr_image_read(s->rt->image, addr, header, sizeof(header));
}

/* Search resident memory [start, end) of the mapping. */
static struct gr_error *search_range(struct search *s, uint64_t start,
				     uint64_t end)
{
	struct gr_error *err = NULL;

	if (s->at < start)
		s->at = start;
	while (!err && s->at < end && s->probes_left) {
		uint64_t next = next_page(s, s->at), bytes;

		if (next > s->at) {
			s->at = next;
			continue;
		}
		err = block_at(s, s->at, &bytes);
		if (!err && bytes &&
		    !gr_c_blocks_append(s->blocks,
					(struct gr_c_block){ s->at,
							     s->at + bytes }))
			return &gr_enomem;
		if (!bytes)
			s->probes_left--;
		s->at += bytes ? bytes : GR_PAGE_BYTES;
		if (!err)
			err = gr_runtime_step(s->rt, 8);
	}
	return err;
}

struct gr_error *gr_c_blocks_read(struct gr_runtime *rt,
				  const struct gr_residency *r,
				  const struct gr_heap_arenas *arenas,
				  struct gr_c_block_memo *memo,
				  struct gr_c_blocks *ret)
{
	struct search s = {
		.rt = rt, .blocks = ret, .probes_left = MAX_PROBES, .memo = memo
	};
	size_t last = SIZE_MAX;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < r->ranges.size; i++) {
		const struct gr_resident *range = &r->ranges.data[i];
		const struct gr_mapping *m =
			&r->mappings.list.data[range->mapping];

		if (range->mapping != last) {
			bool may_have;

			err = is_candidate(rt, arenas, m, range->start,
					   &may_have);
			if (err)
				break;
			s.mapping = may_have ? m : NULL;
			// Mappings that overlap are searched once.
			if (s.at < m->start)
				s.at = m->start;
		}
		last = range->mapping;
		if (s.mapping && range->is_anonymous && !range->is_zeros)
			err = search_range(&s, range->start, range->end);
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	return err || !memo ? err : remember(r, ret, memo);
}

bool gr_c_blocks_have(const struct gr_c_blocks *blocks, uint64_t addr,
		      uint64_t end, uint64_t *stop)
{
	size_t n = index_of(blocks, addr);

	*stop = end;
	if (n == blocks->size)
		return false;
	const struct gr_c_block *block = &blocks->data[n];
	bool is_inside = block->start <= addr;
	uint64_t edge = is_inside ? block->end : block->start;
	if (edge < end)
		*stop = edge;
	return is_inside;
}
