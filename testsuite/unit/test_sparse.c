// SPDX-License-Identifier: Apache-2.0
#include "inferior/image_internal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "elf_builder.h"
#include "suite.h"

// A core of hundreds of gigabytes, most of it a hole: opened, planned and read
// at both ends, it brings neither a copy nor the hole into memory.

static const uint64_t MB = 1 << 20, GB = 1 << 30;
static const uint64_t ADDR = 0xc000000000;
enum { SALT = 3, DATA_BYTES = 4 << 20 };

/** Data, a hole, and data again. */
struct sparse {
	char path[64];
	int fd;
	uint64_t hole_bytes, file_bytes;
	struct gr_gaps gaps;
	struct gr_target_module module;
	struct gr_target target;
	struct gr_image *image;
};

static void write_data(const struct sparse *s, uint64_t off, uint64_t addr)
{
	uint8_t *data = malloc(DATA_BYTES);

	assert_non_null(data);
	for (uint64_t i = 0; i < DATA_BYTES; i++)
		data[i] = builder_byte(addr + i, SALT);
	assert_int_equal(pwrite(s->fd, data, DATA_BYTES, (off_t)off),
			 DATA_BYTES);
	free(data);
}

static void write_headers(const struct sparse *s)
{
	struct elf_builder *b = calloc(1, sizeof(*b));

	builder_init(b, ET_CORE);
	Elf64_Phdr *load = builder_header(b, PT_LOAD);
	load->p_offset = MB;
	load->p_vaddr = ADDR;
	load->p_filesz = load->p_memsz = s->file_bytes - MB;
	load->p_flags = PF_R | PF_W;
	builder_finish(b);
	assert_int_equal(pwrite(s->fd, b->file, b->bytes, 0),
			 (ssize_t)b->bytes);
	free(b);
}

static struct sparse *sparse_create(uint64_t hole_bytes)
{
	struct sparse *s = calloc(1, sizeof(*s));
	const char *folder = getenv("TMPDIR");

	snprintf(s->path, sizeof(s->path), "%.40s/goref-unit-XXXXXX",
		 folder ? folder : "/tmp");
	s->fd = mkstemp(s->path);
	assert_true(s->fd >= 0);
	s->hole_bytes = hole_bytes;
	s->file_bytes = MB + DATA_BYTES + hole_bytes + DATA_BYTES;
	// No file system for it, or a limit of file sizes.
	if (ftruncate(s->fd, (off_t)s->file_bytes)) {
		unlink(s->path);
		skip();
	}
	write_headers(s);
	write_data(s, MB, ADDR);
	write_data(s, MB + DATA_BYTES + hole_bytes,
		   ADDR + DATA_BYTES + hole_bytes);
	fsync(s->fd);
	posix_fadvise(s->fd, 0, 0, POSIX_FADV_DONTNEED);
	s->module = (struct gr_target_module){ .path = "/proc/self/exe",
					       .bias = 0x700000000000 };
	s->target = (struct gr_target){ .kind = GR_TARGET_CORE,
					.core_path = s->path,
					.modules = &s->module,
					.nmodules = 1 };
	assert_null(gr_image_create(&s->target, &s->gaps, &s->image));
	return s;
}

static void sparse_destroy(struct sparse *s)
{
	gr_image_destroy(s->image);
	unlink(s->path);
	close(s->fd);
	free(s);
}

// Pages of [off, off + bytes) of the file that are in the page cache.
static uint64_t cached_pages(const struct sparse *s, uint64_t off,
			     uint64_t bytes)
{
	uint64_t pages = bytes / GR_PAGE_BYTES, n = 0;
	unsigned char *is_in = malloc(pages);
	void *data =
		mmap(NULL, bytes, PROT_READ, MAP_SHARED, s->fd, (off_t)off);

	assert_non_null(is_in);
	assert_ptr_not_equal(data, MAP_FAILED);
	assert_int_equal(mincore(data, bytes, is_in), 0);
	for (uint64_t i = 0; i < pages; i++)
		n += is_in[i] & 1;
	munmap(data, bytes);
	free(is_in);
	return n;
}

static void check_data(struct sparse *s, uint64_t addr)
{
	const uint8_t *p;

	assert_null(gr_image_map(s->image, addr, DATA_BYTES, &p));
	for (uint64_t i = 0; i < DATA_BYTES; i++)
		if (p[i] != builder_byte(addr + i, SALT))
			fail_msg("wrong byte at %llu", (unsigned long long)i);
}

TEST(hole)
{
	struct sparse *s = sparse_create(300 * GB);
	uint64_t far = ADDR + DATA_BYTES + s->hole_bytes, value;

	assert_null(gr_image_plan(s->image, ADDR, far + DATA_BYTES));
	assert_null(gr_image_capture(s->image));
	gr_image_seal(s->image);
	assert_int_equal(gr_image_private_bytes(s->image), 0);
	check_data(s, far);
	check_data(s, ADDR);
	assert_null(gr_image_read_u64(s->image, ADDR + 200 * GB, &value));
	assert_int_equal(value, 0);
	// But for what the kernel reads around a page, of its own.
	assert_in_range(cached_pages(s, MB + DATA_BYTES, GB), 0,
			64 * MB / GR_PAGE_BYTES);
	sparse_destroy(s);
}

GR_SUITE("sparse")
