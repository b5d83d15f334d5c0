// SPDX-License-Identifier: Apache-2.0
/*
 * The edges of all objects, in the order of addresses. Threads take ranges of
 * spans; their parts join to the same edges whatever their number is. Only the
 * caller's thread polls.
 */
#include "heapgraph/internal.h"

#include "base/cleanup.h"
#include "base/thread.h"

#include <stdatomic.h>

enum { POLL_WORDS = 1 << 14 /* of the pointer bits: 8 MB of memory */ };

struct sweep {
	struct gr_graph_maker *maker;
	struct gr_blocks *blocks; /* or NULL */
	atomic_bool is_over;	  /* a thread failed, or poll refused */
};

/* One thread's part: the objects of spans [first, end). */
struct sweeper {
	struct sweep *sweep;
	uint32_t first, end;
	struct gr_edges *part;
	struct gr_view view;
	struct gr_block_seeds seeds;
	bool has_no_memory; /* for them */
	bool may_poll;
	bool is_started;
	pthread_t thread;
	uint32_t nwords; /* of pointer bits, since the last poll */
	uint64_t left_out;
	struct gr_error *err;
	bool is_cause; /* its error ended the sweep */
};

static struct gr_error *poll(struct sweeper *s)
{
	struct gr_runtime *rt = s->sweep->maker->spec->heap->rt;

	s->nwords = 0;
	if (atomic_load_explicit(&s->sweep->is_over, memory_order_relaxed))
		return gr_error_format(GR_ERROR_INTERRUPTED, "interrupted");
	return s->may_poll && rt->poll ? rt->poll(rt->poll_ctx) : NULL;
}

/* Any word may lead to a block. */
static inline void add_to_block(struct sweeper *s, uint64_t value)
{
	uint32_t block = gr_blocks_find(s->sweep->blocks, value);

	if (GR_UNLIKELY(block != GR_BLOCK_NONE))
		gr_edges_add(s->part,
			     gr_block_vertex(s->sweep->maker->objects, block));
}

/* Objects that the walk reached are allocated. */
static inline void add_edge(struct sweeper *s, uint64_t value)
{
	const struct gr_graph_maker *maker = s->sweep->maker;
	gr_obj to = gr_edge_target(maker->spec->heap, value);

	if (to == GR_OBJ_NONE) {
		if (s->sweep->blocks)
			add_to_block(s, value);
		return;
	}
	if (!gr_bitmap_test(maker->objects->slots, to))
		return;
	if (GR_UNLIKELY(gr_bitmap_test(maker->owned, to)))
		s->left_out++;
	else
		gr_edges_add(s->part, gr_objects_rank(maker->objects, to));
}

/* Note that a pointer of the object that was begun last leads to the start of a
 * block. */
static void add_seed(struct sweeper *s, uint64_t value, uint64_t off_bytes)
{
	struct gr_blocks *blocks = s->sweep->blocks;
	uint32_t block = gr_blocks_find(blocks, value);

	if (GR_LIKELY(block == GR_BLOCK_NONE) ||
	    blocks->list.data[block].addr != value)
		return;
	const struct gr_block_seed seed = { .from = s->part->next - 1,
					    .type = GR_TYPE_NONE,
					    .block = block,
					    .off_bytes = off_bytes };
	s->has_no_memory |= !gr_block_seeds_append(
		&s->seeds, &s->sweep->maker->hg->budget, seed);
}

/* Add up to 64 words from bit @p at on, in their order: those that the collector
 * does not follow may lead to blocks. */
static void add_all_words(struct sweeper *s, uint64_t followed, unsigned int n,
			  const uint8_t *host, uint64_t off_bytes)
{
	for (unsigned int i = 0; i < n; i++) {
		uint64_t value = gr_load_u64(host + i * GR_WORD_BYTES);

		if (!value)
			continue;
		if (followed >> i & 1) {
			add_edge(s, value);
			add_seed(s, value, off_bytes + i * GR_WORD_BYTES);
		} else {
			add_to_block(s, value);
		}
	}
}

/* Add the words of an object that the collector does not look at. */
static struct gr_error *add_noscan(struct sweeper *s,
				   const struct gr_span *span, uint32_t index)
{
	uint64_t at = gr_span_slot_addr(span, index);
	uint64_t end = at + span->elem_bytes;
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err && at < end && gr_view_part(&s->view, at, end, &piece)) {
		uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

		// Bounded by the part.
		for (uint64_t i = 0; i < n; i++)
			add_to_block(
				s, gr_load_u64(piece.host + i * GR_WORD_BYTES));
		s->nwords += n / 64 + 1;
		if (s->nwords >= POLL_WORDS)
			err = poll(s);
		at = piece.end;
	}
	return err;
}

static inline struct gr_error *
add_object(struct sweeper *s, const struct gr_span *span, uint32_t index)
{
	const struct gr_object_words words = gr_object_words(span, index);
	const uint64_t *map = s->sweep->maker->words;
	struct gr_error *err = NULL;

	for (uint64_t at = words.first; !err && at < words.end; at += 64) {
		uint64_t left = words.end - at;
		uint64_t bits =
			gr_bitmap_extract(map, at, left < 64 ? left : 64);
		const uint8_t *host =
			words.host + (at - words.first) * GR_WORD_BYTES;

		if (s->sweep->blocks) {
			add_all_words(s, bits, left < 64 ? left : 64, host,
				      (at - words.first) * GR_WORD_BYTES);
			bits = 0;
		}
		for (; bits; bits &= bits - 1) {
			uint64_t value = gr_load_u64(
				host + __builtin_ctzll(bits) * GR_WORD_BYTES);
			if (value)
				add_edge(s, value);
		}
		if (GR_UNLIKELY(++s->nwords == POLL_WORDS))
			err = poll(s);
	}
	return err;
}

/* Add the edges of the reached objects among 64 slots of a span. */
static struct gr_error *add_slots(struct sweeper *s, const struct gr_span *span,
				  uint32_t index, gr_vertex *v)
{
	const uint64_t *slots = s->sweep->maker->objects->slots;
	uint32_t left = span->nelems - index;
	uint64_t bits = gr_bitmap_extract(slots, span->first_obj + index,
					  left < 64 ? left : 64);
	struct gr_error *err = NULL;

	for (; bits && !err; bits &= bits - 1) {
		uint32_t i = index + __builtin_ctzll(bits);

		gr_edges_begin(s->part, (*v)++);
		err = gr_span_has_edges(span) ? add_object(s, span, i) :
						add_noscan(s, span, i);
	}
	return err;
}

static struct gr_error *add_span(struct sweeper *s, const struct gr_span *span)
{
	gr_vertex v;
	struct gr_error *err = NULL;

	if (!gr_span_has_edges(span) && !s->sweep->blocks)
		return NULL;
	v = gr_objects_rank(s->sweep->maker->objects, span->first_obj);
	for (uint64_t i = 0; i < span->nelems && !err; i += 64)
		err = add_slots(s, span, i, &v);
	return err;
}

/* Note the error that ends a sweeper, which ends all of them. */
static void note_end(struct sweeper *s, struct gr_error *err)
{
	s->err = err;
	if (err)
		s->is_cause = !atomic_exchange(&s->sweep->is_over, true);
}

static void *sweep_spans(void *arg)
{
	struct sweeper *s = arg;
	const struct gr_heap *heap = s->sweep->maker->spec->heap;
	struct gr_error *err = poll(s);

	if (s->may_poll)
		gr_progress_begin(heap->rt->progress, GR_SCAN_STEP_REFERENCES,
				  s->end - s->first);
	for (uint32_t i = s->first; i < s->end && !err; i++) {
		err = add_span(s, &heap->spans[i]);
		if (s->may_poll && heap->rt->progress)
			heap->rt->progress->done++;
	}
	note_end(s, err);
	return NULL;
}

/* Start all sweepers but the first. */
static void start(struct sweeper *sweepers, size_t n)
{
	for (size_t i = 1; i < n; i++)
		sweepers[i].is_started = gr_thread_start(
			&sweepers[i].thread, sweep_spans, &sweepers[i]);
}

/* Wait for a thread. This one polls meanwhile, as the sweeper @p own. */
static void join_thread(struct sweeper *s, struct sweeper *own)
{
	while (!gr_thread_join_soon(s->thread))
		if (!own->err)
			note_end(own, poll(own));
}

/* Run all sweepers, those that got no thread on this one. */
static struct gr_error *run_all(struct sweeper *sweepers, size_t n)
{
	struct gr_error *err = NULL;

	start(sweepers, n);
	for (size_t i = 0; i < n; i++) {
		sweepers[i].may_poll = !sweepers[i].is_started;
		if (!sweepers[i].is_started)
			sweep_spans(&sweepers[i]);
	}
	for (size_t i = 1; i < n; i++)
		if (sweepers[i].is_started)
			join_thread(&sweepers[i], &sweepers[0]);
	for (size_t i = 0; i < n; i++) {
		if (sweepers[i].is_cause)
			err = sweepers[i].err;
		else
			gr_error_destroy(sweepers[i].err);
	}
	return err;
}

static uint64_t swept_bytes(const struct gr_span *span, bool has_blocks)
{
	return span->is_noscan && !has_blocks ? 0 :
						span->nelems * span->elem_bytes;
}

/* Divide the spans into ranges with the same number of bytes to sweep. */
static void divide(const struct gr_heap *heap, bool has_blocks,
		   struct sweeper *sweepers, size_t n)
{
	uint64_t total = 0, done = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < heap->nspans; i++)
		total += swept_bytes(&heap->spans[i], has_blocks);
	for (size_t i = 0; i < n; i++) {
		uint64_t goal = i + 1 == n ? UINT64_MAX : total / n * (i + 1);

		sweepers[i].first = at;
		while (at < heap->nspans && done < goal)
			done += swept_bytes(&heap->spans[at++], has_blocks);
		sweepers[i].end = at;
	}
	sweepers[n - 1].end = heap->nspans;
}

/* The number of the first object from span @p i on. */
static gr_vertex first_vertex(const struct gr_graph_maker *maker, uint32_t i)
{
	const struct gr_heap *heap = maker->spec->heap;

	return i < heap->nspans ? gr_objects_rank(maker->objects,
						  heap->spans[i].first_obj) :
				  gr_objects_second(maker->objects);
}

static struct gr_error *begin_part(const struct gr_graph_maker *maker,
				   struct sweeper *s)
{
	gr_vertex first = first_vertex(maker, s->first);
	gr_vertex end = first_vertex(maker, s->end);

	return gr_edges_init(s->part, &maker->hg->budget, first, end,
			     maker->objects->count,
			     (uint64_t)(end - first) / 8 * 9);
}

/* Append the seeds of a sweeper, in the order of addresses. */
static struct gr_error *take_seeds(struct gr_graph_maker *maker,
				   const struct sweeper *s)
{
	struct gr_budget *budget = &maker->hg->budget;
	struct gr_block_seeds *to = &maker->seeds;
	size_t n = s->seeds.size;

	if (s->has_no_memory ||
	    !gr_array_grow(budget, (void **)&to->data, &to->capacity,
			   to->size + n, sizeof(*to->data)))
		return gr_budget_error(budget);
	if (n)
		memcpy(to->data + to->size, s->seeds.data,
		       n * sizeof(*to->data));
	to->size += n;
	return NULL;
}

struct gr_error *gr_graph_sweep(struct gr_graph_maker *maker,
				struct gr_edges *parts)
{
	const struct gr_heap *heap = maker->spec->heap;
	struct sweeper sweepers[GR_SWEEP_THREADS] = { 0 };
	size_t n = maker->spec->nthreads;
	struct sweep sweep = { .maker = maker,
			       .blocks = gr_graph_blocks(maker) };
	struct gr_error *err = NULL;

	GR_ASSERT(n <= GR_SWEEP_THREADS);
	divide(heap, sweep.blocks, sweepers, n);
	for (size_t i = 0; !err && i < n; i++) {
		sweepers[i].sweep = &sweep;
		sweepers[i].part = &parts[i];
		sweepers[i].view = gr_view_of(heap->rt);
		err = begin_part(maker, &sweepers[i]);
	}
	if (!err)
		err = run_all(sweepers, n);
	for (size_t i = 0; i < n; i++) {
		maker->hg->left_out += sweepers[i].left_out;
		if (!err)
			err = take_seeds(maker, &sweepers[i]);
		gr_array_free(sweepers[i].seeds.data);
	}
	return err;
}
