/* SPDX-License-Identifier: Apache-2.0 */
/**
 * mappings: the mapped ranges of a target, with file names and permissions.
 *
 * Filled from a core's segments and NT_FILE note, or from /proc/PID/maps. A
 * mapping does not imply that its bytes are available.
 */
#ifndef GR_MAPPINGS_H
#define GR_MAPPINGS_H

#include "base/arena.h"
#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/vector.h"
#include "inferior/target.h"

/** The name of the stack of a process's first thread. */
#define GR_FIRST_STACK "[stack]"

/** A flag of a mapping of a process: what other processes write to the file, or
 * to the shared memory, is in it. A core does not tell. */
#define GR_MAPPING_SHARED (UINT32_C(1) << 8)

/** Target range [start, end). Never empty. */
struct gr_mapping {
	uint64_t start, end;
	/** File offset of `start`; 0 if there is no file. */
	uint64_t file_off;
	/** PF_R, PF_W, PF_X; 0 if not known. And GR_MAPPING_SHARED. */
	uint32_t flags;
	/** Device and inode of the file or shared memory that a process maps;
	 * 0 if there is none. */
	uint64_t device, inode;
	/** File path without a final " (deleted)"; NULL if none. */
	const char *path;
	/** gr_mappings_sort(): the index of the one that ends last, of this
	 * mapping and of those before it. */
	size_t last_end;
};

GR_VECTOR(gr_mapping_vector, struct gr_mapping);

/**
 * Leave out what lies before *@p end, and move that to the end of the mapping:
 * mappings of a damaged core, sorted by address, count once where they overlap.
 *
 * @return false if nothing is left.
 */
static inline bool gr_mapping_begin_at(struct gr_mapping *m, uint64_t *end)
{
	if (m->start < *end)
		m->start = *end;
	if (m->start >= m->end)
		return false;
	*end = m->end;
	return true;
}

/** Is it memory without a file, which may have a name (PR_SET_VMA_ANON_NAME)? */
static inline bool gr_mapping_is_anonymous(const struct gr_mapping *m)
{
	return !m->path || !strncmp(m->path, "[anon:", 6);
}

/**
 * Mappings in the order of their source, or sorted by address. Zero-initialised,
 * the list is empty.
 */
struct gr_mappings {
	struct gr_mapping_vector list;
	struct gr_arena arena; /**< Paths. */
	bool is_sorted;	       /**< By gr_mappings_sort(). */
};

void gr_mappings_deinit(struct gr_mappings *mappings);

/** Append one; an empty range is left out. @p path (may be NULL) is copied. */
struct gr_error *gr_mappings_add(struct gr_mappings *mappings,
				 struct gr_mapping mapping) GR_MUST_CHECK;

/**
 * Append the mappings of an NT_FILE note, up to the first invalid entry.
 * @p target polls.
 */
struct gr_error *
gr_mappings_add_note(struct gr_mappings *mappings, struct gr_bytes desc,
		     const struct gr_target *target) GR_MUST_CHECK;

/** Append the mappings of a process, and sort all. */
struct gr_error *gr_mappings_add_process(struct gr_mappings *mappings,
					 int32_t pid) GR_MUST_CHECK;

/**
 * Sort the mappings by address, for gr_mappings_find(). Those of one address stay
 * in their order. @p poll (may be NULL) is called every few thousand steps.
 */
struct gr_error *gr_mappings_sort(struct gr_mappings *mappings,
				  struct gr_error *(*poll)(void *ctx),
				  void *ctx) GR_MUST_CHECK;

/**
 * A mapping that holds @p addr, or NULL. A damaged core may have several: it is
 * the one that ends last. The mappings are sorted.
 */
const struct gr_mapping *gr_mappings_find(const struct gr_mappings *mappings,
					  uint64_t addr);

/**
 * The first mapping of file @p path at file offset @p off, or NULL. A mapping
 * with the same path is preferred to one with only the same last component.
 */
const struct gr_mapping *
gr_mappings_find_file(const struct gr_mappings *mappings, const char *path,
		      uint64_t off);

/**
 * May the program have C memory? It has loaded a library if two files have code:
 * one is the executable. Only C uses the heap of the kernel, also in a program
 * that is linked statically. Without the names of files, nothing is known.
 */
bool gr_mappings_may_have_c(const struct gr_mappings *mappings);

#endif /* GR_MAPPINGS_H */
