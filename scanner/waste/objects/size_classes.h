/* SPDX-License-Identifier: Apache-2.0 */
/** size_classes: the slot that the target's allocator gives to a size. Source:
 * runtime/malloc.go (mallocgc), runtime/sizeclasses.go. */
#ifndef GR_WASTE_SIZE_CLASSES_H
#define GR_WASTE_SIZE_CLASSES_H

#include "goruntime/heap/heap.h"

enum { GR_MAX_SIZE_CLASSES = 256, GR_SLOT_TABLE_BYTES = 1024 };

struct gr_size_classes {
	uint32_t bytes[GR_MAX_SIZE_CLASSES]; /**< Rising; [0] is 0. */
	uint32_t count;
	/** Objects with pointers of more bytes than this have a malloc header
	 * of 8 bytes; UINT64_MAX: there are no headers. */
	uint64_t header_above;
	/** By size in words, up to GR_SLOT_TABLE_BYTES: the slot. */
	uint32_t slot_of_words[GR_SLOT_TABLE_BYTES / GR_WORD_BYTES + 1];
};

/** Read the target's classes. */
struct gr_error *
gr_size_classes_read(const struct gr_heap *heap,
		     struct gr_size_classes *ret) GR_MUST_CHECK;

/** Fill slot_of_words of classes that have all else: for tests. */
void gr_size_classes_finish(struct gr_size_classes *classes);

/** The slot of a new object of @p bytes, with its malloc header; 0 of 0 bytes.
 * An object without pointers below 16 bytes gets the slot of its class, as
 * if the tiny allocator did not exist. */
uint64_t gr_slot_of(const struct gr_size_classes *classes, uint64_t bytes,
		    bool is_noscan);

#endif /* GR_WASTE_SIZE_CLASSES_H */
