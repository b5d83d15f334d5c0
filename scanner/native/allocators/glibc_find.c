// SPDX-License-Identifier: Apache-2.0
/*
 * main_arena and malloc_par lie in writable data of the C library. Symbols of
 * them are rare. main_arena is known by its ring of arenas, which leads back to
 * it, and by its bins: each empty one leads to itself. Bins alone would fit at
 * other addresses, too.
 */
#include "native/allocators/glibc.h"

#include "base/chain.h"
#include "inferior/elf.h"

#include <elf.h>

enum {
	MAX_ARENAS = 1 << 16,
	NEEDED_BINS = 120,	  /* a thread may be changing the others */
	MAX_RING_STEPS = 1 << 22, /* of all rings that are tried */
	LEAST_PAR_BYTES = 136,
	NONCONTIGUOUS = 2,
	/* malloc_par: its fourth word, NARENAS_FROM_NCORES(1) at first */
	ARENA_TEST = 24,
	ARENAS = 8,
};

/* Does each of nearly all bins lead to itself, or to a chunk that leads back? */
static bool has_bins(struct gr_view *view, uint64_t arena)
{
	unsigned int good = 0;

	for (unsigned int i = 0; i < GR_GLIBC_NBINS; i++) {
		uint64_t at = arena + GR_GLIBC_BINS + 16 * i;
		uint64_t bin = at - GR_CHUNK_USER; // as a chunk
		uint64_t fd, bk;

		if (!gr_view_word(view, at, &fd) ||
		    !gr_view_word(view, at + 8, &bk))
			return false;
		if (fd == bin ? bk == bin :
				gr_view_has(view, fd + 24, bin) &&
					gr_view_has(view, bk + 16, bin))
			good++;
		else if (i - good >= GR_GLIBC_NBINS - NEEDED_BINS)
			return false;
	}
	return true;
}

/* Does the ring of arenas lead from @p arena back to it? All others lie behind
 * the header of a heap, which leads to them. */
static bool has_ring(struct gr_glibc *g, struct gr_view *view, uint64_t arena)
{
	struct gr_chain chain = { .limit = MAX_ARENAS };
	uint64_t at = arena;

	do {
		if (g->ring_steps++ >= MAX_RING_STEPS ||
		    !gr_view_word(view, at + GR_GLIBC_NEXT, &at))
			return false;
		if (at == arena)
			return true;
	} while (gr_chain_step(&chain, at) &&
		 (gr_view_has(view, at - GR_C_LEAST_INFO_BYTES, at) ||
		  gr_view_has(view, at - 48, at)));
	return false;
}

/* Is the next arena, as a word says it, of the ring? Most words are not. */
static bool is_next(uint64_t arena, uint64_t next)
{
	return next == arena || gr_is_c_arena_pointer(next) ||
	       // With huge pages, heaps begin at other addresses.
	       next % (UINT64_C(1) << 20) == 48;
}

static bool is_main_arena(struct gr_glibc *g, struct gr_view *view,
			  uint64_t arena)
{
	uint64_t top, next;

	return gr_view_word(view, arena + GR_GLIBC_NEXT, &next) &&
	       is_next(arena, next) &&
	       gr_view_word(view, arena + GR_GLIBC_TOP, &top) && top &&
	       has_bins(view, arena) && has_ring(g, view, arena);
}

/* Search main_arena in [start, end). */
static struct gr_error *search_range(struct gr_glibc *g, uint64_t start,
				     uint64_t end)
{
	struct gr_view *view = &g->r->view;
	struct gr_range piece;
	struct gr_error *err = NULL;

	while (!err && !g->main_arena && start < end &&
	       gr_view_part(view, start, end, &piece)) {
		uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

		for (uint64_t i = 0; !err && i < n && !g->main_arena; i++) {
			uint64_t at = piece.start + i * GR_WORD_BYTES;
			uint64_t word =
				gr_load_u64(piece.host + i * GR_WORD_BYTES);

			if (at < GR_GLIBC_NEXT ||
			    !is_next(at - GR_GLIBC_NEXT, word))
				continue;
			uint64_t steps = g->ring_steps;
			if (is_main_arena(g, view, at - GR_GLIBC_NEXT))
				g->main_arena = at - GR_GLIBC_NEXT;
			err = gr_runtime_step(view->rt,
					      64 + g->ring_steps - steps);
		}
		if (!err)
			err = gr_runtime_step(view->rt, n / 16);
		start = piece.end;
	}
	return err;
}

static bool is_libc(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, "libc", 4);
}

/* Is it data of a file with code, or bss behind it? The libc's own first. */
static bool is_data(const struct gr_mapping *list, size_t i, bool of_libc)
{
	const struct gr_mapping *m = &list[i];
	const char *path = m->path;

	if (!(m->flags & PF_W))
		return false;
	if (!path && i && list[i - 1].end == m->start)
		path = list[i - 1].path;
	return path && *path == '/' && is_libc(path) == of_libc;
}

static struct gr_error *search(struct gr_glibc *g, bool of_libc)
{
	const struct gr_mapping_vector *list =
		&g->r->spec->residency->mappings.list;
	struct gr_error *err = NULL;
	uint64_t end = 0;

	for (size_t i = 0; !err && i < list->size && !g->main_arena; i++) {
		struct gr_mapping m = list->data[i];

		if (is_data(list->data, i, of_libc) &&
		    gr_mapping_begin_at(&m, &end))
			err = search_range(g, m.start, m.end);
		if (!err)
			err = gr_runtime_step(g->r->spec->rt, 1);
	}
	return err;
}

/* Look for the symbol in one file. */
static struct gr_error *find_symbol(struct gr_glibc *g, size_t module)
{
	struct gr_image *image = g->r->spec->rt->image;
	const struct gr_elf *elf = gr_image_elf(image, module);
	struct gr_elf_symbols at = { 0 };
	struct gr_elf_symbol symbol;
	struct gr_error *err = NULL;

	while (!err && elf && !g->main_arena &&
	       gr_elf_next_symbol(elf, &at, &symbol)) {
		uint64_t addr = symbol.addr + gr_image_bias(image, module);

		if (symbol.type == STT_OBJECT &&
		    !strcmp(symbol.name, "main_arena") &&
		    is_main_arena(g, &g->r->view, addr))
			g->main_arena = addr;
		err = gr_runtime_step(g->r->spec->rt, 1);
	}
	return err;
}

// ---------------------------------------------------------------- malloc_par

/** Where malloc_par has its fields: it has grown. */
struct par_layout {
	uint8_t counts, mapped_bytes, sbrk_base, tcache_bins;
};
static const struct par_layout par_layouts[] = {
	{ 60, 80, 96,
	  104 }, // from 2.35 on: thp_pagesize, hp_pagesize, hp_flags
	{ 40, 56, 72, 80 },
};
/** That of libc_malloc_debug.so (since 2.34), which has no caches of threads. */
static const struct par_layout debug_layout = { 60, 80, 96, 0 };

/* Can the limits of the caches of threads be these? */
static bool are_tcache_limits(uint64_t bins, uint64_t max_bytes)
{
	return bins >= 1 && bins <= 64 && max_bytes >= 24 &&
	       max_bytes <= 24 + (bins - 1) * 16 + 8 &&
	       max_bytes + 16 > 24 + (bins - 1) * 16;
}

/* Is the initial break in the same mapping as the top of the main arena? */
static bool is_sbrk_base(const struct gr_glibc *g, uint64_t base, uint64_t top)
{
	const struct gr_mapping *m =
		gr_native_mapping_at(g->r->spec->residency, base);

	return !base ||
	       (m && (base <= top || g->has_pieces) && (m->flags & PF_W));
}

static bool is_par(struct gr_glibc *g, const struct par_layout *layout,
		   uint64_t par, uint64_t top)
{
	struct gr_view *view = &g->r->view;
	uint64_t base, bins, max_bytes;

	if (!gr_view_word(view, par + layout->sbrk_base, &base))
		return false;
	if (!layout->tcache_bins) {
		if (!base || !gr_view_has(view, par + ARENA_TEST, ARENAS))
			return false;
	} else if (!gr_view_word(view, par + layout->tcache_bins, &bins) ||
		   !gr_view_word(view, par + layout->tcache_bins + 8,
				 &max_bytes) ||
		   !are_tcache_limits(bins, max_bytes)) {
		return false;
	}
	// Two ints each: n_mmaps and n_mmaps_max, then max_n_mmaps.
	uint8_t host[LEAST_PAR_BYTES];
	if (!gr_view_copy(view, par, host, sizeof(host)))
		return false;
	uint32_t count = gr_load_u32(host + layout->counts);
	uint32_t max_count = gr_load_u32(host + layout->counts + 8);
	uint64_t bytes = gr_load_u64(host + layout->mapped_bytes);
	uint64_t most_bytes = gr_load_u64(host + layout->mapped_bytes + 8);
	if (count > max_count || bytes > most_bytes || bytes % GR_PAGE_BYTES ||
	    most_bytes % GR_PAGE_BYTES || !count != !bytes ||
	    !max_count != !most_bytes || !is_sbrk_base(g, base, top))
		return false;
	g->mapped_count = count;
	g->mapped_bytes = bytes;
	g->sbrk_base = base;
	return true;
}

/* Record what malloc_par was told by. */
static void record_par(struct gr_glibc *g, uint64_t par)
{
	if (g->r->spec->rt->recorder)
		gr_recorder_add(g->r->spec->rt->recorder, par, LEAST_PAR_BYTES);
}

/* Search malloc_par of one layout in a mapping, as far as it is at hand. */
static struct gr_error *find_par_as(struct gr_glibc *g,
				    const struct par_layout *layout,
				    const struct gr_mapping *m, uint64_t top)
{
	struct gr_error *err = NULL;
	uint64_t start = m->start;
	struct gr_range piece;

	while (!err && !g->has_par && start < m->end &&
	       gr_view_piece(&g->r->view, start, m->end, &piece)) {
		uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

		for (uint64_t i = 0; !err && !g->has_par && i < n; i++) {
			uint64_t at = piece.start + i * GR_WORD_BYTES;

			g->has_par = is_par(g, layout, at, top);
			if (g->has_par)
				record_par(g, at);
			err = gr_runtime_step(g->r->spec->rt, 1);
		}
		start = piece.end;
	}
	return err;
}

/* Search malloc_par around main_arena. */
static struct gr_error *find_par(struct gr_glibc *g)
{
	const struct gr_mapping *m =
		gr_native_mapping_at(g->r->spec->residency, g->main_arena);
	uint64_t top;
	struct gr_error *err = NULL;

	if (!m ||
	    !gr_view_word(&g->r->view, g->main_arena + GR_GLIBC_TOP, &top))
		return NULL;
	if (m->path && strstr(m->path, "/libc_malloc_debug.so"))
		return find_par_as(g, &debug_layout, m, top);
	for (size_t k = 0; !err && k < GR_ARRAY_SIZE(par_layouts); k++)
		err = find_par_as(g, &par_layouts[k], m, top);
	return err;
}

// ----------------------------------------------------------------------- all

/* Record what main_arena was told by. */
static void record_arena(struct gr_glibc *g)
{
	struct gr_view view = g->r->view;

	view.is_recording = true;
	g->ring_steps = 0;
	if (!is_main_arena(g, &view, g->main_arena))
		g->main_arena = 0;
}

/* Has malloc given up the break (NONCONTIGUOUS_BIT)? */
static bool has_pieces(struct gr_glibc *g)
{
	struct gr_view view = g->r->view;
	uint64_t word;

	view.is_recording = true;
	return gr_view_word(&view, g->main_arena + GR_GLIBC_MUTEX, &word) &&
	       (word >> 32 & NONCONTIGUOUS) != 0;
}

struct gr_error *gr_glibc_find(struct gr_glibc *g)
{
	struct gr_error *err = NULL;

	for (size_t i = 0;
	     !err && !g->main_arena && i < g->r->spec->target->nmodules; i++)
		err = find_symbol(g, i);
	if (!err && !g->main_arena)
		err = search(g, true);
	if (!err && !g->main_arena)
		err = search(g, false);
	if (err || !g->main_arena)
		return err;
	record_arena(g);
	g->has_pieces = has_pieces(g);
	return find_par(g);
}
