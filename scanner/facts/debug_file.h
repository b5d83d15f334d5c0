/* SPDX-License-Identifier: Apache-2.0 */
/**
 * debug_file: the separate file with the debug information of an executable or
 * a library, found as gdb finds it: by build id, or by section .gnu_debuglink.
 *
 * The files in these places are untrusted. Only a regular file is opened. It
 * must have the build id of the other file or, if that has none, the checksum
 * in its .gnu_debuglink.
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
 * Find the debug file of @p path. @p folder is gdb's debug-file-directory, such
 * as /usr/lib/debug.
 *
 * *@p ret is its name, for free(). It is NULL, without an error, if the file
 * itself has debug information, if it is not an ELF file, or if no file belongs
 * to it.
 */
struct gr_error *gr_debug_file_find(const char *path, const char *folder,
				    char **ret) GR_MUST_CHECK;

#endif /* GR_DEBUG_FILE_H */
