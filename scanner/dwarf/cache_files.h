/* SPDX-License-Identifier: Apache-2.0 */
/**
 * cache_files: the files of the user's cache folder. Each is of one kind and of
 * one build of an executable. What is in a file is input like any other: the
 * reader checks it.
 */
#ifndef GR_CACHE_FILES_H
#define GR_CACHE_FILES_H

#include "base/base.h"

/** The identity of the file that the answers are about. */
struct gr_dwarf_key {
	char build_id[256]; /**< Ends in NUL; empty: no build id. */
	uint64_t file_bytes;
	/** When the file or its inode last changed. Nobody can copy that, as
	 * they can the build id, the size and the time of the contents. */
	int64_t ctime_ns;
};

/** Fill in the key of a file; false if it has no build id or is not there. */
bool gr_dwarf_key_of(const char *path, const char *build_id,
		     struct gr_dwarf_key *key);

struct stat;
/** Does @p status still describe the file of the key? */
bool gr_dwarf_key_fits(const struct gr_dwarf_key *key,
		       const struct stat *status);

enum gr_cache_kind {
	GR_CACHE_TABLES,  /**< Tables of debug information. */
	GR_CACHE_RUNTIME, /**< Results of the search for the runtime. */
};

/** The contents of a file, for free(); NULL if there is none, or if another
 * user could have written it. */
void *gr_cache_file_read(const struct gr_dwarf_key *key,
			 enum gr_cache_kind kind, size_t *ret_bytes);

/** Write a file, and delete those that were used longest ago if all are too
 * large. */
bool gr_cache_file_write(const struct gr_dwarf_key *key,
			 enum gr_cache_kind kind, const void *data,
			 size_t bytes);

void gr_cache_file_remove(const struct gr_dwarf_key *key,
			  enum gr_cache_kind kind);

#endif /* GR_CACHE_FILES_H */
