// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "target/source.h"

enum { MAX_IOVECS = 1024 };

static struct gr_error *process_error(int32_t pid, int error)
{
	if (error == EPERM || error == EACCES)
		return gr_error_format(
			GR_ERROR_IO,
			"not permitted to read process %d: %s (run gdb as "
			"root or with CAP_SYS_PTRACE)",
			pid, strerror(error));
	if (error == ENOENT || error == ESRCH)
		return gr_error_format(GR_ERROR_IO, "there is no process %d",
				       pid);
	return gr_error_format(GR_ERROR_IO, "cannot read process %d: %s", pid,
			       strerror(error));
}

static ssize_t read_vectors(struct gr_source *source,
			    const struct gr_piece *pieces, size_t npieces)
{
	struct iovec local[MAX_IOVECS], remote[MAX_IOVECS];

	if (npieces > MAX_IOVECS)
		npieces = MAX_IOVECS;
	for (size_t i = 0; i < npieces; i++) {
		local[i] = (struct iovec){ pieces[i].buf, pieces[i].bytes };
		remote[i] = (struct iovec){ (void *)(uintptr_t)pieces[i].addr,
					    pieces[i].bytes };
	}
	return process_vm_readv(gr_target_memory_pid(source->target), local,
				npieces, remote, npieces, 0);
}

// /proc/PID/mem ignores permissions: a reservation without access would read
// as zeros. So only what is mapped readable is asked for.
static ssize_t read_file(struct gr_source *source, const struct gr_piece *piece)
{
	const struct gr_mapping *mapping =
		gr_mappings_find(source->maps, piece->addr);

	if (!mapping || !(mapping->flags & PF_R) ||
	    piece->addr > (uint64_t)INT64_MAX) {
		errno = EFAULT;
		return -1;
	}
	uint64_t bytes = mapping->end - piece->addr;
	if (bytes > piece->bytes)
		bytes = piece->bytes;
	return pread(source->mem_fd, piece->buf, bytes, piece->addr);
}

static struct gr_error *native_read(struct gr_source *source,
				    const struct gr_piece *pieces,
				    size_t npieces, uint64_t *got)
{
	ssize_t n = -1;

	*got = 0;
	if (!source->is_only_file) {
		n = read_vectors(source, pieces, npieces);
		if (n < 0 && (errno == EPERM || errno == ENOSYS))
			source->is_only_file = true;
	}
	if (source->is_only_file)
		n = read_file(source, &pieces[0]);
	if (n >= 0) {
		*got = n;
		return NULL;
	}
	if (errno == EPERM || errno == EACCES || errno == ESRCH)
		return process_error(gr_target_memory_pid(source->target),
				     errno);
	return NULL; // Not mapped.
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
	*source = (struct gr_source){
		.target = target,
		.ops = &native_ops,
		.maps = maps,
		.mem_fd = fd,
		// process_vm_readv() pins pages, for which the kernel first
		// copies those that a snapshot shares with its process.
		.is_only_file = target->kind == GR_TARGET_SNAPSHOT,
		.cache = gr_cache_create(native_ops.block_bytes),
	};
	if (source->cache)
		return NULL;
	gr_source_deinit(source);
	return &gr_enomem;
}
