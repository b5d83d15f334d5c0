/* SPDX-License-Identifier: Apache-2.0 */
/**
 * alloc_names: the functions of allocators of C and C++, and the meaning of
 * their arguments. Sources: malloc(3), posix_memalign(3), the Itanium C++ ABI
 * (names of the operators), and the headers of jemalloc 5, gperftools 2 and
 * mimalloc 2.
 */
#ifndef GR_ALLOC_NAMES_H
#define GR_ALLOC_NAMES_H

#include "base/base.h"

/** A function's purpose, and where its arguments are. */
enum gr_alloc_kind {
	GR_ALLOC_MALLOC,	 /**< (size) */
	GR_ALLOC_CALLOC,	 /**< (count, size) */
	GR_ALLOC_REALLOC,	 /**< (old, size) */
	GR_ALLOC_REALLOCARRAY,	 /**< (old, count, size) */
	GR_ALLOC_ALIGNED,	 /**< (alignment, size) */
	GR_ALLOC_POSIX_MEMALIGN, /**< (result, alignment, size) */
	GR_ALLOC_NEW,		 /**< (size); it may throw */
	GR_ALLOC_FREE,		 /**< (address) */
	GR_ALLOC_MMAP,		 /**< (address, size, ...) */
	GR_ALLOC_MUNMAP,	 /**< (address, size) */
};

/** The name of a kind: "malloc", "posix_memalign". */
const char *gr_alloc_kind_name(enum gr_alloc_kind kind);

/** Names that belong together. */
enum gr_alloc_family {
	GR_ALLOC_OF_C, /**< malloc, and what some allocators add to it. */
	GR_ALLOC_OF_CXX,
	GR_ALLOC_OF_JEMALLOC, /**< je_malloc */
	GR_ALLOC_OF_TCMALLOC, /**< tc_malloc */
	GR_ALLOC_OF_MIMALLOC, /**< mi_malloc */
	GR_ALLOC_OF_PREFIX,   /**< Those of C, with the user's prefix. */
	GR_ALLOC_OF_MAPPINGS, /**< mmap */
	GR_ALLOC_NFAMILIES,
};

/** A name. */
struct gr_alloc_name {
	const char *text; /**< Without the user's prefix. */
	uint8_t bytes;
	uint8_t kind;	/**< enum gr_alloc_kind */
	uint8_t family; /**< enum gr_alloc_family; never GR_ALLOC_OF_PREFIX. */
};

/** All names. Those that come first are preferred for a function of several. */
extern const struct gr_alloc_name gr_alloc_names[];
extern const size_t gr_nalloc_names;

/**
 * Find the name of a symbol, which may have a version ("free@@GLIBC_2.2.5").
 *
 * @param prefix The user's prefix, or "". A name of C may begin with it.
 * @param[out] family That of the name, or GR_ALLOC_OF_PREFIX.
 * @return its row; NULL: it is not the name of such a function.
 */
const struct gr_alloc_name *gr_alloc_name_find(const char *symbol,
					       const char *prefix,
					       enum gr_alloc_family *family);

/** Is the symbol @p name, of any version? */
bool gr_alloc_symbol_is(const char *symbol, const char *name);

#endif /* GR_ALLOC_NAMES_H */
