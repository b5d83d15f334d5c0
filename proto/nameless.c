// SPDX-License-Identifier: Apache-2.0
#include "proto/nameless.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { PROC_PATH_BYTES = 32 };

static void proc_path(int fd, char path[static PROC_PATH_BYTES])
{
	snprintf(path, PROC_PATH_BYTES, "/proc/self/fd/%d", fd);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

// True if /proc leads to the file, so that it can get a name.
static bool is_in_proc(int fd)
{
	char path[PROC_PATH_BYTES];
	struct stat own, found;

	proc_path(fd, path);
	return !fstat(fd, &own) && !stat(path, &found) &&
	       is_same_file(&own, &found);
}

// Return the umask. umask() itself would change it for other threads.
static mode_t current_umask(void)
{
	_cleanup_fclose_ FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	unsigned int mask;

	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "Umask: %o", &mask) == 1)
			return mask & 0777;
	}
	return 0077;
}

// Apply the umask to a new file. Some kernels do not apply it to a file without
// a name if the file system has no access control lists. With lists, the file
// system applies it.
static bool apply_umask(int fd)
{
	struct stat st;

	if (fgetxattr(fd, "system.posix_acl_access", NULL, 0) >= 0 ||
	    errno != ENOTSUP)
		return true;
	if (fstat(fd, &st))
		return false;
	mode_t mode = st.st_mode & 0777 & ~current_umask();
	return mode == (st.st_mode & 0777) || !fchmod(fd, mode);
}

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int gr_nameless_create(const char *path, mode_t mode)
{
	_cleanup_free_ char *folder = folder_of(path);

	if (!folder) {
		errno = ENOMEM;
		return -1;
	}
	_cleanup_close_ int fd =
		open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
	if (fd < 0)
		return -1;
	if (!is_in_proc(fd) || !apply_umask(fd)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	int made = fd;
	fd = -1;
	return made;
}

int gr_nameless_link(int fd, const char *path)
{
	char from[PROC_PATH_BYTES];

	proc_path(fd, from);
	return linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

bool gr_nameless_is(const char *path)
{
	struct stat st, named;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || st.st_nlink)
		return false;
	// Some file systems do not count links. The name of the file in /proc
	// may be the name of another file.
	_cleanup_free_ char *real = realpath(path, NULL);
	return !real || stat(real, &named) || !is_same_file(&st, &named);
}
