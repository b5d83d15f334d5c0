/* SPDX-License-Identifier: Apache-2.0 */
/**
 * core: an ELF core file of the kernel, of gcore or of Delve.
 *
 * Maps the file and takes out of it what there is: memory, threads, mappings.
 * Torn and absurd parts are cut off and counted, never invented.
 */
#ifndef GR_CORE_H
#define GR_CORE_H

#include "base/base.h"
#include "base/error.h"
#include "base/vector.h"
#include "target/elf.h"
#include "target/mappings.h"
#include "target/notes.h"
#include "target/ranges.h"
#include "target/target.h"

GR_VECTOR(gr_thread_vector, struct gr_target_thread);

/** Zero-initialised is an empty one. */
struct gr_core {
	struct gr_elf elf;
	/** Bytes of PT_LOAD segments in the file, by file offset. */
	struct gr_range_vector memory;
	/** PT_LOAD, [vaddr, vaddr + memsz). */
	struct gr_mappings segments;
	struct gr_mappings files; /**< NT_FILE. */
	struct gr_thread_vector threads;
	struct gr_auxv auxv;
	uint64_t promised_bytes; /**< Of all headers that make sense. */
	uint64_t missing_bytes;	 /**< Of these, past the end of the file. */
	uint64_t bad_headers;	 /**< That made no sense or are lost. */
	/** It tells of files, but no header promises bytes of memory that is
	 * writable and of none of them, as every process has on its stack. */
	bool lacks_anonymous;
};

/** GR_ERROR_IO, GR_ERROR_FORMAT and GR_ERROR_ARCH as in gr_elf_open(). */
struct gr_error *gr_core_open(const char *path,
			      struct gr_core *ret) GR_MUST_CHECK;
void gr_core_deinit(struct gr_core *core);

#endif /* GR_CORE_H */
