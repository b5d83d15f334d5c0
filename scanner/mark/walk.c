// SPDX-License-Identifier: Apache-2.0
#include "mark/walk.h"

#include "base/cleanup.h"
#include "base/huge.h"
#include "goruntime/ptrmap.h"

/* A long queue is in huge pages, one a chunk: it is mostly new memory. */
static struct gr_region_chunk *new_chunk(struct gr_region_queue *queue)
{
	enum { SMALL_BYTES = 64 << 10 };
	bool is_long = queue->size * sizeof(struct gr_region) >=
		       4 * GR_HUGE_BYTES;
	size_t bytes = is_long ? GR_HUGE_BYTES : SMALL_BYTES;
	struct gr_region_chunk *chunk = steal_ptr(queue->spare);

	if (chunk)
		return chunk;
	chunk = is_long ? aligned_alloc(bytes, bytes) : malloc(bytes);
	if (!chunk)
		return NULL;
	gr_huge_advise(chunk, bytes);
	chunk->capacity = (bytes - sizeof(*chunk)) / sizeof(struct gr_region);
	return chunk;
}

static void keep_spare(struct gr_region_queue *queue,
		       struct gr_region_chunk *chunk)
{
	free(queue->spare);
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
		free(queue->head);
		queue->head = next;
	}
	free(queue->spare);
}

void gr_walk_destroy(struct gr_walk *w)
{
	if (!w)
		return;
	gr_programs_deinit(&w->programs);
	gr_tree_deinit(&w->tree);
	queue_deinit(&w->queue);
	gr_masked_vector_deinit(&w->masked);
	gr_deferred_vector_deinit(&w->deferred);
	gr_total_vector_deinit(&w->type_totals);
	free(w->todo);
	free(w->area_word);
	free(w->node_of);
	free(w->type_of);
	free(w->parents);
	free(w->deferred_seen);
	gr_error_destroy(w->err);
	free(w);
}

static uint64_t area_words(const struct gr_area *area)
{
	return (area->end - area->start) / GR_WORD_BYTES;
}

/* Lay out the bits of areas and of put-together variables behind the heap's. */
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
	// One group of 64 bits serves all put-together variables in turn.
	w->total_words = word + 64;
	return NULL;
}

static void copy_live_bits(struct gr_walk *w)
{
	const struct gr_area_list *areas = &w->roots->areas;

	for (size_t i = 0; i < areas->count; i++) {
		const struct gr_area *area = &areas->areas[i];
		if (area->live && area->host)
			memcpy(w->todo + w->area_word[i] / 64, area->live,
			       gr_bitmap_words(area_words(area)) * 8);
	}
}

/* Nothing is counted, and no object is a barrier. */
static void reset_objects(struct gr_heap *heap)
{
	const uint64_t kept = GR_OBJECT_ALLOCATED * (UINT64_MAX / 0xff);
	uint64_t word;

	// Eight at a time; there is room for that behind the last.
	for (uint64_t i = 0; i < heap->nobjs; i += sizeof(word)) {
		memcpy(&word, heap->states + i, sizeof(word));
		word &= kept;
		memcpy(heap->states + i, &word, sizeof(word));
	}
}

struct gr_error *gr_walk_create(struct gr_runtime *rt,
				const struct gr_roots *roots,
				const struct gr_walk_options *options,
				struct gr_ledger *ledger, struct gr_walk **ret)
{
	struct gr_error *err;
	_cleanup_(gr_cleanup_walk) struct gr_walk *w = calloc(1, sizeof(*w));

	if (!w)
		return &gr_enomem;
	w->rt = rt;
	w->heap = rt->heap;
	w->roots = roots;
	w->ledger = ledger;
	w->typed_row = &ledger->typed;
	w->wanted = GR_OBJ_NONE;
	w->from = GR_OBJ_NONE;
	gr_walk_set_conservative(w, false);
	w->is_first_root = options->attribution == GR_ATTRIBUTION_FIRST;
	w->per_goroutine = options->per_goroutine;
	w->precise_only = options->precise_only;
	err = lay_out_words(w);
	if (!err)
		err = gr_ptrmap_build(rt, w->total_words - w->heap->nwords + 64,
				      &w->todo);
	if (!err)
		err = gr_programs_init(&w->programs, rt);
	if (!err)
		err = gr_tree_init(&w->tree, options->max_depth,
				   options->max_nodes);
	if (err)
		return err;
	copy_live_bits(w);
	reset_objects(w->heap);
	w->deferred_seen = gr_bitmap_alloc(w->heap->nobjs + 1);
	if (!w->deferred_seen)
		return &gr_enomem;
	*ret = steal_ptr(w);
	return NULL;
}

struct gr_error *gr_walk_keep_parents(struct gr_walk *w, gr_obj wanted)
{
	size_t n = (size_t)w->heap->nobjs + 1;

	w->wanted = wanted;
	w->parents = malloc(n * sizeof(*w->parents));
	w->type_of = malloc(n * sizeof(*w->type_of));
	w->node_of = malloc(n * sizeof(*w->node_of));
	return w->parents && w->type_of && w->node_of ? NULL : &gr_enomem;
}
