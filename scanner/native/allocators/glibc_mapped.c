// SPDX-License-Identifier: Apache-2.0
/*
 * Large blocks, which malloc maps one by one. No list leads to them: they are
 * found by their headers in anonymous memory that nothing else has, until as
 * many are found as malloc_par counts. The kernel joins mappings that lie side
 * by side, so that one may begin at any page.
 */
#include "native/allocators/glibc.h"

#include "inferior/elf.h"

#include <elf.h>

enum {
	MAX_PROBES = 1 << 22, /* pages without a header, in all mappings */
	MAX_BLIND_PROBES = 1 << 13,    /* if nobody tells how many there are */
	LEAST_BLIND_BYTES = 128 << 10, /* DEFAULT_MMAP_THRESHOLD_MIN */
	MAX_ALIGN = 1 << 30,
};

struct search {
	struct gr_glibc *g;
	uint32_t arena;	     /* index */
	uint64_t start, end; /* the mapping */
	uint64_t probes_left;
	bool is_over;
};

/* May blocks be in this mapping? */
static bool is_candidate(const struct gr_mapping *m)
{
	return gr_mapping_is_anonymous(m) &&
	       (m->flags & (PF_R | PF_W)) == (PF_R | PF_W);
}

/* The region of another arena or the arena of Go that holds @p addr ends there;
 * 0: none does. */
static uint64_t end_of_other(const struct search *s, uint64_t addr)
{
	const struct gr_glibc_region *region = gr_glibc_region_at(s->g, addr);

	if (region)
		return region->end;
	// Another allocator may have it, whose blocks may say anything.
	const struct gr_native_range_vector *taken = &s->g->r->taken;
	size_t n = gr_count_before(taken->size, i, taken->data[i].end <= addr);
	if (n < taken->size && taken->data[n].start <= addr)
		return taken->data[n].end;
	if (!gr_heap_arenas_have(s->g->r->spec->go_arenas, addr))
		return 0;
	return addr >> GR_ARENA_SHIFT < s->end >> GR_ARENA_SHIFT ?
		       ((addr >> GR_ARENA_SHIFT) + 1) << GR_ARENA_SHIFT :
		       s->end;
}

/* Does memory of others begin in [start, end), which is not theirs at first? */
static bool meets_others(const struct search *s, uint64_t start, uint64_t end)
{
	const struct gr_glibc_region_vector *list = &s->g->regions;
	size_t n = gr_count_before(list->size, i, list->data[i].start < start);

	return (n < list->size && list->data[n].start < end) ||
	       gr_reader_meets_go(s->g->r, start, end);
}

/* The bytes of a chunk that begins at @p chunk, from the start of its mapping
 * on, which *@p before says; 0: there is none. */
static uint64_t chunk_at(struct search *s, uint64_t chunk, uint64_t *before)
{
	struct gr_view *view = &s->g->r->view;
	uint64_t head;

	if (!gr_view_word(view, chunk, before) ||
	    !gr_view_word(view, chunk + GR_CHUNK_SIZE, &head) ||
	    (head & GR_CHUNK_FLAGS) != GR_CHUNK_IS_MMAPPED)
		return 0;
	uint64_t bytes = head & ~(uint64_t)GR_CHUNK_FLAGS;
	uint64_t least = s->g->has_par ? GR_PAGE_BYTES : LEAST_BLIND_BYTES;
	if (bytes < GR_CHUNK_LEAST_BYTES || bytes > s->end - chunk ||
	    *before > chunk - s->start || (bytes + *before) % GR_PAGE_BYTES ||
	    bytes % GR_CHUNK_ALIGN || bytes + *before < least ||
	    (chunk - *before) % GR_PAGE_BYTES ||
	    meets_others(s, chunk - *before, chunk + bytes))
		return 0;
	return bytes;
}

/* A chunk whose mapping begins at @p page. An alignment may have moved it: then
 * the header at the start stays as it was. @return its bytes; 0: there is none. */
static uint64_t find_chunk(struct search *s, uint64_t page, uint64_t *chunk,
			   uint64_t *before)
{
	struct gr_view *view = &s->g->r->view;
	uint64_t head;

	if (!gr_view_has(view, page, 0) ||
	    !gr_view_word(view, page + GR_CHUNK_SIZE, &head) ||
	    (head & GR_CHUNK_FLAGS) != GR_CHUNK_IS_MMAPPED)
		return 0;
	// Bounded by the alignments: they double.
	for (uint64_t align = 32; align && align <= MAX_ALIGN; align *= 2) {
		uint64_t user = (page + GR_CHUNK_USER + align - 1) & -align;

		*chunk = user - GR_CHUNK_USER;
		if (*chunk <= page || *chunk >= s->end)
			continue;
		uint64_t bytes = chunk_at(s, *chunk, before);
		if (bytes && *before == *chunk - page)
			return bytes;
	}
	*chunk = page;
	return chunk_at(s, page, before);
}

/* Record the header, and the one at the start of the mapping, which lead to
 * each other. */
static void record(const struct search *s, uint64_t chunk, uint64_t before)
{
	struct gr_recorder *recorder = s->g->r->spec->rt->recorder;

	if (!recorder)
		return;
	gr_recorder_add(recorder, chunk - before, GR_CHUNK_USER);
	gr_recorder_add(recorder, chunk, GR_CHUNK_USER);
}

static struct gr_error *add_chunk(struct search *s, uint64_t chunk,
				  uint64_t before, uint64_t bytes)
{
	struct gr_native *native = s->g->r->native;
	struct gr_native_arena *arena = &native->arenas.data[s->arena];

	record(s, chunk, before);
	arena->mapped_bytes += before + bytes;
	const struct gr_native_range range = { chunk - before, chunk + bytes,
					       s->arena };
	struct gr_error *err = gr_runtime_append(s->g->r->spec->rt,
						 gr_native_range_vector,
						 &native->memory, range);
	if (!err)
		err = gr_reader_add_other(s->g->r, s->arena, range.start,
					  chunk);
	if (!err)
		err = gr_reader_add_block(s->g->r, &s->g->blocks, s->arena,
					  chunk + GR_CHUNK_USER, bytes, 2);
	s->is_over = s->g->has_par &&
		     arena->in_use_blocks == s->g->mapped_count &&
		     arena->mapped_bytes == s->g->mapped_bytes;
	return err;
}

/* Search the pages of a mapping that are at hand. */
static struct gr_error *search_mapping(struct search *s)
{
	struct gr_view *view = &s->g->r->view;
	uint64_t at = s->start, before, chunk;
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err && !s->is_over && s->probes_left &&
	       (at = gr_glibc_next_page(at)) < s->end &&
	       gr_view_piece(view, at, s->end, &piece)) {
		at = piece.start & ~(GR_PAGE_BYTES - 1);
		uint64_t stop = end_of_other(s, at);
		uint64_t bytes = stop ? 0 : find_chunk(s, at, &chunk, &before);

		if (bytes)
			err = add_chunk(s, chunk, before, bytes);
		else
			s->probes_left--;
		at = stop ? stop : bytes ? chunk + bytes : at + 1;
		if (!err)
			err = gr_runtime_step(view->rt, 8);
	}
	return err;
}

static struct gr_error *search_all(struct search *s)
{
	const struct gr_native_spec *spec = s->g->r->spec;
	const struct gr_mapping_vector *list = &spec->residency->mappings.list;
	uint64_t end = 0;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < list->size && !s->is_over; i++) {
		const struct gr_mapping *m = &list->data[i];

		if (!is_candidate(m))
			continue;
		// Mappings that overlap are searched once.
		s->start = m->start > end ? m->start : end;
		s->end = m->end;
		if (s->start < s->end)
			err = gr_native_module_end(spec->rt, s->start, s->end,
						   &s->start);
		if (!err && s->start < s->end)
			err = search_mapping(s);
		end = m->end > end ? m->end : end;
		if (!err)
			err = gr_runtime_step(spec->rt, 1);
	}
	return err;
}

struct gr_error *gr_glibc_find_mapped(struct gr_glibc *g)
{
	struct search s = {
		.g = g,
		.arena = g->r->native->arenas.size,
		.probes_left = g->has_par ? MAX_PROBES : MAX_BLIND_PROBES,
	};

	if (g->has_par && !g->mapped_count)
		return NULL;
	struct gr_error *err = gr_reader_add_arena(g->r, 0, "mmap");
	if (!err)
		err = search_all(&s);
	if (err)
		return err;
	struct gr_native_arena *arena = &g->r->native->arenas.data[s.arena];
	arena->bytes_counter = "mmapped_mem";
	arena->blocks_counter = "n_mmaps";
	arena->found_bytes = arena->mapped_bytes;
	arena->found_blocks = arena->in_use_blocks;
	if (g->has_par) {
		arena->counted_blocks = g->mapped_count;
		arena->counted_bytes = g->mapped_bytes;
	}
	if (!g->has_par)
		gr_arena_doubt(arena, GR_DOUBT_UNCOUNTED,
			       "nothing tells how many blocks it has");
	else if (arena->in_use_blocks != g->mapped_count ||
		 arena->mapped_bytes != g->mapped_bytes)
		gr_arena_fail(arena,
			      "malloc counts other blocks than were found");
	return err;
}
