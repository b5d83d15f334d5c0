// SPDX-License-Identifier: Apache-2.0
/*
 * The main heap lies in data of the library or the program, which mostly has no
 * symbol of it. It is known by the sizes in its queues, which are constants; by
 * its thread's data, which leads back to it; and by its cookie, which is a
 * random number that all segments have. The heaps of other threads have other
 * cookies.
 */
#include "native/allocators/mimalloc.h"

#include "native/allocators/module_search.h"

#include "base/chain.h"

#include <elf.h>

enum {
	MAX_ROOTS = 64,
	MAX_HEAPS = 1000,    /* of the thread of a root */
	MOST_FLAGS = 0xffff, /* before pages_free_direct */
	MOST_INFO_SLICES = 8,
};
#define MOST_SLICES (UINT64_C(1) << 31)
#define MOST_SEGMENT (UINT64_C(1) << 47)

/* Tested with programs of threads that run, end and fork, for each version but
 * 2.1.1, 2.1.4 to 2.1.6, 2.1.8, 2.2.2, 2.2.3, 2.2.6, 2.3.0, 2.3.1 and 2.4.0:
 * their debug information says that they have the same layout. */
static const struct gr_mimalloc_heap_layout heap_layouts[] = {
	// 2.3.2 and 2.4.1; 2.4.1 also secure, and with MI_DEBUG.
	{ .late = "2.3.0 to 2.4.1",
	  .medium = 1 << 16,
	  .direct = 256,
	  .delayed = 8,
	  .thread_id = 16,
	  .cookie = 32,
	  .keys = 40,
	  .page_count = 192,
	  .next = 240,
	  .guards = { 32 } },
	// 2.2.4 and 2.2.7; 2.2.4 also secure, padded, guarded, with MI_DEBUG.
	{ .late = "2.2.2 to 2.2.7",
	  .medium = 1 << 16,
	  .direct = 248,
	  .delayed = 8,
	  .thread_id = 16,
	  .cookie = 32,
	  .keys = 40,
	  .page_count = 192,
	  .next = 232,
	  .guards = { 32, 40 } },
	// 2.1.7 and 2.1.9; 2.1.7 also secure, and with MI_DEBUG.
	{ .early = "2.1.4 to 2.1.7",
	  .late = "2.1.8 to 2.1.9",
	  .medium = 1 << 17,
	  .direct = 232,
	  .delayed = 8,
	  .thread_id = 16,
	  .cookie = 32,
	  .keys = 40,
	  .page_count = 192,
	  .next = 216 },
	// 2.0.9 (also Debian 12's), 2.1.0 and 2.1.2; 2.0.9 also secure, padded,
	// with MI_DEBUG; 2.1.2 also secure.
	{ .early = "2.0.9",
	  .late = "2.1.0 to 2.1.2",
	  .medium = 1 << 17,
	  .is_direct_first = true,
	  .direct = 8,
	  .delayed = 2840,
	  .thread_id = 2848,
	  .cookie = 2864,
	  .keys = 2872,
	  .page_count = 3024,
	  .next = 3048 },
};

/* Each version has one of these. */
static const struct gr_mimalloc_segment_layout segment_layouts[] = {
	// 2.0.9 to 2.1.7
	{ .abandoned_next = 176,
	  .abandoned = 192,
	  .used = 208,
	  .cookie = 216,
	  .segment_slices = 224,
	  .info_slices = 232,
	  .kind = 240,
	  .entries = 248,
	  .thread_id = 256,
	  .slices = 264 },
	// 2.1.8 to 2.4.1
	{ .subproc = 40,
	  .abandoned = 200,
	  .used = 216,
	  .cookie = 224,
	  .segment_slices = 248,
	  .info_slices = 256,
	  .kind = 264,
	  .entries = 272,
	  .thread_id = 280,
	  .slices = 288 },
};

// --------------------------------------------------------------------- roots

/* The size of the blocks in queue @p i of the first 73, in words: 1, 1 to 8, and
 * then four steps between powers of two. */
static uint64_t queue_words(unsigned int i)
{
	if (i < 9)
		return i ? i : 1;
	return (UINT64_C(5) + (i - 9) % 4) << (i - 9) / 4 << 1;
}

/* Are these the queues of a heap? */
static bool has_sizes(struct gr_view *view, uint64_t queues, uint64_t medium)
{
	uint64_t at = queues + GR_MIMALLOC_BLOCK_SIZE;

	for (unsigned int i = 0; i < GR_MIMALLOC_NQUEUES; i++) {
		uint64_t size =
			i < GR_MIMALLOC_NQUEUES - 2 ?
				queue_words(i) * GR_WORD_BYTES :
				medium + (i - (GR_MIMALLOC_NQUEUES - 3)) *
						 GR_WORD_BYTES;

		if (!gr_view_has(view, at + i * GR_MIMALLOC_QUEUE_BYTES, size))
			return false;
	}
	return true;
}

/* Does a thread's list of heaps lead from @p heap to the root? */
static bool has_root_in_list(struct gr_view *view,
			     const struct gr_mimalloc_root *root, uint64_t heap)
{
	struct gr_chain chain = { .limit = MAX_HEAPS };

	while (heap && gr_chain_step(&chain, heap)) {
		if (heap == root->addr)
			return true;
		if (!gr_view_word(view,
				  gr_mimalloc_field(root, heap,
						    root->layout->next),
				  &heap))
			return false;
	}
	return false;
}

/* Are the words before the queues pointers to pages? */
static bool has_direct(struct gr_view *view,
		       const struct gr_mimalloc_root *root)
{
	uint64_t queues = gr_mimalloc_queues(root);
	uint64_t n = gr_mimalloc_ndirect(root), word;

	// Bounded by a constant of the layout.
	for (uint64_t i = 1; i <= n; i++)
		if (!gr_view_word(view, queues - i * GR_WORD_BYTES, &word) ||
		    word % GR_WORD_BYTES || word <= MOST_FLAGS)
			return false;
	// Then come flags, if it is not the pointer to the tld.
	return root->guard || root->layout->is_direct_first ||
	       (gr_view_word(view, queues - (n + 1) * GR_WORD_BYTES, &word) &&
		word <= MOST_FLAGS);
}

/* Is it a heap of this layout, the first one of its thread? */
static bool is_root(struct gr_view *view, const struct gr_mimalloc_root *root)
{
	uint64_t tld, heaps, cookie;

	return gr_view_word(view, root->addr, &tld) && tld &&
	       tld % GR_WORD_BYTES == 0 &&
	       gr_view_has(view, tld + GR_MIMALLOC_TLD_BACKING, root->addr) &&
	       gr_view_word(view,
			    gr_mimalloc_field(root, root->addr,
					      root->layout->cookie),
			    &cookie) &&
	       cookie && has_direct(view, root) &&
	       gr_view_word(view, tld + GR_MIMALLOC_TLD_HEAPS, &heaps) &&
	       has_root_in_list(view, root, heaps);
}

/* Find the layout of the heap whose queues are at @p queues. */
static bool find_layout(struct gr_view *view, uint64_t queues,
			struct gr_mimalloc_root *ret)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(heap_layouts); i++) {
		const struct gr_mimalloc_heap_layout *of = &heap_layouts[i];

		if (!has_sizes(view, queues, of->medium))
			continue;
		for (unsigned int k = 0; k < 6; k++) {
			struct gr_mimalloc_root root = {
				.layout = of,
				.guard = k / 2 ? of->guards[k / 2 - 1] : 0,
				.padding = k % 2 * GR_WORD_BYTES,
			};

			if (k / 2 && !root.guard)
				continue;
			root.addr = queues - gr_mimalloc_queues(&root);
			if (is_root(view, &root)) {
				*ret = root;
				return true;
			}
		}
	}
	return false;
}

/* Find out whether a heap has its first queue's size at @p at. */
static struct gr_error *try_at(struct gr_native_reader *r, uint64_t at,
			       struct gr_mimalloc_root_vector *ret)
{
	struct gr_view *view = &r->view;
	uint64_t queues = at - GR_MIMALLOC_BLOCK_SIZE;
	struct gr_mimalloc_root root;

	if (!gr_view_has(view, at + GR_MIMALLOC_QUEUE_BYTES, GR_WORD_BYTES) ||
	    !gr_view_has(view, at + 2 * GR_MIMALLOC_QUEUE_BYTES,
			 2 * GR_WORD_BYTES) ||
	    !gr_view_has(view, at + 3 * GR_MIMALLOC_QUEUE_BYTES,
			 3 * GR_WORD_BYTES))
		return gr_runtime_step(view->rt, 1);
	struct gr_error *err =
		gr_runtime_step(view->rt, 4 * GR_MIMALLOC_NQUEUES);

	if (err || !find_layout(view, queues, &root))
		return err;
	err = gr_runtime_append(view->rt, gr_mimalloc_root_vector, ret, root);
	return err ? err : gr_runtime_step(view->rt, MAX_HEAPS);
}

/* Search the main heaps in [start, end). */
static struct gr_error *search(struct gr_native_reader *r, uint64_t start,
			       uint64_t end,
			       struct gr_mimalloc_root_vector *ret)
{
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err && ret->size < MAX_ROOTS && start < end &&
	       gr_view_part(&r->view, start, end, &piece)) {
		uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

		for (uint64_t i = 0; !err && i < n && ret->size < MAX_ROOTS;
		     i++)
			if (gr_load_u64(piece.host + i * GR_WORD_BYTES) ==
			    GR_WORD_BYTES)
				err = try_at(r, piece.start + i * GR_WORD_BYTES,
					     ret);
		if (!err)
			err = gr_runtime_step(r->spec->rt, n / 16);
		start = piece.end;
	}
	return err;
}

struct gr_error *gr_mimalloc_find(struct gr_native_reader *r,
				  struct gr_mimalloc_root_vector *ret)
{
	struct gr_module_data data = { 0 };
	struct gr_error *err = NULL;

	while (!err && gr_module_data_next(r, &data)) {
		uint64_t end = data.mapping.end;

		// Behind bss, in the same mapping, may be heaps of threads.
		if (!data.mapping.path)
			err = gr_native_module_end(
				r->spec->rt, data.mapping.start, end, &end);
		if (!err)
			err = search(r, data.mapping.start, end, ret);
		if (!err)
			err = gr_runtime_step(r->spec->rt, 1);
	}
	return err;
}

// ------------------------------------------------------------------ segments

/* May segments be in a mapping? */
static bool is_candidate(const struct gr_mapping *m)
{
	return gr_mapping_is_anonymous(m) && m->flags & PF_W;
}

/* The slices of a segment whose header was read; 0: they make no sense. */
static uint64_t count_slices(const struct gr_mimalloc_segment *s,
			     uint64_t slices, uint64_t kind)
{
	if (kind > 1 || s->entries > GR_MIMALLOC_NSLICES || !s->info_slices ||
	    s->info_slices > MOST_INFO_SLICES || s->entries <= s->info_slices ||
	    s->used > GR_MIMALLOC_NSLICES || s->abandoned > s->used)
		return 0;
	if (kind == 0)
		return slices == GR_MIMALLOC_NSLICES ? slices : 0;
	return slices > s->info_slices && slices < MOST_SLICES &&
			       s->addr < MOST_SEGMENT ?
		       slices :
		       0;
}

/* Does [start, end) have memory of files, or of Go? Parts of it may be unmapped:
 * not all cores tell of memory that nobody may use. Calls come by ascending
 * addresses, but ranges may overlap: dead segments say that they are long. */
static bool meets_others(struct gr_mimalloc *m, uint64_t start, uint64_t end)
{
	const struct gr_mapping_vector *list =
		&m->r->spec->residency->mappings.list;

	// Bounded in all: no call looks again at what another has passed.
	while (m->mapping < list->size &&
	       (list->data[m->mapping].end <= start ||
		gr_mapping_is_anonymous(&list->data[m->mapping])))
		m->mapping++;
	return (m->mapping < list->size &&
		list->data[m->mapping].start < end) ||
	       gr_reader_meets_go(m->r, start, end);
}

/* Read the fields of the header at s->addr. */
static void read_header(struct gr_mimalloc *m, struct gr_mimalloc_segment *s)
{
	const struct gr_mimalloc_segment_layout *l = m->segment;
	struct gr_view view = m->r->view;
	uint64_t entries = 0, info = 0, kind = 0, slices = 0;

	view.is_recording = true;
	s->is_missing =
		!gr_view_word(&view, s->addr + l->used, &s->used) ||
		!gr_view_word(&view, s->addr + l->abandoned, &s->abandoned) ||
		!gr_view_word(&view, s->addr + l->thread_id, &s->thread_id) ||
		!gr_view_word(&view, s->addr + l->entries, &entries) ||
		!gr_view_word(&view, s->addr + l->info_slices, &info) ||
		!gr_view_word(&view, s->addr + l->kind, &kind) ||
		!gr_view_word(&view, s->addr + l->segment_slices, &slices) ||
		(l->subproc &&
		 !gr_view_word(&view, s->addr + l->subproc, &s->subproc));
	s->entries = entries < UINT32_MAX ? entries : UINT32_MAX;
	s->info_slices = info < UINT32_MAX ? info : UINT32_MAX;
	kind = (uint32_t)kind;
	s->is_huge = kind == 1;
	slices = count_slices(s, slices, kind);
	s->is_dead = slices && !s->thread_id && !s->used && !s->abandoned;
	s->end = s->addr + slices * GR_MIMALLOC_SLICE_BYTES;
	s->is_damaged = !slices || meets_others(m, s->addr, s->end);
	if (s->is_damaged)
		s->end = s->addr + GR_MIMALLOC_SEGMENT_BYTES;
}

/* Append the segment at @p addr, if one is there; *@p end is then its end. What a
 * live one covers has none; one that was freed may have others in it. */
static struct gr_error *probe(struct gr_mimalloc *m, uint64_t addr,
			      uint64_t *end)
{
	struct gr_native_reader *r = m->r;
	struct gr_mimalloc_segment segment = { .addr = addr };
	struct gr_mimalloc_segment_vector *list = &m->segments;

	if (!gr_view_has(&r->view, addr + m->segment->cookie,
			 addr ^ m->cookie) ||
	    gr_reader_meets_go(r, addr, addr + GR_MIMALLOC_SEGMENT_BYTES))
		return NULL;
	if (r->spec->rt->recorder)
		gr_recorder_add(r->spec->rt->recorder,
				addr + m->segment->cookie, GR_WORD_BYTES);
	read_header(m, &segment);
	if (!segment.is_dead)
		*end = segment.end;
	if (list->size && list->data[list->size - 1].is_dead &&
	    list->data[list->size - 1].end > addr)
		list->data[list->size - 1].end = addr;
	return gr_runtime_append(r->spec->rt, gr_mimalloc_segment_vector, list,
				 segment);
}

/* Look at each multiple of 32 MiB in [start, end) that is at hand. */
static struct gr_error *probe_range(struct gr_mimalloc *m, uint64_t start,
				    uint64_t end, uint64_t *segment_end)
{
	const uint64_t bytes = GR_MIMALLOC_SEGMENT_BYTES;
	struct gr_runtime *rt = m->r->spec->rt;
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err && start < end &&
	       gr_view_piece(&m->r->view, start, end, &piece)) {
		uint64_t at = (piece.start + bytes - 1) & ~(bytes - 1);

		// Bounded by memory that is at hand.
		for (; !err && at >= piece.start && at < piece.end; at += bytes)
			if (at >= *segment_end) {
				err = probe(m, at, segment_end);
				if (!err)
					err = gr_runtime_step(rt, 16);
			}
		if (!err)
			err = gr_runtime_step(rt, 1);
		start = piece.end;
	}
	return err;
}

static struct gr_error *probe_mappings(struct gr_mimalloc *m)
{
	const struct gr_mapping_vector *list =
		&m->r->spec->residency->mappings.list;
	struct gr_error *err = NULL;
	uint64_t end = 0, segment_end = 0;

	m->mapping = 0;
	for (size_t i = 0; !err && i < list->size; i++) {
		struct gr_mapping of = list->data[i];

		if (gr_mapping_begin_at(&of, &end) && is_candidate(&of))
			err = probe_range(m, of.start, of.end, &segment_end);
		if (!err)
			err = gr_runtime_step(m->r->spec->rt, 1);
	}
	return err;
}

/* Record what the root was told by. */
static void record_root(struct gr_mimalloc *m)
{
	struct gr_view view = m->r->view;

	view.is_recording = true;
	if (!has_sizes(&view, gr_mimalloc_queues(&m->root),
		       m->root.layout->medium) ||
	    !is_root(&view, &m->root))
		m->segments.size = 0;
}

struct gr_error *gr_mimalloc_find_segments(struct gr_mimalloc *m)
{
	const struct gr_mimalloc_root *root = &m->root;
	struct gr_error *err = NULL;

	if (!gr_view_word(&m->r->view,
			  gr_mimalloc_field(root, root->addr,
					    root->layout->cookie),
			  &m->cookie))
		return NULL;
	for (size_t i = 0;
	     !err && !m->segments.size && i < GR_ARRAY_SIZE(segment_layouts);
	     i++) {
		m->segment = &segment_layouts[i];
		err = probe_mappings(m);
	}
	if (!err && m->segments.size)
		record_root(m);
	return err;
}

bool gr_mimalloc_is_mapped(const struct gr_mimalloc *m,
			   const struct gr_mimalloc_page *page)
{
	const struct gr_mapping_vector *list =
		&m->r->spec->residency->mappings.list;
	uint64_t at = page->start;
	uint64_t end = at + page->capacity * page->block_bytes;
	size_t i = gr_count_before(list->size, k, list->data[k].end <= at);

	// Bounded by the mappings in the page; pages do not overlap.
	for (; at < end && i < list->size && list->data[i].start <= at; i++)
		at = list->data[i].end;
	return at >= end;
}
