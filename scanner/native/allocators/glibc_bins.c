// SPDX-License-Identifier: Apache-2.0
/*
 * The lists of free chunks of an arena. The header of a chunk says whether the
 * one before it is in use; these lists say it again. A chunk of a list that is
 * in use by its header is damage: it would look like a block that nobody holds.
 */
#include "native/allocators/glibc.h"

enum {
	SLACK_CHUNKS = 64, /* that threads may be about to take or to give */
};

/* May a free chunk of the arena number @p arena be at @p chunk? */
static bool is_free(struct gr_glibc *g, uint32_t arena, uint64_t chunk)
{
	const struct gr_glibc_region *region = gr_glibc_region_at(g, chunk);

	return region && region->arena == arena &&
	       gr_blocks_find(&g->blocks, chunk + GR_CHUNK_USER) ==
		       GR_BLOCK_NONE;
}

/* Walk one list. *@p left is how many chunks the arena may have in lists. */
static struct gr_error *check_bin(struct gr_glibc *g, uint32_t arena,
				  uint64_t bin, uint64_t *left)
{
	struct gr_view *view = &g->r->view;
	uint64_t chunk = bin;
	struct gr_error *err = NULL;

	while (!err && *left &&
	       gr_view_word(view, chunk + GR_CHUNK_USER, &chunk)) {
		if (chunk == bin)
			return NULL;
		if (!is_free(g, arena, chunk))
			break;
		--*left;
		err = gr_runtime_step(view->rt, 1);
	}
	if (!err)
		gr_arena_fail(&g->r->native->arenas.data[arena],
			      "a list of its free chunks is damaged");
	return err;
}

struct gr_error *gr_glibc_check_bins(struct gr_glibc *g)
{
	struct gr_native_arena_vector *arenas = &g->r->native->arenas;
	struct gr_error *err = NULL;

	g->r->view.is_recording = true;
	for (size_t i = g->first_arena; !err && i < arenas->size; i++) {
		struct gr_native_arena *arena = &arenas->data[i];
		uint64_t left = arena->free_blocks + SLACK_CHUNKS;
		uint64_t bin = arena->addr + GR_GLIBC_BINS - GR_CHUNK_USER;

		if (!arena->addr)
			continue;
		for (unsigned int k = 0;
		     !err && arena->is_checked && k < GR_GLIBC_NBINS; k++)
			err = check_bin(g, i, bin + 16 * k, &left);
		if (!err)
			err = gr_runtime_step(g->r->spec->rt, 64);
	}
	g->r->view.is_recording = false;
	return err;
}
