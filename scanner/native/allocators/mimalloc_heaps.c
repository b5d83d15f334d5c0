// SPDX-License-Identifier: Apache-2.0
/*
 * The heaps of threads. A thread has one, and as many more as the program has
 * asked for; the pages lead to them. They count pages, and the data of a thread
 * counts its segments. A block that another thread has freed in a full page is
 * in a list of the heap, and in none of its page.
 */
#include "native/allocators/mimalloc.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/sort.h"

enum { MAX_SUBPROCS = 16 };

/* A heap, as pages lead to it; at first, one of its pages. */
struct heap {
	uint64_t addr;
	uint32_t owner;
	uint32_t pages, fresh;
};
GR_VECTOR(heap_vector, struct heap);

static void heaps_deinit(struct heap_vector *list)
{
	heap_vector_deinit(list);
}

// --------------------------------------------------------------------- heaps

static int compare_heaps(const void *a, const void *b)
{
	const struct heap *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Join the pages of each heap. */
static void join_heaps(struct gr_mimalloc *m, struct heap_vector *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->size; i++) {
		const struct heap *of = &list->data[i];
		struct heap *last = kept ? &list->data[kept - 1] : NULL;

		if (!last || last->addr != of->addr) {
			list->data[kept++] = *of;
			continue;
		}
		last->pages++;
		last->fresh += of->fresh;
		if (last->owner != of->owner) {
			gr_arena_fail(gr_mimalloc_arena(m, last->owner),
				      "a heap is another thread's, too");
			gr_arena_fail(gr_mimalloc_arena(m, of->owner),
				      "a heap is another thread's, too");
		}
	}
	list->size = kept;
}

/* List the heaps that pages lead to. */
static struct gr_error *list_heaps(struct gr_mimalloc *m,
				   struct heap_vector *ret)
{
	struct gr_runtime *rt = m->r->spec->rt;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < m->pages.size; i++) {
		const struct gr_mimalloc_page *page = &m->pages.data[i];
		const struct heap heap = {
			.addr = page->heap,
			.owner = page->owner,
			.pages = 1,
			.fresh = !page->used && !page->next && !page->prev,
		};

		if (page->heap)
			err = gr_runtime_append(rt, heap_vector, ret, heap);
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	if (!err)
		err = gr_sort(ret->data, ret->size, sizeof(*ret->data),
			      compare_heaps, rt->poll, rt->poll_ctx);
	if (!err)
		join_heaps(m, ret);
	return err;
}

/* Note the data of the thread that a heap leads to. */
static void note_thread(struct gr_mimalloc *m, uint32_t index, uint64_t tld,
			uint64_t backing)
{
	struct gr_native_arena *arena = gr_mimalloc_arena(m, index);
	struct gr_mimalloc_owner *owner = &m->owners.data[index];

	if (owner->tld && owner->tld != tld)
		gr_arena_fail(arena, "its heaps are of several threads");
	owner->tld = tld;
	arena->addr = backing;
	if (backing == m->root.addr)
		arena->kind = "main";
}

/* Check what a heap says of its thread and of its pages. */
static void check_heap(struct gr_mimalloc *m, const struct heap *heap)
{
	const struct gr_mimalloc_root *root = &m->root;
	struct gr_native_arena *arena = gr_mimalloc_arena(m, heap->owner);
	struct gr_view view = m->r->view;
	uint64_t tld, backing, back, thread, pages;

	view.is_recording = true;
	if (!gr_view_word(&view, heap->addr, &tld) ||
	    !gr_view_word(&view, tld + GR_MIMALLOC_TLD_BACKING, &backing) ||
	    !gr_view_word(&view, backing, &back) ||
	    !gr_view_word(&view,
			  gr_mimalloc_field(root, heap->addr,
					    root->layout->thread_id),
			  &thread) ||
	    !gr_view_word(&view,
			  gr_mimalloc_field(root, heap->addr,
					    root->layout->page_count),
			  &pages)) {
		gr_arena_miss(arena);
		return;
	}
	if (thread != m->owners.data[heap->owner].thread_id || back != tld)
		gr_arena_fail(arena, "a heap is another thread's");
	else if (pages > heap->pages || pages + heap->fresh < heap->pages)
		gr_arena_fail(arena,
			      "a heap has not as many pages as it counts");
	else
		note_thread(m, heap->owner, tld, backing);
}

// ------------------------------------------------------------------ segments

/* Check what the data of a thread says of its segments. */
static void check_thread(struct gr_mimalloc *m, uint32_t index)
{
	const struct gr_mimalloc_owner *owner = &m->owners.data[index];
	struct gr_native_arena *arena = gr_mimalloc_arena(m, index);
	struct gr_view view = m->r->view;
	uint64_t segments;

	view.is_recording = true;
	arena->bytes_counter = "current_size";
	arena->found_bytes = owner->bytes;
	if (!owner->tld)
		gr_arena_fail(arena, "its thread was not found");
	else if (!gr_view_word(&view, owner->tld + GR_MIMALLOC_TLD_COUNT,
			       &segments) ||
		 !gr_view_word(&view, owner->tld + GR_MIMALLOC_TLD_SIZE,
			       &arena->counted_bytes))
		gr_arena_miss(arena);
	else if (segments != owner->segments ||
		 arena->counted_bytes != owner->bytes)
		gr_arena_fail(arena,
			      "its segments are not those that it counts");
}

/* Does a segment lie at @p addr, without a thread? */
static bool is_abandoned(const struct gr_mimalloc *m, uint64_t addr)
{
	const struct gr_mimalloc_segment_vector *list = &m->segments;
	size_t n = gr_count_before(list->size, i, list->data[i].addr < addr);

	return n < list->size && list->data[n].addr == addr &&
	       !list->data[n].thread_id;
}

/* Segments of a subprocess that are abandoned. */
struct subproc {
	uint64_t addr, segments;
};

/* Check that each abandoned segment is counted by its subprocess. */
static void check_subprocs(struct gr_mimalloc *m, struct gr_native_arena *arena)
{
	struct subproc found[MAX_SUBPROCS];
	struct gr_view view = m->r->view;
	size_t n = 0;

	view.is_recording = true;
	for (size_t i = 0; i < m->segments.size; i++) {
		const struct gr_mimalloc_segment *s = &m->segments.data[i];
		size_t k = 0;

		if (s->thread_id || s->is_dead)
			continue;
		while (k < n && found[k].addr != s->subproc)
			k++;
		if (k == MAX_SUBPROCS) {
			gr_arena_fail(arena, "its segments are damaged");
			return;
		}
		if (k == n)
			found[n++] = (struct subproc){ s->subproc, 0 };
		found[k].segments++;
	}
	for (size_t k = 0; k < n; k++)
		if (!gr_view_has(&view, found[k].addr, found[k].segments))
			gr_arena_fail(arena, "its segments are not as many as "
					     "are counted");
}

/* Check that the list of abandoned segments leads to none but these. */
static void check_links(struct gr_mimalloc *m, struct gr_native_arena *arena)
{
	struct gr_view view = m->r->view;
	uint64_t next;

	view.is_recording = true;
	for (size_t i = 0; i < m->segments.size; i++) {
		const struct gr_mimalloc_segment *s = &m->segments.data[i];

		if (s->thread_id || s->is_dead)
			continue;
		if (!gr_view_word(&view, s->addr + m->segment->abandoned_next,
				  &next))
			gr_arena_miss(arena);
		else if (next && !is_abandoned(m, next))
			gr_arena_fail(arena, "the list of its segments leads "
					     "elsewhere");
	}
}

static void check_abandoned(struct gr_mimalloc *m, uint32_t index)
{
	struct gr_native_arena *arena = gr_mimalloc_arena(m, index);

	arena->kind = "abandoned";
	if (m->segment->subproc)
		check_subprocs(m, arena);
	// Later versions of that layout have no list.
	else if (m->root.layout->is_direct_first)
		check_links(m, arena);
}

// ------------------------------------------------------------------- delayed

/* Is the block number @p i at @p addr, in a page of the heap? */
static bool is_block_of(const struct gr_mimalloc *m, const struct heap *heap,
			uint32_t i, uint64_t addr)
{
	const struct gr_mimalloc_page_vector *list = &m->pages;
	size_t n =
		gr_count_before(list->size, k, list->data[k].span_end <= addr);

	return i != GR_BLOCK_NONE && m->blocks.list.data[i].addr == addr &&
	       n < list->size && list->data[n].heap == heap->addr &&
	       list->data[n].owner == heap->owner;
}

/* Note the blocks in the list of a heap. */
static struct gr_error *drop_delayed(struct gr_mimalloc *m,
				     const struct heap *heap, uint64_t *dropped)
{
	const struct gr_mimalloc_root *root = &m->root;
	struct gr_native_arena *arena = gr_mimalloc_arena(m, heap->owner);
	struct gr_view view = m->r->view;
	struct gr_error *err = NULL;
	uint64_t block, keys[2];
	uint64_t at = gr_mimalloc_field(root, heap->addr, root->layout->keys);

	view.is_recording = true;
	bool has = gr_view_word(&view, at, &keys[0]) &&
		   gr_view_word(&view, at + GR_WORD_BYTES, &keys[1]) &&
		   gr_view_word(&view,
				gr_mimalloc_field(root, heap->addr,
						  root->layout->delayed),
				&block);
	// Bounded by the blocks: each is noted once.
	while (!err && has && block) {
		uint32_t i = gr_blocks_find(&m->blocks, block);

		if (!is_block_of(m, heap, i, block) ||
		    !gr_bitmap_set_new(dropped, i)) {
			gr_arena_fail(arena, "the list of blocks that were "
					     "given back to it is damaged");
			return NULL;
		}
		gr_reader_count_cached(m->r, &m->blocks.list.data[i]);
		has = gr_view_word(&view, block, &block);
		if (m->page.is_encoded)
			block = gr_mimalloc_decode(block, heap->addr, keys);
		err = gr_runtime_step(m->r->spec->rt, 2);
	}
	if (!has)
		gr_arena_miss(arena);
	return err;
}

static struct gr_error *drop_all(struct gr_mimalloc *m,
				 const struct heap_vector *heaps)
{
	uint64_t overlapping = 0;
	struct gr_error *err =
		gr_blocks_index(&m->blocks, m->r->spec->rt, &overlapping);
	if (!err)
		err = gr_image_want(m->r->spec->rt->image,
				    m->blocks.list.size / 8);
	if (err)
		return err;
	_cleanup_free_ uint64_t *dropped =
		gr_bitmap_alloc(m->blocks.list.size + 1);

	if (!dropped)
		return &gr_enomem;
	for (size_t i = 0; !err && i < heaps->size; i++) {
		err = drop_delayed(m, &heaps->data[i], dropped);
		if (!err)
			err = gr_runtime_step(m->r->spec->rt, 4);
	}
	return err ? err : gr_reader_keep_blocks(m->r, &m->blocks, dropped);
}

// ----------------------------------------------------------------------- all

struct gr_error *gr_mimalloc_check_heaps(struct gr_mimalloc *m)
{
	_cleanup_(heaps_deinit) struct heap_vector heaps = { 0 };
	struct gr_error *err = list_heaps(m, &heaps);

	for (size_t i = 0; !err && i < heaps.size; i++) {
		check_heap(m, &heaps.data[i]);
		err = gr_runtime_step(m->r->spec->rt, 8);
	}
	for (uint32_t i = 0; !err && i < m->owners.size; i++) {
		if (m->owners.data[i].thread_id)
			check_thread(m, i);
		else
			check_abandoned(m, i);
		err = gr_runtime_step(m->r->spec->rt, 4);
	}
	if (!err)
		err = drop_all(m, &heaps);
	// A thread has no cache: what others give back is its own.
	for (uint32_t i = 0; i < m->owners.size; i++)
		gr_mimalloc_arena(m, i)->cached_bytes = 0;
	return err;
}
