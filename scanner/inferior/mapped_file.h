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
void gr_mapped_file_close(struct gr_mapped_file *file);

#endif /* GR_MAPPED_FILE_H */
