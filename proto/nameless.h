/* SPDX-License-Identifier: Apache-2.0 */
/**
 * nameless: files that have no name yet. The kernel removes such a file when
 * the last process that has it open ends, however that ends.
 */
#ifndef GR_NAMELESS_H
#define GR_NAMELESS_H

#include "base/base.h"

#include <sys/types.h>

/**
 * Create a file in the folder of @p path that gr_nameless_link() can name.
 * @param mode As for open(): the umask or the folder's access control list
 * applies.
 * @return A descriptor that the caller owns, for reading and writing. -1 and
 * errno if the kernel, the file system or the folder cannot have such a file,
 * or if there is no /proc to name it.
 */
int gr_nameless_create(const char *path, mode_t mode);

/**
 * Give the file @p fd its name @p path, which does not exist yet.
 * @return 0; -1 and errno, such as EEXIST.
 */
int gr_nameless_link(int fd, const char *path);

/**
 * True if @p path leads to a regular file that has no name, as
 * /proc/self/fd/N can.
 */
bool gr_nameless_is(const char *path);

#endif /* GR_NAMELESS_H */
