// SPDX-License-Identifier: Apache-2.0
#include "mark/walk.h"

#include "base/cleanup.h"
#include "base/huge.h"
#include "goruntime/heap/ptrmap.h"

/* Make a chunk. A long queue uses one huge page for each chunk, because its
 * memory is mostly new. */
static struct gr_region_chunk *new_chunk(struct gr_region_queue *queue)
{
	enum { SMALL_BYTES = 64 << 10 };
	bool is_long = queue->size * sizeof(struct gr_region) >= GR_HUGE_BYTES;
	size_t bytes = is_long ? GR_HUGE_BYTES : SMALL_BYTES;
	struct gr_region_chunk *chunk = steal_ptr(queue->spare);

	if (chunk)
		return chunk;
	chunk = is_long ? gr_huge_next_alloc(&queue->next) : malloc(bytes);
	if (!chunk)
		return NULL;
	chunk->is_huge = is_long;
	chunk->capacity = (bytes - sizeof(*chunk)) / sizeof(struct gr_region);
	return chunk;
}

static void free_chunk(struct gr_region_chunk *chunk)
{
	if (chunk && chunk->is_huge)
		gr_huge_free(chunk, GR_HUGE_BYTES);
	else
		free(chunk);
}

static void keep_spare(struct gr_region_queue *queue,
		       struct gr_region_chunk *chunk)
{
	free_chunk(queue->spare);
	queue->spare = chunk;
}

bool gr_walk_add_chunk(struct gr_walk *w)
{
	struct gr_region_queue *queue = &w->queue;
	struct gr_region_chunk *chunk = new_chunk(queue);

	if (!chunk) {
		gr_walk_fail(w, &gr_enomem);
		return false;
	}
	chunk->next = NULL;
	chunk->prev = queue->tail;
	chunk->first = chunk->end = 0;
	if (queue->tail)
		queue->tail->next = chunk;
	else
		queue->head = chunk;
	queue->tail = chunk;
	return true;
}

void gr_region_queue_drop_chunk(struct gr_region_queue *queue)
{
	struct gr_region_chunk *chunk = queue->head;

	if (!chunk->next) {
		chunk->first = chunk->end = 0;
		return;
	}
	GR_ASSERT(chunk->first == chunk->end && chunk != queue->tail);
	queue->head = chunk->next;
	queue->head->prev = NULL;
	keep_spare(queue, chunk);
}

bool gr_region_queue_pop_last(struct gr_region_queue *queue,
			      struct gr_region *ret)
{
	struct gr_region_chunk *chunk = queue->tail;

	if (!queue->size)
		return false;
	*ret = chunk->regions[--chunk->end];
	queue->size--;
	if (chunk->first == chunk->end) {
		if (!chunk->prev) {
			chunk->first = chunk->end = 0;
			return true;
		}
		queue->tail = chunk->prev;
		queue->tail->next = NULL;
		keep_spare(queue, chunk);
	}
	return true;
}

static void queue_deinit(struct gr_region_queue *queue)
{
	while (queue->head) {
		struct gr_region_chunk *next = queue->head->next;
		free_chunk(queue->head);
		queue->head = next;
	}
	free_chunk(queue->spare);
	gr_huge_next_deinit(&queue->next);
}

void gr_walk_destroy(struct gr_walk *w)
{
	if (!w)
		return;
	gr_type_plans_deinit(&w->plans);
	gr_marking_deinit(&w->m);
	queue_deinit(&w->queue);
	gr_masked_vector_deinit(&w->masked);
	gr_part_vector_deinit(&w->parts);
	gr_deferred_vector_deinit(&w->deferred);
	free(w->pending);
	free(w->scanned);
	free(w->area_word);
	gr_huge_release();
	gr_error_destroy(w->err);
	free(w);
}

static uint64_t area_words(const struct gr_area *area)
{
	return (area->end - area->start) / GR_WORD_BYTES;
}

/* Lay out the pending bits behind those of the heap: for areas, and for
 * variables put together from pieces. */
static struct gr_error *lay_out_words(struct gr_walk *w)
{
	const struct gr_area_list *areas = &w->roots->areas;
	uint64_t word = w->heap->nwords;

	w->area_word = calloc(areas->count + 1, sizeof(*w->area_word));
	if (!w->area_word)
		return &gr_enomem;
	for (size_t i = 0; i < areas->count; i++) {
		w->area_word[i] = word;
		word += (area_words(&areas->areas[i]) + 63) & ~UINT64_C(63);
	}
	w->extra_word = word;
	// One group of 64 bits serves all variables put together from pieces,
	// one after another.
	w->total_words = word + 64;
	return NULL;
}

static void copy_live_bits(struct gr_walk *w)
{
	const struct gr_area_list *areas = &w->roots->areas;

	for (size_t i = 0; i < areas->count; i++) {
		const struct gr_area *area = &areas->areas[i];
		if (area->live && area->host)
			memcpy(w->pending + w->area_word[i] / 64, area->live,
			       gr_bitmap_words(area_words(area)) * 8);
	}
}

/* Keep the pointer bits of the heap, to weigh objects: the walk clears those of
 * an object before it counts it, if the object has a finalizer. */
static struct gr_error *keep_pointer_bits(struct gr_walk *w)
{
	uint64_t nwords = w->heap->nwords;
	struct gr_error *err = gr_image_want(w->rt->image, nwords / 8);

	if (err)
		return err;
	w->scanned = gr_bitmap_alloc(nwords + 64);
	if (!w->scanned)
		return &gr_enomem;
	memcpy(w->scanned, w->pending, gr_bitmap_words(nwords) * 8);
	return NULL;
}

struct gr_error *gr_walk_create(const struct gr_heap *heap,
				const struct gr_sched *sched,
				const struct gr_roots *roots,
				const struct gr_walk_options *options,
				struct gr_ledger *ledger, struct gr_walk **ret)
{
	struct gr_error *err;
	_cleanup_(gr_cleanup_walk) struct gr_walk *w = calloc(1, sizeof(*w));

	if (!w)
		return &gr_enomem;
	gr_huge_hold();
	w->rt = heap->rt;
	w->types = heap->types;
	w->heap = heap;
	w->sched = sched;
	w->roots = roots;
	w->ledger = ledger;
	w->waiters_left = 2 * (uint64_t)heap->nobjs;
	w->is_first_root = options->attribution == GR_ATTRIBUTION_FIRST;
	w->per_goroutine = options->per_goroutine;
	w->precise_only = options->precise_only;
	w->quick_state = options->weight == GR_WEIGHT_BYTES ?
				 GR_OBJECT_ALLOCATED :
				 GR_STATE_SLOW;
	err = lay_out_words(w);
	if (!err)
		err = gr_ptrmap_build(heap,
				      w->total_words - w->heap->nwords + 64,
				      &w->pending);
	if (!err && options->weight == GR_WEIGHT_POINTERS)
		err = keep_pointer_bits(w);
	if (!err)
		err = gr_type_plans_init(&w->plans, heap->types);
	if (!err)
		err = gr_marking_init(&w->m, w->heap, options->max_depth,
				      options->max_nodes);
	if (err)
		return err;
	copy_live_bits(w);
	*ret = steal_ptr(w);
	return NULL;
}

struct gr_error *gr_walk_keep_parents(struct gr_walk *w)
{
	w->m.tree.max_depth = w->m.tree.max_nodes = GR_UNLIMITED;
	return gr_parents_create(w->heap->nobjs, &w->m.parents);
}
