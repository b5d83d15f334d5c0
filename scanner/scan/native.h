/* SPDX-License-Identifier: Apache-2.0 */
/** native: the C memory of a stop, which is read when a question needs it. */
#ifndef GR_SCAN_NATIVE_H
#define GR_SCAN_NATIVE_H

#include "goruntime/types/types.h"
#include "native/c_roots.h"

struct gr_stop;

/**
 * The C memory of the target: that of a file is read now; of a process, it was
 * copied with an extent that has it (gr_extent_has_native()).
 *
 * @param[out] ret NULL: the target does not tell what is mapped, or what was
 *	copied of a process has no C memory.
 */
struct gr_error *gr_stop_native(struct gr_stop *stop,
				struct gr_native **ret) GR_MUST_CHECK;
void gr_stop_drop_native(struct gr_stop *stop);

/**
 * Read the threads, and fill in what the roots of C are found by. The C memory
 * and the heap were read. @p threads is zeroed; it needs gr_c_threads_deinit()
 * even if this fails, and outlives @p ret.
 */
struct gr_error *
gr_stop_c_roots_spec(struct gr_stop *stop, struct gr_c_threads *threads,
		     struct gr_c_roots_spec *ret) GR_MUST_CHECK;

/** Find out whether threads were in an allocator (native/motion.h). The stop
 * has its C memory. */
struct gr_error *gr_stop_note_motion(struct gr_stop *stop) GR_MUST_CHECK;

/**
 * The debug information of a module for types of C, which is read when it is
 * first asked for; *@p ret is NULL if there is none that can be read. Large
 * files are left out.
 */
struct gr_error *gr_stop_c_types(struct gr_stop *stop, size_t module,
				 const struct gr_dwarf **ret) GR_MUST_CHECK;

/** A variable of C, as debug information tells it. */
struct gr_c_typed {
	uint64_t addr;
	gr_type_id type; /**< With its parts; GR_TYPE_NONE: nothing is known. */
};

/** Find the variable of C that has the byte at @p addr. */
struct gr_error *gr_stop_c_variable(struct gr_stop *stop, uint64_t addr,
				    struct gr_c_typed *ret) GR_MUST_CHECK;

#endif /* GR_SCAN_NATIVE_H */
