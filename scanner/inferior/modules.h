/* SPDX-License-Identifier: Apache-2.0 */
/**
 * modules: the ELF files mapped in the target, their addresses, and the check
 * that our files are the ones that it runs (identity.c).
 */
#ifndef GR_MODULES_H
#define GR_MODULES_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/elf.h"
#include "inferior/mappings.h"
#include "inferior/notes.h"
#include "inferior/target.h"

struct gr_image;

/** A file of the target's module list. */
struct gr_module_file {
	const char *path;
	struct gr_elf elf; /**< Absent if the file cannot be opened. */
	/** Run-time address minus file address; UINT64_MAX if not known. */
	uint64_t bias;
	/** The file is the one that is mapped: its bytes may be used. */
	bool is_usable;
};

/**
 * Open the file and find its address. Only the executable (@p is_main) must
 * exist and have a known address.
 */
struct gr_error *
gr_module_file_init(struct gr_module_file *file,
		    const struct gr_target_module *module, bool is_main,
		    struct gr_auxv auxv,
		    const struct gr_mappings *files) GR_MUST_CHECK;
/** Open the file of a module, or its image in a saved file. */
struct gr_error *gr_module_open(const struct gr_target_module *module,
				struct gr_elf *ret) GR_MUST_CHECK;
void gr_module_file_deinit(struct gr_module_file *file);

/**
 * True if the segment's bytes in memory are those of the file as long as the
 * program runs: loaded, and never writable.
 */
bool gr_module_segment_is_constant(const Elf64_Phdr *header);

/**
 * Compare the file with the module in the target's memory.
 *
 * Must be called while the image serves target memory only. @p what names the
 * target: "core /tmp/core", "process 12".
 *
 * @return GR_ERROR_MISMATCH with both identities if they are different; NULL
 * if they are the same or cannot be compared.
 */
struct gr_error *gr_module_file_check(const struct gr_module_file *file,
				      bool is_main, struct gr_auxv auxv,
				      const struct gr_mappings *files,
				      struct gr_image *image,
				      const char *what) GR_MUST_CHECK;

/** Find the segment of a module that holds @p addr. @param[out] ret Its run-time
 * range. */
bool gr_module_segment(const struct gr_module_file *file, uint64_t addr,
		       struct gr_mapping *ret);

#endif /* GR_MODULES_H */
