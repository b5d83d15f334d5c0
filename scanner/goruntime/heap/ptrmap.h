/* SPDX-License-Identifier: Apache-2.0 */
/**
 * ptrmap: which words of the heap are pointers, by the runtime's own maps.
 *
 * Each scheme that a Go release uses is one file behind one interface. The
 * first scheme whose detect() returns true is used. A new scheme needs a file
 * with its gr_ptrmap_ops and a row in ptrmap.c, where the newest comes first.
 */
#ifndef GR_PTRMAP_H
#define GR_PTRMAP_H

#include "goruntime/heap/heap.h"

/** One scheme. It may set bits of free slots: callers check `allocated`. */
struct gr_ptrmap_ops {
	const char *name; /**< `info goref` prints this name. */
	bool (*detect)(const struct gr_layout *layout);
	/** Plan memory outside the spans that fill() reads; may be NULL. */
	struct gr_error *(*plan)(const struct gr_heap *heap,
				 const struct gr_span *span);
	/**
	 * Set the pointer bits of one span that can hold pointers:
	 * bit first_word + i of @p words is word i of the span.
	 */
	struct gr_error *(*fill)(const struct gr_heap *heap,
				 const struct gr_span *span, uint64_t *words);
};

extern const struct gr_ptrmap_ops gr_ptrmap_header_ops;
extern const struct gr_ptrmap_ops gr_ptrmap_arena1_ops;
extern const struct gr_ptrmap_ops gr_ptrmap_arena2_ops;

/** The scheme of a target; NULL: it is not known. */
const struct gr_ptrmap_ops *gr_ptrmap_find(const struct gr_layout *layout);

/** Set heap->ptrmap and plan the memory of the scheme. The image is lazy. */
struct gr_error *gr_ptrmap_prepare(struct gr_heap *heap) GR_MUST_CHECK;

/**
 * Make the bitmap of the pointer words of all spans: heap->nwords bits, then
 * @p extra_words zero bits. The caller frees *@p ret with free().
 */
struct gr_error *gr_ptrmap_build(const struct gr_heap *heap,
				 uint64_t extra_words,
				 uint64_t **ret) GR_MUST_CHECK;

/**
 * Make the bitmap of the pointer words of one span, from bit 0 on; all zero if
 * the span has none. The caller frees *@p ret with free().
 */
struct gr_error *gr_ptrmap_build_span(const struct gr_heap *heap,
				      const struct gr_span *span,
				      uint64_t **ret) GR_MUST_CHECK;

/* ptrmap_arena.c reads heapArena.bitmap, with @p bits bits per word. */

/** Plan the maps of a span. */
struct gr_error *gr_arena_map_plan(const struct gr_heap *heap,
				   const struct gr_span *span,
				   unsigned int bits) GR_MUST_CHECK;

/**
 * Get the map of the words of a span from @p addr on. The map ends with the
 * arena or at @p end and covers *@p ret_words words. If there is no map, *@p
 * ret is NULL and a gap is counted.
 */
struct gr_error *gr_arena_map_read(const struct gr_heap *heap, uint64_t addr,
				   uint64_t end, unsigned int bits,
				   const uint8_t **ret,
				   uint64_t *ret_words) GR_MUST_CHECK;

#endif /* GR_PTRMAP_H */
