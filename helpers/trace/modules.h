/* SPDX-License-Identifier: Apache-2.0 */
/**
 * modules: the code that a process maps, and the files that it comes from. They
 * change while the process runs: a generation is a time in which an address kept
 * its meaning.
 */
#ifndef GR_TRACE_MODULES_H
#define GR_TRACE_MODULES_H

#include <sys/types.h>

#include "base/base.h"
#include "base/error.h"
#include "helpers/trace/elf_file.h"

struct gr_code_maps;

/** A file with code, or the vdso; it lives until the next generation. */
struct gr_code_file {
	uint32_t id; /**< From 1; never used again for another file. */
	/** As the process knows it, cut if it is too long; "[vdso]". */
	char *path;
	uint64_t device, inode;
	struct gr_elf_file *elf; /**< Use gr_code_maps_open(). */
	bool is_tried, is_used;
	bool is_named; /**< A place has been in it (places.h). */
};

/** Where an address lies. */
struct gr_code_place {
	struct gr_code_file *file; /**< NULL: code without a file. */
	uint64_t off;		   /**< In the file; without one, 0. */
};

struct gr_error *gr_code_maps_new(pid_t pid,
				  struct gr_code_maps **ret) GR_MUST_CHECK;
void gr_code_maps_destroy(struct gr_code_maps *modules);

/** The process has changed its mappings: read them soon, and at once if code is
 * looked for that is not known. */
void gr_code_maps_forget_maps(struct gr_code_maps *modules);

/** Changes when an address may have got another meaning. */
uint64_t gr_code_maps_generation(const struct gr_code_maps *modules);

/**
 * Read the mappings, if they may have changed and were not read in the last
 * tenth of a second.
 */
void gr_code_maps_refresh(struct gr_code_maps *modules);

/**
 * Find an address of code. The mappings are read again if none has it, at most
 * ten times a second, or as often as they change, but for no more than a tenth of
 * the time. Places of an older generation are invalid then.
 *
 * @return false if no code is mapped there.
 */
bool gr_code_maps_find(struct gr_code_maps *modules, uint64_t pc,
		       struct gr_code_place *ret);

/**
 * The file, opened once; NULL if it is not there any more, is another one now,
 * or is no ELF file.
 */
struct gr_elf_file *gr_code_maps_open(struct gr_code_maps *modules,
				      struct gr_code_file *file);

/** Open all files that are mapped now, as gr_code_maps_open() does: when the
 * process has ended, they cannot be found any more. */
void gr_code_maps_open_all(struct gr_code_maps *modules);

/** Read memory of the process; false if not all of it is there. */
bool gr_code_maps_read(const struct gr_code_maps *modules, uint64_t addr,
		       void *data, size_t bytes);

#endif /* GR_TRACE_MODULES_H */
