/* SPDX-License-Identifier: Apache-2.0 */
/**
 * residency: which pages of the target are in memory. The kernel says exactly
 * which pages of a process are (/proc/PID/smaps and pagemap). A fork has the
 * anonymous pages that its process had; those of files, the process has. A core
 * of the kernel tells its anonymous pages, which the file has; other cores have
 * all pages.
 */
#ifndef GR_RESIDENCY_H
#define GR_RESIDENCY_H

#include "base/base.h"
#include "base/error.h"
#include "base/vector.h"
#include "inferior/image.h"
#include "inferior/mappings.h"

enum {
	/** glibc's arenas begin at multiples of this (malloc/arena.c:
	 * HEAP_MAX_SIZE). */
	GR_C_ARENA_BYTES = 64 << 20,
	/** A heap_info has four or six words, and is padded. */
	GR_C_LEAST_INFO_BYTES = 32,
	GR_C_MOST_INFO_BYTES = 64,
};

/** Can @p word begin the heap_info of one of glibc's arenas? It points to the
 * arena, which follows the heap_info of the same or of another mapping. */
static inline bool gr_is_c_arena_pointer(uint64_t word)
{
	uint64_t off = word % GR_C_ARENA_BYTES;

	return word > off && off >= GR_C_LEAST_INFO_BYTES &&
	       off <= GR_C_MOST_INFO_BYTES;
}

/** How much is known. */
enum gr_residency_kind {
	/** Nothing: the ranges are all memory that can be read, and those of
	 * zeros are apart. */
	GR_RESIDENCY_UNKNOWN,
	/** The ranges are the anonymous pages, or a few more. */
	GR_RESIDENCY_ANONYMOUS,
	/** The ranges are all pages of the process that count as Rss. */
	GR_RESIDENCY_EXACT,
};

/** Resident pages [start, end) of one mapping. */
struct gr_resident {
	uint64_t start, end;
	uint32_t mapping;  /**< Index of the mapping that holds them. */
	bool is_anonymous; /**< No pages of a file or of shared memory. */
	/** Pages of zeros; only set if the kind is GR_RESIDENCY_UNKNOWN. The
	 * process may never have had many of these pages. */
	bool is_zeros;
};
GR_VECTOR(gr_resident_vector, struct gr_resident);

/**
 * Zero-initialised, nothing is resident. Ranges come in the order of their
 * mappings and do not overlap.
 */
struct gr_residency {
	enum gr_residency_kind kind;
	uint64_t swapped_bytes; /**< Pages of a process in swap. */
	uint64_t rss_bytes;	/**< As smaps counts a process; else 0. */
	struct gr_mappings mappings;
	struct gr_resident_vector ranges;
	/** Pages of a process in swap, as `ranges`. A file that was saved has no
	 * list of them. */
	struct gr_resident_vector swapped;
};

/**
 * Read the residency of the target: of a process before anything else of it is
 * read, because reading may make pages resident. @p ret needs
 * gr_residency_deinit() even if this fails. GR_ERROR_ARGUMENT for a target
 * whose mappings are not known.
 */
struct gr_error *gr_residency_read(const struct gr_image *image,
				   struct gr_residency *ret) GR_MUST_CHECK;

/** gr_residency_read() for questions on what was resident: a core that does not
 * tell has no ranges, and is not read for pages of zeros. */
struct gr_error *
gr_residency_read_known(const struct gr_image *image,
			struct gr_residency *ret) GR_MUST_CHECK;

/** The name of a kind: "exact", "anonymous", "unknown". */
const char *gr_residency_name(enum gr_residency_kind kind);

/**
 * Plan the capture of the first bytes of mappings where arenas of glibc may
 * begin.
 */
struct gr_error *gr_residency_plan_heads(const struct gr_residency *residency,
					 struct gr_image *image) GR_MUST_CHECK;
void gr_residency_deinit(struct gr_residency *residency);

#endif /* GR_RESIDENCY_H */
