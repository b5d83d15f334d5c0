// SPDX-License-Identifier: Apache-2.0
#include "goruntime/roots/c_blocks.h"

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
};

/* May blocks be in this mapping? Where arenas of glibc may begin, they do. */
static bool is_candidate(const struct gr_image *image,
			 const struct gr_heap_arenas *arenas,
			 const struct gr_mapping *m)
{
	return !m->path && m->start % GR_C_ARENA_BYTES &&
	       (m->flags & (PF_R | PF_W | PF_X)) == (PF_R | PF_W) &&
	       !gr_heap_arenas_have(arenas, m->start) &&
	       gr_image_module_at(image, m->start) == SIZE_MAX;
}

/* The bytes of the block that begins at @p addr; 0: none does. What is no header
 * may be a value, which a file without values does not have. */
static struct gr_error *block_at(const struct search *s, uint64_t addr,
				 uint64_t *ret)
{
	uint64_t header[2]; // prev_size, size

	*ret = 0;
	gr_recorder_pause(s->rt->recorder);
	struct gr_error *err =
		gr_image_read(s->rt->image, addr, header, sizeof(header));
	gr_recorder_resume(s->rt->recorder);
	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED) || err)
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
		uint64_t bytes;

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
				  struct gr_c_blocks *ret)
{
	struct search s = { .rt = rt,
			    .blocks = ret,
			    .probes_left = MAX_PROBES };
	size_t last = SIZE_MAX;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < r->ranges.size; i++) {
		const struct gr_resident *range = &r->ranges.data[i];
		const struct gr_mapping *m =
			&r->mappings.list.data[range->mapping];

		if (range->mapping != last) {
			s.mapping = is_candidate(rt->image, arenas, m) ? m :
									 NULL;
			// Mappings that overlap are searched once.
			if (s.at < m->start)
				s.at = m->start;
		}
		last = range->mapping;
		if (s.mapping && range->is_anonymous)
			err = search_range(&s, range->start, range->end);
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	return err;
}

bool gr_c_blocks_have(const struct gr_c_blocks *blocks, uint64_t addr,
		      uint64_t end, uint64_t *stop)
{
	size_t n =
		gr_count_before(blocks->size, i, blocks->data[i].end <= addr);

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
