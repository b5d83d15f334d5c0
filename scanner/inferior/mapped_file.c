// SPDX-License-Identifier: Apache-2.0
#include "inferior/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/* Map a file. A private mapping would have the breakpoints of uprobes that are in
 * all processes. Not all file systems have shared ones. */
static void *map_bytes(int fd, size_t bytes)
{
	void *data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	return data == MAP_FAILED ?
		       mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0) :
		       data;
}

/* Map the open file @p fd; the caller closes it. */
static struct gr_error *map_file(int fd, const char *path,
				 struct gr_mapped_file *ret)
{
	struct gr_mapped_file file = { .area = NULL };
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return gr_error_format(GR_ERROR_IO, "cannot open %s: %s", path,
				       strerror(errno));
	if (!S_ISREG(st.st_mode))
		return gr_error_format(GR_ERROR_FORMAT,
				       "%s is not a regular file", path);
	file.device = st.st_dev;
	file.inode = st.st_ino;
	if (st.st_size) {
		void *data = map_bytes(fd, st.st_size);
		if (data == MAP_FAILED)
			return gr_error_format(GR_ERROR_IO, "cannot map %s: %s",
					       path, strerror(errno));
		file.bytes = (struct gr_bytes){ data, st.st_size };
		file.area = gr_sigbus_watch(file.bytes, path);
		if (!file.area) {
			munmap(data, st.st_size);
			return &gr_enomem;
		}
	}
	*ret = file;
	return NULL;
}

struct gr_error *gr_mapped_file_open(const char *path,
				     struct gr_mapped_file *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return map_file(fd, path, ret);
}

// ---------------------------------------------------------------- of a process

/* Open a regular file that @p name leads to; -1: there is none. A device is not
 * even opened, because that may have effects. */
static int open_regular(const char *name, const struct gr_mapping *must_be)
{
	char link[32];
	struct stat st;

	_cleanup_close_ int path = open(name, O_PATH | O_CLOEXEC);
	if (path < 0 || fstat(path, &st) || !S_ISREG(st.st_mode) ||
	    (must_be &&
	     (st.st_ino != must_be->inode || st.st_dev != must_be->device)))
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
	return open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

int gr_mapping_open_file(int32_t pid, const struct gr_mapping *mapping)
{
	_cleanup_free_ char *name = NULL;
	char link[80];

	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
		 pid, mapping->start, mapping->end);
	int fd = open_regular(link, NULL);
	if (fd >= 0 || !mapping->path)
		return fd;
	if (asprintf(&name, "/proc/%d/root%s", pid, mapping->path) < 0) {
		name = NULL;
		return -1;
	}
	fd = open_regular(name, mapping);
	if (fd >= 0)
		return fd;
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	return open_regular(link, mapping);
}

struct gr_error *gr_mapped_file_open_mapping(int32_t pid,
					     const struct gr_mapping *mapping,
					     struct gr_mapped_file *ret)
{
	_cleanup_close_ int fd = gr_mapping_open_file(pid, mapping);

	if (fd < 0)
		return gr_error_format(GR_ERROR_IO,
				       "the file of a mapping is not at hand");
	return map_file(fd, mapping->path, ret);
}

void gr_mapped_file_close(struct gr_mapped_file *file)
{
	if (file->area) {
		gr_sigbus_forget(file->area);
		munmap((void *)file->bytes.data, file->bytes.size);
	}
	memset(file, 0, sizeof(*file));
}
