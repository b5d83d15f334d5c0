/* SPDX-License-Identifier: Apache-2.0 */
/**
 * core: an ELF core file from the kernel, gcore or Delve.
 *
 * Maps the file and reads its memory, threads and mappings. Torn and invalid
 * parts are cut off and counted; nothing is invented.
 */
#ifndef GR_CORE_H
#define GR_CORE_H

#include "base/base.h"
#include "base/error.h"
#include "base/vector.h"
#include "inferior/elf.h"
#include "inferior/mappings.h"
#include "inferior/notes.h"
#include "inferior/ranges.h"
#include "inferior/target.h"

GR_VECTOR(gr_thread_vector, struct gr_target_thread);

/** Zero-initialised, the core is empty. */
struct gr_core {
	struct gr_elf elf;
	/** Bytes of PT_LOAD segments in the file, by file offset. */
	struct gr_range_vector memory;
	/** PT_LOAD, [vaddr, vaddr + memsz). */
	struct gr_mappings segments;
	struct gr_mappings files; /**< NT_FILE. */
	struct gr_thread_vector threads;
	struct gr_auxv auxv;
	int32_t pid; /**< The process; 0: the core does not tell. */
	/** The signal that ended the program; 0: none, or not known. */
	int32_t signal;
	/** The first thread's signal; number 0: not known. */
	struct gr_core_signal siginfo;
	uint64_t promised_bytes; /**< Promised by all valid headers. */
	/** Promised bytes past the end of the file. */
	uint64_t missing_bytes;
	uint64_t bad_headers; /**< Headers that are invalid or lost. */
	uint64_t notes_bytes; /**< Size of all note segments. */
	/**
	 * True if the core lists files but no header promises bytes of writable
	 * memory outside all files. Every process has such memory: its stack.
	 */
	bool lacks_anonymous;
};

/**
 * GR_ERROR_IO, GR_ERROR_FORMAT and GR_ERROR_ARCH as in gr_elf_open(). @p target
 * polls.
 */
struct gr_error *gr_core_open(const char *path, const struct gr_target *target,
			      struct gr_core *ret) GR_MUST_CHECK;
void gr_core_deinit(struct gr_core *core);

#endif /* GR_CORE_H */
