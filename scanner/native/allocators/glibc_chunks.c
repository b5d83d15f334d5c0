// SPDX-License-Identifier: Apache-2.0
/*
 * The chunks of a region, from the first one to the top. A chunk is in use if
 * the header of the next one says so. A region that is not the last one of its
 * arena ends with fenceposts: chunks too small to be given away.
 */
#include "native/allocators/glibc.h"

#include "inferior/elf.h"

enum {
	FENCE_BYTES = 16,
	WHOLE_CHUNK_BYTES = 48, /* sizeof(struct malloc_chunk) */
	LEAST_STEPS = 4096,
};

struct walk {
	struct gr_glibc *g;
	const struct gr_glibc_region *region;
	struct gr_native_arena *arena;
	uint64_t chunk, bytes; /* the one before; bytes is 0: none */
	uint64_t steps_left;   /* for the search behind foreign memory */
	bool has_steps;
};

static struct gr_error *add_free(struct walk *w, uint64_t chunk, uint64_t bytes)
{
	w->arena->free_blocks++;
	gr_reader_count_free(w->g->r, w->arena, chunk, bytes);
	if (bytes > w->arena->largest_free_bytes)
		w->arena->largest_free_bytes = bytes;
	return gr_reader_add_trimmable(w->g->r, w->region->arena,
				       chunk + WHOLE_CHUNK_BYTES,
				       chunk + bytes);
}

/* The chunk before ends at @p at, whose header is @p head. */
static struct gr_error *end_chunk(struct walk *w, uint64_t at, uint64_t head)
{
	uint64_t bytes = w->bytes, chunk = w->chunk;
	uint64_t before;

	w->bytes = 0;
	if (!bytes)
		return NULL;
	if (head & GR_CHUNK_PREV_IN_USE)
		return gr_reader_add_block(w->g->r, &w->g->blocks,
					   w->region->arena,
					   chunk + GR_CHUNK_USER, bytes, 1);
	// A free chunk has its size at its end, too.
	if (!gr_view_word(&w->g->r->view, at, &before) || before != bytes)
		gr_arena_fail(w->arena, "a free chunk of it is damaged");
	return add_free(w, chunk, bytes);
}

static struct gr_error *end_top(struct walk *w, uint64_t at, uint64_t bytes)
{
	// The end of the break can be lowered; a heap of a thread cannot.
	bool is_main = w->arena->addr == w->g->main_arena && !w->g->has_pieces;

	if (bytes != w->region->end - at)
		gr_arena_fail(w->arena, "its top chunk does not end it");
	w->arena->top_bytes = w->region->end - at;
	gr_reader_count_free(w->g->r, w->arena, at, w->arena->top_bytes);
	return is_main ? gr_reader_add_trimmable(w->g->r, w->region->arena,
						 at + GR_CHUNK_LEAST_BYTES + 1,
						 w->region->end) :
			 NULL;
}

// ------------------------------------------------------------ foreign memory

static bool is_fence(uint64_t head)
{
	return (head & ~(uint64_t)GR_CHUNK_FLAGS) <= FENCE_BYTES;
}

/* Do fenceposts begin at @p at, where malloc may have put them? It has two of
 * them: in front of memory that is not its own, where the break was at the end
 * of a page; and at the end of a heap, where a chunk that was too small to be
 * given away may be the first one. */
static bool has_fences(const struct walk *w, uint64_t at, uint64_t head)
{
	struct gr_view *view = &w->g->r->view;
	uint64_t bytes = head & ~(uint64_t)GR_CHUNK_FLAGS;
	uint64_t left = w->region->end - at;

	if (w->arena->addr == w->g->main_arena)
		return bytes == FENCE_BYTES &&
		       (at + 2 * FENCE_BYTES) % GR_PAGE_BYTES == 0 &&
		       gr_view_has(view, at + FENCE_BYTES + GR_CHUNK_SIZE,
				   FENCE_BYTES | GR_CHUNK_PREV_IN_USE);
	if (!bytes)
		return left == FENCE_BYTES && w->bytes == 2 * FENCE_BYTES;
	return bytes == FENCE_BYTES && left == 2 * FENCE_BYTES &&
	       gr_view_has(view, at + FENCE_BYTES + GR_CHUNK_SIZE,
			   GR_CHUNK_PREV_IN_USE);
}

static bool is_chunk(const struct walk *w, uint64_t at, uint64_t head)
{
	uint64_t bytes = head & ~(uint64_t)GR_CHUNK_FLAGS;

	return !(head & GR_CHUNK_IS_MMAPPED) && bytes % GR_CHUNK_ALIGN == 0 &&
	       bytes >= GR_CHUNK_LEAST_BYTES && bytes <= w->region->end - at;
}

/* Does a chain of chunks lead from @p at to the top, or to fenceposts? */
static struct gr_error *is_chain(struct walk *w, uint64_t at, bool *ret)
{
	struct gr_view *view = &w->g->r->view;
	bool has_chunks = false;
	struct gr_error *err = NULL;
	uint64_t head;

	*ret = false;
	while (!err && w->steps_left && at < w->region->end) {
		w->steps_left--;
		if (at == w->region->top) {
			*ret = true;
			return NULL;
		}
		if (!gr_view_word(view, at + GR_CHUNK_SIZE, &head) ||
		    (!has_chunks && !(head & GR_CHUNK_PREV_IN_USE)))
			return NULL;
		if (is_fence(head)) {
			*ret = has_chunks && has_fences(w, at, head);
			return NULL;
		}
		if (!is_chunk(w, at, head))
			return NULL;
		has_chunks = true;
		at += head & ~(uint64_t)GR_CHUNK_FLAGS;
		err = gr_runtime_step(view->rt, 1);
	}
	return err;
}

/* Allow as many steps as the memory at hand behind @p at may need: one for each
 * place where a chunk may begin, and some for chains that lead nowhere. */
static struct gr_error *allow_steps(struct walk *w, uint64_t at)
{
	struct gr_view *view = &w->g->r->view;
	struct gr_error *err = NULL;
	struct gr_range piece;

	if (w->has_steps)
		return NULL;
	w->has_steps = true;
	w->steps_left = LEAST_STEPS;
	while (!err && gr_view_piece(view, at, w->region->end, &piece)) {
		w->steps_left += (piece.end - piece.start) / 8;
		at = piece.end;
		err = gr_runtime_step(view->rt, 1);
	}
	return err;
}

/* Add the program's own memory. */
static struct gr_error *add_foreign(struct walk *w, uint64_t start,
				    uint64_t end)
{
	const struct gr_native_range range = { start, end, w->region->arena };

	return start < end ?
		       gr_runtime_append(w->g->r->spec->rt,
					 gr_native_range_vector,
					 &w->g->r->native->foreign, range) :
		       NULL;
}

/* The program itself has moved the break, from @p start on: find the chunks
 * behind its memory. *@p ret is the end of the region if there are none. */
static struct gr_error *pass_foreign(struct walk *w, uint64_t start,
				     uint64_t *ret)
{
	struct gr_view *view = &w->g->r->view;
	uint64_t at = start;
	bool is_found = false;
	struct gr_error *err = allow_steps(w, at);
	struct gr_range piece;

	view->is_recording = false;
	while (!err && !is_found && w->steps_left) {
		if (!gr_view_piece(view, at, w->region->end, &piece))
			break;
		at = (piece.start + 15) & ~UINT64_C(15);
		// Bounded by the steps that are left.
		for (; !err && at < piece.end && w->steps_left; at += 16) {
			w->steps_left--;
			err = is_chain(w, at, &is_found);
			if (is_found)
				break;
			if (!err)
				err = gr_runtime_step(view->rt, 1);
		}
	}
	view->is_recording = true;
	*ret = is_found ? at : w->region->end;
	return err ? err : add_foreign(w, start, *ret);
}

// ---------------------------------------------------------------- the region

/* The region ends, or foreign memory begins, at a fencepost. */
static struct gr_error *pass_fence(struct walk *w, uint64_t at, uint64_t head,
				   uint64_t *ret)
{
	if (!has_fences(w, at, head)) {
		gr_arena_fail(w->arena, "its chunks are damaged");
		*ret = w->region->end;
		return NULL;
	}
	uint64_t start = at;
	// The end of a heap that was almost full: a chunk of it is one, too.
	if (!(head & ~(uint64_t)GR_CHUNK_FLAGS)) {
		start = w->chunk;
		w->bytes = 0;
	}
	struct gr_error *err = end_chunk(w, at, head);

	*ret = w->region->end;
	if (!err && w->arena->addr == w->g->main_arena)
		err = pass_foreign(w, at + 2 * FENCE_BYTES, ret);
	if (!err)
		err = gr_reader_add_other(w->g->r, w->region->arena, start,
					  *ret);
	if (!err && w->region->top && *ret >= w->region->end)
		gr_arena_fail(w->arena, "its chunks do not lead to its top");
	return err;
}

/* Go on from the chunk at *@p at. */
static struct gr_error *step(struct walk *w, uint64_t *at)
{
	uint64_t head, here = *at;
	struct gr_error *err;

	*at = w->region->end;
	if (!gr_view_word(&w->g->r->view, here + GR_CHUNK_SIZE, &head)) {
		gr_arena_miss(w->arena);
		return NULL;
	}
	if (is_fence(head) && here != w->region->top)
		return pass_fence(w, here, head, at);
	if (!is_chunk(w, here, head)) {
		gr_arena_fail(w->arena, "its chunks are damaged");
		return NULL;
	}
	err = end_chunk(w, here, head);
	head &= ~(uint64_t)GR_CHUNK_FLAGS;
	if (err)
		return err;
	if (here == w->region->top)
		return end_top(w, here, head);
	w->chunk = here;
	w->bytes = head;
	*at = here + head;
	if (*at >= w->region->end)
		gr_arena_fail(w->arena, "its chunks do not lead to its top");
	return NULL;
}

struct gr_error *gr_glibc_walk(struct gr_glibc *g,
			       const struct gr_glibc_region *region)
{
	struct walk w = {
		.g = g,
		.region = region,
		.arena = &g->r->native->arenas.data[region->arena],
	};
	uint64_t at = region->first;
	struct gr_error *err =
		gr_reader_add_other(g->r, region->arena, region->start,
				    at < region->end ? at : region->end);

	g->r->view.is_recording = true;
	// Bounded by the region: each chunk lies behind the one before.
	while (!err && at < region->end) {
		err = step(&w, &at);
		if (!err)
			err = gr_runtime_step(g->r->spec->rt, 1);
	}
	g->r->view.is_recording = false;
	return err;
}
