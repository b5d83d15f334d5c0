// SPDX-License-Identifier: Apache-2.0
/*
 * The free slots of spans: in the list of the span, in transfer slots of the
 * class, each of which has a whole batch, and in the caches of threads. A link is
 * the first word of a slot. All other slots are in use, so that each list must be
 * read to its end: the counters of spans, classes and caches must all agree.
 */
#include "native/allocators/tcmalloc.h"

#include "base/bitmap.h"

enum {
	/* ThreadCache::FreeList */
	LIST_LENGTH = 8,
};

/** A list of free slots. */
struct list {
	uint64_t at; /* the next slot, 0 at the end */
	unsigned int size_class;
	const struct gr_tcmalloc_span *span; /* of each; NULL: any */
	uint64_t count, last;
	bool is_whole; /* it was read to its end */
};

static void fail(struct gr_tcmalloc *t, const char *reason)
{
	gr_arena_fail(gr_tcmalloc_arena(t), reason);
}

static const struct gr_tcmalloc_span *span_at(const struct gr_tcmalloc *t,
					      uint64_t addr)
{
	const struct gr_tcmalloc_span_vector *list = &t->spans;
	size_t n = gr_count_before(list->size, i, list->data[i].start <= addr);
	const struct gr_tcmalloc_span *span = n ? &list->data[n - 1] : NULL;

	return span && addr - span->start < span->bytes ? span : NULL;
}

/* Mark the slot that the list is at; false if it is none, or marked. */
static bool mark(struct gr_tcmalloc *t, const struct list *list)
{
	uint32_t bytes = t->sizes.bytes[list->size_class];
	const struct gr_tcmalloc_span *span = list->span ? list->span :
							   span_at(t, list->at);

	if (!span || !span->slots || span->size_class != list->size_class ||
	    list->at < span->start)
		return false;
	uint64_t slot = (list->at - span->start) / bytes;
	return (list->at - span->start) % bytes == 0 && slot < span->slots &&
	       gr_bitmap_set_new(t->is_free, span->first_slot + slot);
}

/* Mark and count the slots of a list. */
static struct gr_error *pass_list(struct gr_tcmalloc *t, struct list *list)
{
	uint32_t bytes = t->sizes.bytes[list->size_class];
	struct gr_native_arena *arena = gr_tcmalloc_arena(t);
	struct gr_error *err = NULL;

	// Bounded by the slots: each is marked once.
	while (!err && list->at) {
		if (!mark(t, list)) {
			fail(t, "a list of its free blocks is damaged");
			return NULL;
		}
		arena->free_blocks++;
		gr_reader_count_free(t->r, arena, list->at, bytes);
		list->last = list->at;
		list->count++;
		if (!gr_view_word(&t->r->view, list->at, &list->at)) {
			gr_arena_miss(arena);
			return NULL;
		}
		err = gr_runtime_step(t->r->spec->rt, 2);
	}
	list->is_whole = !err;
	return err;
}

// --------------------------------------------------------------------- spans

/* Pass the lists of the spans. */
static struct gr_error *pass_spans(struct gr_tcmalloc *t)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < t->spans.size; i++) {
		const struct gr_tcmalloc_span *span = &t->spans.data[i];
		struct list list = { .at = span->objects,
				     .size_class = span->size_class,
				     .span = span };

		err = gr_runtime_step(t->r->spec->rt, 1);
		if (err || !span->slots)
			continue;
		err = pass_list(t, &list);
		t->nfree[span->size_class] += list.count;
		if (list.is_whole && list.count + span->refcount != span->slots)
			fail(t, "a span counts other free blocks than it has");
	}
	return err;
}

// ------------------------------------------------------------------- classes

/* Pass the batch in a transfer slot. */
static struct gr_error *pass_transfer(struct gr_tcmalloc *t,
				      unsigned int size_class, uint64_t slot)
{
	struct gr_view *view = &t->r->view;
	struct list list = { .size_class = size_class };
	uint64_t tail;

	if (!gr_view_word(view, slot, &list.at) ||
	    !gr_view_word(view, slot + 8, &tail)) {
		gr_arena_miss(gr_tcmalloc_arena(t));
		return NULL;
	}
	struct gr_error *err = pass_list(t, &list);
	if (list.is_whole &&
	    (list.count != t->sizes.batch[size_class] || list.last != tail))
		fail(t, "a transfer slot does not have a batch");
	return err;
}

static struct gr_error *pass_transfers(struct gr_tcmalloc *t,
				       unsigned int size_class, uint64_t list)
{
	uint64_t slots = t->central_bytes == GR_TCMALLOC_LIST_BYTES ?
				 GR_TCMALLOC_NTRANSFERS :
				 0;
	uint64_t at = list + GR_TCMALLOC_TRANSFERS, word[2];
	struct gr_error *err = NULL;

	if (!gr_view_word(&t->r->view, at + 16 * slots, &word[0]) ||
	    !gr_view_word(&t->r->view, at + 16 * slots + 8, &word[1])) {
		gr_arena_miss(gr_tcmalloc_arena(t));
		return NULL;
	}
	// Negative numbers are large ones.
	uint32_t used = word[0], size = word[0] >> 32, most = word[1];
	if (used > size || size > most || most > slots) {
		fail(t, "its transfer slots are damaged");
		return NULL;
	}
	for (uint32_t i = 0; !err && i < used; i++)
		err = pass_transfer(t, size_class, at + 16 * i);
	return err;
}

/* Compare the counters of a class, and pass its transfer slots. */
static struct gr_error *pass_class(struct gr_tcmalloc *t,
				   unsigned int size_class)
{
	struct gr_native_arena *arena = gr_tcmalloc_arena(t);
	struct gr_view *view = &t->r->view;
	uint64_t list = t->central + (uint64_t)size_class * t->central_bytes;
	uint64_t lock, spans, free;

	if (!gr_view_word(view, list, &lock) ||
	    !gr_view_word(view, list + GR_TCMALLOC_SPAN_COUNT, &spans) ||
	    !gr_view_word(view, list + GR_TCMALLOC_FREE_COUNT, &free)) {
		gr_arena_miss(arena);
		return NULL;
	}
	arena->is_locked |= (uint32_t)lock != 0;
	if (spans != t->nspans[size_class] || free != t->nfree[size_class])
		fail(t, "a size class counts other spans than were found");
	return pass_transfers(t, size_class, list);
}

static struct gr_error *pass_classes(struct gr_tcmalloc *t)
{
	struct gr_error *err = NULL;

	for (unsigned int i = 1; !err && i < t->sizes.count; i++) {
		err = pass_class(t, i);
		if (!err)
			err = gr_runtime_step(t->r->spec->rt, 4);
	}
	return err;
}

// -------------------------------------------------------------------- caches

/* Pass the list of a class in a cache, and add its bytes to *@p bytes. */
static struct gr_error *pass_cache_list(struct gr_tcmalloc *t, uint64_t cache,
					unsigned int size_class,
					uint64_t *bytes)
{
	uint64_t at = cache + size_class * GR_TCMALLOC_CACHE_LIST_BYTES;
	struct list list = { .size_class = size_class };
	struct gr_view *view = &t->r->view;
	uint64_t length;

	if (!gr_view_word(view, at, &list.at) ||
	    !gr_view_word(view, at + LIST_LENGTH, &length)) {
		gr_arena_miss(gr_tcmalloc_arena(t));
		return NULL;
	}
	struct gr_error *err = pass_list(t, &list);
	if (list.is_whole && list.count != (uint32_t)length)
		fail(t,
		     "the cache of a thread counts other blocks than it has");
	*bytes += list.count * t->sizes.bytes[size_class];
	return err;
}

static struct gr_error *pass_cache(struct gr_tcmalloc *t, uint64_t cache)
{
	struct gr_native_arena *arena = gr_tcmalloc_arena(t);
	uint64_t bytes = 0, counted;
	struct gr_error *err = NULL;

	for (unsigned int i = 0; !err && i < t->sizes.count; i++)
		err = pass_cache_list(t, cache, i, &bytes);
	if (err)
		return err;
	arena->cached_bytes += bytes;
	// size_ is behind the lists.
	if (!gr_view_word(&t->r->view,
			  cache + t->layout->classes *
					  GR_TCMALLOC_CACHE_LIST_BYTES,
			  &counted))
		gr_arena_miss(arena);
	else if ((uint32_t)counted != bytes)
		fail(t, "the cache of a thread counts other bytes than it has");
	return gr_runtime_step(t->r->spec->rt, t->sizes.count);
}

// ----------------------------------------------------------------------- all

/* Compare what the page heap counts with the spans. */
static void check_heap(struct gr_tcmalloc *t)
{
	struct gr_native_arena *arena = gr_tcmalloc_arena(t);
	const struct gr_tcmalloc_heap *heap = &t->heap;
	uint64_t lock;

	arena->bytes_counter = "system_bytes";
	arena->counted_bytes = heap->system_bytes;
	for (size_t i = 0; i < GR_ARRAY_SIZE(t->span_bytes); i++)
		arena->found_bytes += t->span_bytes[i];
	if (arena->counted_bytes != arena->found_bytes ||
	    t->span_bytes[GR_TCMALLOC_NORMAL] != heap->free_bytes ||
	    t->span_bytes[GR_TCMALLOC_RETURNED] != heap->unmapped_bytes)
		fail(t, "it counts other memory than was found");
	if (heap->is_torn || t->is_central_torn)
		fail(t, "its lists of spans are damaged");
	if (t->heap_lock &&
	    gr_view_word(&t->r->view, t->heap_lock & ~UINT64_C(7), &lock))
		arena->is_locked |=
			(uint32_t)(t->heap_lock % 8 ? lock >> 32 : lock) != 0;
}

struct gr_error *gr_tcmalloc_find_free(struct gr_tcmalloc *t)
{
	struct gr_native_arena *arena = gr_tcmalloc_arena(t);
	struct gr_error *err =
		gr_image_want(t->r->spec->rt->image, t->nslots / 8);

	if (err)
		return err;
	t->is_free = gr_bitmap_alloc(t->nslots + 1);
	if (!t->is_free)
		return &gr_enomem;
	t->r->view.is_recording = true;
	err = pass_spans(t);
	if (!err)
		err = pass_classes(t);
	for (size_t i = 0; !err && i < t->caches.size; i++)
		err = pass_cache(t, t->caches.data[i]);
	check_heap(t);
	t->r->view.is_recording = false;
	if (!t->has_caches)
		fail(t, "the caches of its threads were not found");
	// A thread may have slots in hand that no counter tells.
	if (arena->is_locked)
		fail(t, "a thread has one of its locks");
	return err;
}
