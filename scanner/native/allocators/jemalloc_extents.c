// SPDX-License-Identifier: Apache-2.0
/*
 * The page tree has an entry for the first page of each extent, for its last
 * one, and for each page of a slab. Only the first one counts here: so each
 * extent is found once, and entries that were left behind lead to none. The
 * nodes of the tree are memory of the base of arena 0.
 */
#include "native/allocators/jemalloc.h"

#include "base/bitmap.h"
#include "base/chain.h"
#include "base/cleanup.h"
#include "base/sort.h"

enum {
	HPA_BIT = 14,
	PAGE_SLAB_BYTES = 2 << 20,
	BLOCK_ALIGN = 64, /* of a large block in its first page, at least */
};

/** A node or leaf of the page tree. */
struct node {
	uint64_t at, from; /* its address, and that of the word with it */
	uint64_t first;	   /* the first address that it is for */
};
GR_VECTOR(node_vector, struct node);

static int compare_nodes(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Note that a word of the page tree is damaged. A saved file has the first one:
 * it decides there, too. */
static void fail_tree(struct gr_jemalloc *j, uint64_t at)
{
	if (!j->has_failed)
		gr_jemalloc_record(j, at, GR_WORD_BYTES);
	gr_jemalloc_fail_all(j, "its rtree is damaged");
}

/* Append what the words of a node lead to, at @p level (the root's is 0). */
static struct gr_error *add_children(struct gr_jemalloc *j,
				     const struct node *node,
				     unsigned int level, uint64_t child_bytes,
				     struct node_vector *ret)
{
	unsigned int bit = j->shape->root_bit - level * j->shape->bits;
	uint64_t at = node->at;
	uint64_t end = at + (GR_WORD_BYTES << j->shape->bits);
	struct gr_runtime *rt = j->r->spec->rt;
	struct gr_error *err = NULL;
	struct gr_range piece;

	for (; !err && gr_view_part(&j->r->view, at, end, &piece);
	     at = piece.end) {
		for (at = piece.start; !err && at < piece.end;
		     at += GR_WORD_BYTES) {
			struct node child = { .from = at };

			child.at = gr_load_u64(piece.host + (at - piece.start));
			if (!child.at)
				continue;
			if (!gr_jemalloc_in_base(j, 0, child.at, child_bytes)) {
				fail_tree(j, at);
				continue;
			}
			child.first = node->first +
				      ((at - node->at) / GR_WORD_BYTES << bit);
			err = gr_runtime_append(rt, node_vector, ret, child);
		}
		if (!err)
			err = gr_runtime_step(
				rt, (piece.end - piece.start) / 128 + 1);
	}
	return err;
}

/* Sort nodes, and drop those that overlap: each byte is read once at most. */
static struct gr_error *sort_nodes(struct gr_jemalloc *j, uint64_t bytes,
				   struct node_vector *list)
{
	struct gr_runtime *rt = j->r->spec->rt;
	struct gr_error *err = gr_sort(list->data, list->size,
				       sizeof(*list->data), compare_nodes,
				       rt->poll, rt->poll_ctx);
	uint64_t end = 0;
	size_t kept = 0;

	for (size_t i = 0; !err && i < list->size; i++) {
		if (list->data[i].at < end) {
			fail_tree(j, list->data[i].from);
			continue;
		}
		end = list->data[i].at + bytes;
		list->data[kept++] = list->data[i];
	}
	if (!err)
		list->size = kept;
	return err;
}

/* Go down from all nodes of a level to those of the next one. */
static struct gr_error *go_down(struct gr_jemalloc *j, unsigned int level,
				struct node_vector *nodes)
{
	uint64_t bytes = (level + 2 < j->shape->levels ?
				  GR_WORD_BYTES :
				  (uint64_t)j->shape->entry_bytes)
			 << j->shape->bits;
	struct node_vector next = { 0 };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < nodes->size; i++)
		err = add_children(j, &nodes->data[i], level, bytes, &next);
	if (!err)
		err = sort_nodes(j, bytes, &next);
	// A node without extents is recorded as well: there are few.
	for (size_t i = 0; !err && i < next.size; i++)
		gr_jemalloc_record(j, next.data[i].from, GR_WORD_BYTES);
	node_vector_deinit(nodes);
	*nodes = next;
	return err;
}

/* Append the extent that an entry leads to, if the entry is that of its first
 * page. */
static struct gr_error *add_entry(struct gr_jemalloc *j, uint64_t at,
				  uint64_t page, uint64_t word)
{
	struct gr_view *view = &j->r->view;
	struct gr_jemalloc_extent x = {
		.at = gr_jemalloc_extent_of(j, j->shape, word),
		.szind = word >> 48,
		.is_slab = word & 1,
	};
	uint64_t info;

	if (x.at % j->layout->extent_align || x.at >> 56 ||
	    !gr_view_word(view, x.at + GR_JE_EXTENT_ADDR, &x.addr) ||
	    x.addr / GR_PAGE_BYTES != page / GR_PAGE_BYTES ||
	    !gr_view_word(view, x.at, &x.bits))
		return NULL;
	if (gr_jemalloc_arena_at(j, x.bits & 0xfff) == SIZE_MAX) {
		if (!j->has_failed) {
			gr_jemalloc_record(j, at, j->shape->entry_bytes);
			gr_jemalloc_record(j, x.at, 3 * GR_WORD_BYTES);
		}
		gr_jemalloc_fail_all(j, "its rtree leads to an unknown arena");
		return NULL;
	}
	if (!gr_jemalloc_in_base(j, x.bits & 0xfff, x.at, GR_JE_EXTENT_BYTES) ||
	    !gr_view_word(view, x.at + GR_JE_EXTENT_SIZE, &x.bytes))
		return NULL;
	if (j->shape->entry_bytes != GR_WORD_BYTES) {
		if (!gr_view_word(view, at + GR_WORD_BYTES, &info))
			return NULL;
		x.szind = j->layout->is_52 ? (uint32_t)info :
					     (uint32_t)info >> 5;
		x.is_slab = j->layout->is_52 ? info >> 32 & 1 : info & 1;
	}
	x.start = page;
	x.bytes &= ~(GR_PAGE_BYTES - 1);
	gr_jemalloc_record(j, at, j->shape->entry_bytes);
	gr_jemalloc_record(j, x.at, 3 * GR_WORD_BYTES);
	return gr_runtime_append(view->rt, gr_jemalloc_extent_vector,
				 &j->extents, x);
}

static struct gr_error *read_leaf(struct gr_jemalloc *j,
				  const struct node *leaf)
{
	uint64_t at = leaf->at, entry_bytes = j->shape->entry_bytes;
	uint64_t end = at + (entry_bytes << j->shape->bits);
	struct gr_runtime *rt = j->r->spec->rt;
	struct gr_error *err = NULL;
	struct gr_range piece;

	for (; !err && gr_view_part(&j->r->view, at, end, &piece);
	     at = piece.end) {
		for (at = piece.start; !err && at < piece.end;
		     at += GR_WORD_BYTES) {
			uint64_t word =
				gr_load_u64(piece.host + (at - piece.start));
			uint64_t off = at - leaf->at;

			if (!word || off % entry_bytes)
				continue;
			err = add_entry(j, at,
					leaf->first + off / entry_bytes *
							      GR_PAGE_BYTES,
					word);
			if (!err)
				err = gr_runtime_step(rt, 4);
		}
		if (!err)
			err = gr_runtime_step(
				rt, (piece.end - piece.start) / 128 + 1);
	}
	return err;
}

static int compare_extents(const void *a, const void *b)
{
	const struct gr_jemalloc_extent *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void deinit_nodes(struct node_vector *nodes)
{
	node_vector_deinit(nodes);
}

/* Append all extents of the page tree, by address. */
static struct gr_error *walk_tree(struct gr_jemalloc *j)
{
	_cleanup_(deinit_nodes) struct node_vector nodes = { 0 };
	const struct node root = { .at = j->root };
	struct gr_runtime *rt = j->r->spec->rt;
	struct gr_error *err = gr_runtime_append(rt, node_vector, &nodes, root);

	for (unsigned int level = 0; !err && level + 1 < j->shape->levels;
	     level++)
		err = go_down(j, level, &nodes);
	for (size_t i = 0; !err && i < nodes.size; i++)
		err = read_leaf(j, &nodes.data[i]);
	return err ? err :
		     gr_sort(j->extents.data, j->extents.size,
			     sizeof(*j->extents.data), compare_extents,
			     rt->poll, rt->poll_ctx);
}

// -------------------------------------------------------------------- blocks

static bool is_large(const struct gr_jemalloc *j,
		     const struct gr_jemalloc_extent *x)
{
	return gr_jemalloc_state(j, x->bits) == GR_JE_ACTIVE &&
	       gr_jemalloc_szind(j, x->bits) < GR_JE_NSIZES &&
	       !(x->bits >> 12 & 1);
}

/* Find the pad of large extents, where their classes do not tell the bytes of
 * blocks. With a pad, most blocks begin within their first page. */
static struct gr_error *find_pad(struct gr_jemalloc *j)
{
	bool is_none = false, is_page = false;
	struct gr_error *err = NULL;
	size_t nlarge = 0;

	for (size_t i = 0; !err && i < j->extents.size; i++) {
		const struct gr_jemalloc_extent *x = &j->extents.data[i];
		unsigned int szind = gr_jemalloc_szind(j, x->bits);

		if (!is_large(j, x) || szind < GR_JE_NBINS)
			continue;
		nlarge++;
		is_page |= x->addr % GR_PAGE_BYTES ||
			   x->bytes > gr_jemalloc_class_bytes(szind);
		is_none |= x->bytes - GR_PAGE_BYTES <=
			   gr_jemalloc_class_bytes(szind - 1);
		err = gr_runtime_step(j->r->spec->rt, 1);
	}
	if (is_page && is_none)
		gr_jemalloc_fail_all(j, "its large extents are damaged");
	// A few may begin with their pages by chance.
	j->pad_bytes = is_page || (!is_none && nlarge < 8) ? GR_PAGE_BYTES : 0;
	return err;
}

/* The regions of a slab from @p start on that are free, as one piece. */
static void count_free(struct gr_jemalloc *j, size_t arena, uint64_t start,
		       uint64_t bytes)
{
	struct gr_native_arena *native = gr_jemalloc_native(j, arena);

	if (!bytes)
		return;
	if (bytes > native->largest_free_bytes)
		native->largest_free_bytes = bytes;
	gr_reader_count_free(j->r, native, start, bytes);
}

/* Append the regions of a slab that are in use. The map has a bit for each that
 * is free. */
static struct gr_error *add_regions(struct gr_jemalloc *j, size_t arena,
				    const struct gr_jemalloc_extent *x,
				    const uint64_t *map)
{
	unsigned int szind = gr_jemalloc_szind(j, x->bits);
	const struct gr_jemalloc_bin *bin = &j->bins[szind];
	uint64_t bytes = gr_jemalloc_class_bytes(szind), free_bytes = 0;
	uint64_t end = x->start + bin->nregs * bytes;
	struct gr_error *err = NULL;

	for (unsigned int i = 0; !err && i < bin->nregs; i++) {
		uint64_t addr = x->start + i * bytes;

		if (gr_bitmap_test(map, i)) {
			gr_jemalloc_native(j, arena)->free_blocks++;
			free_bytes += bytes;
			continue;
		}
		count_free(j, arena, addr - free_bytes, free_bytes);
		free_bytes = 0;
		err = gr_reader_add_block(j->r, &j->blocks,
					  j->first_arena + arena, addr, bytes,
					  0);
	}
	count_free(j, arena, end - free_bytes, free_bytes);
	if (!err)
		err = gr_reader_add_other(j->r, j->first_arena + arena, end,
					  x->start + x->bytes);
	return err ? err : gr_runtime_step(j->r->spec->rt, bin->nregs / 4 + 4);
}

/* Add a slab. One that does not fit its bin has no regions. */
static struct gr_error *add_slab(struct gr_jemalloc *j, size_t arena,
				 const struct gr_jemalloc_extent *x)
{
	static const char damaged[] = "its slabs are damaged";
	unsigned int szind = gr_jemalloc_szind(j, x->bits);
	unsigned int shard = x->bits >> j->layout->shard_bit & 63;
	unsigned int nfree = x->bits >> j->layout->nfree_bit & 1023, found = 0;
	struct gr_native_arena *native = gr_jemalloc_native(j, arena);
	uint64_t map[GR_JE_MAP_WORDS] = { 0 };

	if (szind >= GR_JE_NBINS || x->bytes != j->bins[szind].slab_bytes ||
	    x->addr != x->start || shard >= j->bins[szind].nshards) {
		gr_arena_fail(native, damaged);
		return NULL;
	}
	unsigned int nregs = j->bins[szind].nregs;
	unsigned int nwords = gr_bitmap_words(nregs);
	if (!gr_view_copy(&j->r->view, x->at + GR_JE_EXTENT_MAP, map,
			  nwords * GR_WORD_BYTES)) {
		gr_arena_miss(native);
		return NULL;
	}
	gr_jemalloc_record(j, x->at + GR_JE_EXTENT_MAP, nwords * GR_WORD_BYTES);
	for (unsigned int i = 0; i < nwords; i++)
		found += gr_popcount(map[i]);
	if (found != nfree ||
	    gr_bitmap_next(map, nregs, nwords * 64) != nwords * 64)
		gr_arena_fail(native, damaged);
	unsigned int bin = j->bins[szind].first + shard;
	j->arenas.data[arena].slabs[bin]++;
	j->arenas.data[arena].regions[bin] += nregs - found;
	return add_regions(j, arena, x, map);
}

/* Add a large extent, which has one block; small ones that are sampled have an
 * extent each, too. */
static struct gr_error *add_large(struct gr_jemalloc *j, size_t arena,
				  const struct gr_jemalloc_extent *x)
{
	unsigned int szind = gr_jemalloc_szind(j, x->bits);
	uint32_t index = j->first_arena + arena;
	uint64_t bytes = gr_jemalloc_class_bytes(szind);
	uint64_t end = x->start + x->bytes;
	bool is_exact = j->layout->has_exact_large && szind >= GR_JE_NBINS;

	if (is_exact && x->bytes > j->pad_bytes &&
	    x->bytes - j->pad_bytes <= bytes &&
	    x->bytes - j->pad_bytes > gr_jemalloc_class_bytes(szind - 1))
		bytes = x->bytes - j->pad_bytes;
	else if (is_exact)
		gr_arena_fail(gr_jemalloc_native(j, arena),
			      "its large extents are damaged");
	j->arenas.data[arena]
		.large[szind < GR_JE_NBINS ? 0 : szind - GR_JE_NBINS]++;
	if (x->addr % BLOCK_ALIGN || bytes > end - x->addr) {
		gr_arena_fail(gr_jemalloc_native(j, arena),
			      "its large extents are damaged");
		return NULL;
	}
	struct gr_error *err =
		gr_reader_add_other(j->r, index, x->start, x->addr);
	if (!err)
		err = gr_reader_add_other(j->r, index, x->addr + bytes, end);
	return err ? err :
		     gr_reader_add_block(j->r, &j->blocks, index, x->addr,
					 bytes, 0);
}

static struct gr_error *add_free(struct gr_jemalloc *j, size_t arena,
				 const struct gr_jemalloc_extent *x,
				 unsigned int state)
{
	struct gr_native_arena *native = gr_jemalloc_native(j, arena);

	native->free_blocks++;
	// Retained memory is no more than addresses.
	if (state == GR_JE_RETAINED)
		gr_reader_count_free(j->r, native, x->start, x->bytes);
	else
		count_free(j, arena, x->start, x->bytes);
	return state == GR_JE_DIRTY || state == GR_JE_MUZZY ?
		       gr_reader_add_trimmable(j->r, j->first_arena + arena,
					       x->start, x->start + x->bytes) :
		       NULL;
}

/* Add what an extent has. Those that have no size class, or are on their way to
 * another state, are free. */
static struct gr_error *add_content(struct gr_jemalloc *j, size_t arena,
				    const struct gr_jemalloc_extent *x)
{
	unsigned int szind = gr_jemalloc_szind(j, x->bits);
	unsigned int state = gr_jemalloc_state(j, x->bits);
	bool is_slab = x->bits >> 12 & 1;
	uint64_t pages = x->bytes / GR_PAGE_BYTES;

	if (state != GR_JE_ACTIVE || szind >= GR_JE_NSIZES) {
		if (state && state < GR_JE_NSTATES)
			j->arenas.data[arena].pages[state] += pages;
		return add_free(j, arena, x, state);
	}
	j->arenas.data[arena].pages[GR_JE_ACTIVE] += pages;
	if (x->szind != szind || x->is_slab != is_slab)
		gr_arena_fail(gr_jemalloc_native(j, arena),
			      "its rtree is damaged");
	return is_slab ? add_slab(j, arena, x) : add_large(j, arena, x);
}

// ------------------------------------------------------------------- extents

/* Where the last extent ends, whose arena it is; and the page slab that it is a
 * part of, if any (src/hpa.c). */
struct sweep {
	uint64_t end;
	size_t arena;
	uint64_t slab_end, used_end; /* 0: none */
};

/* Note that the rest of the page slab up to @p end is free. */
static void end_slab_part(struct gr_jemalloc *j, struct sweep *s, uint64_t end)
{
	if (s->used_end < end)
		count_free(j, s->arena, s->used_end, end - s->used_end);
}

/* Begin with the page slab that an extent is a part of. Its free pages are in no
 * extent. */
static struct gr_error *begin_slab(struct gr_jemalloc *j, struct sweep *s,
				   size_t arena,
				   const struct gr_jemalloc_extent *x)
{
	struct gr_view view = j->r->view;
	uint64_t ps, slab;

	view.is_recording = true;
	if (!gr_view_word(&view, x->at + GR_JE_EXTENT_PS, &ps) ||
	    !gr_view_word(&view, ps, &slab) || slab % PAGE_SLAB_BYTES ||
	    slab < s->end || x->start - slab >= PAGE_SLAB_BYTES ||
	    x->bytes > PAGE_SLAB_BYTES - (x->start - slab)) {
		gr_arena_fail(gr_jemalloc_native(j, arena),
			      "its page slabs are damaged");
		return gr_reader_add_memory(j->r, j->first_arena + arena,
					    x->start, x->start + x->bytes);
	}
	s->arena = arena;
	s->used_end = slab;
	s->slab_end = slab + PAGE_SLAB_BYTES;
	return gr_reader_add_memory(j->r, j->first_arena + arena, slab,
				    s->slab_end);
}

/* Add the memory of an extent, or that of the page slab that it begins. */
static struct gr_error *add_memory(struct gr_jemalloc *j, struct sweep *s,
				   size_t arena,
				   const struct gr_jemalloc_extent *x)
{
	bool is_part = !j->layout->is_52 && (x->bits >> HPA_BIT & 1);
	struct gr_error *err = NULL;

	if (s->slab_end && (!is_part || x->start >= s->slab_end)) {
		end_slab_part(j, s, s->slab_end);
		s->slab_end = 0;
	}
	if (is_part && !s->slab_end)
		err = begin_slab(j, s, arena, x);
	else if (!is_part)
		err = gr_reader_add_memory(j->r, j->first_arena + arena,
					   x->start, x->start + x->bytes);
	if (s->slab_end) {
		end_slab_part(j, s, x->start);
		s->used_end = x->start + x->bytes;
	}
	return err;
}

static struct gr_error *add_extent(struct gr_jemalloc *j, struct sweep *s,
				   const struct gr_jemalloc_extent *x)
{
	static const char overlaps[] = "its extents overlap others";
	size_t arena = gr_jemalloc_arena_at(j, x->bits & 0xfff);
	uint64_t limit = s->slab_end > s->end ? s->slab_end : s->end;
	bool is_part = !j->layout->is_52 && (x->bits >> HPA_BIT & 1);

	if (!x->bytes || x->bytes > UINT64_MAX / 2 - x->start ||
	    x->start < (is_part ? s->end : limit) ||
	    (is_part && x->start < s->slab_end &&
	     x->bytes > s->slab_end - x->start)) {
		gr_arena_fail(gr_jemalloc_native(j, arena), overlaps);
		gr_arena_fail(gr_jemalloc_native(j, s->arena), overlaps);
		return NULL;
	}
	struct gr_error *err = add_memory(j, s, arena, x);

	s->end = x->start + x->bytes;
	s->arena = arena;
	return err ? err : add_content(j, arena, x);
}

struct gr_error *gr_jemalloc_find_base_blocks(struct gr_jemalloc *j)
{
	struct gr_view *view = &j->r->view;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < j->arenas.size; i++) {
		const struct gr_jemalloc_arena *a = &j->arenas.data[i];
		struct gr_chain chain = { .limit = GR_JE_MOST_BLOCKS };
		uint64_t at, size;

		if (!gr_view_word(view, a->base + j->layout->base_blocks, &at))
			continue;
		while (!err && at && gr_chain_step(&chain, at) &&
		       gr_view_word(view, at, &size)) {
			const struct gr_native_range range = { at, at + size,
							       a->ind };

			err = gr_runtime_append(view->rt,
						gr_native_range_vector,
						&j->bases, range);
			if (!gr_view_word(view, at + GR_WORD_BYTES, &at))
				at = 0;
			if (!err)
				err = gr_runtime_step(view->rt, 4);
		}
	}
	return err ? err : gr_native_sort_ranges(view->rt, &j->bases);
}

/* Is an extent in the range? They are sorted. */
static bool has_extent(const struct gr_jemalloc *j,
		       const struct gr_native_range *range)
{
	const struct gr_jemalloc_extent_vector *list = &j->extents;
	size_t n = gr_count_before(list->size, i,
				   list->data[i].start < range->end);

	return n &&
	       list->data[n - 1].start + list->data[n - 1].bytes > range->start;
}

/* Add the base blocks of all arenas. */
static struct gr_error *add_bases(struct gr_jemalloc *j)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < j->bases.size; i++) {
		const struct gr_native_range *range = &j->bases.data[i];
		uint32_t index =
			j->first_arena + gr_jemalloc_arena_at(j, range->arena);

		if (has_extent(j, range) || !gr_jemalloc_is_mapped(j, range)) {
			gr_jemalloc_fail_all(j, "its base blocks are damaged");
			continue;
		}
		err = gr_reader_add_memory(j->r, index, range->start,
					   range->end);
		if (!err)
			err = gr_reader_add_other(j->r, index, range->start,
						  range->end);
		if (!err)
			err = gr_runtime_step(j->r->spec->rt, 4);
	}
	return err;
}

struct gr_error *gr_jemalloc_read_extents(struct gr_jemalloc *j)
{
	struct sweep sweep = { 0 };
	struct gr_error *err = walk_tree(j);

	if (!err && j->layout->has_exact_large)
		err = find_pad(j);
	for (size_t i = 0; !err && i < j->extents.size; i++) {
		err = add_extent(j, &sweep, &j->extents.data[i]);
		if (!err)
			err = gr_runtime_step(j->r->spec->rt, 8);
	}
	if (sweep.slab_end)
		end_slab_part(j, &sweep, sweep.slab_end);
	return err ? err : add_bases(j);
}
