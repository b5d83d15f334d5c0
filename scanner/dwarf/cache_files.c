// SPDX-License-Identifier: Apache-2.0
#include "dwarf/cache_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "dwarf/internal.h"

// The cache has what past scans have found out about executables, below
// $XDG_CACHE_HOME or $HOME/.cache. A file is written under another name and
// then renamed, so that nobody sees a partial file. If two processes write the
// same file, the last one wins. If anything fails here, the cache is not used.

static const char *const file_ends[] = { ".tables", ".runtime" };
static const char new_file[] = ".new-";

static const uint64_t MAX_FILE_BYTES = 128 << 20;
static const uint64_t MAX_FOLDER_BYTES = 512 << 20;
enum {
	MAX_FILES = 4096,
	STALE_SECONDS = 3600, // the writer of an older new file has given up
};

static int64_t time_ns(const struct timespec *time)
{
	return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

bool gr_dwarf_key_fits(const struct gr_dwarf_key *key,
		       const struct stat *status)
{
	return key->file_bytes == (uint64_t)status->st_size &&
	       key->ctime_ns == time_ns(&status->st_ctim);
}

bool gr_dwarf_key_of(const char *path, const char *build_id,
		     struct gr_dwarf_key *key)
{
	struct stat status;

	memset(key, 0, sizeof(*key));
	if (!build_id || !*build_id ||
	    strlen(build_id) >= sizeof(key->build_id) || stat(path, &status))
		return false;
	memcpy(key->build_id, build_id, strlen(build_id));
	key->file_bytes = (uint64_t)status.st_size;
	key->ctime_ns = time_ns(&status.st_ctim);
	return true;
}

// ----------------------------------------------------------------- reading

// A build id may be as long as a file name, and Go's has slashes.
static bool file_name(const struct gr_dwarf_key *key, enum gr_cache_kind kind,
		      char *ret, size_t bytes)
{
	int n = snprintf(ret, bytes, "%s%s", key->build_id, file_ends[kind]);

	if (n < 0 || (size_t)n >= bytes || n > NAME_MAX || ret[0] == '.')
		return false;
	for (; *ret; ret++)
		if (*ret == '/')
			*ret = '.';
	return true;
}

static bool read_all(int fd, void *data, size_t bytes)
{
	// Bounded by the bytes: each read brings some, or ends it.
	for (size_t done = 0; done < bytes;) {
		ssize_t n = read(fd, (char *)data + done, bytes - done);
		if (n <= 0 && !(n < 0 && errno == EINTR))
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

// Only this user can have written the file.
static bool is_own_file(const struct stat *status)
{
	return S_ISREG(status->st_mode) && status->st_uid == geteuid() &&
	       !(status->st_mode & (S_IWGRP | S_IWOTH));
}

static void *read_block(int folder, const char *name, size_t *ret_bytes)
{
	_cleanup_close_ int fd = openat(
		folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	_cleanup_free_ void *block = NULL;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) || !is_own_file(&status) ||
	    status.st_size <= 0 || (uint64_t)status.st_size > MAX_FILE_BYTES)
		return NULL;
	block = malloc((size_t)status.st_size);
	if (!block || !read_all(fd, block, (size_t)status.st_size))
		return NULL;
	// trim() keeps the files that were used last.
	futimens(fd, NULL);
	*ret_bytes = (size_t)status.st_size;
	return_ptr(block);
}

void *gr_cache_file_read(const struct gr_dwarf_key *key,
			 enum gr_cache_kind kind, size_t *ret_bytes)
{
	_cleanup_close_ int folder = gr_dwarf_open_folder(false, NULL);
	char name[NAME_MAX + 1];

	if (folder < 0 || !file_name(key, kind, name, sizeof(name)))
		return NULL;
	return read_block(folder, name, ret_bytes);
}

void gr_cache_file_remove(const struct gr_dwarf_key *key,
			  enum gr_cache_kind kind)
{
	_cleanup_close_ int folder = gr_dwarf_open_folder(false, NULL);
	char name[NAME_MAX + 1];

	if (folder >= 0 && file_name(key, kind, name, sizeof(name)))
		unlinkat(folder, name, 0);
}

// ----------------------------------------------------------------- writing

static bool write_all(int fd, const void *data, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = write(fd, (const char *)data + done, bytes - done);
		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

// Create a file with a unique name for each writer.
static int create_new(int folder, char *name, size_t bytes)
{
	static unsigned int count;

	for (int i = 0; i < 16; i++) {
		snprintf(name, bytes, "%s%d-%u", new_file, (int)getpid(),
			 count++);
		int fd = openat(folder, name,
				O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static bool write_block(int folder, const char *name, const void *block,
			size_t bytes)
{
	char temporary[NAME_MAX + 1];
	int fd = create_new(folder, temporary, sizeof(temporary));

	if (fd < 0)
		return false;
	bool is_fine = write_all(fd, block, bytes);
	if (close(fd) || !is_fine ||
	    renameat(folder, temporary, folder, name)) {
		unlinkat(folder, temporary, 0);
		return false;
	}
	return true;
}

// A file of the cache in the folder.
struct entry {
	int64_t used_ns;
	uint64_t bytes;
	char name[NAME_MAX + 1];
};
GR_VECTOR(entry_vector, struct entry);

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->used_ns != y->used_ns)
		return x->used_ns < y->used_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool is_ours(const char *name)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(file_ends); i++) {
		size_t n = strlen(name), end = strlen(file_ends[i]);

		if (n > end && !strcmp(name + n - end, file_ends[i]))
			return true;
	}
	return false;
}

static void list_entry(int folder, const char *name, struct entry_vector *ret)
{
	bool is_new = gr_has_prefix(name, new_file);
	struct stat status;
	struct entry *entry;

	if ((!is_new && !is_ours(name)) || ret->size >= MAX_FILES ||
	    fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(status.st_mode))
		return;
	if (is_new) {
		if (time(NULL) - status.st_mtime > STALE_SECONDS)
			unlinkat(folder, name, 0);
		return;
	}
	entry = entry_vector_append_entry(ret);
	if (!entry)
		return;
	entry->used_ns = time_ns(&status.st_ctim);
	entry->bytes = (uint64_t)status.st_size;
	snprintf(entry->name, sizeof(entry->name), "%s", name);
}

// Limit the size of the folder: delete the files that were used longest ago.
static void trim(int folder, uint64_t max_bytes)
{
	_cleanup_(entry_vector_deinit) struct entry_vector entries = { 0 };
	int fd = dup(folder);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *dirent;
	uint64_t total = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	// Bounded by the files of our own folder.
	while ((dirent = readdir(dir)))
		list_entry(folder, dirent->d_name, &entries);
	closedir(dir);
	if (entries.size)
		qsort(entries.data, entries.size, sizeof(*entries.data),
		      compare_entries);
	for (size_t i = 0; i < entries.size; i++)
		total += entries.data[i].bytes;
	for (size_t i = 0; i < entries.size && total > max_bytes; i++) {
		unlinkat(folder, entries.data[i].name, 0);
		total -= entries.data[i].bytes;
	}
}

bool gr_cache_file_write(const struct gr_dwarf_key *key,
			 enum gr_cache_kind kind, const void *data,
			 size_t bytes)
{
	char name[NAME_MAX + 1];

	if (!file_name(key, kind, name, sizeof(name)))
		return false;
	_cleanup_close_ int folder = gr_dwarf_open_folder(true, NULL);
	if (folder < 0 || bytes > MAX_FILE_BYTES ||
	    !write_block(folder, name, data, bytes))
		return false;
	trim(folder, MAX_FOLDER_BYTES);
	return true;
}
