// SPDX-License-Identifier: Apache-2.0
#include "proto/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"

static struct gr_error *cannot_write(const char *path, int error)
{
	return gr_error_format(GR_ERROR_IO, "cannot write %s: %s", path,
			       strerror(error));
}

// Create a file beside @path. Its name says whose it is, should we be killed.
static int create_temp(const char *path, char **ret)
{
	for (unsigned int i = 0; i < 100; i++) {
		_cleanup_free_ char *temp = NULL;

		if (asprintf(&temp, "%s.%d-%u.tmp", path, (int)getpid(), i) <
		    0) {
			temp = NULL;
			errno = ENOMEM;
			return -1;
		}
		int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			      0666);
		if (fd >= 0) {
			*ret = steal_ptr(temp);
			return fd;
		}
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

// The file that @path names behind links, which a rename would replace.
static char *resolve(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : strdup(path);
}

// True if @path is there and must be written in place: a device, a pipe.
static bool is_special(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static struct gr_error *check_target(const char *path)
{
	struct stat st;

	if (!*path)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "the name of the output file is empty");
	if (stat(path, &st))
		return NULL;
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
	struct gr_error *err = check_target(real);
	if (err || is_special(real))
		return err;
	_cleanup_close_ int fd = create_temp(real, &temp);
	int error = errno;
	if (fd >= 0)
		unlink(temp);
	else if (access(real, W_OK))
		return cannot_write(path, error);
	return NULL;
}

struct gr_error *gr_output_init(struct gr_output *out, const char *path,
				enum gr_output_format format)
{
	memset(out, 0, sizeof(*out));
	out->fd = -1;
	out->path = resolve(path);
	if (!out->path)
		return &gr_enomem;
	struct gr_error *err = check_target(out->path);
	if (err)
		return err;
	if (!is_special(out->path))
		out->fd = create_temp(out->path, &out->temp_path);
	int error = errno;
	// A folder that takes no new file may hold one that we may write.
	if (out->fd < 0 && !access(out->path, W_OK)) {
		out->fd = open(out->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
		error = errno;
	}
	if (out->fd < 0)
		return cannot_write(path, error);
	// Level 1: pprof files are read once. No name, no time in the header.
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

struct gr_error *gr_output_commit(struct gr_output *out)
{
	errno = 0;
	int rc = gzclose(out->gz);
	out->gz = NULL;
	if (rc != Z_OK)
		return cannot_write(out->path, errno ? errno : EIO);
	if (!out->temp_path)
		return NULL;
	if (rename(out->temp_path, out->path))
		return cannot_write(out->path, errno);
	free(out->temp_path);
	out->temp_path = NULL;
	return NULL;
}
