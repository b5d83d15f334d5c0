// SPDX-License-Identifier: Apache-2.0
#include "mark/edges.h"

#include "base/cleanup.h"
#include "goruntime/heap/ptrmap.h"

enum { MANY = 512, POLL_EVERY = 1 << 16 };

/* An enumeration of edges, with a buffer of edges that are not emitted yet. */
struct sweep {
	const struct gr_edge_source *source;
	uint64_t *left;	      /* live words of areas that no root has had */
	uint64_t *first_left; /* of each area, its first bit in left */
	gr_edges_emit emit;
	void *ctx;
	uint64_t nwords; /* read so far */
	size_t count;
	struct gr_edge edges[MANY];
};

static struct gr_error *flush(struct sweep *s)
{
	size_t count = s->count;

	s->count = 0;
	return count ? s->emit(s->ctx, s->edges, count) : NULL;
}

/* Add @p edge to the block that its value points to. */
static struct gr_error *add_block(struct sweep *s, const struct gr_edge *edge)
{
	struct gr_blocks *blocks = s->source->blocks;
	uint32_t block = blocks ? gr_blocks_find(blocks, edge->value) :
				  GR_BLOCK_NONE;

	if (block == GR_BLOCK_NONE) {
		if (s->source->emit_other)
			s->source->emit_other(s->ctx, edge);
		return NULL;
	}
	s->edges[s->count] = *edge;
	s->edges[s->count].to = GR_OBJ_NONE;
	s->edges[s->count++].block = block;
	return s->count == MANY ? flush(s) : NULL;
}

/* Complete @p edge with the object that its value points to, and add it. */
static struct gr_error *add_edge(struct sweep *s, const struct gr_edge *edge)
{
	const struct gr_heap *heap = s->source->heap;
	const struct gr_span *span;
	gr_obj to = gr_heap_object_at(heap, edge->value, &span);

	if (to == GR_OBJ_NONE)
		return add_block(s, edge);
	if (!gr_heap_is_allocated(heap, to))
		return NULL;
	struct gr_edge *ret = &s->edges[s->count++];
	*ret = *edge;
	ret->to = to;
	ret->block = GR_BLOCK_NONE;

	ret->is_fresh = to - span->first_obj == span->fresh;
	return s->count == MANY ? flush(s) : NULL;
}

static struct gr_error *poll(struct sweep *s, uint64_t nwords)
{
	uint64_t before = s->nwords;

	s->nwords += nwords;
	if (before / POLL_EVERY == s->nwords / POLL_EVERY)
		return NULL;
	return s->source->poll(s->source->poll_ctx);
}

/*
 * Add the pointers among words [first, end) of @p map; the first word lies at
 * @p addr. @p like has the other fields of the edges.
 */
static struct gr_error *add_words(struct sweep *s, const uint64_t *map,
				  const uint64_t *doubtful, uint64_t first,
				  uint64_t end, uint64_t addr,
				  const uint8_t *host, struct gr_edge like)
{
	struct gr_error *err = poll(s, end - first);

	for (uint64_t at = first;
	     !err && (at = gr_bitmap_next(map, at, end)) < end; at++) {
		uint64_t off = (at - first) * GR_WORD_BYTES;
		like.value = gr_load_u64(host + off);
		like.addr = addr ? addr + off : 0;
		if (doubtful)
			like.is_doubtful = gr_bitmap_test(doubtful, at);
		if (like.value)
			err = add_edge(s, &like);
	}
	return err;
}

static struct gr_error *add_object(struct sweep *s, const struct gr_span *span,
				   uint32_t index, struct gr_edge like)
{
	struct gr_object_words words = gr_object_words(span, index);

	return add_words(s, s->source->words, NULL, words.first, words.end,
			 words.addr, words.host, like);
}

static struct gr_error *add_span(struct sweep *s, const struct gr_span *span)
{
	struct gr_error *err = NULL;

	if (!gr_span_has_edges(span))
		return NULL;
	for (uint32_t i = 0; i < span->nelems && !err; i++) {
		struct gr_edge like = { .from = span->first_obj + i };

		if (gr_bitmap_test(s->source->objects, like.from))
			err = add_object(s, span, i, like);
	}
	return err;
}

static struct gr_error *edges_of_spans(const struct gr_edge_source *source,
				       gr_edges_emit emit, void *ctx)
{
	_cleanup_free_ struct sweep *s = calloc(1, sizeof(*s));
	struct gr_error *err = NULL;

	if (!s)
		return &gr_enomem;
	s->source = source;
	s->emit = emit;
	s->ctx = ctx;
	for (uint32_t i = 0; i < source->heap->nspans && !err; i++)
		err = add_span(s, &source->heap->spans[i]);
	return err ? err : flush(s);
}

/* Add words [first, end) of area @p i that are left. @p like has the root. */
static struct gr_error *add_area_words(struct sweep *s, size_t i,
				       uint64_t first, uint64_t end,
				       struct gr_edge like)
{
	const struct gr_area *area = &s->source->roots->areas.areas[i];
	uint64_t *left = s->left + s->first_left[i] / 64;

	if (!area->host || first >= end)
		return NULL;
	struct gr_error *err =
		add_words(s, left, area->conservative, first, end,
			  area->start + first * GR_WORD_BYTES,
			  area->host + first * GR_WORD_BYTES, like);
	gr_bitmap_clear_range(left, first, end);
	return err;
}

static struct gr_error *add_area(struct sweep *s, size_t i)
{
	const struct gr_area *area = &s->source->roots->areas.areas[i];
	struct gr_edge like = { .from = GR_OBJ_NONE,
				.root = i,
				.is_area = true };

	return add_area_words(s, i, 0,
			      (area->end - area->start) / GR_WORD_BYTES, like);
}

/* Add the words of a root's region that are left. */
static struct gr_error *add_region(struct sweep *s, const struct gr_root *root,
				   struct gr_edge like)
{
	const struct gr_area_list *areas = &s->source->roots->areas;
	size_t n = gr_count_before(areas->count, i,
				   areas->areas[i].start <= root->addr);

	if (!n || root->addr >= areas->areas[n - 1].end)
		return NULL;
	const struct gr_area *area = &areas->areas[n - 1];
	uint64_t off = root->addr - area->start;
	uint64_t bytes = area->end - root->addr;

	if (root->bytes < bytes)
		bytes = root->bytes;
	return add_area_words(s, n - 1,
			      (off + GR_WORD_BYTES - 1) / GR_WORD_BYTES,
			      (off + bytes) / GR_WORD_BYTES, like);
}

/* All live words of areas are left. */
static struct gr_error *begin_areas(struct sweep *s)
{
	const struct gr_area_list *areas = &s->source->roots->areas;
	uint64_t nbits = 0;

	s->first_left = calloc(areas->count + 1, sizeof(*s->first_left));
	if (!s->first_left)
		return &gr_enomem;
	for (size_t i = 0; i < areas->count; i++) {
		const struct gr_area *area = &areas->areas[i];
		uint64_t nwords = (area->end - area->start) / GR_WORD_BYTES;

		s->first_left[i] = nbits;
		nbits += gr_bitmap_words(nwords) * 64;
	}
	s->left = gr_bitmap_alloc(nbits);
	if (!s->left)
		return &gr_enomem;
	for (size_t i = 0; i < areas->count; i++) {
		const struct gr_area *area = &areas->areas[i];
		uint64_t nwords = (area->end - area->start) / GR_WORD_BYTES;

		if (area->live)
			memcpy(s->left + s->first_left[i] / 64, area->live,
			       gr_bitmap_words(nwords) * sizeof(*s->left));
	}
	return NULL;
}

/* Add the contents of an object with a finalizer, but not the object itself: see
 * gr_is_passed_by(). */
static struct gr_error *add_contents(struct sweep *s, uint64_t addr,
				     struct gr_edge like)
{
	const struct gr_heap *heap = s->source->heap;
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(heap, addr, &span);

	if (obj == GR_OBJ_NONE || !gr_span_has_edges(span) ||
	    !gr_heap_is_allocated(heap, obj))
		return NULL;
	uint32_t index = obj - span->first_obj;
	uint64_t slot_addr = gr_span_slot_addr(span, index);
	const struct gr_object_words words = gr_object_words(span, index);
	const uint64_t *map = s->source->words;
	struct gr_error *err = poll(s, words.end - words.first);

	for (uint64_t at = words.first;
	     !err && (at = gr_bitmap_next(map, at, words.end)) < words.end;
	     at++) {
		uint64_t off = (at - words.first) * GR_WORD_BYTES;
		like.value = gr_load_u64(words.host + off);
		like.addr = words.addr + off;
		if (like.value && !gr_is_passed_by(slot_addr, span->elem_bytes,
						   like.addr, like.value))
			err = add_edge(s, &like);
	}
	return err;
}

static struct gr_error *add_root(struct sweep *s, uint32_t i)
{
	const struct gr_root *root = &s->source->roots->list.data[i];
	struct gr_edge like = {
		.from = GR_OBJ_NONE,
		.root = i,
		.is_doubtful = root->is_conservative,
		.value = root->addr,
	};

	switch ((enum gr_root_form)root->form) {
	case GR_ROOT_VALUE:
		return add_edge(s, &like);
	case GR_ROOT_CONTENTS:
		return add_contents(s, root->addr, like);
	case GR_ROOT_REGION:
		break;
	}
	if (!root->bytes_at)
		return add_region(s, root, like);
	return add_words(s, &root->live, NULL, 0,
			 root->bytes / GR_WORD_BYTES < 64 ?
				 root->bytes / GR_WORD_BYTES :
				 64,
			 0, root->bytes_at, like);
}

static struct gr_error *add_roots(struct sweep *s)
{
	const struct gr_roots *roots = s->source->roots;
	struct gr_error *err = begin_areas(s);

	for (size_t i = 0; i < roots->list.size && !err; i++) {
		err = poll(s, 1);
		if (!err)
			err = add_root(s, i);
	}
	for (size_t i = 0; i < roots->areas.count && !err; i++)
		err = add_area(s, i);
	return err ? err : flush(s);
}

struct gr_error *gr_edges_of_roots(const struct gr_edge_source *source,
				   gr_edges_emit emit, void *ctx)
{
	_cleanup_free_ struct sweep *s = calloc(1, sizeof(*s));
	struct gr_error *err;

	if (!s)
		return &gr_enomem;
	s->source = source;
	s->emit = emit;
	s->ctx = ctx;
	err = add_roots(s);
	free(s->left);
	free(s->first_left);
	return err;
}

struct gr_error *
gr_for_each_edge(const struct gr_heap *heap, const struct gr_roots *roots,
		 const struct gr_marking *marking, gr_edges_emit emit,
		 void (*emit_other)(void *ctx, const struct gr_edge *edge),
		 void *ctx)
{
	_cleanup_free_ uint64_t *words = NULL;
	_cleanup_free_ uint64_t *reached =
		marking ? gr_marking_reached_bits(marking) : NULL;
	struct gr_error *err = gr_ptrmap_build(heap, 64, &words);
	const struct gr_edge_source source = {
		.heap = heap,
		.roots = roots,
		.words = words,
		.objects = marking ? reached : heap->allocated,
		.emit_other = emit_other,
		.poll = heap->rt->poll,
		.poll_ctx = heap->rt->poll_ctx,
	};

	if (!err && !source.objects)
		err = &gr_enomem;
	if (!err)
		err = edges_of_spans(&source, emit, ctx);
	return err ? err : gr_edges_of_roots(&source, emit, ctx);
}
