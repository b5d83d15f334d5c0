/* SPDX-License-Identifier: Apache-2.0 */
/**
 * mapped_file: a regular file, mapped to be read.
 *
 * Opening never waits, as it would at a pipe, and a file that is not regular is
 * refused. A file may shrink while it is mapped: a guard (sigbus.h) must be
 * active while its bytes are read.
 */
#ifndef GR_MAPPED_FILE_H
#define GR_MAPPED_FILE_H

#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"
#include "inferior/mappings.h"
#include "inferior/sigbus.h"

/** Zero-initialised, it is closed. */
struct gr_mapped_file {
	struct gr_bytes bytes;	     /**< All of the file; empty if it is. */
	struct gr_sigbus_area *area; /**< NULL if there are no bytes. */
	uint64_t device, inode;	     /**< Which file it is. */
};

/**
 * GR_ERROR_IO if the file cannot be opened or mapped; GR_ERROR_FORMAT if it is
 * not a regular file.
 */
struct gr_error *gr_mapped_file_open(const char *path,
				     struct gr_mapped_file *ret) GR_MUST_CHECK;

/**
 * Open the regular file that a process maps: by /proc/PID/map_files, which finds
 * it even if it was renamed or removed, but needs privileges; otherwise by its
 * name, if that is still the same file. Devices are not opened.
 *
 * @return A file descriptor; -1 if the file is not at hand.
 */
int gr_mapping_open_file(int32_t pid, const struct gr_mapping *mapping);

/** gr_mapped_file_open() of the file that process @p pid maps. */
struct gr_error *
gr_mapped_file_open_mapping(int32_t pid, const struct gr_mapping *mapping,
			    struct gr_mapped_file *ret) GR_MUST_CHECK;
void gr_mapped_file_close(struct gr_mapped_file *file);

#endif /* GR_MAPPED_FILE_H */
