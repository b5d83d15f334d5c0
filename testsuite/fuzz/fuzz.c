// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include <err.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_PATCHES = 64,
};

uint64_t fuzz_take(struct fuzz_input *in, size_t bytes)
{
	uint64_t value = 0;
	size_t n = bytes < in->bytes ? bytes : in->bytes;

	if (n)
		memcpy(&value, in->data, n);
	in->data += n;
	in->bytes -= n;
	return value;
}

void fuzz_file_init(struct fuzz_file *file, const void *data, size_t bytes)
{
	file->fd = memfd_create("fuzz", MFD_CLOEXEC);
	file->bytes = bytes;
	file->data = NULL;
	if (file->fd < 0 || ftruncate(file->fd, bytes))
		err(1, "memfd");
	snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
	if (!bytes)
		return;
	file->data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			  file->fd, 0);
	if (file->data == MAP_FAILED)
		err(1, "mmap");
	// Pages of zeros stay holes: cores are mostly that.
	for (size_t off = 0; off < bytes; off += 4096) {
		static const uint8_t zeros[4096];
		size_t step = bytes - off < 4096 ? bytes - off : 4096;
		const uint8_t *from = (const uint8_t *)data + off;

		if (memcmp(from, zeros, step))
			memcpy(file->data + off, from, step);
	}
}

void fuzz_file_deinit(struct fuzz_file *file)
{
	if (file->data)
		munmap(file->data, file->bytes);
	close(file->fd);
}

void fuzz_base_set(struct fuzz_base *base, void *original, size_t bytes)
{
	base->original = original;
	fuzz_file_init(&base->file, original, bytes);
}

void fuzz_base_init(struct fuzz_base *base, const char *variable)
{
	const char *path = getenv(variable);
	struct stat st;

	if (!path)
		errx(1, "set %s to a file (testsuite/fuzz/run does)", variable);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		err(1, "%s", path);
	void *data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		err(1, "%s", path);
	close(fd);
	fuzz_base_set(base, data, st.st_size);
}

void fuzz_base_add(struct fuzz_base *base, uint64_t off, uint64_t bytes)
{
	if (off > base->file.bytes || bytes > base->file.bytes - off || !bytes)
		return;
	if (!fuzz_ranges_append(&base->ranges,
				(struct fuzz_range){ off, bytes }))
		err(1, "fuzz_base_add");
	base->total_bytes += bytes;
}

// The place of that number, counted over all ranges; *@p bytes are left of its
// range.
static uint64_t find_place(const struct fuzz_base *base, uint64_t number,
			   uint64_t *bytes)
{
	number %= base->total_bytes;
	for (size_t i = 0;; i++) {
		const struct fuzz_range *range = &base->ranges.data[i];

		if (number < range->bytes) {
			*bytes = range->bytes - number;
			return range->off + number;
		}
		number -= range->bytes;
	}
}

static uint64_t new_value(const struct fuzz_base *base, unsigned int op,
			  uint64_t old, uint64_t value, uint64_t addr)
{
	uint64_t left, copied = 0;

	switch (op) {
	case 0: // a number as it is
		return value;
	case 1: // one bit
		return old ^ UINT64_C(1) << (value & 63);
	case 2: // a little more or less
		return old + (int8_t)value;
	case 3: // itself, or near it: loops
		return addr + (int8_t)value * 8;
	case 4: // huge
		return UINT64_C(1) << 63 >> (value & 31);
	case 5: // what stands elsewhere
		value = find_place(base, value, &left);
		memcpy(&copied, base->file.data + value,
		       left < sizeof(copied) ? left : sizeof(copied));
		return copied;
	default:
		return value & 0xff;
	}
}

void fuzz_base_patch(struct fuzz_base *base, struct fuzz_input *in,
		     uint64_t (*addr_of)(uint64_t off))
{
	uint64_t old, left;

	for (size_t i = 0; i < MAX_PATCHES && in->bytes; i++) {
		unsigned int op = fuzz_take(in, 1);
		// Words at their places; with bit 7 single bytes anywhere.
		uint64_t number = fuzz_take(in, 4);
		uint64_t off = find_place(base, op & 0x80 ? number : number * 8,
					  &left);
		uint64_t value = fuzz_take(in, op & 0x40 ? 2 : 8);
		size_t width = op & 0x80 ? 1 : left < 8 ? left : 8;

		memcpy(&old, base->file.data + off, width);
		value = new_value(base, op & 7, old, value,
				  addr_of ? addr_of(off) : off);
		memcpy(base->file.data + off, &value, width);
		if (!fuzz_ranges_append(&base->patched,
					(struct fuzz_range){ off, width }))
			err(1, "fuzz_base_patch");
	}
}

void fuzz_base_restore(struct fuzz_base *base)
{
	for (size_t i = 0; i < base->patched.size; i++) {
		const struct fuzz_range *range = &base->patched.data[i];

		memcpy(base->file.data + range->off,
		       base->original + range->off, range->bytes);
	}
	base->patched.size = 0;
}

void fuzz_check_error(struct gr_error *error)
{
	if (error && (!*error->message || strchr(error->message, '\n')))
		abort();
	gr_error_destroy(error);
}
