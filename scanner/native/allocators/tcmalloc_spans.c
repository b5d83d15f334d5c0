// SPDX-License-Identifier: Apache-2.0
/*
 * The memory of tcmalloc: spans, and metadata. The pagemap leads from a page to
 * its span; the spans tile all memory that tcmalloc ever got, but for the
 * metadata. The words of pages inside of a span are stale, if it is a large one.
 *
 * Metadata comes from pieces of 8 MiB, of which there is no list. It holds links
 * to free slots, old ones, too, so that it must not hold blocks. It is known as
 * what lies between the spans, if tcmalloc counts just as much; else as the
 * newest piece and the structures that were found.
 */
#include "native/allocators/tcmalloc.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "inferior/elf.h"

#define CHUNK_BYTES (UINT64_C(8) << 20)
enum {
	SPAN_WORDS = GR_TCMALLOC_SPAN_BYTES / GR_WORD_BYTES,
	MOST_SLOTS = UINT16_MAX, /* the reference count has 16 bits */
	CHUNK_ALIGNMENT = 16,
	/* Structures of one kind are cut from pieces of so many bytes. */
	PIECE_BYTES = 128 << 10,
};

// ------------------------------------------------------------------- pagemap

/** A node or a leaf of the pagemap. */
struct table {
	uint64_t at;
	uint64_t first; /* the page that its first word is for */
};
GR_VECTOR(table_vector, struct table);

struct walk {
	struct gr_tcmalloc *t;
	struct table_vector nodes, leaves;
	uint64_t next; /* the page behind the last span */
	bool has_failed;
};

static void walk_deinit(struct walk *w)
{
	table_vector_deinit(&w->nodes);
	table_vector_deinit(&w->leaves);
}

static void fail(struct walk *w, const char *reason)
{
	w->has_failed = true;
	gr_arena_fail(gr_tcmalloc_arena(w->t), reason);
}

static void record(struct gr_tcmalloc *t, uint64_t at, uint64_t bytes)
{
	if (t->r->spec->rt->recorder)
		gr_recorder_add(t->r->spec->rt->recorder, at, bytes);
}

/* Append the tables that the words of @p table lead to: it has 2^@p bits words,
 * each for 2^@p child_bits pages. */
static struct gr_error *add_tables(struct walk *w, const struct table *table,
				   unsigned int bits, unsigned int child_bits,
				   struct table_vector *ret)
{
	struct gr_runtime *rt = w->t->r->spec->rt;
	uint64_t at = table->at, end = at + (UINT64_C(8) << bits);
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err && gr_view_piece(&w->t->r->view, at, end, &piece)) {
		uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

		for (uint64_t i = 0; !err && i < n; i++) {
			uint64_t word =
				gr_load_u64(piece.host + i * GR_WORD_BYTES);
			uint64_t where = piece.start + i * GR_WORD_BYTES;
			const struct table child = {
				word, table->first + ((where - table->at) / 8
						      << child_bits)
			};

			if (!word)
				continue;
			record(w->t, where, GR_WORD_BYTES);
			err = gr_runtime_append(rt, table_vector, ret, child);
			if (!err)
				err = gr_runtime_step(rt, 1);
		}
		if (!err)
			err = gr_runtime_step(rt, n / 64 + 1);
		at = piece.end;
	}
	return err;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct gr_native_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Append tables of 2^@p bits words to those of the instance. Together, they are
 * as many as fit in the memory at hand: none overlaps another. */
static struct gr_error *
check_tables(struct walk *w, const struct table_vector *list, unsigned int bits)
{
	struct gr_runtime *rt = w->t->r->spec->rt;
	struct gr_native_range_vector *ranges = &w->t->tables;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < list->size; i++) {
		uint64_t at = list->data[i].at;
		const struct gr_native_range range = {
			at, at + (UINT64_C(8) << bits), w->t->arena
		};

		if (at % GR_WORD_BYTES || range.end < at)
			fail(w, "its pagemap is damaged");
		err = gr_runtime_append(rt, gr_native_range_vector, ranges,
					range);
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	if (!err)
		err = gr_sort(ranges->data, ranges->size, sizeof(*ranges->data),
			      compare_ranges, rt->poll, rt->poll_ctx);
	for (size_t i = 1; !err && i < ranges->size; i++)
		if (ranges->data[i].start < ranges->data[i - 1].end)
			fail(w, "its pagemap is damaged");
	return err;
}

/* Find the leaves, by the pages that they are for. */
static struct gr_error *find_leaves(struct walk *w)
{
	const struct gr_tcmalloc_heap *heap = &w->t->heap;
	const struct table root = { heap->root, 0 };
	struct gr_error *err;

	if (heap->levels == 2) {
		err = add_tables(w, &root, heap->top_bits, heap->leaf_bits,
				 &w->leaves);
	} else {
		err = add_tables(w, &root, heap->top_bits,
				 heap->mid_bits + heap->leaf_bits, &w->nodes);
		if (!err)
			err = check_tables(w, &w->nodes, heap->mid_bits);
		for (size_t i = 0; !err && !w->has_failed && i < w->nodes.size;
		     i++)
			err = add_tables(w, &w->nodes.data[i], heap->mid_bits,
					 heap->leaf_bits, &w->leaves);
	}
	return err ? err : check_tables(w, &w->leaves, heap->leaf_bits);
}

/* Read the word for a page; false if it is not at hand. */
static bool read_page(struct walk *w, uint64_t page, uint64_t *ret)
{
	const struct table_vector *list = &w->leaves;
	unsigned int bits = w->t->heap.leaf_bits;
	size_t n = gr_count_before(list->size, i, list->data[i].first <= page);

	if (!n || page - list->data[n - 1].first >= UINT64_C(1) << bits)
		return false;
	uint64_t at =
		list->data[n - 1].at + 8 * (page - list->data[n - 1].first);
	record(w->t, at, GR_WORD_BYTES);
	return gr_view_word(&w->t->r->view, at, ret);
}

// --------------------------------------------------------------------- spans

/* Is all of a range mapped? */
static bool is_mapped(const struct gr_tcmalloc *t, uint64_t start, uint64_t end)
{
	const struct gr_mapping *m;

	// Bounded by the mappings: each step passes one.
	while (start < end &&
	       (m = gr_native_mapping_at(t->r->spec->residency, start)))
		start = m->end;
	return start >= end;
}

/* Number the slots of a span. */
static void set_slots(struct walk *w, struct gr_tcmalloc_span *span)
{
	struct gr_tcmalloc *t = w->t;
	const struct gr_tcmalloc_sizes *sizes = &t->sizes;
	unsigned int class = span->size_class;

	if (span->place != GR_TCMALLOC_IN_USE || !class)
		return;
	if (class >= sizes->count ||
	    span->bytes != sizes->pages[class] << t->heap.shift ||
	    span->bytes < sizes->bytes[class] ||
	    span->bytes / sizes->bytes[class] > MOST_SLOTS ||
	    t->nslots + MOST_SLOTS > GR_NBLOCK_MAX) {
		fail(w, "a span of it is damaged");
		return;
	}
	span->first_slot = t->nslots;
	span->slots = span->bytes / sizes->bytes[class];
	t->nslots += span->slots;
	t->nspans[class]++;
}

/* Append the span at @p at, which the pagemap names for @p page. */
static struct gr_error *add_span(struct walk *w, uint64_t page, uint64_t at)
{
	struct gr_tcmalloc *t = w->t;
	unsigned int shift = t->heap.shift;
	uint64_t all = t->span_bytes[0] + t->span_bytes[1] + t->span_bytes[2];
	uint64_t most = (t->heap.system_bytes - all) >> shift;
	uint64_t word[SPAN_WORDS], last;

	if (at % GR_WORD_BYTES) {
		fail(w, "its spans are damaged");
		return NULL;
	}
	if (!gr_view_copy(&t->r->view, at, word, sizeof(word))) {
		w->has_failed = true;
		gr_arena_miss(gr_tcmalloc_arena(t));
		return NULL;
	}
	record(t, at, sizeof(word));
	struct gr_tcmalloc_span span = {
		.at = at,
		.start = page << shift,
		.bytes = word[1] << shift,
		.objects = word[4],
		.refcount = word[5],
		.size_class = word[5] >> 16,
		.place = word[5] >> 24 & 3,
		.is_sampled = word[5] >> 26 & 1,
	};
	if (word[0] != page || !word[1] || word[1] > most ||
	    span.place > GR_TCMALLOC_RETURNED ||
	    !read_page(w, page + word[1] - 1, &last) || last != at) {
		fail(w, "its spans are damaged");
		return NULL;
	}
	// Blocks are never more than the memory has room for.
	if (!is_mapped(t, span.start, span.start + span.bytes)) {
		fail(w, "its memory is not mapped");
		return NULL;
	}
	set_slots(w, &span);
	t->span_bytes[span.place] += span.bytes;
	w->next = page + word[1];
	return gr_runtime_append(t->r->spec->rt, gr_tcmalloc_span_vector,
				 &t->spans, span);
}

/* Append the spans that begin in a piece of a leaf, whose first word is for
 * @p page. */
static struct gr_error *add_spans(struct walk *w, uint64_t page,
				  const struct gr_range *piece)
{
	uint64_t n = (piece->end - piece->start) / GR_WORD_BYTES;
	struct gr_runtime *rt = w->t->r->spec->rt;
	struct gr_error *err = NULL;

	for (uint64_t i = 0; !err && !w->has_failed && i < n;) {
		if (page + i < w->next) {
			i = w->next - page;
			continue;
		}
		uint64_t word = gr_load_u64(piece->host + i * GR_WORD_BYTES);

		if (!word) {
			i++;
			continue;
		}
		record(w->t, piece->start + i * GR_WORD_BYTES, GR_WORD_BYTES);
		err = add_span(w, page + i, word);
		if (!err)
			err = gr_runtime_step(rt, 2);
	}
	return err ? err : gr_runtime_step(rt, n / 64 + 1);
}

static struct gr_error *walk_leaf(struct walk *w, const struct table *leaf)
{
	uint64_t at = leaf->at;
	uint64_t end = at + (UINT64_C(8) << w->t->heap.leaf_bits);
	struct gr_error *err = NULL;
	struct gr_range piece;

	// Bounded by the memory at hand: leaves do not overlap.
	while (!err && !w->has_failed &&
	       gr_view_piece(&w->t->r->view, at, end, &piece)) {
		uint64_t page = leaf->first + (piece.start - leaf->at) / 8;

		err = add_spans(w, page, &piece);
		at = piece.end;
	}
	return err;
}

struct gr_error *gr_tcmalloc_walk(struct gr_tcmalloc *t)
{
	_cleanup_(walk_deinit) struct walk w = { .t = t };
	struct gr_error *err = find_leaves(&w);

	for (size_t i = 0; !err && !w.has_failed && i < w.leaves.size; i++)
		err = walk_leaf(&w, &w.leaves.data[i]);
	return err;
}

// ------------------------------------------------------------------ metadata

struct memory {
	struct gr_tcmalloc *t;
	struct gr_native_range_vector runs;  /* of spans, by address */
	struct gr_native_range_vector known; /* structures, by address */
	struct gr_native_range_vector gaps;  /* that hold these, by address */
	uint64_t gap_bytes, known_bytes;
	uint64_t counted;   /* the address of the counter; 0: none fits */
	uint64_t window[2]; /* the words before, and their address */
	uint64_t window_at;
	struct gr_native_range chunk; /* the newest one */
};

static void memory_deinit(struct memory *m)
{
	gr_native_range_vector_deinit(&m->runs);
	gr_native_range_vector_deinit(&m->known);
	gr_native_range_vector_deinit(&m->gaps);
}

static struct gr_error *add_range(struct memory *m,
				  struct gr_native_range_vector *list,
				  uint64_t start, uint64_t end)
{
	const struct gr_native_range range = { start, end, m->t->arena };

	return gr_runtime_append(m->t->r->spec->rt, gr_native_range_vector,
				 list, range);
}

/* Append the memory of all spans, joined where they touch. */
static struct gr_error *add_runs(struct memory *m)
{
	const struct gr_tcmalloc_span_vector *list = &m->t->spans;
	struct gr_native_range_vector *runs = &m->runs;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < list->size; i++) {
		uint64_t start = list->data[i].start;
		uint64_t end = start + list->data[i].bytes;

		if (runs->size && runs->data[runs->size - 1].end == start)
			runs->data[runs->size - 1].end = end;
		else
			err = add_range(m, runs, start, end);
		if (!err)
			err = gr_runtime_step(m->t->r->spec->rt, 1);
	}
	return err;
}

/* Append the structures that were found. */
static struct gr_error *add_known(struct memory *m)
{
	struct gr_tcmalloc *t = m->t;
	struct gr_runtime *rt = t->r->spec->rt;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < t->tables.size; i++)
		err = add_range(m, &m->known, t->tables.data[i].start,
				t->tables.data[i].end);
	for (size_t i = 0; !err && i < t->caches.size; i++)
		err = add_range(m, &m->known, t->caches.data[i],
				t->caches.data[i] + t->layout->next + 16);
	for (size_t i = 0; !err && i < t->spans.size; i++) {
		const struct gr_tcmalloc_span *s = &t->spans.data[i];

		err = add_range(m, &m->known, s->at,
				s->at + GR_TCMALLOC_SPAN_BYTES);
		if (!err && s->is_sampled && s->objects)
			err = add_range(m, &m->known, s->objects,
					s->objects + GR_TCMALLOC_STACK_BYTES);
		if (!err)
			err = gr_runtime_step(rt, 2);
	}
	if (!err)
		err = gr_native_sort_ranges(rt, &m->known);
	for (size_t i = 0; !err && i < m->known.size; i++) {
		m->known_bytes += m->known.data[i].end - m->known.data[i].start;
		err = gr_runtime_step(rt, 1);
	}
	return err;
}

/* The memory between spans that holds @p at; false if there is none. */
static bool gap_at(const struct memory *m, uint64_t at,
		   struct gr_native_range *ret)
{
	const struct gr_native_range_vector *runs = &m->runs;
	const struct gr_mapping *map =
		gr_native_mapping_at(m->t->r->spec->residency, at);
	size_t n = gr_count_before(runs->size, i, runs->data[i].end <= at);

	if (!map || !(map->flags & PF_W) ||
	    (n < runs->size && runs->data[n].start <= at))
		return false;
	*ret = (struct gr_native_range){ map->start, map->end, m->t->arena };
	if (n && runs->data[n - 1].end > ret->start)
		ret->start = runs->data[n - 1].end;
	if (n < runs->size && runs->data[n].start < ret->end)
		ret->end = runs->data[n].start;
	return true;
}

/* Find the memory between spans that has structures. */
static struct gr_error *find_gaps(struct memory *m)
{
	struct gr_runtime *rt = m->t->r->spec->rt;
	struct gr_error *err = NULL;
	struct gr_native_range gap;
	uint64_t end = 0;

	for (size_t i = 0; !err && i < m->known.size; i++) {
		uint64_t at = m->known.data[i].start;

		// Bounded by the mappings and spans: each step passes one.
		for (at = at < end ? end : at;
		     !err && at < m->known.data[i].end; at = end) {
			if (!gap_at(m, at, &gap)) {
				gr_arena_fail(gr_tcmalloc_arena(m->t),
					      "its structures are damaged");
				return NULL;
			}
			end = gap.end;
			m->gap_bytes += gap.end - gap.start;
			err = add_range(m, &m->gaps, gap.start, gap.end);
			if (!err)
				err = gr_runtime_step(rt, 2);
		}
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	return err;
}

/* Is a word TCMalloc_SystemTaken: the spans, and all that is between them? */
static struct gr_error *try_counter(void *ctx, uint64_t at, uint64_t word)
{
	struct memory *m = ctx;
	const struct gr_tcmalloc_heap *heap = &m->t->heap;

	if (word == heap->system_bytes + m->gap_bytes && !m->counted &&
	    (at < heap->start || at >= heap->end + GR_TCMALLOC_STACK_BYTES))
		m->counted = at;
	return NULL;
}

/* Can three words be metadata_chunk_avail_, metadata_chunk_alloc_ and
 * metadata_system_bytes_? All structures that were found are metadata. Much more
 * than these and the memory of the program is no number of bytes, but the address
 * of something. */
static bool are_chunk_words(const struct memory *m, uint64_t left,
			    uint64_t alloc, uint64_t bytes)
{
	uint64_t all = m->t->heap.system_bytes + m->known_bytes + CHUNK_BYTES;

	return left && left < CHUNK_BYTES && !(left % CHUNK_ALIGNMENT) &&
	       alloc >= CHUNK_BYTES && !((alloc + left) % GR_PAGE_BYTES) &&
	       !(bytes % 8) && bytes >= CHUNK_BYTES - left &&
	       bytes >= m->known_bytes && bytes < all;
}

/* Does a word end the three words of the newest chunk? */
static struct gr_error *try_chunk(void *ctx, uint64_t at, uint64_t word)
{
	struct memory *m = ctx;
	uint64_t alloc = m->window[1];
	uint64_t left = m->window_at + 8 == at ? m->window[0] : 0;
	struct gr_native_range gap, chunk = { 0 };

	m->window[0] = m->window_at + 8 == at ? alloc : 0;
	m->window[1] = word;
	m->window_at = at;
	if (m->chunk.end || !are_chunk_words(m, left, alloc, word))
		return NULL;
	chunk.start = alloc + left - CHUNK_BYTES;
	chunk.end = chunk.start + CHUNK_BYTES;
	size_t n = gr_count_before(m->known.size, i,
				   m->known.data[i].end <= chunk.start);
	if (n < m->known.size && m->known.data[n].start < chunk.end &&
	    gap_at(m, chunk.start, &gap) && chunk.end <= gap.end) {
		m->chunk = chunk;
		record(m->t, at - 16, 24);
	}
	return gr_runtime_step(m->t->r->spec->rt, 8);
}

/* The end of the structures from number *@p i on that are cut from one piece, or
 * from pieces that touch. What is between them is surely metadata only if all
 * memory around is chunks: the program may have moved the break in between. */
static uint64_t join_known(const struct memory *m, size_t *i)
{
	const struct gr_native_range *list = m->known.data;
	struct gr_native_range gap;
	uint64_t end = list[*i].end;
	bool has_gap = gap_at(m, list[*i].start, &gap) &&
		       (gap.end - gap.start) % CHUNK_BYTES == 0;

	for (++*i; *i < m->known.size; ++*i) {
		if (!has_gap || list[*i].start - end >= PIECE_BYTES ||
		    list[*i].end > gap.end)
			break;
		end = list[*i].end;
	}
	return end;
}

/* Set the gaps to the newest piece and to what is known. */
static struct gr_error *use_known(struct memory *m)
{
	struct gr_error *err =
		gr_tcmalloc_each_word(m->t->r, m->t->path, try_chunk, m);

	m->gaps.size = 0;
	if (!err && m->chunk.end)
		err = add_range(m, &m->gaps, m->chunk.start, m->chunk.end);
	for (size_t i = 0; !err && i < m->known.size;) {
		size_t first = i;
		uint64_t end = join_known(m, &i);

		err = add_range(m, &m->gaps, m->known.data[first].start, end);
		if (!err)
			err = gr_runtime_step(m->t->r->spec->rt, i - first);
	}
	return err ? err : gr_native_sort_ranges(m->t->r->spec->rt, &m->gaps);
}

static struct gr_error *find_metadata(struct memory *m)
{
	struct gr_error *err = add_known(m);

	if (!err)
		err = find_gaps(m);
	if (!err)
		err = gr_tcmalloc_each_word(m->t->r, m->t->path, try_counter,
					    m);
	if (err || !m->counted)
		return err ? err : use_known(m);
	record(m->t, m->counted, GR_WORD_BYTES);
	return NULL;
}

// -------------------------------------------------------------------- memory

struct gr_error *gr_tcmalloc_add_memory(struct gr_tcmalloc *t)
{
	_cleanup_(memory_deinit) struct memory m = { .t = t };
	struct gr_error *err = add_runs(&m);

	if (!err)
		err = find_metadata(&m);
	for (size_t i = 0; !err && i < m.runs.size; i++) {
		uint64_t start = m.runs.data[i].start, end = m.runs.data[i].end;

		if (!gr_tcmalloc_meets_taken(t, start, end))
			err = gr_reader_add_memory(t->r, t->arena, start, end);
		if (!err)
			err = gr_runtime_step(t->r->spec->rt, 4);
	}
	for (size_t i = 0; !err && i < m.gaps.size; i++) {
		uint64_t start = m.gaps.data[i].start, end = m.gaps.data[i].end;

		err = gr_runtime_step(t->r->spec->rt, 4);
		if (err || gr_tcmalloc_meets_taken(t, start, end))
			continue;
		err = gr_reader_add_memory(t->r, t->arena, start, end);
		if (!err)
			err = gr_reader_add_other(t->r, t->arena, start, end);
	}
	return err;
}
