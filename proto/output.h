/* SPDX-License-Identifier: Apache-2.0 */
/**
 * output: writes a file that appears whole or not at all. The same input gives
 * the same bytes.
 */
#ifndef GR_OUTPUT_H
#define GR_OUTPUT_H

#include "base/base.h"
#include "base/error.h"

/**
 * A file being written. Until gr_output_commit(), a regular file has no name,
 * so nothing is left if we are killed. If the file system has no files without
 * a name, or if there is no /proc, the file has the name PATH.PID-N.tmp in the
 * same folder. Devices, pipes, and files without a name (/proc/self/fd/N) are
 * written in place.
 *
 * An existing file is replaced by a file with its owner, mode and access
 * control list; other hard links keep the old content. If a new file cannot
 * have these (such as for another user's file), or if the folder takes no new
 * file, the old file is kept: gr_output_commit() reserves the room on the disk,
 * and then copies the whole new content into the old file. If we are killed
 * during this copy, the old file has a part of the content. The whole content
 * is then in a file beside it, if the folder takes one.
 */
struct gr_output {
	char *path;	 /**< The final path; links are resolved. */
	char *temp_path; /**< The name until the commit, or NULL. */
	void *gz;	 /**< gzFile */
	int fd;		 /**< -1 once gz owns it. */
	/** The new content; NULL: the file is written in place. */
	struct gr_output_content *content;
	bool is_private;
};

/** Check that @p path can be written. Existing files do not change. */
struct gr_error *gr_output_check(const char *path) GR_MUST_CHECK;

enum gr_output_format {
	GR_OUTPUT_PLAIN,
	GR_OUTPUT_GZIP,
	/** Plain, and nobody but the file's owner may read it. */
	GR_OUTPUT_PRIVATE,
};

/**
 * Begin to write @p path. A link is followed; its target need not exist.
 * @return GR_ERROR_IO if the file cannot be written.
 */
struct gr_error *gr_output_init(struct gr_output *out, const char *path,
				enum gr_output_format format) GR_MUST_CHECK;
/** Discard a file that was not committed. */
void gr_output_deinit(struct gr_output *out);

struct gr_error *gr_output_write(struct gr_output *out, const void *data,
				 size_t bytes) GR_MUST_CHECK;

/** Finish the file and move it to its final path. */
struct gr_error *gr_output_commit(struct gr_output *out) GR_MUST_CHECK;

#endif /* GR_OUTPUT_H */
