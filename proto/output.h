/* SPDX-License-Identifier: Apache-2.0 */
/**
 * output: a file that appears whole or not at all, the same bytes for the same
 * input.
 */
#ifndef GR_OUTPUT_H
#define GR_OUTPUT_H

#include "scanner.h"

/**
 * A file being written. Regular files are written beside their place and
 * renamed by gr_output_commit(); devices and pipes are written as they are.
 */
struct gr_output {
	char *path;	 /**< Where it will be; links resolved. */
	char *temp_path; /**< Where it is now; NULL: at its place. */
	void *gz;	 /**< gzFile */
	int fd;		 /**< -1 once gz owns it. */
};

/** Check that @p path can be written, changing nothing that exists. */
struct gr_error *gr_output_check(const char *path) GR_MUST_CHECK;

enum gr_output_format {
	GR_OUTPUT_PLAIN,
	GR_OUTPUT_GZIP,
};

struct gr_error *gr_output_init(struct gr_output *out, const char *path,
				enum gr_output_format format) GR_MUST_CHECK;
/** Give up what was not committed. */
void gr_output_deinit(struct gr_output *out);

struct gr_error *gr_output_write(struct gr_output *out, const void *data,
				 size_t bytes) GR_MUST_CHECK;

/** Finish the file and put it into its place. */
struct gr_error *gr_output_commit(struct gr_output *out) GR_MUST_CHECK;

#endif /* GR_OUTPUT_H */
