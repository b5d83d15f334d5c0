// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/alloc_limits.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
	MOST_TEXT = 1 << 20,
	OVERCOMMIT_NEVER = '2', // in /proc/sys/vm/overcommit_memory
};

/** Limits of /proc/PID/limits after which mmap and brk fail. */
static const char *const limit_names[] = { "Max address space",
					   "Max data size" };

/** Variables by which an allocator has a limit of its own. */
static const char *const heap_names[] = { "TCMALLOC_HEAP_LIMIT_MB=" };

bool gr_alloc_limits_are_set(const char *limits)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(limit_names); i++) {
		const char *line = strstr(limits, limit_names[i]);
		if (!line)
			continue;
		line += strlen(limit_names[i]);
		line += strspn(line, " ");
		if (strncmp(line, "unlimited", 9) != 0)
			return true;
	}
	return false;
}

bool gr_alloc_limits_is_heap(const char *environ, size_t bytes)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(heap_names); i++)
		if (memmem(environ, bytes, heap_names[i],
			   strlen(heap_names[i])))
			return true;
	return false;
}

/** Read a file, with a zero behind it; NULL if that cannot be. */
static char *read_text(const char *path, size_t *bytes)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = fd < 0 ? NULL : calloc(1, MOST_TEXT + 1);
	ssize_t n = 1;

	*bytes = 0;
	while (text && n > 0 && *bytes < MOST_TEXT) {
		n = read(fd, text + *bytes, MOST_TEXT - *bytes);
		*bytes += n > 0 ? (size_t)n : 0;
	}
	return text;
}

static char *read_of(pid_t pid, const char *name, size_t *bytes)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return read_text(path, bytes);
}

const char *gr_alloc_limits_why(pid_t pid)
{
	size_t bytes;
	_cleanup_free_ char *limits = read_of(pid, "limits", &bytes);

	if (!limits || gr_alloc_limits_are_set(limits))
		return "the process has a limit of memory (ulimit)";
	_cleanup_free_ char *overcommit =
		read_text("/proc/sys/vm/overcommit_memory", &bytes);
	if (!overcommit || *overcommit == OVERCOMMIT_NEVER)
		return "the kernel may refuse memory (vm.overcommit_memory)";
	_cleanup_free_ char *environ = read_of(pid, "environ", &bytes);
	if (!environ || gr_alloc_limits_is_heap(environ, bytes))
		return "the heap has a limit (TCMALLOC_HEAP_LIMIT_MB)";
	return NULL;
}
