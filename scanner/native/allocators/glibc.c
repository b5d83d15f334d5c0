// SPDX-License-Identifier: Apache-2.0
#include "native/allocators/glibc.h"

#include "native/allocators/module_search.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/sort.h"
#include "inferior/elf.h"

#include <ctype.h>

enum { MOST_VERSION_BYTES = 8 };
#define GR_GLIBC_VERSION_MARK " release version "

static void glibc_deinit(struct gr_glibc *g)
{
	gr_glibc_region_vector_deinit(&g->regions);
	gr_blocks_deinit(&g->blocks);
}

// ------------------------------------------------------------------- version

/* The version in the text of the library: `... stable release version 2.36.` */
static size_t match_version(const char *text, size_t bytes, bool is_first)
{
	size_t mark = strlen(GR_GLIBC_VERSION_MARK), n = mark;

	(void)is_first;
	if (bytes < mark || memcmp(text, GR_GLIBC_VERSION_MARK, mark))
		return 0;
	while (n < bytes && n < mark + MOST_VERSION_BYTES &&
	       (isdigit((unsigned char)text[n]) || text[n] == '.'))
		n++;
	n -= n > mark && text[n - 1] == '.';
	return n > mark ? n : 0;
}

/* Search the constants of the file that main_arena lies in. */
static struct gr_error *find_version(struct gr_glibc *g, const char **ret)
{
	const struct gr_mapping *of =
		gr_native_mapping_at(g->r->spec->residency, g->main_arena);
	const char *text;
	struct gr_error *err = gr_module_find_text(g->r, of ? of->path : NULL,
						   g->main_arena,
						   GR_GLIBC_VERSION_MARK, 0,
						   match_version, &text);

	*ret = !err && text ? text + strlen(GR_GLIBC_VERSION_MARK) : "";
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
			gr_arena_fail(&native->arenas.data[region->arena],
				      overlaps);
			gr_arena_fail(&native->arenas.data[before], overlaps);
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
	return err ? err : gr_reader_keep_blocks(g->r, &g->blocks, dropped);
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
	_cleanup_(glibc_deinit) struct gr_glibc g = {
		.r = r,
		.first_arena = r->native->arenas.size,
	};
	const char *version = "";
	struct gr_error *err = gr_glibc_find(&g);

	if (err || !g.main_arena)
		return err;
	err = gr_reader_add_structure(r, g.main_arena,
				      g.main_arena + GR_GLIBC_STATE_BYTES);
	if (!err)
		err = find_version(&g, &version);
	if (!err)
		err = read_arenas(&g);
	return err ? err :
		     gr_reader_add_allocator(r, "glibc", version,
					     g.first_arena);
}

const struct gr_allocator gr_allocator_glibc = { "glibc", read_glibc };
