/* SPDX-License-Identifier: Apache-2.0 */
/**
 * core_modules: the files that a scan of a core needs: the executable, the
 * libraries that its loader had loaded, and their debug files.
 *
 * Names come from the core. Only regular files are opened, and only to compare
 * them. The scan checks whether a file is the one that was loaded
 * (inferior/identity.c).
 */
#ifndef GR_CORE_MODULES_H
#define GR_CORE_MODULES_H

#include "base/arena.h"
#include "base/base.h"
#include "base/error.h"

/** A file, as struct gr_target_module. Strings belong to the list. */
struct gr_core_module {
	const char *path;
	const char *debug_path; /**< Its separate debug file, or NULL. */
	uint64_t bias;		/**< UINT64_MAX: the scan finds it. */
};

/** Zero-initialised, the list is empty. */
struct gr_core_modules {
	/** The executable first, then libraries in the loader's order. */
	struct gr_core_module *data;
	size_t count;
	/** The names of libraries that are left out because they are not
	 * regular files. */
	const char **special;
	size_t nspecial;
	struct gr_arena arena;
};

/**
 * Find the modules of the core at @p core of the executable @p exe. @p
 * debug_folder is that of gr_debug_file_find().
 *
 * Errors as in gr_core_open(). If the executable cannot be read or does not
 * belong to the core, it is the only module; the scan says why. @p ret needs
 * gr_core_modules_deinit() after success.
 */
struct gr_error *
gr_core_modules_find(const char *core, const char *exe,
		     const char *debug_folder,
		     struct gr_core_modules *ret) GR_MUST_CHECK;
void gr_core_modules_deinit(struct gr_core_modules *modules);

#endif /* GR_CORE_MODULES_H */
