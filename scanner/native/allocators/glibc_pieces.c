// SPDX-License-Identifier: Apache-2.0
/*
 * The main arena where it does not have the break: it maps pieces of memory, of
 * which no list is kept. A piece begins with a chunk at the start of a page, and
 * its chunks lead to fenceposts at the end of a page, or to the top. All pieces
 * together are as large as the arena counts.
 */
#include "native/allocators/glibc.h"

#include "inferior/elf.h"

#include <elf.h>

enum {
	MAX_PROBES = 1 << 22, /* pages, in all mappings */
	MAX_STEPS = 1 << 26,  /* chunks, in all chains */
	FENCE_BYTES = 16,
};

struct search {
	struct gr_glibc *g;
	uint64_t top, counted, found; /* bytes of the arena */
	uint64_t probes_left, steps_left;
	uint32_t arena;
};

/* Do two fenceposts end a piece at *@p end? */
static bool has_end(struct gr_view *view, uint64_t at, uint64_t *end)
{
	*end = at + 2 * FENCE_BYTES;
	return *end % GR_PAGE_BYTES == 0 &&
	       gr_view_has(view, at + FENCE_BYTES + GR_CHUNK_SIZE,
			   FENCE_BYTES | GR_CHUNK_PREV_IN_USE);
}

/* Follow the chunks from @p at to the end of their piece; 0: they have none
 * below @p limit. A top that is damaged may have no bytes. */
static struct gr_error *find_end(struct search *s, uint64_t at, uint64_t limit,
				 uint64_t *ret)
{
	struct gr_view *view = &s->g->r->view;
	uint64_t head, bytes;
	struct gr_error *err = NULL;

	*ret = 0;
	while (!err && s->steps_left && at < limit &&
	       gr_view_word(view, at + GR_CHUNK_SIZE, &head)) {
		s->steps_left--;
		bytes = head & ~(uint64_t)GR_CHUNK_FLAGS;
		if ((head & GR_CHUNK_FLAGS & ~GR_CHUNK_PREV_IN_USE) ||
		    bytes % GR_CHUNK_ALIGN || bytes > limit - at)
			return NULL;
		if (at == s->top)
			*ret = bytes ? at + bytes : 0;
		else if (bytes == FENCE_BYTES && !has_end(view, at, ret))
			*ret = 0;
		if (at == s->top || bytes < GR_CHUNK_LEAST_BYTES)
			return NULL;
		at += bytes;
		err = gr_runtime_step(view->rt, 1);
	}
	return err;
}

static struct gr_error *add_piece(struct search *s, uint64_t start,
				  uint64_t end)
{
	bool has_top = s->top >= start && s->top < end;

	s->found += end - start;
	return gr_glibc_add_region(
		s->g, s->arena,
		(struct gr_glibc_region){ .start = start,
					  .end = end,
					  .first = start,
					  .top = has_top ? s->top : 0 });
}

/* Search the pages of a mapping that are at hand. */
static struct gr_error *search_mapping(struct search *s,
				       const struct gr_mapping *m)
{
	struct gr_view *view = &s->g->r->view;
	uint64_t at = m->start, head, end;
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err && s->found < s->counted && s->probes_left &&
	       (at = gr_glibc_next_page(at)) < m->end &&
	       gr_view_piece(view, at, m->end, &piece)) {
		at = piece.start & ~(GR_PAGE_BYTES - 1);
		end = 0;
		s->probes_left--;
		if (gr_view_word(view, at + GR_CHUNK_SIZE, &head) &&
		    (head & GR_CHUNK_FLAGS) == GR_CHUNK_PREV_IN_USE)
			err = find_end(s, at, m->end, &end);
		if (!err && end)
			err = add_piece(s, at, end);
		at = end ? end : at + 1;
		if (!err)
			err = gr_runtime_step(view->rt, 4);
	}
	return err;
}

struct gr_error *gr_glibc_find_pieces(struct gr_glibc *g, uint32_t arena)
{
	const struct gr_mapping_vector *list =
		&g->r->spec->residency->mappings.list;
	struct gr_view *view = &g->r->view;
	struct search s = { .g = g,
			    .arena = arena,
			    .probes_left = MAX_PROBES,
			    .steps_left = MAX_STEPS };
	bool is_recording = view->is_recording;
	struct gr_error *err = NULL;
	uint64_t end = 0;

	if (!gr_view_word(view, g->main_arena + GR_GLIBC_TOP, &s.top) ||
	    !gr_view_word(view, g->main_arena + GR_GLIBC_SYSTEM_MEM,
			  &s.counted))
		return NULL;
	view->is_recording = false;
	for (size_t i = 0; !err && i < list->size && s.found < s.counted; i++) {
		struct gr_mapping m = list->data[i];

		if ((!m.path || *m.path == '[') && (m.flags & PF_W) &&
		    gr_mapping_begin_at(&m, &end) &&
		    !gr_reader_meets_go(g->r, m.start, m.end))
			err = search_mapping(&s, &m);
		if (!err)
			err = gr_runtime_step(view->rt, 1);
	}
	view->is_recording = is_recording;
	return err;
}
