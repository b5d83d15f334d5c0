/* SPDX-License-Identifier: Apache-2.0 */
/**
 * edges: every pointer of the heap and of the roots.
 *
 * Edges come from the collector's own maps, which are read afresh. They include
 * pointers that a walk skips or defers for billing. They come in the order of
 * addresses of the spans; those of roots come in the order of the list.
 */
#ifndef GR_EDGES_H
#define GR_EDGES_H

#include "base/bitmap.h"
#include "goruntime/roots/roots.h"
#include "mark/marking.h"
#include "native/blocks.h"

/** A pointer to an object that is allocated, or to a block of C. */
struct gr_edge {
	gr_obj from;	/**< GR_OBJ_NONE: a root. */
	gr_obj to;	/**< GR_OBJ_NONE: a block. */
	uint32_t block; /**< Its number, or GR_BLOCK_NONE. */

	/** If a root: its index in roots->list. */
	uint32_t root;
	/** The word lies in no region of the list: root is the index of its
	 * area in areas.areas. */
	bool is_area;
	/** Found conservatively: it may not be a pointer. */
	bool is_doubtful;
	/** Its slot was allocated last and may not be initialised. */
	bool is_fresh;
	uint64_t value; /**< The pointer, into any byte of the object. */
	/** Address of the word that holds the pointer; 0: not in memory. */
	uint64_t addr;
};

/** A callback that takes edges as they come; an error ends the enumeration. */
typedef struct gr_error *(*gr_edges_emit)(void *ctx,
					  const struct gr_edge *edges,
					  size_t count);

/** The source of edges. */
struct gr_edge_source {
	const struct gr_heap *heap;
	const struct gr_roots *roots;
	/** Fresh pointer bits (gr_ptrmap_build()). */
	const uint64_t *words;
	/** A bit a slot: only edges out of these objects. */
	const uint64_t *objects;
	/** NULL: only edges to objects. */
	struct gr_blocks *blocks;
	/** NULL, or called for each pointer that leads neither to an object nor
	 * to a block; its to and block mean nothing. */
	void (*emit_other)(void *ctx, const struct gr_edge *edge);

	/** Asked every few thousand words; an error ends the enumeration. */
	struct gr_error *(*poll)(void *ctx);
	void *poll_ctx;
};

/** The words of an object. They are bits [first, end) of the pointer bits. */
struct gr_object_words {
	uint64_t first, end;
	uint64_t addr;	     /**< The first word's. */
	const uint8_t *host; /**< Its bytes. */
};

/** Can the objects of a span have edges? */
static inline bool gr_span_has_edges(const struct gr_span *span)
{
	return !span->is_noscan && span->host;
}

/** The words of element @p index of a span that can have edges. */
static inline struct gr_object_words gr_object_words(const struct gr_span *span,
						     uint32_t index)
{
	uint64_t header = span->header_bytes;
	uint64_t off = index * span->elem_bytes + header;
	uint64_t first = span->first_word + off / GR_WORD_BYTES;
	uint64_t bytes = span->elem_bytes - header;

	return (struct gr_object_words){
		.first = first,
		.end = first + bytes / GR_WORD_BYTES,
		.addr = span->base_addr + off,
		/* Memory that was not read has none. */
		.host = span->host ? span->host + off : NULL,
	};
}

/** The most bytes of an object that the collector scans at once
 * (runtime/mgcmark.go: maxObletBytes). */
enum { GR_OBLET_BYTES = 128 << 10 };

/**
 * Is a word of an object with a finalizer no edge from that finalizer? The
 * collector scans such an object, but does not mark it, and a scan passes by
 * pointers into the part of the object that it scans (runtime/mgcmark.go:
 * markrootSpans, scanobject).
 *
 * @param slot_addr Address of the object's slot, of @p slot_bytes.
 * @param addr Address of the word in the slot.
 */
static inline bool gr_is_passed_by(uint64_t slot_addr, uint64_t slot_bytes,
				   uint64_t addr, uint64_t value)
{
	uint64_t part = (addr - slot_addr) / GR_OBLET_BYTES * GR_OBLET_BYTES;
	uint64_t bytes = slot_bytes - part;

	return value - slot_addr - part <
	       (bytes < GR_OBLET_BYTES ? bytes : GR_OBLET_BYTES);
}

/** The object that the pointer @p value leads into, allocated or free; or
 * GR_OBJ_NONE. */
static inline gr_obj gr_edge_target(const struct gr_heap *heap, uint64_t value)
{
	const struct gr_span *span;
	struct gr_spot at;

	if (GR_LIKELY(gr_heap_spot(heap, value, &at)))
		return at.obj;
	return gr_heap_object_at(heap, value, &span);
}

/**
 * Edges out of roots. Those of the list come first, each with the live words of
 * its region that no root before it has; then come the live words of areas
 * (data, bss, stacks) that no region covers. Each word comes once.
 */
struct gr_error *gr_edges_of_roots(const struct gr_edge_source *source,
				   gr_edges_emit emit, void *ctx) GR_MUST_CHECK;

/** Edges of all spans and of the roots, with fresh pointer bits. With a @p
 * marking, only those out of objects that it has reached; with NULL, out of all
 * allocated objects. emit_other, which may be NULL, is that of a
 * gr_edge_source. The runtime is polled. */
struct gr_error *
gr_for_each_edge(const struct gr_heap *heap, const struct gr_roots *roots,
		 const struct gr_marking *marking, gr_edges_emit emit,
		 void (*emit_other)(void *ctx, const struct gr_edge *edge),
		 void *ctx) GR_MUST_CHECK;

#endif /* GR_EDGES_H */
