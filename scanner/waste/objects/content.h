/* SPDX-License-Identifier: Apache-2.0 */
/** content: the bytes of spans without pointers, one span at a time. */
#ifndef GR_WASTE_CONTENT_H
#define GR_WASTE_CONTENT_H

#include "goruntime/heap/heap.h"

/** Zero-initialised, nothing is at hand. */
struct gr_content {
	const struct gr_span *span; /**< The last one that was asked for. */
	const uint8_t *host;	    /**< Its bytes; NULL: object by object. */
	bool is_lasting; /**< They stay valid as long as the image. */
	uint8_t *copy;	 /**< Memory for bytes that are copied. */
	uint64_t copy_bytes;
	/** Spans or objects of which nothing could be read. */
	uint64_t missing;
};

void gr_content_deinit(struct gr_content *content);

/**
 * The bytes [addr, addr + bytes) of the objects of a span, valid until the next
 * call, or longer (content->is_lasting); NULL: they are not there.
 */
const uint8_t *gr_content_at(struct gr_content *content,
			     const struct gr_heap *heap,
			     const struct gr_span *span, uint64_t addr,
			     uint64_t bytes);

#endif /* GR_WASTE_CONTENT_H */
