// SPDX-License-Identifier: Apache-2.0
#include "inferior/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"

struct gr_error *gr_mapped_file_open(const char *path,
				     struct gr_mapped_file *ret)
{
	struct gr_mapped_file file = { .area = NULL };
	struct stat st;

	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st))
		return gr_error_format(GR_ERROR_IO, "cannot open %s: %s", path,
				       strerror(errno));
	if (!S_ISREG(st.st_mode))
		return gr_error_format(GR_ERROR_FORMAT,
				       "%s is not a regular file", path);
	file.device = st.st_dev;
	file.inode = st.st_ino;
	if (st.st_size) {
		void *data =
			mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
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

void gr_mapped_file_close(struct gr_mapped_file *file)
{
	if (file->area) {
		gr_sigbus_forget(file->area);
		munmap((void *)file->bytes.data, file->bytes.size);
	}
	memset(file, 0, sizeof(*file));
}
