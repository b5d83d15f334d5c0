// SPDX-License-Identifier: Apache-2.0
#include "proto/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "proto/nameless.h"

enum {
	MAX_LINKS = 40, // the kernel's own limit
	MAX_NAMES = 100,
	COPY_BYTES = 1 << 16,
	MAX_LIST_BYTES = 4096, // some 500 users
};

/** The new content of a regular file. */
struct gr_output_content {
	int from; // the content; stays open after gz is closed
	int to;	  // the existing file to copy to; -1: the content replaces it
};

static struct gr_error *cannot_write(const char *path, int error)
{
	return gr_error_format(GR_ERROR_IO, "cannot write %s: %s", path,
			       strerror(error));
}

// Return a name for a file beside @path. It shows the origin of the file, if we
// are killed before the file is removed.
static char *temp_name(const char *path, unsigned int number)
{
	char *temp;

	if (asprintf(&temp, "%s.%d-%u.tmp", path, (int)getpid(), number) < 0) {
		errno = ENOMEM;
		return NULL;
	}
	return temp;
}

// Create a file with a name beside @path. If there is a file @nameless (not
// -1), give it that name instead. Return the file; -1 and errno on failure.
static int name_temp(const char *path, int nameless, mode_t mode, char **ret)
{
	for (unsigned int i = 0; i < MAX_NAMES; i++) {
		_cleanup_free_ char *temp = temp_name(path, i);

		if (!temp)
			return -1;
		int fd = nameless;
		if (nameless < 0)
			fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
				  mode);
		else if (gr_nameless_link(nameless, temp))
			fd = -1;
		if (fd >= 0) {
			*ret = steal_ptr(temp);
			return fd;
		}
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

static int create_named(const char *path, mode_t mode, char **ret)
{
	return name_temp(path, -1, mode, ret);
}

// Create a file in the folder of @path, without a name if this is possible;
// *ret then stays NULL.
static int create_temp(const char *path, mode_t mode, char **ret)
{
	int fd = gr_nameless_create(path, mode);

	return fd >= 0 ? fd : create_named(path, mode, ret);
}

// Return the path @target of a link at @path, relative to the current folder.
static char *join_link(const char *path, const char *target)
{
	const char *slash = strrchr(path, '/');
	char *joined;

	if (*target == '/' || !slash)
		return strdup(target);
	if (asprintf(&joined, "%.*s%s", (int)(slash - path) + 1, path, target) <
	    0)
		return NULL;
	return joined;
}

// Resolve the links of @path, because a rename would replace a link. The
// resulting file need not exist. A link to a file without a name stays: its
// target is not a path.
static char *resolve(const char *path)
{
	if (gr_nameless_is(path))
		return strdup(path);
	char *at = realpath(path, NULL);
	char target[PATH_MAX];

	if (at)
		return at;
	at = strdup(path);
	for (int i = 0; at && i < MAX_LINKS; i++) {
		ssize_t n = readlink(at, target, sizeof(target) - 1);

		if (n < 0)
			break;
		target[n] = '\0';
		char *next = join_link(at, target);
		free(at);
		at = next;
	}
	return at;
}

// Give a new file the access control list of the one at @path.
static bool take_over_list(int fd, const char *path)
{
	static const char name[] = "system.posix_acl_access";
	char list[MAX_LIST_BYTES];
	ssize_t bytes = getxattr(path, name, list, sizeof(list));

	if (bytes > 0)
		return !fsetxattr(fd, name, list, bytes, 0);
	if (errno == ERANGE)
		return false;
	// The folder may have given it one, which the old file does not have.
	return !fremovexattr(fd, name) || errno == ENODATA || errno == ENOTSUP;
}

// Give a new file the owner and the mode of the one at @path that it replaces.
// Special mode bits such as set-user-ID are not copied. If it is private, its
// mode lets nobody else read it, and a list could not.
static bool take_over(int fd, const char *path, const struct stat *old,
		      bool is_private)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
	    fchown(fd, old->st_uid, old->st_gid))
		return false;
	// With a list, the mode of the group is only what the list allows at
	// most: without the list, it would let the group in.
	if (!is_private && !take_over_list(fd, path))
		return false;
	return !fchmod(fd, old->st_mode & (is_private ? 0700 : 0777));
}

// Create the file that will replace @path, by the function @create. It has the
// owner and mode of @path; if it cannot have them, no file is created.
static int create_beside(const char *path, bool is_private,
			 int (*create)(const char *, mode_t, char **),
			 char **ret)
{
	_cleanup_close_ int fd = -1;
	struct stat old;

	if (stat(path, &old))
		return create(path, is_private ? 0600 : 0666, ret);
	// Nobody else may read the file until it has its owner.
	fd = create(path, 0600, ret);
	if (fd < 0)
		return -1;
	if (!take_over(fd, path, &old, is_private)) {
		if (*ret)
			unlink(*ret);
		free(*ret);
		*ret = NULL;
		return -1;
	}
	int made = fd;
	fd = -1;
	return made;
}

// True if @path exists and must be written in place: a device, a pipe, or a
// file without a name.
static bool is_special(const char *path)
{
	struct stat st;

	if (stat(path, &st) || S_ISDIR(st.st_mode))
		return false;
	return !S_ISREG(st.st_mode) || gr_nameless_is(path);
}

static struct gr_error *check_target(const char *path)
{
	struct stat st;

	if (!*path)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "the name of the output file is empty");
	// The kernel may forbid following a link of another user.
	if (stat(path, &st))
		return errno == ENOENT ? NULL : cannot_write(path, errno);
	if (S_ISDIR(st.st_mode))
		return cannot_write(path, EISDIR);
	if (access(path, W_OK))
		return cannot_write(path, errno);
	return NULL;
}

struct gr_error *gr_output_check(const char *path)
{
	_cleanup_free_ char *temp = NULL;
	_cleanup_free_ char *real = resolve(path);

	if (!real)
		return &gr_enomem;
	struct gr_error *err = check_target(path);
	if (err || is_special(real))
		return err;
	_cleanup_close_ int fd = create_temp(real, 0600, &temp);
	int error = errno;
	if (temp)
		unlink(temp);
	if (fd < 0 && access(real, W_OK))
		return cannot_write(path, error);
	return NULL;
}

// Create a file elsewhere, for the time until the copy: the folder of the
// output takes no new file.
static int create_elsewhere(void)
{
	const char *folder = getenv("TMPDIR");

	return open(folder && *folder ? folder : "/tmp",
		    O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
}

// Keep a descriptor of the content @fd, because gz will close @fd, and the file
// @to to which the content is copied (-1: none).
static bool keep_content(struct gr_output *out, int fd, int to)
{
	_cleanup_close_ int own_to = to;

	out->content = malloc(sizeof(*out->content));
	if (!out->content) {
		errno = ENOMEM;
		return false;
	}
	out->content->to = own_to;
	own_to = -1;
	out->content->from = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return out->content->from >= 0;
}

// Create the new file for out->path. The caller writes to the result; -1 and
// errno on failure.
static int begin_new(struct gr_output *out)
{
	_cleanup_close_ int fd = create_beside(out->path, out->is_private,
					       create_temp, &out->temp_path);

	if (fd < 0 || !keep_content(out, fd, -1))
		return -1;
	int made = fd;
	fd = -1;
	return made;
}

// Create the file whose content will be copied to out->path, which exists. The
// caller writes to the result; -1 and errno on failure.
static int begin_copy(struct gr_output *out)
{
	_cleanup_close_ int fd = create_temp(out->path, 0600, &out->temp_path);

	if (fd < 0)
		fd = create_elsewhere();
	if (fd < 0)
		return -1;
	int to = open(out->path, O_WRONLY | O_CLOEXEC);
	if (to < 0 || !keep_content(out, fd, to))
		return -1;
	int made = fd;
	fd = -1;
	return made;
}

static void drop_content(struct gr_output *out)
{
	if (!out->content)
		return;
	if (out->content->from >= 0)
		close(out->content->from);
	if (out->content->to >= 0)
		close(out->content->to);
	free(out->content);
	out->content = NULL;
}

struct gr_error *gr_output_init(struct gr_output *out, const char *path,
				enum gr_output_format format)
{
	memset(out, 0, sizeof(*out));
	out->fd = -1;
	out->is_private = format == GR_OUTPUT_PRIVATE;
	out->path = resolve(path);
	if (!out->path)
		return &gr_enomem;
	struct gr_error *err = check_target(path);
	if (err)
		return err;
	if (!is_special(out->path))
		out->fd = begin_new(out);
	int error = errno;
	// If no new file can be created in the folder, or if no new file can
	// replace the old one, the old one gets the new content in the end.
	if (out->fd < 0 && is_special(out->path)) {
		out->fd = open(out->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
		error = errno;
	} else if (out->fd < 0 && !out->content && !out->temp_path &&
		   !access(out->path, W_OK)) {
		out->fd = begin_copy(out);
		error = errno;
	}
	if (out->fd < 0)
		return cannot_write(path, error);
	// Level 1 is enough: pprof files are read once. The header has no name
	// and no time.
	out->gz = gzdopen(out->fd, format == GR_OUTPUT_GZIP ? "wb1" : "wbT");
	if (!out->gz)
		return &gr_enomem;
	out->fd = -1;
	gzbuffer(out->gz, 128 * 1024);
	return NULL;
}

void gr_output_deinit(struct gr_output *out)
{
	if (out->gz)
		gzclose(out->gz);
	if (out->fd >= 0)
		close(out->fd);
	drop_content(out);
	if (out->temp_path)
		unlink(out->temp_path);
	free(out->temp_path);
	free(out->path);
	memset(out, 0, sizeof(*out));
	out->fd = -1;
}

struct gr_error *gr_output_write(struct gr_output *out, const void *data,
				 size_t bytes)
{
	const char *next = data;

	while (bytes) {
		unsigned int part = bytes < 1 << 30 ? (unsigned int)bytes :
						      1 << 30;
		errno = 0;
		if (gzwrite(out->gz, next, part) <= 0)
			return cannot_write(out->path, errno ? errno : EIO);
		next += part;
		bytes -= part;
	}
	return NULL;
}

static bool copy_bytes(int from, int to, off_t bytes)
{
	char buf[COPY_BYTES];
	off_t done = 0;

	while (done < bytes) {
		ssize_t n = pread(from, buf, sizeof(buf), done);

		if (n > 0)
			n = pwrite(to, buf, n, done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += n;
	}
	return !ftruncate(to, bytes) && !fsync(to);
}

// Give the existing file the new content. Before its bytes change, it has all
// the room that it needs.
static struct gr_error *copy_over(struct gr_output *out)
{
	const struct gr_output_content *copy = out->content;
	struct stat old, new;

	if (fstat(copy->to, &old) || fstat(copy->from, &new))
		return cannot_write(out->path, errno);
	if (out->is_private && old.st_mode & 0077 &&
	    fchmod(copy->to, old.st_mode & 0700))
		return gr_error_format(GR_ERROR_IO,
				       "cannot write %s: others can read this "
				       "file, and its new content is private: "
				       "remove it, or name another file",
				       out->path);
	if (new.st_size &&
	    fallocate(copy->to, FALLOC_FL_KEEP_SIZE, 0, new.st_size))
		return gr_error_format(GR_ERROR_IO,
				       "cannot write %s: %s; it cannot be "
				       "replaced either, because of its owner "
				       "or its folder: remove it, or name "
				       "another file",
				       out->path, strerror(errno));
	// Who kills us during the copy finds the whole beside it.
	if (!out->temp_path)
		(void)name_temp(out->path, copy->from, 0, &out->temp_path);
	if (!copy_bytes(copy->from, copy->to, new.st_size))
		return cannot_write(out->path, errno);
	if (out->temp_path)
		unlink(out->temp_path);
	return NULL;
}

// Copy the content to a file that has a name: the file system can have files
// without one, but give them none.
static bool copy_to_named(struct gr_output *out, char **ret)
{
	_cleanup_close_ int fd =
		create_beside(out->path, out->is_private, create_named, ret);
	struct stat st;

	return fd >= 0 && !fstat(out->content->from, &st) &&
	       copy_bytes(out->content->from, fd, st.st_size);
}

// Put the new file at out->path. The kernel gives a file without a name no name
// that another file has. The file then gets a name of its own for the shortest
// time that there is: what kills us between these two calls leaves it.
static struct gr_error *put_in_place(struct gr_output *out)
{
	int whole = out->content->from;

	if (!out->temp_path && !gr_nameless_link(whole, out->path))
		return NULL;
	if (!out->temp_path &&
	    name_temp(out->path, whole, 0, &out->temp_path) < 0 &&
	    !copy_to_named(out, &out->temp_path))
		return cannot_write(out->path, errno);
	if (rename(out->temp_path, out->path))
		return cannot_write(out->path, errno);
	free(out->temp_path);
	out->temp_path = NULL;
	return NULL;
}

struct gr_error *gr_output_commit(struct gr_output *out)
{
	errno = 0;
	int rc = gzclose(out->gz);
	out->gz = NULL;
	if (rc != Z_OK)
		return cannot_write(out->path, errno ? errno : EIO);
	if (!out->content)
		return NULL;
	return out->content->to >= 0 ? copy_over(out) : put_in_place(out);
}
