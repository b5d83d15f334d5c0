/* SPDX-License-Identifier: Apache-2.0 */
/**
 * link_map: the list of loaded files that the dynamic loader keeps in the
 * memory of a program (<link.h>: struct r_debug, struct link_map), in its
 * order. A debugger reads the same list.
 */
#ifndef GR_LINK_MAP_H
#define GR_LINK_MAP_H

#include "base/arena.h"
#include "base/base.h"
#include "base/error.h"
#include "base/vector.h"
#include "inferior/mapped_elf.h"

/** One loaded file. */
struct gr_loaded_file {
	uint64_t bias;	  /**< Run-time address minus address in the file. */
	uint64_t dynamic; /**< Run-time address of its dynamic section. */
	const char *name; /**< As the loader opened it; "" if it has none. */
};

GR_VECTOR(gr_loaded_file_vector, struct gr_loaded_file);

/**
 * Append the files that the loader has loaded for an executable, without that
 * executable. @p exe is its file, @p bias its run-time address minus its
 * address in the file. Names belong to @p arena.
 *
 * The list ends where memory is missing, where it loops, and after 16384 files.
 * An executable without a loader has no list.
 */
struct gr_error *
gr_link_map_read(const struct gr_memory *memory, const struct gr_elf *exe,
		 uint64_t bias, struct gr_arena *arena,
		 struct gr_loaded_file_vector *ret) GR_MUST_CHECK;

#endif /* GR_LINK_MAP_H */
