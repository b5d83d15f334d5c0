// SPDX-License-Identifier: Apache-2.0
/*
 * tcmalloc's structures lie in writable data of a file. Most symbols of them are
 * hidden, so that all are found by their shape. central_cache_ is an array of
 * lists, each with its own number and with two dummy spans, which lead to
 * themselves or to spans that lead back. The table of size classes proves
 * itself. The page heap has many dummy spans next to each other, and counters
 * behind them. thread_heaps_ leads to a list of caches, each of which repeats
 * the sizes of all classes.
 */
#include "native/allocators/tcmalloc.h"

#include "native/allocators/module_search.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "inferior/elf.h"

enum {
	/* Span */
	SPAN_NEXT = 16,
	SPAN_PREV = 24,
	/* CentralFreeList */
	LIST_CLASS = 8,
	LIST_EMPTY = 16,
	LIST_NONEMPTY = 64,
	LEAST_LISTS = 32,
	MOST_TORN_LISTS = 8, /* that a thread may be changing */
	/* SizeMap */
	SIZE_BATCH = 2172, /* num_objects_to_move_ */
	SIZE_MOST_BYTES = 4240,
	LEAST_CLASSES = 16,
	MOST_CLASS_PAGES = 4096,
	/* PageHeap */
	LEAST_SHIFT = 12,
	MOST_SHIFT = 18,
	ADDRESS_BITS = 48,
	MOST_ADDRESS_BITS = 47, /* of the program */
	SET_BYTES = 48,
	STAT_WORDS = 11,
	HEAP_CACHE_BITS = 16, /* pagemap_cache_ */
	HEAP_SLOW_CACHE_BITS = 12,
	LEAST_ADDRESS = 0x10000,
	/* Bss of a file that cannot be read. */
	MOST_BSS_BYTES = 16 << 20,
};

// --------------------------------------------------------------------- words

static struct gr_error *each_word_in(struct gr_native_reader *r,
				     const struct gr_mapping *m,
				     gr_tcmalloc_word *fn, void *ctx)
{
	uint64_t start = m->start;
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err && gr_view_part(&r->view, start, m->end, &piece)) {
		uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

		for (uint64_t i = 0; !err && i < n; i++) {
			uint64_t word =
				gr_load_u64(piece.host + i * GR_WORD_BYTES);

			if (word)
				err = fn(ctx, piece.start + i * GR_WORD_BYTES,
					 word);
		}
		if (!err)
			err = gr_runtime_step(r->spec->rt, n / 16 + 1);
		start = piece.end;
	}
	return err;
}

/* Cut what is no data of the file: bss may be joined with memory behind it, and
 * a mapping directly above data need not be bss. */
static struct gr_error *cut_data(struct gr_native_reader *r,
				 struct gr_mapping *m)
{
	struct gr_runtime *rt = r->spec->rt;

	if (m->path)
		return NULL;
	if (gr_image_module_at(rt->image, m->start) != SIZE_MAX)
		return gr_native_module_end(rt, m->start, m->end, &m->end);
	if (m->end - m->start > MOST_BSS_BYTES)
		m->end = m->start + MOST_BSS_BYTES;
	return NULL;
}

/* Call a function with each word of a part of a file's data. */
static struct gr_error *each_word_of(struct gr_native_reader *r,
				     const struct gr_module_data *data,
				     gr_tcmalloc_word *fn, void *ctx)
{
	struct gr_mapping m = data->mapping;
	struct gr_error *err = cut_data(r, &m);

	if (!err)
		err = each_word_in(r, &m, fn, ctx);
	return err ? err : gr_runtime_step(r->spec->rt, 1);
}

struct gr_error *gr_tcmalloc_each_word(struct gr_native_reader *r,
				       const char *path, gr_tcmalloc_word *fn,
				       void *ctx)
{
	struct gr_module_data data = { 0 };
	struct gr_error *err = NULL;

	while (!err && gr_module_data_next(r, &data)) {
		if (!strcmp(data.path, path))
			err = each_word_of(r, &data, fn, ctx);
		else
			err = gr_runtime_step(r->spec->rt, 1);
	}
	return err;
}

static bool has_zeros(struct gr_view *view, uint64_t at)
{
	return gr_view_has(view, at, 0) && gr_view_has(view, at + 8, 0);
}

/* Is a dummy span at @p at, the head of a list of spans? */
static bool is_ring(struct gr_view *view, uint64_t at)
{
	uint64_t next, prev;

	if (!has_zeros(view, at) ||
	    !gr_view_word(view, at + SPAN_NEXT, &next) ||
	    !gr_view_word(view, at + SPAN_PREV, &prev) || !next || !prev ||
	    (next == at) != (prev == at) || !has_zeros(view, at + 32))
		return false;
	return next == at || (gr_view_has(view, next + SPAN_PREV, at) &&
			      gr_view_has(view, prev + SPAN_NEXT, at));
}

// ------------------------------------------------------------------- central

/* How many lists are at @p central; and how many of these are torn? */
static uint32_t count_lists(struct gr_view *view, uint64_t central,
			    uint32_t bytes, uint32_t *torn)
{
	uint32_t n = 0;

	*torn = 0;
	for (; n < GR_TCMALLOC_MOST_CLASSES && *torn <= MOST_TORN_LISTS; n++) {
		uint64_t list = central + (uint64_t)n * bytes;

		if (!gr_view_has(view, list + LIST_CLASS, n))
			break;
		*torn += !is_ring(view, list + LIST_EMPTY) ||
			 !is_ring(view, list + LIST_NONEMPTY);
	}
	return n;
}

static bool is_central(struct gr_view *view, uint64_t central, uint32_t bytes,
		       bool *is_torn)
{
	uint32_t torn, n = count_lists(view, central, bytes, &torn);

	*is_torn = torn > 0;
	return n >= LEAST_LISTS && torn <= MOST_TORN_LISTS;
}

struct central_search {
	struct gr_native_reader *r;
	const char *path;
	struct gr_tcmalloc_instance *ret;
	size_t most, count;
};

/* Does a word lead to the dummy span that has it, that of class 0? */
static struct gr_error *try_central(void *ctx, uint64_t at, uint64_t word)
{
	static const uint32_t sizes[] = { GR_TCMALLOC_LIST_BYTES,
					  GR_TCMALLOC_SLOW_LIST_BYTES };
	struct central_search *s = ctx;
	struct gr_view *view = &s->r->view;
	uint64_t central = at - SPAN_NEXT - LIST_EMPTY;
	bool is_torn;

	if (GR_LIKELY(word != at - SPAN_NEXT) ||
	    !is_ring(view, central + LIST_EMPTY) ||
	    !is_ring(view, central + LIST_NONEMPTY))
		return NULL;
	for (size_t i = 0; i < GR_ARRAY_SIZE(sizes); i++) {
		if (s->count == s->most ||
		    !is_central(view, central, sizes[i], &is_torn))
			continue;
		s->ret[s->count++] = (struct gr_tcmalloc_instance){
			.central = central,
			.list_bytes = sizes[i],
			.is_torn = is_torn,
			.path = s->path,
		};
	}
	return gr_runtime_step(view->rt, GR_TCMALLOC_MOST_CLASSES);
}

struct gr_error *gr_tcmalloc_find_central(struct gr_native_reader *r,
					  struct gr_tcmalloc_instance *ret,
					  size_t most, size_t *count)
{
	struct central_search s = { .r = r, .ret = ret, .most = most };
	struct gr_module_data data = { 0 };
	struct gr_error *err = NULL;

	while (!err && gr_module_data_next(r, &data)) {
		s.path = data.path;
		err = each_word_of(r, &data, try_central, &s);
	}
	*count = s.count;
	return err;
}

void gr_tcmalloc_record_central(struct gr_native_reader *r,
				const struct gr_tcmalloc_instance *at)
{
	struct gr_view view = r->view;
	bool is_torn;

	view.is_recording = true;
	(void)is_central(&view, at->central, at->list_bytes, &is_torn);
}

// -------------------------------------------------------------- size classes

/** Where SizeMap has its tables. */
struct size_offsets {
	uint32_t bytes, pages, count, end;
};

static struct size_offsets offsets_of(const struct gr_tcmalloc_layout *layout)
{
	struct size_offsets o;

	o.bytes = SIZE_BATCH + 4 * layout->classes;
	o.pages = (o.bytes + 4 * layout->classes + 7) & ~7U;
	o.count = o.pages + 8 * layout->classes +
		  (layout->has_min_span ? GR_WORD_BYTES : 0);
	o.end = o.count + GR_WORD_BYTES;
	return o;
}

/* Does the look-up table name the first class that is large enough? */
static bool has_lookup(const struct gr_tcmalloc_sizes *sizes)
{
	uint32_t class = 1;

	for (uint32_t bytes = 0; bytes <= GR_TCMALLOC_MOST_SMALL_BYTES;
	     bytes += bytes < 1024 ? 8 : 128) {
		uint32_t at = bytes <= 1024 ? (bytes + 7) / 8 :
					      (bytes + 127 + (120 << 7)) / 128;

		// The last class is large enough for all.
		while (sizes->bytes[class] < bytes)
			class ++;
		if (sizes->class_of[at] != class)
			return false;
	}
	return true;
}

/* Can the tables be those of size classes? */
static bool are_sizes(const struct gr_tcmalloc_sizes *sizes, uint32_t most)
{
	uint32_t n = sizes->count;

	if (n < LEAST_CLASSES || n > most || sizes->bytes[0] ||
	    sizes->bytes[n - 1] != GR_TCMALLOC_MOST_SMALL_BYTES ||
	    !sizes->min_span || sizes->min_span > MOST_CLASS_PAGES)
		return false;
	for (uint32_t i = 1; i < n; i++)
		if (sizes->bytes[i] <= sizes->bytes[i - 1] ||
		    sizes->bytes[i] % GR_BLOCK_UNIT || !sizes->pages[i] ||
		    sizes->pages[i] > MOST_CLASS_PAGES || !sizes->batch[i])
			return false;
	for (uint32_t i = n; i < most; i++)
		if (sizes->bytes[i])
			return false;
	return has_lookup(sizes);
}

/* Read the size classes at @p at; false if there are none. */
static bool read_sizes(struct gr_tcmalloc *t, uint64_t at,
		       struct gr_tcmalloc_sizes *ret)
{
	const struct size_offsets o = offsets_of(t->layout);
	uint8_t host[SIZE_MOST_BYTES];

	memset(ret, 0, sizeof(*ret));
	if (!gr_view_copy(&t->r->view, at, host, o.end))
		return false;
	for (uint32_t i = 0; i < t->layout->classes; i++) {
		ret->bytes[i] = gr_load_u32(host + o.bytes + 4 * i);
		ret->batch[i] = gr_load_u32(host + SIZE_BATCH + 4 * i);
		ret->pages[i] = gr_load_u64(host + o.pages + 8 * i);
	}
	ret->min_span = t->layout->has_min_span ?
				gr_load_u64(host + o.count - GR_WORD_BYTES) :
				1;
	uint64_t count = gr_load_u64(host + o.count);
	ret->count = count <= t->layout->classes ? count : 0;
	memcpy(ret->class_of, host, sizeof(ret->class_of));
	return are_sizes(ret, t->layout->classes);
}

/* Is a word that of the classes 1 and 2? Their sizes are 8 and some bytes more. */
static struct gr_error *try_sizes(void *ctx, uint64_t at, uint64_t word)
{
	struct gr_tcmalloc *t = ctx;
	uint64_t second = word >> 32;
	struct gr_tcmalloc_sizes sizes;

	if ((uint32_t)word != 8 || second <= 8 || second > 64 || second % 8)
		return NULL;
	at -= offsets_of(t->layout).bytes + 4;
	if (read_sizes(t, at, &sizes)) {
		// Two of them are none.
		t->size_map = t->size_map ? UINT64_MAX : at;
		t->sizes = sizes;
	}
	return gr_runtime_step(t->r->spec->rt, 64);
}

static struct gr_error *find_sizes(struct gr_tcmalloc *t)
{
	struct gr_recorder *recorder = t->r->spec->rt->recorder;
	struct gr_error *err =
		gr_tcmalloc_each_word(t->r, t->path, try_sizes, t);

	if (t->size_map == UINT64_MAX)
		t->size_map = 0;
	if (!err && t->size_map && recorder)
		gr_recorder_add(recorder, t->size_map,
				offsets_of(t->layout).end);
	return err;
}

// ----------------------------------------------------------------- page heap

/* Set where things are in a page heap with free_ at @p free. */
static void set_heap(const struct gr_tcmalloc *t, struct gr_tcmalloc_heap *heap,
		     uint64_t free, unsigned int shift)
{
	bool is_slow = t->central_bytes == GR_TCMALLOC_SLOW_LIST_BYTES;
	unsigned int bits = ADDRESS_BITS - shift;

	heap->free = free;
	heap->shift = shift;
	heap->levels = is_slow ? 3 : 2;
	heap->mid_bits = is_slow ? (bits + 2) / 3 : 0;
	heap->leaf_bits = is_slow ? bits - 2 * heap->mid_bits : (bits + 1) / 2;
	heap->top_bits = bits - heap->mid_bits - heap->leaf_bits;
	heap->root = free - 2 * SET_BYTES - GR_WORD_BYTES -
		     (UINT64_C(8) << heap->top_bits);
	heap->start = heap->root -
		      (UINT64_C(8)
		       << (is_slow ? HEAP_SLOW_CACHE_BITS : HEAP_CACHE_BITS));
	heap->end =
		free + (UINT64_C(2) << (20 - shift)) * GR_TCMALLOC_SPAN_BYTES;
}

/* Is a std::set there, with a word before its header? */
static bool is_set(struct gr_view *view, uint64_t set)
{
	uint64_t word[5], header = set + 8;

	for (size_t i = 0; i < GR_ARRAY_SIZE(word); i++)
		if (!gr_view_word(view, header + 8 * i, &word[i]))
			return false;
	// Its color, and the root, the first and the last node, and their count.
	return !(uint32_t)word[0] && !word[4] == !word[1] &&
	       (word[4] || (word[2] == header && word[3] == header));
}

/* May the word lead to code? A core may lack the mapping. */
static bool is_code(const struct gr_tcmalloc *t, struct gr_view *view,
		    uint64_t at)
{
	uint64_t word;

	if (!gr_view_word(view, at, &word) || word < LEAST_ADDRESS ||
	    word >> MOST_ADDRESS_BITS)
		return false;
	const struct gr_mapping *m =
		gr_native_mapping_at(t->r->spec->residency, word);

	return !m || !(m->flags & PF_W);
}

/* Read the counters behind free_; false if they cannot be such. */
static bool read_stats(struct gr_view *view, struct gr_tcmalloc_heap *heap)
{
	uint64_t page = (UINT64_C(1) << heap->shift) - 1;
	uint64_t word[STAT_WORDS];

	for (size_t i = 0; i < STAT_WORDS; i++)
		if (!gr_view_word(view, heap->end + 8 * i, &word[i]))
			return false;
	heap->system_bytes = word[0];
	heap->free_bytes = word[1];
	heap->unmapped_bytes = word[2];
	// committed_bytes, total_reserve_bytes
	heap->is_torn |= word[3] + word[2] != word[0] || word[10] != word[0];
	return word[0] && !(word[0] & page);
}

/* Is the free_ of a page heap with pages of 2^@p shift bytes at @p free? */
static bool is_heap(const struct gr_tcmalloc *t, struct gr_view *view,
		    uint64_t free, unsigned int shift,
		    struct gr_tcmalloc_heap *heap)
{
	uint64_t n = UINT64_C(2) << (20 - shift), torn = 0;

	memset(heap, 0, sizeof(*heap));
	set_heap(t, heap, free, shift);
	if (!is_code(t, view, free - 2 * SET_BYTES - GR_WORD_BYTES) ||
	    !is_set(view, free - 2 * SET_BYTES) ||
	    !is_set(view, free - SET_BYTES) || !read_stats(view, heap) ||
	    is_ring(view, heap->end))
		return false;
	for (uint64_t i = 0; i < n && torn <= n / 32; i++)
		torn += !is_ring(view, free + i * GR_TCMALLOC_SPAN_BYTES);
	heap->is_torn |= torn > 0;
	return torn <= n / 32;
}

/* Is a word the link of the first dummy span of free_, to itself or a span? */
static struct gr_error *try_heap(void *ctx, uint64_t at, uint64_t word)
{
	struct gr_tcmalloc *t = ctx;
	struct gr_view *view = &t->r->view;
	uint64_t free = at - SPAN_NEXT;
	struct gr_tcmalloc_heap heap;

	if (word % GR_WORD_BYTES || word < LEAST_ADDRESS ||
	    !is_ring(view, free) ||
	    !is_code(t, view, free - 2 * SET_BYTES - GR_WORD_BYTES))
		return NULL;
	for (unsigned int shift = LEAST_SHIFT; shift <= MOST_SHIFT; shift++) {
		if (!is_heap(t, view, free, shift, &heap))
			continue;
		// Two of them are none.
		if (t->heap.free)
			heap.free = UINT64_MAX;
		t->heap = heap;
		break;
	}
	return gr_runtime_step(view->rt, 1024);
}

static struct gr_error *find_heap(struct gr_tcmalloc *t)
{
	struct gr_error *err =
		gr_tcmalloc_each_word(t->r, t->path, try_heap, t);
	struct gr_view view = t->r->view;
	struct gr_tcmalloc_heap heap;

	if (t->heap.free == UINT64_MAX)
		t->heap.free = 0;
	view.is_recording = true;
	// Record what it was told by.
	if (!err && t->heap.free)
		(void)is_heap(t, &view, t->heap.free, t->heap.shift, &heap);
	return err;
}

struct gr_error *gr_tcmalloc_find(struct gr_tcmalloc *t)
{
	struct gr_error *err = find_sizes(t);

	return err ? err : find_heap(t);
}
