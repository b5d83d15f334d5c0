// SPDX-License-Identifier: Apache-2.0
/*
 * The free slots of spans: in the list of the span, in transfer slots of the
 * class, each of which has a whole batch, and in the caches of threads. A link is
 * the first word of a slot. All other slots are in use, so that each list must be
 * read to its end: the counters of spans, classes and caches must all agree.
 */
#include "native/allocators/tcmalloc.h"

#include "native/allocators/module_search.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/sort.h"
#include "inferior/elf.h"

enum {
	/* ThreadCache::FreeList */
	LIST_LENGTH = 8,
	LIST_SIZE = 24,
	LEAST_ADDRESS = 0x10000,
	MOST_ADDRESS_BITS = 47, /* of the program */
};

// -------------------------------------------------------------------- search

/** A word that leads to what looks like the cache of a thread. */
struct head {
	uint64_t cache, at;
};
GR_VECTOR(head_vector, struct head);

struct head_search {
	struct gr_tcmalloc *t;
	struct head_vector heads; /* by cache */
	uint64_t known;		  /* where thread_heaps_ is; 0: not known */
	uint64_t found;		  /* the head; 0: none was found */
	bool is_unsure;		  /* there are several */
};

static void head_search_deinit(struct head_search *s)
{
	head_vector_deinit(&s->heads);
}

static int compare_heads(const void *a, const void *b)
{
	const struct head *x = a, *y = b;

	return x->cache < y->cache ? -1 : x->cache > y->cache;
}

/* Does a cache repeat the sizes of all classes? @p steps counts those that were
 * compared. */
static bool is_cache(struct gr_tcmalloc *t, uint64_t cache, uint32_t *steps)
{
	uint64_t word;

	*steps = 0;
	for (uint32_t i = t->sizes.count; i-- > 0; ++*steps)
		if (!gr_view_word(&t->r->view,
				  cache + i * GR_TCMALLOC_CACHE_LIST_BYTES +
					  LIST_SIZE,
				  &word) ||
		    (uint32_t)word != t->sizes.bytes[i])
			return false;
	return true;
}

static struct gr_error *try_cache(void *ctx, uint64_t at, uint64_t word)
{
	struct head_search *s = ctx;
	struct gr_runtime *rt = s->t->r->spec->rt;
	const struct head head = { word, at };
	uint32_t steps;

	if (word % 16 || word < LEAST_ADDRESS || word >> MOST_ADDRESS_BITS)
		return NULL;
	struct gr_error *err = NULL;
	if (is_cache(s->t, word, &steps))
		err = gr_runtime_append(rt, head_vector, &s->heads, head);
	return err ? err : gr_runtime_step(rt, steps + 1);
}

/* Walk the list from @p cache on, which is no list if *@p ret is 0. Each cache
 * leads back to the one before, so that there is no cycle. */
static struct gr_error *walk_caches(struct gr_tcmalloc *t, uint64_t cache,
				    struct gr_addr_vector *list, uint64_t *ret)
{
	struct gr_runtime *rt = t->r->spec->rt;
	struct gr_view *view = &t->r->view;
	uint64_t before = 0, count = 0;
	struct gr_error *err = NULL;
	uint32_t steps;

	*ret = 0;
	// Bounded by the memory at hand: no cache is passed twice.
	for (; !err && cache; count++) {
		uint64_t link = cache + t->layout->next;

		if (!gr_view_has(view, link + 8, before) ||
		    !is_cache(t, cache, &steps) || count > UINT32_MAX)
			return NULL;
		if (list)
			err = gr_runtime_append(rt, gr_addr_vector, list,
						cache);
		before = cache;
		if (!gr_view_word(view, link, &cache))
			return NULL;
		if (!err)
			err = gr_runtime_step(rt, steps + 1);
	}
	*ret = count;
	return err;
}

/* Is the number of caches next to the word at @p at? */
static bool has_count(struct gr_tcmalloc *t, uint64_t at, uint64_t count)
{
	uint64_t before = 0, behind = 0;

	if (!gr_view_word(&t->r->view, at - 8, &before))
		before = 0;
	if (!gr_view_word(&t->r->view, at + 8, &behind))
		behind = 0;
	return (uint32_t)before == count || (uint32_t)behind == count;
}

static void record_head(struct gr_tcmalloc *t, uint64_t at)
{
	if (t->r->spec->rt->recorder)
		gr_recorder_add(t->r->spec->rt->recorder, at - 8, 24);
}

/* Try the list that the heads from number *@p i on lead to; pass them. */
static struct gr_error *try_heads(struct head_search *s, size_t *i)
{
	const struct head *list = s->heads.data;
	uint64_t cache = list[*i].cache, count;
	struct gr_error *err = walk_caches(s->t, cache, NULL, &count);

	for (; *i < s->heads.size && list[*i].cache == cache; ++*i) {
		if (!count || !has_count(s->t, list[*i].at, count) ||
		    (s->known && s->known != list[*i].at))
			continue;
		s->is_unsure |= s->found && s->found != cache;
		s->found = cache;
		record_head(s->t, list[*i].at);
	}
	return err;
}

/* There is no list of caches; is that sure? */
static void note_no_caches(struct gr_tcmalloc *t, uint64_t heaps,
			   uint64_t count)
{
	uint64_t word;

	if (!heaps || !count || !gr_view_has(&t->r->view, heaps, 0) ||
	    !gr_view_word(&t->r->view, count & ~UINT64_C(7), &word))
		return;
	word = count % 8 ? word >> 32 : (uint32_t)word;
	t->has_caches = !word;
	record_head(t, heaps);
}

static void record_caches(struct gr_tcmalloc *t)
{
	struct gr_recorder *recorder = t->r->spec->rt->recorder;

	for (size_t i = 0; recorder && i < t->caches.size; i++)
		gr_recorder_add(recorder, t->caches.data[i],
				t->layout->next + 16);
}

struct gr_error *gr_tcmalloc_find_caches(struct gr_tcmalloc *t)
{
	static const char *const names[] = {
		"_ZN8tcmalloc11ThreadCache13thread_heaps_E",
		"_ZN8tcmalloc11ThreadCache18thread_heap_count_E",
		"_ZN8tcmalloc6Static14pageheap_lock_E"
	};
	struct gr_module_symbols symbols = { .names = names,
					     .count = GR_ARRAY_SIZE(names) };
	_cleanup_(head_search_deinit) struct head_search s = { .t = t };
	struct gr_runtime *rt = t->r->spec->rt;
	size_t module = gr_image_module_at(rt->image, t->central);
	struct gr_error *err = NULL;
	uint64_t count = 0;

	// Some files have the symbols of caches, or of the lock.
	if (module != SIZE_MAX)
		err = gr_module_find_symbols(t->r, module, &symbols);

	s.known = symbols.found[0];
	t->heap_lock = t->layout->has_min_span ? t->heap.start - 8 :
						 symbols.found[2];
	if (!err)
		err = gr_tcmalloc_each_word(t->r, t->path, try_cache, &s);
	if (!err)
		err = gr_sort(s.heads.data, s.heads.size, sizeof(*s.heads.data),
			      compare_heads, rt->poll, rt->poll_ctx);
	// Bounded by the heads: each step passes one.
	for (size_t i = 0; !err && i < s.heads.size;)
		err = try_heads(&s, &i);
	if (err || s.is_unsure)
		return err;
	if (!s.found) {
		note_no_caches(t, symbols.found[0], symbols.found[1]);
		return NULL;
	}
	err = walk_caches(t, s.found, &t->caches, &count);
	t->has_caches = true;
	record_caches(t);
	return err;
}

// --------------------------------------------------------------------- lists

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
