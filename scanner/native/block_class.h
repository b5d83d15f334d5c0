/* SPDX-License-Identifier: Apache-2.0 */
/**
 * block_class: which class of C++ a block is an object of, by its vtable. The
 * first word of an object leads to the third word of the vtable of its class
 * (Itanium C++ ABI, section Virtual Table Layout), which has a symbol also in
 * files without debug information. Vtables of bases further on in an object, and
 * those of classes with virtual bases, are not looked for.
 *
 * `new T[n]' of a class with a destructor puts n before the first object. Such a
 * block is an array only if n is more than one, if the block has room for no more
 * than n, and if each object has the vtable.
 */
#ifndef GR_BLOCK_CLASS_H
#define GR_BLOCK_CLASS_H

#include "native/blocks.h"
#include "native/view.h"

enum { GR_CLASS_SLOTS = 1 << 10 };

/** A word that was asked for; it has no name if it leads to no vtable. */
struct gr_class_slot {
	uint64_t word;
	const char *name;
	uint32_t module;
};

struct gr_classes {
	struct gr_view view;
	struct gr_blocks *blocks;
	struct gr_class_slot slots[GR_CLASS_SLOTS];
};

/** The class of a block. */
struct gr_block_class {
	const char *name; /**< In rt->arena; NULL: nothing is known. */
	uint32_t module;  /**< The vtable's. */
	/** The objects of an array, and the bytes of each; else 0. */
	uint64_t count, stride;
};

/** @p classes may be large: it is not for the stack. */
void gr_classes_init(struct gr_classes *classes, struct gr_runtime *rt,
		     struct gr_blocks *blocks);

struct gr_error *gr_block_class_find(struct gr_classes *classes,
				     const struct gr_block *block,
				     struct gr_block_class *ret) GR_MUST_CHECK;

#endif /* GR_BLOCK_CLASS_H */
