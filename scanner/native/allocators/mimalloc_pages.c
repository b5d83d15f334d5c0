// SPDX-License-Identifier: Apache-2.0
/*
 * The pages of segments, and their blocks. A block is free if it is in one of
 * three lists of its page: that which malloc takes from, that of blocks which
 * the owner has freed, and that of blocks which other threads have freed. All
 * others are in use, and the page counts them.
 *
 * Fields of a page depend on the version, which may not be known, and on build
 * options, which are nowhere: the layout is the one that fits most pages.
 */
#include "native/allocators/mimalloc.h"

#include "base/bitmap.h"

enum {
	/* mi_page_t */
	SLICE_COUNT = 0, /* and slice_offset, in the upper half of the word */
	CAPACITY = 8,	 /* capacity, reserved and flags, after some bits */
	FREE = 16,
	OLD_USED = 24, /* and the size of blocks, in the upper half */
	OLD_LOCAL_FREE = 32,
	OLD_KEYS = 40,
	OLD_BYTES = 80,
	LOCAL_FREE = 24,
	USED = 32, /* 16 bits */
	SIZE = 40,
	START = 48,
	KEYS = 56,
	BYTES = 96,
	KEY_BYTES = 16,
	OLD_HUGE = 1U << 31, /* as size: all of the page */
	THREAD_FLAGS = 3,    /* of the list of other threads */
	/* Pages of secure builds end before a page of the system. */
	GUARD_BYTES = 4096,
	/* Segments that tell the layout. */
	MAX_TOLD = 64,
};

static const struct gr_mimalloc_page_layout layouts[] = {
	// 2.0.9 to 2.1.2
	{ true, false, false, GR_MIMALLOC_STARTS_209 },
	{ true, true, true, GR_MIMALLOC_STARTS_209 },
	{ true, true, false, GR_MIMALLOC_STARTS_209 },
	{ true, false, false, GR_MIMALLOC_STARTS_210 },
	{ true, true, true, GR_MIMALLOC_STARTS_210 },
	{ true, true, false, GR_MIMALLOC_STARTS_210 },
	// 2.1.4 to 2.4.1
	{ false, false, false, GR_MIMALLOC_STARTS_FIELD },
	{ false, true, true, GR_MIMALLOC_STARTS_FIELD },
	{ false, true, false, GR_MIMALLOC_STARTS_FIELD },
};

/* How a step of a walk ends. */
enum step {
	STEP_END,
	STEP_HEADER,
	STEP_FREE, /* a span without a page */
	STEP_PAGE,
	STEP_DAMAGE,
	STEP_MISSING,
};

/* A walk over the spans of a segment. */
struct walk {
	struct gr_mimalloc *m;
	const struct gr_mimalloc_segment *segment;
	struct gr_mimalloc_page_layout layout;
	struct gr_view view;
	uint64_t slice; /* the next one */
	/* The span. Only those fields of a free one are set. */
	struct gr_mimalloc_page page;
	bool is_fresh; /* It is being made, or given back. */
	uint64_t pages, abandoned, fresh;
	/* The blocks in lists of the page: all, and those of other threads. */
	uint32_t nlisted, nthread;
};

// --------------------------------------------------------------------- pages

static uint64_t page_bytes(const struct gr_mimalloc_page_layout *l)
{
	return (l->is_old ? OLD_BYTES : BYTES) + (l->has_keys ? KEY_BYTES : 0);
}

/* Read the fields of the page at page->addr; false: not all are at hand. */
static bool read_page(struct walk *w, struct gr_mimalloc_page *page)
{
	const struct gr_mimalloc_page_layout *l = &w->layout;
	uint64_t keys = page->addr + (l->is_old ? OLD_KEYS : KEYS);
	uint64_t behind = keys + (l->has_keys ? KEY_BYTES : 0);
	uint64_t counts, used;

	if (!gr_view_word(&w->view, page->addr + CAPACITY, &counts) ||
	    !gr_view_word(&w->view, page->addr + FREE, &page->free) ||
	    !gr_view_word(&w->view, page->addr + (l->is_old ? OLD_USED : USED),
			  &used) ||
	    !gr_view_word(&w->view,
			  page->addr +
				  (l->is_old ? OLD_LOCAL_FREE : LOCAL_FREE),
			  &page->local_free) ||
	    !gr_view_word(&w->view, behind, &page->thread_free) ||
	    !gr_view_word(&w->view, behind + 8, &page->heap) ||
	    !gr_view_word(&w->view, behind + 16, &page->next) ||
	    !gr_view_word(&w->view, behind + 24, &page->prev) ||
	    (!l->is_old &&
	     !gr_view_word(&w->view, page->addr + START, &page->start)))
		return false;
	page->capacity = counts >> 16 & 0xffff;
	page->reserved = counts >> 32 & 0xffff;
	page->used = l->is_old ? (uint32_t)used : used & 0xffff;
	return !l->has_keys ||
	       (gr_view_word(&w->view, keys, &page->keys[0]) &&
		gr_view_word(&w->view, keys + 8, &page->keys[1]));
}

/* Read the size of the blocks of a span; 0: it is free, 1: it is being made or
 * given back. */
static bool read_size(struct walk *w, struct gr_mimalloc_page *page)
{
	bool is_old = w->layout.is_old;
	uint64_t word;

	if (!gr_view_word(&w->view, page->addr + (is_old ? OLD_USED : SIZE),
			  &word))
		return false;
	page->block_bytes = is_old ? word >> 32 : word;
	if (is_old && page->block_bytes >= OLD_HUGE)
		page->block_bytes = page->span_end - page->span;
	return true;
}

static uint64_t start_offset_209(uint64_t bytes)
{
	return bytes <= 1024 ? 384 : 0;
}

/* How far behind the start of its span a page of 2.1.0 or later begins, which
 * has blocks of @p bytes. */
static uint64_t start_offset(uint64_t bytes)
{
	return bytes <= 64 ? 3 * bytes : bytes <= 512 ? bytes : 0;
}

/* May a page begin where its field says? From 2.1.7 on, the address is a multiple
 * of the size; from 2.2.2 on, of 16, too. */
static bool is_start(const struct gr_mimalloc_page *page)
{
	uint64_t bytes = page->block_bytes;
	uint64_t off = start_offset(bytes);
	uint64_t rest = page->span % bytes;
	uint64_t aligned = (rest ? bytes - rest : 0) + off;
	uint64_t at = page->start - page->span;

	return at == off || at == aligned || at == (aligned + 15) / 16 * 16;
}

/* Set where the blocks of a page begin, unless its field has said so. */
static bool find_start(struct walk *w, struct gr_mimalloc_page *page)
{
	uint64_t bytes = page->block_bytes;

	switch (w->layout.starts) {
	case GR_MIMALLOC_STARTS_209:
		page->start = page->span + start_offset_209(bytes);
		return true;
	case GR_MIMALLOC_STARTS_210:
		page->start = page->span + start_offset(bytes);
		return true;
	case GR_MIMALLOC_STARTS_FIELD:
		break;
	}
	return is_start(page);
}

/* Do the fields of a page fit each other? */
static bool is_page(struct walk *w, struct gr_mimalloc_page *page)
{
	uint64_t bytes = page->block_bytes;

	if (bytes < GR_WORD_BYTES || bytes % GR_WORD_BYTES ||
	    bytes > page->span_end - page->span ||
	    bytes <= w->m->root.padding || !find_start(w, page) ||
	    page->start < page->span || page->start >= page->span_end ||
	    page->start % GR_WORD_BYTES)
		return false;
	uint64_t room = page->span_end - page->start;

	return bytes <= room && page->capacity <= page->reserved &&
	       page->used <= page->capacity &&
	       (page->reserved == room / bytes ||
		(room > GUARD_BYTES &&
		 page->reserved == (room - GUARD_BYTES) / bytes)) &&
	       page->heap % GR_WORD_BYTES == 0;
}

// --------------------------------------------------------------------- lists

/* Note the blocks of one list of a page. It must not lead to another place, or to
 * a block that is in a list. */
static enum step walk_list(struct walk *w, uint64_t block, uint32_t *count)
{
	const struct gr_mimalloc_page *page = &w->page;
	uint64_t i;

	// Bounded by the blocks of the page: each is noted once.
	for (; block; ++*count) {
		i = (block - page->start) / page->block_bytes;
		if (block < page->start || i >= page->capacity ||
		    page->start + i * page->block_bytes != block ||
		    !gr_bitmap_set_new(w->m->listed, i))
			return STEP_DAMAGE;
		if (!gr_view_word(&w->view, block, &block))
			return STEP_MISSING;
		if (w->layout.is_encoded)
			block = gr_mimalloc_decode(block, page->addr,
						   page->keys);
	}
	return STEP_PAGE;
}

/* Note the blocks in all lists of the page, and check their count. */
static enum step walk_lists(struct walk *w)
{
	const struct gr_mimalloc_page *page = &w->page;
	uint64_t thread = page->thread_free & ~(uint64_t)THREAD_FLAGS;
	uint32_t own = 0;
	enum step step;

	memset(w->m->listed, 0, gr_bitmap_words(page->capacity + 1) * 8);
	w->nlisted = w->nthread = 0;
	// A list is written before a new page has its first blocks.
	if (!page->capacity)
		return thread ? STEP_DAMAGE : STEP_PAGE;
	step = walk_list(w, page->free, &own);
	if (step == STEP_PAGE)
		step = walk_list(w, page->local_free, &own);
	if (step == STEP_PAGE)
		step = walk_list(w, thread, &w->nthread);
	w->nlisted = own + w->nthread;
	if (step != STEP_PAGE)
		return step;
	return page->used + own == page->capacity && w->nthread <= page->used ?
		       STEP_PAGE :
		       STEP_DAMAGE;
}

// --------------------------------------------------------------------- spans

/* Where a span ends, which begins at slice w->slice and has @p count; 0: its
 * count makes no sense. A huge page is longer than the entries, and the last
 * slice may be one that nobody may use. */
static uint64_t end_of_span(const struct walk *w, uint64_t count)
{
	const struct gr_mimalloc_segment *s = w->segment;
	uint64_t nslices = (s->end - s->addr) / GR_MIMALLOC_SLICE_BYTES;
	uint64_t next = w->slice + count;

	if (!count || next > nslices)
		return 0;
	if (!w->slice)
		return count == s->info_slices ? next : 0;
	if (s->is_huge)
		return next + 1 >= nslices ? next : 0;
	return next <= s->entries ? next : 0;
}

/* Go to the next span; the header is one, too. */
static enum step next_span(struct walk *w)
{
	const struct gr_mimalloc_segment *s = w->segment;
	struct gr_mimalloc_page *page = &w->page;
	uint64_t word, end;

	if (w->slice >= s->entries)
		return STEP_END;
	page->addr = s->addr + w->m->segment->slices +
		     w->slice * page_bytes(&w->layout);
	if (!gr_view_word(&w->view, page->addr + SLICE_COUNT, &word))
		return STEP_MISSING;
	// slice_offset is 0 at the first slice of a span.
	end = word >> 32 ? 0 : end_of_span(w, word);
	if (!end)
		return STEP_DAMAGE;
	page->span = s->addr + w->slice * GR_MIMALLOC_SLICE_BYTES;
	page->span_end = s->addr + end * GR_MIMALLOC_SLICE_BYTES;
	page->owner = s->owner;
	w->slice = end;
	if (!read_size(w, page))
		return STEP_MISSING;
	if (page->span == s->addr)
		return page->block_bytes ? STEP_HEADER : STEP_DAMAGE;
	w->is_fresh = page->block_bytes == 1;
	if (page->block_bytes <= 1)
		return STEP_FREE;
	return read_page(w, page) ? STEP_PAGE : STEP_MISSING;
}

/* Look at the next span; its lists are noted if it is a page. */
static enum step step_on(struct walk *w)
{
	enum step step = next_span(w);

	if (step == STEP_HEADER)
		step = next_span(w);
	if (step == STEP_FREE)
		w->fresh += w->is_fresh;
	if (step != STEP_PAGE)
		return step;
	w->pages++;
	w->abandoned += !w->page.heap;
	if (!is_page(w, &w->page))
		return STEP_DAMAGE;
	w->fresh += !w->page.used && !w->page.next && !w->page.prev;
	return walk_lists(w);
}

static struct walk begin(struct gr_mimalloc *m,
			 const struct gr_mimalloc_segment *segment,
			 struct gr_mimalloc_page_layout layout)
{
	struct walk w = {
		.m = m, .segment = segment, .layout = layout, .view = m->r->view
	};

	w.view.is_recording = true;
	return w;
}

// -------------------------------------------------------------------- layout

/* How many pages a layout fits. */
struct fitting {
	uint64_t pages;
	uint64_t differing; /* that begin elsewhere in other old versions */
};

/* Would the page begin at the same place in all old versions? */
static bool is_start_clear(const struct gr_mimalloc_page *page)
{
	uint64_t bytes = page->block_bytes;

	return start_offset_209(bytes) == start_offset(bytes);
}

/* Count the pages of a segment that a layout fits. */
static struct gr_error *count_fitting(struct gr_mimalloc *m,
				      const struct gr_mimalloc_segment *segment,
				      struct gr_mimalloc_page_layout layout,
				      struct fitting *ret)
{
	struct walk w = begin(m, segment, layout);
	struct gr_error *err = NULL;
	enum step step;

	// Bounded by the slices.
	do {
		step = step_on(&w);
		if (step == STEP_PAGE) {
			ret->pages++;
			ret->differing += !is_start_clear(&w.page);
		}
		err = gr_runtime_step(m->r->spec->rt,
				      16 + w.nlisted + w.page.capacity / 64);
	} while (!err && (step == STEP_PAGE || step == STEP_FREE));
	return err;
}

/* Choose the layout that fits most pages. */
static void choose_layout(struct gr_mimalloc *m, const struct fitting *counts)
{
	size_t best = 0;

	for (size_t k = 1; k < GR_ARRAY_SIZE(layouts); k++)
		if (counts[k].pages > counts[best].pages)
			best = k;
	m->page = layouts[best];
	m->has_page_layout = counts[best].pages > 0;
	// Without a link, all keys fit. But pages must begin at one place.
	for (size_t k = 0; k < GR_ARRAY_SIZE(layouts); k++)
		if (counts[k].pages == counts[best].pages &&
		    counts[k].differing && layouts[k].starts != m->page.starts)
			m->has_page_layout = false;
}

/* May pages of the copy have the layout? Old heaps have old pages. */
static bool is_possible(const struct gr_mimalloc *m,
			const struct gr_mimalloc_page_layout *l)
{
	bool is_209 = l->starts == GR_MIMALLOC_STARTS_209;

	return l->is_old == m->root.layout->is_direct_first &&
	       (!l->is_old || !m->version || is_209 == (m->version < 210));
}

struct gr_error *gr_mimalloc_find_page_layout(struct gr_mimalloc *m)
{
	struct fitting counts[GR_ARRAY_SIZE(layouts)] = { 0 };
	struct gr_error *err = NULL;
	size_t told = 0, pages = 0;

	for (size_t i = 0; !err && i < m->segments.size && told < MAX_TOLD;
	     i++) {
		const struct gr_mimalloc_segment *s = &m->segments.data[i];

		if (s->is_damaged || s->is_missing || s->is_dead)
			continue;
		told++;
		pages += s->used;
		for (size_t k = 0; !err && k < GR_ARRAY_SIZE(layouts); k++)
			if (is_possible(m, &layouts[k]))
				err = count_fitting(m, s, layouts[k],
						    &counts[k]);
	}
	if (!err)
		choose_layout(m, counts);
	m->has_page_layout |= !pages;
	return err;
}

// ----------------------------------------------------------------------- all

/* Append the blocks [first, end) of the page, which are in use. */
static struct gr_error *add_used(struct walk *w, size_t first, size_t end)
{
	const struct gr_mimalloc_page *page = &w->page;
	struct gr_mimalloc *m = w->m;
	struct gr_error *err = NULL;

	for (size_t i = first; !err && i < end; i++) {
		err = gr_reader_add_block(m->r, &m->blocks,
					  m->first_arena + page->owner,
					  page->start + i * page->block_bytes,
					  page->block_bytes - m->root.padding,
					  0);
		if (!err)
			err = gr_runtime_step(m->r->spec->rt, 1);
	}
	return err;
}

/* Count free memory of the page. */
static void count_free(struct walk *w, size_t first, size_t end)
{
	const struct gr_mimalloc_page *page = &w->page;
	struct gr_native_arena *arena = gr_mimalloc_arena(w->m, page->owner);

	if (first == end)
		return;
	gr_reader_count_free(w->m->r, arena,
			     page->start + first * page->block_bytes,
			     (end - first) * page->block_bytes);
	if (arena->largest_free_bytes < page->block_bytes)
		arena->largest_free_bytes = page->block_bytes;
}

/* Append what is in front of the blocks of a page and behind them. */
static struct gr_error *add_rest(struct walk *w)
{
	const struct gr_mimalloc_page *page = &w->page;
	uint32_t arena = w->m->first_arena + page->owner;
	uint64_t end = page->start + page->reserved * page->block_bytes;
	struct gr_error *err =
		gr_reader_add_other(w->m->r, arena, page->span, page->start);
	if (!err)
		err = gr_reader_add_other(w->m->r, arena, end, page->span_end);
	// A page is given back when it has no block in use.
	if (!err && !page->used)
		err = gr_reader_add_trimmable(w->m->r, arena, page->start, end);
	return err;
}

/* Append the blocks of a page, whose lists are noted. */
static struct gr_error *add_page(struct walk *w)
{
	const struct gr_mimalloc_page *page = &w->page;
	struct gr_mimalloc *m = w->m;
	struct gr_native_arena *arena = gr_mimalloc_arena(m, page->owner);
	struct gr_error *err = gr_runtime_append(
		m->r->spec->rt, gr_mimalloc_page_vector, &m->pages, *page);
	size_t next;

	// A small header could tell of millions of blocks that are nowhere.
	if (!err && !gr_mimalloc_is_mapped(m, page)) {
		gr_arena_fail(arena, "a page has blocks that are not mapped");
		return NULL;
	}
	for (size_t i = 0; !err && i < page->capacity; i = next) {
		size_t used = i;

		while (used < page->capacity && gr_bitmap_test(m->listed, used))
			used++;
		count_free(w, i, used);
		next = gr_bitmap_next(m->listed, used, page->capacity);
		err = add_used(w, used, next);
		if (!err)
			err = gr_runtime_step(m->r->spec->rt, 4 + used - i);
	}
	count_free(w, page->capacity, page->reserved);
	arena->free_blocks += w->nlisted;
	arena->counted_blocks += page->used;
	arena->found_blocks += page->capacity - w->nlisted + w->nthread;
	return err ? err : add_rest(w);
}

/* Append memory without blocks. */
static struct gr_error *add_free(struct gr_mimalloc *m, uint32_t owner,
				 uint64_t start, uint64_t end)
{
	struct gr_native_arena *arena = gr_mimalloc_arena(m, owner);

	gr_reader_count_free(m->r, arena, start, end - start);
	if (arena->largest_free_bytes < end - start)
		arena->largest_free_bytes = end - start;
	return gr_reader_add_trimmable(m->r, m->first_arena + owner, start,
				       end);
}

/* Check what the segment counts. A page that a thread is making, or giving back,
 * may be counted or not. */
static void check_counts(const struct walk *w, struct gr_native_arena *arena)
{
	const struct gr_mimalloc_segment *s = w->segment;

	if (w->pages > s->used + w->fresh || s->used > w->pages + w->fresh)
		gr_arena_fail(arena,
			      "a segment has not as many pages as it counts");
	else if (w->abandoned > s->abandoned + w->fresh ||
		 s->abandoned > w->abandoned)
		gr_arena_fail(arena, "a segment has not as many abandoned "
				     "pages as it counts");
	else if (!w->fresh && !s->thread_id != (w->abandoned == w->pages))
		gr_arena_fail(arena, "a segment's pages are not its thread's");
}

/* Walk all spans of a segment whose header makes sense. */
static struct gr_error *walk_spans(struct gr_mimalloc *m,
				   const struct gr_mimalloc_segment *segment)
{
	struct gr_native_arena *arena = gr_mimalloc_arena(m, segment->owner);
	struct walk w = begin(m, segment, m->page);
	struct gr_error *err = NULL;
	enum step step;

	// Bounded by the slices.
	do {
		step = step_on(&w);
		if (step == STEP_PAGE)
			err = add_page(&w);
		else if (step == STEP_FREE)
			err = add_free(m, w.page.owner, w.page.span,
				       w.page.span_end);
		else if (step == STEP_DAMAGE)
			gr_arena_fail(arena, "its pages are damaged");
		else if (step == STEP_MISSING)
			gr_arena_miss(arena);
		if (!err)
			err = gr_runtime_step(m->r->spec->rt,
					      16 + w.nlisted +
						      w.page.capacity / 64);
	} while (!err && (step == STEP_PAGE || step == STEP_FREE));
	if (err || step != STEP_END)
		return err;
	check_counts(&w, arena);
	// Secure builds have a slice there that nobody may use.
	return gr_reader_add_other(m->r, m->first_arena + segment->owner,
				   segment->addr +
					   w.slice * GR_MIMALLOC_SLICE_BYTES,
				   segment->end);
}

struct gr_error *gr_mimalloc_walk(struct gr_mimalloc *m,
				  const struct gr_mimalloc_segment *segment)
{
	uint32_t index = m->first_arena + segment->owner;
	struct gr_native_arena *arena = gr_mimalloc_arena(m, segment->owner);
	uint64_t first =
		segment->addr +
		segment->info_slices * (uint64_t)GR_MIMALLOC_SLICE_BYTES;
	struct gr_error *err =
		gr_reader_add_memory(m->r, index, segment->addr, segment->end);
	if (err)
		return err;
	if (segment->is_missing)
		gr_arena_miss(arena);
	else if (segment->is_damaged)
		gr_arena_fail(arena, "the header of a segment is damaged");
	if (segment->is_missing || segment->is_damaged)
		return NULL;
	if (segment->is_dead)
		return add_free(m, segment->owner, segment->addr, segment->end);
	err = gr_reader_add_other(m->r, index, segment->addr,
				  first < segment->end ? first : segment->end);
	return err ? err : walk_spans(m, segment);
}
