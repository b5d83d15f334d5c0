/* SPDX-License-Identifier: Apache-2.0 */
/**
 * heap: spans, object numbers, pointer words. Source: runtime/mheap.go,
 * runtime/mbitmap.go, runtime/malloc.go.
 */
#ifndef GR_HEAP_H
#define GR_HEAP_H

#include "base/bitmap.h"
#include "goruntime/runtime.h"

/**
 * A run of pages holding equal-sized elements (runtime.mspan), in use.
 *
 * Invariant: base_addr + nelems * elem_bytes <= limit_addr <= the span's end.
 * Objects of the span are numbered first_obj .. first_obj + nelems - 1.
 */
struct gr_span {
	/* What a visit looks at: one cache line. */
	uint64_t base_addr;
	uint64_t limit_addr; /**< End of the object area. */
	uint64_t elem_bytes;
	const uint8_t *host; /**< Bytes at base_addr, NULL if noscan/torn. */
	uint64_t first_word; /**< Index in the bitmaps of words. */
	gr_obj first_obj;
	uint32_t nelems;
	uint32_t magic; /**< ceil(2^32 / elem_bytes); 0: one element. */
	uint8_t spanclass;
	bool is_noscan;
	uint8_t header_bytes; /**< 8: a type word before each element. */
	bool is_unswept;      /**< Its free slots are not yet told apart. */
	uint64_t large_type;  /**< mspan.largeType, or 0. */
	/* The rest. */
	uint64_t mspan_addr; /**< Of the runtime.mspan. */
	uint64_t specials;   /**< First runtime.special, or 0. */
	uint32_t freeindex;  /**< Slots below it were given out. */
	/**
	 * The slot that was given out last and is perhaps not yet initialised
	 * (mspan.freeIndexForScan has not passed it); UINT32_MAX: none.
	 */
	uint32_t fresh;
	/** Spans lie in an array of aligned lines of 64 bytes. */
	uint8_t padding[40];
};
_Static_assert(sizeof(struct gr_span) == 128, "two cache lines");

enum {
	GR_PAGE_SHIFT = 13,
	GR_ARENA_SHIFT = 26,
	GR_HEAP_PAGE_BYTES = 1 << GR_PAGE_SHIFT,
	GR_CHUNK_PAGES = 1 << (GR_ARENA_SHIFT - GR_PAGE_SHIFT),
	GR_PAGE_WORDS = GR_HEAP_PAGE_BYTES / GR_WORD_BYTES,
};

/**
 * What a visit must know of a page of the heap. Eight to a cache line, so that
 * the table of a large heap stays near: spans are sixteen times its size.
 */
struct gr_page {
	gr_obj first_obj; /**< Of its span. */
	uint8_t kind;	  /**< Of heap->kinds; 0: only the span tells. */
	uint8_t page_in_span;
};

/** The rest of what is known of a page. */
struct gr_page_more {
	uint32_t span;	     /**< Number of its span + 1; 0: none in use. */
	uint32_t scan_page;  /**< Number among pages that can hold pointers. */
	const uint8_t *host; /**< Bytes of those; NULL: not to be read. */
};

/** What is known of 64 MiB of addresses. */
struct gr_chunk {
	struct gr_page pages[GR_CHUNK_PAGES];
	struct gr_page_more more[GR_CHUNK_PAGES];
	uint64_t arena; /**< Of the runtime.heapArena there, or 0. */
};

/** What all spans of one spanclass have in common, small sizes only. */
struct gr_span_kind {
	uint32_t elem_bytes;
	uint32_t magic;	 /**< As gr_span.magic. */
	uint32_t nelems; /**< 0: of kind 0, which holds nothing. */
	/**
	 * A type of so many bytes at an object's start explains the object:
	 * size classes waste at most an eighth. UINT32_MAX: its type word
	 * tells. Of objects without pointers 0: nothing is to be explained.
	 */
	uint32_t least_bytes;
	bool is_noscan;
	uint8_t header_bytes;
};

/** The same, for an object of @p bytes. */
#define GR_LEAST_BYTES(bytes) ((bytes) - (bytes) / 8 - 16)

/**
 * What is known of an object: flags of a byte each, so that a visit looks at
 * one and compares it with one value.
 */
enum gr_object_state {
	GR_OBJECT_ALLOCATED = 1, /**< The slot is in use. */
	GR_OBJECT_COUNTED = 2,	 /**< The walk has counted it. */
	/** A type that covers it was queued, or is not needed: no pointers. */
	GR_OBJECT_WHOLE = 4,
	GR_OBJECT_BARRIER = 8,	/**< The scheduler's: not followed for now. */
	GR_OBJECT_UNTYPED = 16, /**< Counted, and nothing has named it yet. */
};

struct gr_heap {
	struct gr_span *spans; /**< In address order. */
	uint32_t nspans;
	gr_obj nobjs;	 /**< Slots in all; numbers are below it. */
	uint64_t nwords; /**< Words of spans that can hold pointers. */
	uint8_t *states; /**< enum gr_object_state of each object. */
	/** Allocation bits by span, until they become states; else NULL. */
	uint64_t *alloc_words;
	uint64_t allocated_objects, allocated_bytes;
	/** What spans cached by Ps gave out since, not yet in the statistics. */
	uint64_t cached_objects, cached_bytes;
	/** MemStats.HeapObjects and HeapAlloc, by the runtime's statistics. */
	uint64_t stats_objects, stats_bytes;
	bool has_stats;
	/**
	 * Pages in two levels: chunks of addresses from first_chunk * 2^26 on.
	 * Between those of spans there is one that is empty.
	 */
	uint64_t first_chunk, nchunks;
	struct gr_chunk **chunks;
	struct gr_span_kind kinds[256];
	/** Number of the span of each page that can hold pointers. */
	uint32_t *scan_page_spans;
};

/** What is known of the chunk that holds @p addr; NULL: outside of all. */
static inline struct gr_chunk *gr_heap_chunk_at(const struct gr_heap *heap,
						uint64_t addr)
{
	uint64_t chunk = (addr >> GR_ARENA_SHIFT) - heap->first_chunk;

	return GR_LIKELY(chunk < heap->nchunks) ? heap->chunks[chunk] : NULL;
}

/** Number of its page in the chunk. */
static inline uint32_t gr_page_in_chunk(uint64_t addr)
{
	return addr >> GR_PAGE_SHIFT & (GR_CHUNK_PAGES - 1);
}

/** The span that holds @p addr, or NULL. Any address is fine. */
static inline const struct gr_span *gr_heap_span_at(const struct gr_heap *heap,
						    uint64_t addr)
{
	const struct gr_chunk *chunk = gr_heap_chunk_at(heap, addr);
	uint32_t span = chunk ? chunk->more[gr_page_in_chunk(addr)].span : 0;

	return span ? &heap->spans[span - 1] : NULL;
}

/** Bytes from the start of the span of @p page to @p addr. */
static inline uint32_t gr_page_off(const struct gr_page *page, uint64_t addr)
{
	return (uint32_t)page->page_in_span << GR_PAGE_SHIFT |
	       (addr & (GR_HEAP_PAGE_BYTES - 1));
}

/** Where an address lies in a small object: what its page tells. */
struct gr_spot {
	const struct gr_span_kind *kind;
	gr_obj obj;
	uint32_t off; /**< Of the address in its object. */
	const struct gr_chunk *chunk;
};

/**
 * Find @p addr by its page alone. @return false when it lies in no object, or
 * in one of a span that is not like the others (large, torn): then
 * gr_heap_object_at() knows.
 */
static inline bool gr_heap_spot(const struct gr_heap *heap, uint64_t addr,
				struct gr_spot *ret)
{
	uint64_t i = (addr >> GR_ARENA_SHIFT) - heap->first_chunk;

	if (GR_UNLIKELY(i >= heap->nchunks))
		return false;
	ret->chunk = heap->chunks[i];
	const struct gr_page *page = &ret->chunk->pages[gr_page_in_chunk(addr)];
	const struct gr_span_kind *kind = &heap->kinds[page->kind];
	uint32_t off = gr_page_off(page, addr);
	uint32_t index = (uint64_t)off * kind->magic >> 32;
	if (GR_UNLIKELY(index >= kind->nelems))
		return false;
	ret->kind = kind;
	ret->obj = page->first_obj + index;
	ret->off = off - index * kind->elem_bytes;
	return true;
}

/** Fetch the state of the object that @p addr is perhaps in. */
static inline void gr_heap_prefetch_state(const struct gr_heap *heap,
					  uint64_t addr)
{
	uint64_t i = (addr >> GR_ARENA_SHIFT) - heap->first_chunk;

	if (GR_UNLIKELY(i >= heap->nchunks))
		return;
	const struct gr_page *page =
		&heap->chunks[i]->pages[gr_page_in_chunk(addr)];
	gr_prefetch(&heap->states[page->first_obj +
				  ((uint64_t)gr_page_off(page, addr) *
					   heap->kinds[page->kind].magic >>
				   32)]);
}

/** The page of an address that gr_heap_spot() found @p at. */
static inline const struct gr_page_more *gr_spot_page(const struct gr_spot *at,
						      uint64_t addr)
{
	return &at->chunk->more[gr_page_in_chunk(addr)];
}

/** The runtime.heapArena that describes @p addr, or 0. */
static inline uint64_t gr_heap_arena_at(const struct gr_heap *heap,
					uint64_t addr)
{
	const struct gr_chunk *chunk = gr_heap_chunk_at(heap, addr);

	return chunk ? chunk->arena : 0;
}

/** Index in its span of the element at @p off bytes from the base. */
static inline uint32_t gr_span_index(const struct gr_span *span, uint64_t off)
{
	return (uint64_t)(uint32_t)off * span->magic >> 32;
}

/** The object that @p addr points into (any byte of it), or GR_OBJ_NONE. */
static inline gr_obj gr_heap_object_at(const struct gr_heap *heap,
				       uint64_t addr,
				       const struct gr_span **ret_span)
{
	const struct gr_span *span = gr_heap_span_at(heap, addr);
	if (!span || addr >= span->limit_addr)
		return GR_OBJ_NONE;
	*ret_span = span;
	return span->first_obj + gr_span_index(span, addr - span->base_addr);
}

/** First byte of element @p index, its type word included. */
static inline uint64_t gr_span_slot_addr(const struct gr_span *span,
					 uint32_t index)
{
	return span->base_addr + (uint64_t)index * span->elem_bytes;
}

/** Bit of its first word in bitmaps of words; of spans with pointers. */
static inline uint64_t gr_span_slot_word(const struct gr_span *span,
					 uint32_t index)
{
	return span->first_word + index * span->elem_bytes / GR_WORD_BYTES;
}

/**
 * True for a type record outside all modules' types: made by the runtime for
 * one large object (runtime/mbitmap.go: heapSetTypeLarge), or by reflect.
 */
bool gr_heap_is_synthetic_type(const struct gr_runtime *rt, uint64_t addr);

/** The span of an object number (binary search: not for inner loops). */
const struct gr_span *gr_heap_span_of(const struct gr_heap *heap, gr_obj obj);

/** Address of an object's data: after its type word, if it has one. */
uint64_t gr_heap_object_addr(const struct gr_heap *heap, gr_obj obj);

static inline bool gr_heap_is_counted(const struct gr_heap *heap, gr_obj obj)
{
	return heap->states[obj] & GR_OBJECT_COUNTED;
}

static inline bool gr_heap_is_allocated(const struct gr_heap *heap, gr_obj obj)
{
	return heap->states[obj] & GR_OBJECT_ALLOCATED;
}

/**
 * Read allspans into rt->heap: descriptors, object numbers, allocation bits,
 * page table; plan the memory of spans that can hold pointers. Lazy image.
 * Spans whose descriptor makes no sense are gaps.
 */
struct gr_error *gr_heap_read(struct gr_runtime *rt) GR_MUST_CHECK;

/**
 * The rest of it, for which a process need not stand still: states of objects
 * and what is allocated in all.
 */
struct gr_error *gr_heap_fill(struct gr_runtime *rt) GR_MUST_CHECK;

/** Map the spans' memory (spans that can hold pointers). After capture. */
struct gr_error *gr_heap_map(struct gr_runtime *rt) GR_MUST_CHECK;

/**
 * The runtime's own figures into heap->stats_*. Source: runtime/mstats.go
 * (readmemstats_m). has_stats stays false where they cannot be read.
 */
struct gr_error *gr_heap_read_stats(struct gr_runtime *rt) GR_MUST_CHECK;

void gr_heap_destroy(struct gr_heap *heap);

#endif /* GR_HEAP_H */
