/* SPDX-License-Identifier: Apache-2.0 */
/**
 * heap: spans, object numbers, pointer words. Source: runtime/mheap.go,
 * runtime/mbitmap.go, runtime/malloc.go.
 */
#ifndef GR_HEAP_H
#define GR_HEAP_H

#include "base/bitmap.h"
#include "base/vector.h"
#include "goruntime/layout/runtime.h"

/**
 * A run of pages holding equal-sized elements (runtime.mspan), in use.
 *
 * Invariant: base_addr + nelems * elem_bytes <= limit_addr <= the span's end.
 * Objects of the span are numbered first_obj .. first_obj + nelems - 1.
 */
struct gr_span {
	/* A visit reads only these members: they fill one cache line. */
	uint64_t base_addr;
	uint64_t limit_addr; /**< End of the object area. */
	uint64_t elem_bytes;
	const uint8_t *host; /**< Bytes at base_addr; NULL: noscan or torn. */
	uint64_t first_word; /**< Its first bit in the word bitmaps. */
	gr_obj first_obj;
	uint32_t nelems;
	uint32_t magic; /**< ceil(2^32 / elem_bytes); 0: one element. */
	uint8_t spanclass;
	bool is_noscan;
	uint8_t header_bytes; /**< 8: a type word before each element. */
	bool is_unswept;      /**< Not swept: dead slots count as used. */
	uint64_t large_type;  /**< mspan.largeType, or 0. */
	/* The other members. */
	uint64_t mspan_addr; /**< Address of the runtime.mspan. */
	uint64_t specials;   /**< First runtime.special, or 0. */
	uint32_t freeindex;  /**< Slots below it are allocated. */
	/**
	 * The slot that was allocated last, if it may not be initialised yet
	 * (mspan.freeIndexForScan has not passed it). UINT32_MAX: none.
	 */
	uint32_t fresh;
	/** Makes a span two cache lines; the array of spans is aligned. */
	uint8_t padding[40];
};
_Static_assert(sizeof(struct gr_span) == 128, "two cache lines");

enum {
	GR_PAGE_SHIFT = 13,
	GR_ARENA_SHIFT = 26,
	GR_HEAP_PAGE_BYTES = 1 << GR_PAGE_SHIFT,
	GR_CHUNK_PAGES = 1 << (GR_ARENA_SHIFT - GR_PAGE_SHIFT),
	GR_PAGE_WORDS = GR_HEAP_PAGE_BYTES / GR_WORD_BYTES,
	GR_SMALL_OBJECT_BYTES = 32 << 10, /* the largest size class */
};

/**
 * The facts about a heap page that a visit needs. A cache line holds eight
 * entries, so that the table of a large heap stays in the cache. A gr_span is
 * sixteen times as large.
 */
struct gr_page {
	gr_obj first_obj; /**< First object of its span. */
	uint8_t kind;	  /**< Index in heap->kinds; 0: ask the span. */
	uint8_t page_in_span;
};

/** The other facts about a page. */
struct gr_page_more {
	uint32_t span;	     /**< Its span's index + 1; 0: no span in use. */
	uint32_t scan_page;  /**< Index among pages that may hold pointers. */
	const uint8_t *host; /**< Bytes of such a page; NULL: unreadable. */
};

/** The pages of 64 MiB of address space. */
struct gr_chunk {
	struct gr_page pages[GR_CHUNK_PAGES];
	struct gr_page_more more[GR_CHUNK_PAGES];
	uint64_t arena; /**< Address of its runtime.heapArena, or 0. */
};

/** The properties shared by all spans of one small spanclass. */
struct gr_span_kind {
	uint32_t elem_bytes;
	uint32_t magic;	 /**< As gr_span.magic. */
	uint32_t nelems; /**< 0 in kind 0, which has no objects. */
	/**
	 * A type of at least this many bytes at an object's start explains
	 * the whole object. UINT32_MAX: the object's type word gives the type.
	 * 0: the object has no pointers, and nothing needs an explanation.
	 */
	uint32_t least_bytes;
	bool is_noscan;
	uint8_t header_bytes;
};

/**
 * The size of the smallest type that explains an object of @p bytes, or less:
 * a smaller one fits into the size class below. Large objects are rounded up to
 * a page of the heap. Blocks of the tiny allocator have several values. Source:
 * runtime/sizeclasses.go.
 */
static inline uint64_t gr_least_bytes(uint64_t bytes, bool is_noscan)
{
	if (bytes > GR_SMALL_OBJECT_BYTES)
		return bytes - (GR_HEAP_PAGE_BYTES - 1);
	if (bytes >= 32)
		return bytes - bytes / (bytes < 1024 ? 8 : 6) - 16;
	return bytes <= 8 || (is_noscan && bytes <= 16) ? 1 : bytes - 7;
}

/** A span that the runtime uses itself (mSpanManual): [base, end). */
struct gr_manual_span {
	uint64_t base_addr, end_addr;
	bool is_stack; /**< Goroutine stacks, perhaps free ones. */
};
GR_VECTOR(gr_manual_span_vector, struct gr_manual_span);

struct gr_ptrmap_ops;
struct gr_types;

/** The target's heap. It does not change after it is built. */
struct gr_heap {
	struct gr_runtime *rt;
	struct gr_types *types;
	const struct gr_ptrmap_ops *ptrmap; /**< The scheme of this target. */
	struct gr_span *spans;		    /**< In address order. */
	uint32_t nspans;
	struct gr_manual_span_vector manual_spans; /**< By address. */
	gr_obj nobjs;	     /**< Slots in total; object numbers are below. */
	uint64_t nwords;     /**< Words of spans that can hold pointers. */
	uint64_t span_bytes; /**< Their sizes; known once they are mapped. */
	uint64_t *allocated; /**< One bit per object: its slot is in use. */
	/** Allocation bits by span; NULL after gr_heap_fill(). */
	uint64_t *alloc_words;
	uint64_t allocated_objects, allocated_bytes;
	/** Allocations from spans cached by Ps that statistics do not count. */
	uint64_t cached_objects, cached_bytes;
	/** MemStats.HeapObjects and HeapAlloc from the runtime's statistics. */
	uint64_t stats_objects, stats_bytes;
	bool has_stats;
	/**
	 * A page table of two levels. Its chunks cover the addresses from
	 * first_chunk * 2^26 on. All chunks without a span are one shared
	 * empty chunk.
	 */
	uint64_t first_chunk, nchunks;
	struct gr_chunk **chunks;
	struct gr_span_kind kinds[256];
	/** The span index of each page that can hold pointers. */
	uint32_t *scan_page_spans;
};

/** The chunk that holds @p addr, or NULL if no chunk does. */
static inline struct gr_chunk *gr_heap_chunk_at(const struct gr_heap *heap,
						uint64_t addr)
{
	uint64_t chunk = (addr >> GR_ARENA_SHIFT) - heap->first_chunk;

	return GR_LIKELY(chunk < heap->nchunks) ? heap->chunks[chunk] : NULL;
}

/** The index of the page of @p addr in its chunk. */
static inline uint32_t gr_page_in_chunk(uint64_t addr)
{
	return addr >> GR_PAGE_SHIFT & (GR_CHUNK_PAGES - 1);
}

/** The span that holds @p addr, or NULL. @p addr may be any address. */
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

/** The place of an address in a small object, found by its page. */
struct gr_spot {
	const struct gr_span_kind *kind;
	gr_obj obj;
	uint32_t off; /**< Offset of the address in its object. */
	const struct gr_chunk *chunk;
};

/**
 * Find the object at @p addr by its page alone. @return false when @p addr is
 * in no object, or in a span of kind 0 (such as a large or torn one), which
 * gr_heap_object_at() handles.
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

enum { GR_TINY_BYTES = 16 }; /* runtime/malloc.go: _TinySize */

/** May its slots be blocks of the tiny allocator, which several values share? */
static inline bool gr_span_may_be_tiny(const struct gr_span *span)
{
	return (span->spanclass & 1) && span->elem_bytes <= GR_TINY_BYTES;
}

/** First byte of element @p index, its type word included. */
static inline uint64_t gr_span_slot_addr(const struct gr_span *span,
					 uint32_t index)
{
	return span->base_addr + (uint64_t)index * span->elem_bytes;
}

/** The first bit of element @p index in word bitmaps; not for noscan spans. */
static inline uint64_t gr_span_slot_word(const struct gr_span *span,
					 uint32_t index)
{
	return span->first_word + index * span->elem_bytes / GR_WORD_BYTES;
}

/**
 * True for a type record outside all modules' types. The runtime makes such a
 * record for one large object (runtime/mbitmap.go: heapSetTypeLarge); reflect
 * makes them, too.
 */
bool gr_heap_is_synthetic_type(const struct gr_runtime *rt, uint64_t addr);

/** The span of an object number (binary search: not for inner loops). */
const struct gr_span *gr_heap_span_of(const struct gr_heap *heap, gr_obj obj);

/** Address of an object's data: after its type word, if it has one. */
uint64_t gr_heap_object_addr(const struct gr_heap *heap, gr_obj obj);

static inline bool gr_heap_is_allocated(const struct gr_heap *heap, gr_obj obj)
{
	return gr_bitmap_test(heap->allocated, obj);
}

/**
 * Read allspans into a new heap: descriptors, object numbers, allocation bits,
 * page table. Also plan the memory of spans that can hold pointers. The image
 * is lazy. Spans with an invalid descriptor are gaps. The caller passes *@p
 * ret to gr_heap_destroy(), also after an error.
 */
struct gr_error *gr_heap_read(struct gr_runtime *rt, struct gr_types *types,
			      struct gr_heap **ret) GR_MUST_CHECK;

/**
 * Plan the memory of objects without pointers, too: the bytes of strings and
 * numbers, which questions on values read. The image is lazy.
 */
struct gr_error *gr_heap_plan_noscan(const struct gr_heap *heap) GR_MUST_CHECK;

/**
 * Fill in the bitmap of allocated objects and the totals. The process may run
 * during this step.
 */
struct gr_error *gr_heap_fill(struct gr_heap *heap) GR_MUST_CHECK;

/** Map the memory of spans that can hold pointers. Call it after capture. */
struct gr_error *gr_heap_map(struct gr_heap *heap) GR_MUST_CHECK;

/**
 * Read the runtime's own figures into heap->stats_*. Source: runtime/mstats.go
 * (readmemstats_m). has_stats stays false if they cannot be read.
 */
struct gr_error *gr_heap_read_stats(struct gr_heap *heap) GR_MUST_CHECK;

void gr_heap_destroy(struct gr_heap *heap);

#endif /* GR_HEAP_H */
