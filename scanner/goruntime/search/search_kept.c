// SPDX-License-Identifier: Apache-2.0
/*
 * The results of a search, as a file of the user's cache: a few lines of text.
 * The layout is only named, so that a file cannot make one up, and the search
 * checks the rest like any other candidate.
 */
#include "goruntime/search/search.h"

#include "base/cleanup.h"
#include "dwarf/cache_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 1024 };

/* Write the text of a file; returns its length, 0 if it does not fit. */
static size_t print(const struct gr_dwarf_key *key,
		    const struct gr_search_kept *kept, char *text)
{
	int n = snprintf(text, MAX_BYTES,
			 "goref-gdb runtime 1\n"
			 "file %s %" PRIu64 " %" PRId64 "\n"
			 "layout %s\n"
			 "moduledata %" PRIx64 "\n"
			 "mheap %" PRIx64 "\n"
			 "write_barrier %" PRIx64 "\n",
			 key->build_id, key->file_bytes, key->ctime_ns,
			 kept->layout, kept->moduledata, kept->mheap,
			 kept->write_barrier);

	return n > 0 && n < MAX_BYTES ? n : 0;
}

/* The value of the line of that name. */
static const char *value_of(const char *text, const char *name)
{
	const char *found = strstr(text, name);

	return found ? found + strlen(name) : "";
}

/* Only a text that print() would write is valid. */
static bool parse(const struct gr_dwarf_key *key, const char *text,
		  struct gr_search_kept *ret)
{
	char same[MAX_BYTES];

	return sscanf(value_of(text, "\nlayout "), "%127[ -~]", ret->layout) ==
		       1 &&
	       sscanf(value_of(text, "\nmoduledata "), "%" SCNx64,
		      &ret->moduledata) == 1 &&
	       sscanf(value_of(text, "\nmheap "), "%" SCNx64, &ret->mheap) ==
		       1 &&
	       sscanf(value_of(text, "\nwrite_barrier "), "%" SCNx64,
		      &ret->write_barrier) == 1 &&
	       print(key, ret, same) && !strcmp(same, text);
}

void gr_search_kept_read(const char *path, const char *build_id,
			 struct gr_search_kept *ret)
{
	struct gr_search_kept kept = { 0 };
	struct gr_dwarf_key key;
	char text[MAX_BYTES];
	size_t bytes;

	memset(ret, 0, sizeof(*ret));
	if (!gr_dwarf_key_of(path, build_id, &key))
		return;
	_cleanup_free_ char *data =
		gr_cache_file_read(&key, GR_CACHE_RUNTIME, &bytes);
	if (!data || bytes >= sizeof(text) || memchr(data, 0, bytes))
		return;
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	if (parse(&key, text, &kept))
		*ret = kept;
}

void gr_search_kept_write(const char *path, const char *build_id,
			  const struct gr_search_kept *kept)
{
	struct gr_dwarf_key key;
	char text[MAX_BYTES];

	if (!gr_dwarf_key_of(path, build_id, &key))
		return;
	size_t bytes = print(&key, kept, text);
	if (bytes)
		gr_cache_file_write(&key, GR_CACHE_RUNTIME, text, bytes);
}
