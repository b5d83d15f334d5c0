// SPDX-License-Identifier: Apache-2.0
/*
 * goref-readahead MILLISECONDS FILE...: for so long, read the core files among
 * FILE... into the page cache.
 *
 * gdb takes a while to start, and the disk is idle meanwhile. So `goref core'
 * starts this helper first, without waiting for it. The helper ends once the
 * scan knows better which parts it needs: it may need little, or the end of the
 * file. The helper is only a hint: it prints nothing, and no result depends on
 * it.
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/cleanup.h"

enum {
	MAX_BYTES = 256 << 20,
	/* The hard limit, for a read that does not return, is so much later. */
	SPARE_SECONDS = 2,
	/* Size of one read; the kernel reads ahead from there. */
	STEP_BYTES = 256 << 10,
};

static bool is_core(int fd)
{
	Elf64_Ehdr header;

	return pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
	       !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
	       header.e_type == ET_CORE;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000) + now.tv_nsec / 1000000;
}

/*
 * Read in the order of the file, without holes. What is cached is read like the
 * rest: newer kernels begin to read a page when they are asked whether it is
 * there, so the answer is worth nothing.
 */
static void read_file(int fd, uint64_t end_ms)
{
	static char nowhere[STEP_BYTES];
	off_t off = 0;

	for (int i = 0; i < MAX_BYTES / STEP_BYTES; i++) {
		off = lseek(fd, off, SEEK_DATA);
		if (off < 0 || pread(fd, nowhere, STEP_BYTES, off) <= 0)
			return;
		off += STEP_BYTES;
		if (now_ms() >= end_ms)
			return;
	}
}

static void read_ahead(const char *path, uint64_t end_ms)
{
	struct stat st;

	/* Opening a pipe could end it for others. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && is_core(fd))
		read_file(fd, end_ms);
}

int main(int argc, char **argv)
{
	/* A shell makes background processes ignore Ctrl-C. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	/*
	 * Inherited pipes are closed, so that nobody waits for us at their end.
	 */
	close_range(3, ~0U, 0);
	if (argc < 2)
		return 2;
	unsigned long ms = strtoul(argv[1], NULL, 10);
	alarm(SPARE_SECONDS + (unsigned int)(ms / 1000));
	uint64_t end_ms = now_ms() + ms;
	for (int i = 2; i < argc; i++)
		read_ahead(argv[i], end_ms);
	return 0;
}
