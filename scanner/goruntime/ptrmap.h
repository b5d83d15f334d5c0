/* SPDX-License-Identifier: Apache-2.0 */
/**
 * ptrmap: which words of the heap are pointers, by the runtime's own maps.
 *
 * Each scheme that a Go release uses is one file behind one interface; the
 * first whose detect() says yes is taken. To add a scheme: a file with its
 * gr_ptrmap_ops, and a row in ptrmap.c, newest first.
 */
#ifndef GR_PTRMAP_H
#define GR_PTRMAP_H

#include "goruntime/heap.h"

/** One scheme. Bits may be set for free slots: callers look at `allocated`. */
struct gr_ptrmap_ops {
	const char *name; /**< As `info goref` prints it. */
	bool (*detect)(const struct gr_layout *layout);
	/** Plan memory outside of the spans that fill() will read, or NULL. */
	struct gr_error *(*plan)(struct gr_runtime *rt,
				 const struct gr_span *span);
	/**
	 * Set the pointer bits of one span that can hold pointers:
	 * bit first_word + i of @p words is word i of the span.
	 */
	struct gr_error *(*fill)(struct gr_runtime *rt,
				 const struct gr_span *span, uint64_t *words);
};

extern const struct gr_ptrmap_ops gr_ptrmap_header_ops;
extern const struct gr_ptrmap_ops gr_ptrmap_arena1_ops;
extern const struct gr_ptrmap_ops gr_ptrmap_arena2_ops;

/** Choose the scheme into rt->ptrmap and plan what it needs. Lazy image. */
struct gr_error *gr_ptrmap_prepare(struct gr_runtime *rt) GR_MUST_CHECK;

/**
 * The pointer words of all spans: a new bitmap of heap->nwords bits and
 * @p extra_words zero bits more. For free().
 */
struct gr_error *gr_ptrmap_build(struct gr_runtime *rt, uint64_t extra_words,
				 uint64_t **ret) GR_MUST_CHECK;

/* ptrmap_arena.c: heapArena.bitmap, of @p bits a word. */

/** Plan the maps of a span. */
struct gr_error *gr_arena_map_plan(struct gr_runtime *rt,
				   const struct gr_span *span,
				   unsigned int bits) GR_MUST_CHECK;

/**
 * The map of the words of a span from @p addr on, as far as one arena goes and
 * not beyond @p end: *@p ret_words of them. *@p ret is NULL, and that is a
 * gap, where there is none.
 */
struct gr_error *gr_arena_map_read(struct gr_runtime *rt, uint64_t addr,
				   uint64_t end, unsigned int bits,
				   const uint8_t **ret,
				   uint64_t *ret_words) GR_MUST_CHECK;

#endif /* GR_PTRMAP_H */
