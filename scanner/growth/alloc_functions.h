/* SPDX-License-Identifier: Apache-2.0 */
/**
 * alloc_functions: the functions of all allocators of C and C++ in a process
 * that runs, and at which instruction of each a probe costs least.
 */
#ifndef GR_ALLOC_FUNCTIONS_H
#define GR_ALLOC_FUNCTIONS_H

#include "base/arena.h"
#include "base/base.h"
#include "base/error.h"

struct gr_scan;

/** Which functions are wanted. */
struct gr_alloc_question {
	/** Names of C with this prefix are those of an allocator, too; "". */
	const char *prefix;
	/** Only those of the object with this path or file name; "": of all. */
	const char *object;
	bool with_mappings; /**< mmap and munmap of the C library, too. */
};

/** A function. */
struct gr_alloc_function {
	const char *name;   /**< The one of its names that is preferred. */
	const char *kind;   /**< gr_alloc_kind_name() */
	uint64_t addr;	    /**< The instruction to probe, in the process. */
	const char *place;  /**< "emulated", "entry" */
	const char *object; /**< The path of its file, as it is mapped. */
	/** The heap is glibc's: the walk of it tells which blocks are free. */
	bool is_walked;
};

/** An object with probes of its author for samples of allocations. */
struct gr_alloc_sampler {
	const char *object;
	uint64_t addr; /**< In an executable mapping of the object. */
};

/** The answer. It belongs to the caller. */
struct gr_alloc_functions {
	struct gr_alloc_function *functions; /**< By their addresses. */
	size_t nfunctions;
	struct gr_alloc_sampler *samplers;
	size_t nsamplers;
	uint64_t left_out;	     /**< Functions beyond a limit. */
	uint64_t unreadable_objects; /**< Their files are not at hand. */
	struct gr_arena arena;	     /**< The strings. */
};

/**
 * Find them in a process that runs, of x86-64; others have none.
 *
 * An object has an allocator if it defines a function that allocates and one
 * that frees, of one family of names. The operators of C++ count only in an
 * object that defines malloc: those of libstdc++ call malloc. Each function has
 * one row, however many names it has and however often its object is loaded.
 * Functions that are chosen when the program starts (STT_GNU_IFUNC) are left
 * out.
 *
 * @p ret needs gr_alloc_functions_deinit() even if this fails.
 */
struct gr_error *
gr_scan_alloc_functions(struct gr_scan *scan,
			const struct gr_alloc_question *question,
			struct gr_alloc_functions *ret) GR_MUST_CHECK;
void gr_alloc_functions_deinit(struct gr_alloc_functions *functions);

#endif /* GR_ALLOC_FUNCTIONS_H */
