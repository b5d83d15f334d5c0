/* SPDX-License-Identifier: Apache-2.0 */
/**
 * debug_file: the separate file with the debug information of an executable or
 * a library, found as gdb finds it: by build id, or by section .gnu_debuglink.
 *
 * Anybody may have put what lies in these places. Only a regular file is
 * opened, and it must prove that it belongs to the other one: by the same build
 * id, or, if that one has none, by the checksum in .gnu_debuglink.
 */
#ifndef GR_DEBUG_FILE_H
#define GR_DEBUG_FILE_H

#include "base/base.h"
#include "base/error.h"

/** Where distributions install such files. */
#define GR_DEBUG_FOLDER "/usr/lib/debug"

/** The section .gnu_debuglink. */
struct gr_debuglink {
	const char *name; /**< A file name without a folder, in the file. */
	uint32_t crc;	  /**< CRC-32 of all bytes of that file. */
};

struct gr_elf;

/** Read the section; false if there is none, or if it makes no sense. */
bool gr_debuglink_read(const struct gr_elf *elf, struct gr_debuglink *ret);

/**
 * Find the debug file of @p path. @p folder is what gdb calls
 * debug-file-directory, as /usr/lib/debug.
 *
 * *@p ret is its name, for free(); NULL if the file has debug information
 * itself, if it is no ELF file, or if no file proves to belong to it. These are
 * no errors.
 */
struct gr_error *gr_debug_file_find(const char *path, const char *folder,
				    char **ret) GR_MUST_CHECK;

#endif /* GR_DEBUG_FILE_H */
