/* SPDX-License-Identifier: Apache-2.0 */
/**
 * allocator: the interface to one C allocator. Each allocator is a file, or
 * files that begin with its name, behind it.
 */
#ifndef GR_ALLOCATOR_H
#define GR_ALLOCATOR_H

#include "native/native.h"

/** The input of an allocator, and where it puts what it has found. */
struct gr_native_reader {
	const struct gr_native_spec *spec;
	struct gr_view view;
	struct gr_native *native;
	/** The memory of the allocators that were read before, by address. */
	struct gr_native_range_vector taken;
};

/** An allocator that may be in the program. */
struct gr_allocator {
	const char *name;
	/**
	 * Find it, by symbols or by the shape of its structures; walk its
	 * arenas; and check each against the allocator's own counters. Appends
	 * the allocator with its arenas, memory and blocks, or nothing if the
	 * program does not have it. If the program has several copies, each
	 * becomes an allocator. Walks are bounded: an arena by its memory, a
	 * list by its blocks.
	 *
	 * The blocks of an arena are appended whether it is checked or not;
	 * gr_native_read() drops those of arenas that are not.
	 */
	struct gr_error *(*read)(struct gr_native_reader *r);
};

/** glibc 2.28 to 2.41 (malloc/malloc.c, malloc/arena.c). */
extern const struct gr_allocator gr_allocator_glibc;

/** jemalloc 5.2.1, 5.3.0 and 5.3.1. */
extern const struct gr_allocator gr_allocator_jemalloc;

/** mimalloc 2.0.9 to 2.4.1. */
extern const struct gr_allocator gr_allocator_mimalloc;

/** musl 1.2.1 to 1.2.5 (src/malloc/mallocng). */
extern const struct gr_allocator gr_allocator_musl;

/** gperftools' tcmalloc 2.7, and 2.8.1 to 2.18.1. */
extern const struct gr_allocator gr_allocator_tcmalloc;

#endif /* GR_ALLOCATOR_H */
