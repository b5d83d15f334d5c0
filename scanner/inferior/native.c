// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "inferior/presence.h"
#include "inferior/source.h"

/* Runs of one read: at most the system's limit of a vector, 1,024. */
enum { MAX_RUNS = 512 };

static struct gr_error *process_error(int32_t pid, int error)
{
	if (error == EPERM || error == EACCES)
		return gr_error_format(
			GR_ERROR_IO,
			"not permitted to read process %d: %s (run as root, "
			"or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH)",
			pid, strerror(error));
	if (error == ENOENT || error == ESRCH)
		return gr_error_format(GR_ERROR_IO, "there is no process %d",
				       pid);
	return gr_error_format(GR_ERROR_IO, "cannot read process %d: %s", pid,
			       strerror(error));
}

/* Read the present ones of the runs; return the bytes in all. */
static ssize_t read_vectors(struct gr_source *source, const struct gr_run *runs,
			    size_t nruns)
{
	struct iovec local[MAX_RUNS], remote[MAX_RUNS];
	size_t count = 0;

	for (size_t i = 0; i < nruns; i++) {
		const struct gr_piece *piece = &runs[i].piece;

		if (runs[i].kind != GR_RUN_PRESENT)
			continue;
		local[count] = (struct iovec){ piece->buf, piece->bytes };
		remote[count++] =
			(struct iovec){ (void *)(uintptr_t)piece->addr,
					piece->bytes };
	}
	return process_vm_readv(gr_target_memory_pid(source->target), local,
				count, remote, count, 0);
}

/*
 * The leading bytes of [addr, addr + bytes) that /proc/PID/mem may be asked for.
 * It ignores permissions. In memory without access, only the pages that are there
 * are read: a reservation would read as zeros, and its page tables would grow. The
 * memory of a device is never read so.
 */
static uint64_t file_bytes(const struct gr_source *source,
			   const struct gr_mapping *mapping, uint64_t addr,
			   uint64_t bytes)
{
	uint64_t start = addr, end, pages = GR_PRESENCE_PAGES;

	if (bytes > mapping->end - addr)
		bytes = mapping->end - addr;
	if (mapping->flags & PF_R)
		return bytes;
	return !mapping->inode &&
			       gr_presence_find(source, &start, addr + bytes,
						&pages, &end) &&
			       start == addr ?
		       end - addr :
		       0;
}

static ssize_t read_file(struct gr_source *source, const struct gr_piece *piece)
{
	const struct gr_mapping *mapping =
		gr_mappings_find(source->maps, piece->addr);
	uint64_t bytes =
		mapping && piece->addr <= (uint64_t)INT64_MAX ?
			file_bytes(source, mapping, piece->addr, piece->bytes) :
			0;

	if (!bytes) {
		errno = EFAULT;
		return -1;
	}
	return pread(source->mem_fd, piece->buf, bytes, piece->addr);
}

static bool is_without_access(const struct gr_source *source, uint64_t addr)
{
	const struct gr_mapping *mapping = gr_mappings_find(source->maps, addr);

	return mapping && !(mapping->flags & PF_R);
}

/* Read the first present one of the runs, or all of them. */
static ssize_t read_present(struct gr_source *source, const struct gr_run *runs,
			    size_t nruns)
{
	ssize_t n = -1;
	size_t first = 0;

	while (first < nruns && runs[first].kind != GR_RUN_PRESENT)
		first++;
	if (first == nruns)
		return 0;
	if (!source->is_only_file) {
		n = read_vectors(source, runs, nruns);
		if (n < 0 && (errno == EPERM || errno == ENOSYS))
			source->is_only_file = true;
	}
	bool is_refused = n < 0 && errno == EFAULT &&
			  is_without_access(source, runs[first].piece.addr);
	return source->is_only_file || is_refused ?
		       read_file(source, &runs[first].piece) :
		       n;
}

/*
 * Fill the runs that are not present; return the number of leading runs that
 * are then filled or present. The last one may have become shorter. If the file
 * of a run is not at hand, the run is read from the process.
 */
static size_t fill_absent(const struct gr_source *source, struct gr_run *runs,
			  size_t nruns)
{
	for (size_t i = 0; i < nruns; i++) {
		struct gr_run *run = &runs[i];

		if (run->kind == GR_RUN_PRESENT)
			continue;
		int64_t bytes = gr_presence_fill(source, run);
		if (bytes < 0 && i == 0) {
			run->kind = GR_RUN_PRESENT;
			return 1;
		}
		if (bytes < 0)
			return i;
		if ((uint64_t)bytes < run->piece.bytes) {
			run->piece.bytes = bytes;
			return i + 1;
		}
	}
	return nruns;
}

/* The leading bytes of the runs, of whose present ones @p bytes were read. */
static uint64_t leading_bytes(const struct gr_run *runs, size_t nruns,
			      uint64_t bytes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < nruns; i++) {
		if (runs[i].kind == GR_RUN_PRESENT) {
			if (runs[i].piece.bytes > bytes)
				return sum + bytes;
			bytes -= runs[i].piece.bytes;
		}
		sum += runs[i].piece.bytes;
	}
	return sum;
}

static struct gr_error *native_read(struct gr_source *source,
				    const struct gr_piece *pieces,
				    size_t npieces, uint64_t *got)
{
	struct gr_run runs[MAX_RUNS];
	size_t nruns = gr_presence_cut(source, pieces, npieces, runs, MAX_RUNS);

	nruns = fill_absent(source, runs, nruns);
	ssize_t n = read_present(source, runs, nruns);
	if (n < 0 && (errno == EPERM || errno == EACCES || errno == ESRCH)) {
		*got = 0;
		return process_error(gr_target_memory_pid(source->target),
				     errno);
	}
	// If nothing was read, the first present page is not mapped.
	*got = leading_bytes(runs, nruns, n < 0 ? 0 : n);
	return NULL;
}

static const struct gr_source_ops native_ops = {
	.read = native_read,
	.block_bytes = 16 << 10,
};

struct gr_error *gr_source_init_native(struct gr_source *source,
				       const struct gr_target *target,
				       const struct gr_mappings *maps)
{
	int32_t pid = gr_target_memory_pid(target);
	char name[32];

	memset(source, 0, sizeof(*source));
	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return process_error(pid, errno);
	snprintf(name, sizeof(name), "/proc/%d/pagemap", pid);
	*source = (struct gr_source){
		.target = target,
		.ops = &native_ops,
		.maps = maps,
		.mem_fd = fd,
		.pagemap_fd = open(name, O_RDONLY | O_CLOEXEC),
		// The pages of a snapshot are its own: it may have more by reading.
		.reads_absent = target->kind == GR_TARGET_SNAPSHOT,
		// process_vm_readv() pins pages. For this, the kernel first
		// copies the pages that a snapshot shares with its process.
		.is_only_file = target->kind == GR_TARGET_SNAPSHOT,
		.cache = gr_cache_create(native_ops.block_bytes),
	};
	if (source->cache)
		return NULL;
	gr_source_deinit(source);
	return &gr_enomem;
}
