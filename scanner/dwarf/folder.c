// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "dwarf/internal.h"

// The folder of the cache is opened step by step from the root; each step
// starts from the folder before. Everything in a folder that only root and the
// user can write is from one of them, links included. The path may go through
// a folder that others can write only if that folder is sticky, so that
// nobody can replace the user's entries. A link in it may be anybody's.

enum {
	MAX_LINKS = 40,	    // as the kernel has it
	MAX_NEW = 3,	    // the user's cache folder and our two
	MAX_OURS = 2,	    // goref-gdb/symbols
	MODE_OTHERS = 0022, // of the group and all others: write
};

static const char ours[] = "goref-gdb/symbols";

struct walk {
	bool create;
	int nlinks;
	struct gr_error *refused; // NULL: the folder may be used
};

// The demands on a folder of the path: may it be created, must it be ours?
struct need {
	bool may_create;
	bool is_ours;
};

static void refuse(struct walk *w, int fd, const char *why)
{
	char link[64], name[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, name, sizeof(name));
	if (n < 0)
		n = 0;
	gr_error_destroy(w->refused);
	w->refused = gr_error_format(GR_ERROR_IO, "%.*s %s", (int)n, name, why);
}

static bool check_folder(struct walk *w, int fd, const struct stat *status,
			 bool is_ours)
{
	bool is_own = status->st_uid == geteuid();
	bool is_sticky = !is_ours && status->st_mode & S_ISVTX;

	if (!is_own && (is_ours || status->st_uid)) {
		refuse(w, fd, "belongs to another user");
		return false;
	}
	if (status->st_mode & MODE_OTHERS && !is_sticky) {
		refuse(w, fd, "can be written by other users (`chmod go-w')");
		return false;
	}
	return true;
}

static int walk_path(struct walk *w, int from, const char *path, size_t nnew,
		     size_t nours);

// Follow a link that is in @folder.
// Recursion: 40 links of a path, as in the kernel.
static int follow(struct walk *w, int folder, int link, bool is_ours)
{
	char target[PATH_MAX];
	struct stat status;

	if (fstat(folder, &status) || w->nlinks++ >= MAX_LINKS)
		return -1;
	if (status.st_mode & MODE_OTHERS) {
		refuse(w, link,
		       "is a link in a folder that other users can write");
		return -1;
	}
	ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
	if (n <= 0)
		return -1;
	target[n] = '\0';
	return walk_path(w, folder, target, 0, is_ours);
}

static int open_step(struct walk *w, int folder, const char *name,
		     struct need need)
{
	static const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	_cleanup_close_ int fd = openat(folder, name, flags);
	struct stat status;

	if (fd < 0 && errno == ENOENT && w->create && need.may_create &&
	    (!mkdirat(folder, name, 0700) || errno == EEXIST))
		fd = openat(folder, name, flags);
	if (fd < 0 || fstat(fd, &status))
		return -1;
	if (S_ISLNK(status.st_mode))
		return follow(w, folder, fd, need.is_ours);
	if (!S_ISDIR(status.st_mode) ||
	    !check_folder(w, fd, &status, need.is_ours))
		return -1;
	int next = fd;
	fd = -1;
	return next;
}

// Count the names in a path.
static size_t count_names(const char *path)
{
	size_t n = 0;

	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		path += strcspn(path, "/");
		n++;
	}
	return n;
}

// Open a path that begins at @from or at the root. The folders of the last
// @nnew names may be created. The folders of the last @nours names must belong
// to the user.
static int walk_path(struct walk *w, int from, const char *path, size_t nnew,
		     size_t nours)
{
	_cleanup_close_ int fd = *path == '/' ?
					 open("/", O_PATH | O_CLOEXEC) :
					 openat(from, ".", O_PATH | O_CLOEXEC);
	size_t left = count_names(path);
	char name[NAME_MAX + 1];

	for (; fd >= 0 && left; left--) {
		path += strspn(path, "/");
		size_t n = strcspn(path, "/");
		if (n > NAME_MAX)
			return -1;
		memcpy(name, path, n);
		name[n] = '\0';
		path += n;
		int next =
			open_step(w, fd, name,
				  (struct need){ left <= nnew, left <= nours });
		close(fd);
		fd = next;
	}
	int last = fd;
	fd = -1;
	return last;
}

// The path of the folder, or NULL.
static char *folder_path(void)
{
	const char *base = getenv("XDG_CACHE_HOME"), *below = "";
	char *path;

	if (!base || base[0] != '/') {
		base = getenv("HOME");
		below = "/.cache";
	}
	if (!base || base[0] != '/' ||
	    asprintf(&path, "%s%s/%s", base, below, ours) < 0)
		return NULL;
	return path;
}

int gr_dwarf_open_folder(bool create, struct gr_error **ret)
{
	_cleanup_free_ char *path = folder_path();
	struct walk w = { .create = create };

	if (ret)
		*ret = NULL;
	if (!path)
		return -1;
	_cleanup_close_ int fd =
		walk_path(&w, AT_FDCWD, path, MAX_NEW, MAX_OURS);
	if (ret)
		*ret = w.refused;
	else
		gr_error_destroy(w.refused);
	// Open the folder again for listing: the steps used O_PATH only.
	return fd < 0 ? -1 :
			openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

struct gr_error *gr_dwarf_check_cache(void)
{
	struct gr_error *refused;
	_cleanup_close_ int fd = gr_dwarf_open_folder(false, &refused);

	(void)fd;
	return refused;
}
