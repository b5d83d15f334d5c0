// SPDX-License-Identifier: Apache-2.0
#include "native/glibc.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/sort.h"
#include "inferior/elf.h"

#include <ctype.h>
#include <elf.h>

static void glibc_deinit(struct gr_glibc *g)
{
	gr_glibc_region_vector_deinit(&g->regions);
	gr_blocks_deinit(&g->blocks);
}

// ------------------------------------------------------------------- version

/* The version in the text of the library: `... stable release version 2.36.` */
static struct gr_error *find_text(struct gr_glibc *g, struct gr_range piece,
				  const char **ret)
{
	static const char text[] = " release version ";
	struct gr_runtime *rt = g->r->spec->rt;
	size_t bytes = piece.end - piece.start, n = 0;
	const char *at = memmem(piece.host, bytes, text, strlen(text));
	const char *end = (const char *)piece.host + bytes;

	*ret = NULL;
	if (!at)
		return NULL;
	at += strlen(text);
	while (at + n < end && n < 8 &&
	       (isdigit((unsigned char)at[n]) || at[n] == '.'))
		n++;
	if (n && at[n - 1] == '.')
		n--;
	if (!n)
		return NULL;
	if (rt->recorder && piece.start)
		gr_recorder_add(rt->recorder,
				piece.start + (at - strlen(text) -
					       (const char *)piece.host),
				strlen(text) + n + 1);
	*ret = gr_arena_internf(rt->arena, "%.*s", (int)n, at);
	return *ret ? NULL : &gr_enomem;
}

/* Search the file itself, if the target lacks its constants. */
static struct gr_error *find_in_file(struct gr_glibc *g, const char **ret)
{
	struct gr_image *image = g->r->spec->rt->image;
	size_t module = gr_image_module_at(image, g->main_arena);
	const struct gr_elf *elf =
		module == SIZE_MAX ? NULL : gr_image_elf(image, module);

	if (!elf)
		return NULL;
	const struct gr_range file = { 0, elf->file.size, elf->file.data };
	return find_text(g, file, ret);
}

/* Search the version in a mapping, as far as it is at hand. */
static struct gr_error *find_in_mapping(struct gr_glibc *g,
					const struct gr_mapping *m,
					const char **ret)
{
	uint64_t at = m->start;
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err && !*ret &&
	       gr_view_piece(&g->r->view, at, m->end, &piece)) {
		err = find_text(g, piece, ret);
		if (!err)
			err = gr_runtime_step(g->r->spec->rt,
					      (piece.end - piece.start) / 128);
		at = piece.end;
	}
	return err;
}

/* Search the constants of the file that main_arena lies in. */
static struct gr_error *find_version(struct gr_glibc *g, const char **ret)
{
	const struct gr_mapping_vector *list =
		&g->r->spec->residency->mappings.list;
	const struct gr_mapping *of =
		gr_native_mapping_at(g->r->spec->residency, g->main_arena);
	struct gr_error *err = NULL;
	const char *found = NULL;
	uint64_t end = 0;

	*ret = "";
	for (size_t i = 0; !err && !found && of && of->path && i < list->size;
	     i++) {
		struct gr_mapping m = list->data[i];

		if (m.path && !(m.flags & PF_W) && !strcmp(m.path, of->path) &&
		    gr_mapping_begin_at(&m, &end))
			err = find_in_mapping(g, &m, &found);
		if (!err)
			err = gr_runtime_step(g->r->spec->rt, 1);
	}
	if (!err && !found)
		err = find_in_file(g, &found);
	if (found)
		*ret = found;
	return err;
}

// -------------------------------------------------------------------- arenas

static int compare_regions(const void *a, const void *b)
{
	const struct gr_glibc_region *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sort the regions, and walk each. Those that overlap are damage. */
static struct gr_error *walk_regions(struct gr_glibc *g)
{
	static const char overlaps[] = "its memory overlaps another arena's";
	struct gr_runtime *rt = g->r->spec->rt;
	struct gr_native *native = g->r->native;
	struct gr_error *err = gr_sort(g->regions.data, g->regions.size,
				       sizeof(*g->regions.data),
				       compare_regions, rt->poll, rt->poll_ctx);
	uint64_t end = 0;
	uint32_t before = 0;

	for (size_t i = 0; !err && i < g->regions.size; i++) {
		const struct gr_glibc_region *region = &g->regions.data[i];

		if (region->start < end) {
			gr_glibc_fail(&native->arenas.data[region->arena],
				      overlaps);
			gr_glibc_fail(&native->arenas.data[before], overlaps);
			continue;
		}
		end = region->end;
		before = region->arena;
		const struct gr_native_range range = { region->start, end,
						       region->arena };
		err = gr_runtime_append(rt, gr_native_range_vector,
					&native->memory, range);
		if (!err)
			err = gr_glibc_walk(g, region);
	}
	return err;
}

/* Move the blocks that were not dropped to those of the program. */
static struct gr_error *keep_blocks(struct gr_glibc *g, const uint64_t *dropped)
{
	struct gr_block_vector *from = &g->blocks.list;
	struct gr_block_vector *to = &g->r->native->blocks.list;
	size_t kept = 0;

	for (size_t i = 0; i < from->size; i++)
		if (!gr_bitmap_test(dropped, i))
			from->data[kept++] = from->data[i];
	from->size = kept;
	if (!to->size) {
		*to = *from;
		memset(from, 0, sizeof(*from));
		return NULL;
	}
	struct gr_error *err = gr_image_want(
		g->r->spec->rt->image, (to->size + kept) * sizeof(*to->data));
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

static struct gr_error *drop_cached(struct gr_glibc *g)
{
	uint64_t overlapping = 0;
	struct gr_error *err =
		gr_blocks_index(&g->blocks, g->r->spec->rt, &overlapping);
	if (!err)
		err = gr_image_want(g->r->spec->rt->image,
				    g->blocks.list.size / 8);
	if (err)
		return err;
	_cleanup_free_ uint64_t *dropped =
		gr_bitmap_alloc(g->blocks.list.size + 1);

	if (!dropped)
		return &gr_enomem;
	err = gr_glibc_check_bins(g);
	if (!err)
		err = gr_glibc_find_cached(g, dropped);
	return err ? err : keep_blocks(g, dropped);
}

static void fill(const struct gr_glibc *g, struct gr_native_allocator *of)
{
	struct gr_native_arena_vector *arenas = &g->r->native->arenas;

	of->narenas = arenas->size - of->first_arena;
	of->is_checked = true;
	for (size_t i = of->first_arena; i < arenas->size; i++) {
		struct gr_native_arena *a = &arenas->data[i];
		uint64_t known = a->in_use_bytes + a->free_bytes;

		of->is_checked &= a->is_checked;
		a->other_bytes =
			known < a->mapped_bytes ? a->mapped_bytes - known : 0;
	}
}

static struct gr_error *read_arenas(struct gr_glibc *g)
{
	struct gr_error *err = gr_glibc_find_heaps(g);

	if (!err)
		err = walk_regions(g);
	if (!err)
		err = gr_glibc_find_mapped(g);
	return err ? err : drop_cached(g);
}

static struct gr_error *read_glibc(struct gr_native_reader *r)
{
	_cleanup_(glibc_deinit) struct gr_glibc g = { .r = r };
	struct gr_native_allocator allocator = {
		.name = "glibc",
		.first_arena = r->native->arenas.size,
	};
	struct gr_error *err = gr_glibc_find(&g);

	if (err || !g.main_arena)
		return err;
	const struct gr_native_range state = {
		g.main_arena, g.main_arena + GR_GLIBC_STATE_BYTES, 0
	};
	if (!gr_native_range_vector_append(&r->native->structures, state))
		return &gr_enomem;
	err = find_version(&g, &allocator.version);
	if (!err)
		err = read_arenas(&g);
	if (err)
		return err;
	fill(&g, &allocator);
	return gr_native_allocator_vector_append(&r->native->allocators,
						 allocator) ?
		       NULL :
		       &gr_enomem;
}

const struct gr_allocator gr_allocator_glibc = { "glibc", read_glibc };
