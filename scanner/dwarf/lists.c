// SPDX-License-Identifier: Apache-2.0
#include "dwarf/lists.h"

#include <elf.h>
#include <libdwarf/dwarf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

// A list with more entries counts as torn.
enum { ENTRIES_MAX = 1 << 16 };

// The most uncompressed bytes of a section for each byte in the file.
enum { PACKED_MAX = 100 };

// The kinds of operands that follow an entry's code.
enum operand { NOTHING, LEB, ADDRESS };
struct shape {
	bool is_known;
	enum operand operands[2];
	bool has_expression;
};

static const struct shape location_shapes[] = {
	[DW_LLE_end_of_list] = { true, { NOTHING, NOTHING }, false },
	[DW_LLE_base_addressx] = { true, { LEB, NOTHING }, false },
	[DW_LLE_startx_endx] = { true, { LEB, LEB }, true },
	[DW_LLE_startx_length] = { true, { LEB, LEB }, true },
	[DW_LLE_offset_pair] = { true, { LEB, LEB }, true },
	[DW_LLE_default_location] = { true, { NOTHING, NOTHING }, true },
	[DW_LLE_base_address] = { true, { ADDRESS, NOTHING }, false },
	[DW_LLE_start_end] = { true, { ADDRESS, ADDRESS }, true },
	[DW_LLE_start_length] = { true, { ADDRESS, LEB }, true },
};

static const struct shape range_shapes[] = {
	[DW_RLE_end_of_list] = { true, { NOTHING, NOTHING }, false },
	[DW_RLE_base_addressx] = { true, { LEB, NOTHING }, false },
	[DW_RLE_startx_endx] = { true, { LEB, LEB }, false },
	[DW_RLE_startx_length] = { true, { LEB, LEB }, false },
	[DW_RLE_offset_pair] = { true, { LEB, LEB }, false },
	[DW_RLE_base_address] = { true, { ADDRESS, NOTHING }, false },
	[DW_RLE_start_end] = { true, { ADDRESS, ADDRESS }, false },
	[DW_RLE_start_length] = { true, { ADDRESS, LEB }, false },
};

static bool skip(struct gr_bytes section, uint64_t *off, uint64_t bytes)
{
	if (!gr_bytes_has(section, *off, bytes))
		return false;
	*off += bytes;
	return true;
}

static bool skip_operand(struct gr_bytes section, uint64_t *off,
			 enum operand operand)
{
	uint64_t value;

	if (operand == ADDRESS)
		return skip(section, off, GR_WORD_BYTES);
	return operand == NOTHING || gr_bytes_uvarint(section, off, &value);
}

static bool ends_inside(struct gr_bytes section, uint64_t off,
			const struct shape *shapes, size_t nshapes)
{
	uint64_t expression_bytes;
	uint8_t code;

	if (!section.size)
		return true;
	for (unsigned int i = 0; i < ENTRIES_MAX; i++) {
		if (!gr_bytes_get(section, off++, &code, 1))
			return false;
		if (code == 0)
			return true;
		if (code >= nshapes || !shapes[code].is_known ||
		    !skip_operand(section, &off, shapes[code].operands[0]) ||
		    !skip_operand(section, &off, shapes[code].operands[1]))
			return false;
		if (shapes[code].has_expression &&
		    (!gr_bytes_uvarint(section, &off, &expression_bytes) ||
		     !skip(section, &off, expression_bytes)))
			return false;
	}
	return false;
}

bool gr_locations_end_inside(struct gr_bytes section, uint64_t off)
{
	return ends_inside(section, off, location_shapes,
			   GR_ARRAY_SIZE(location_shapes));
}

bool gr_ranges_end_inside(struct gr_bytes section, uint64_t off)
{
	return ends_inside(section, off, range_shapes,
			   GR_ARRAY_SIZE(range_shapes));
}

bool gr_lists_has_locations(const struct gr_lists *lists, uint64_t off)
{
	return gr_locations_end_inside(lists->locations.bytes, off);
}

bool gr_lists_has_ranges(const struct gr_lists *lists, uint64_t off)
{
	return gr_ranges_end_inside(lists->ranges.bytes, off);
}

bool gr_list_headers_fit(struct gr_bytes section)
{
	struct {
		uint16_t version;
		uint8_t address_bytes, segment_bytes;
		uint32_t noffsets;
	} header;
	uint64_t off = 0, unit_bytes, offset_bytes;
	uint32_t length;

	while (off < section.size) {
		if (!gr_bytes_get(section, off, &length, sizeof(length)))
			return false;
		off += sizeof(length);
		unit_bytes = length;
		offset_bytes = 4;
		if (length == UINT32_MAX) {
			if (!gr_bytes_get(section, off, &unit_bytes, 8))
				return false;
			off += 8;
			offset_bytes = 8;
		}
		if (!gr_bytes_has(section, off, unit_bytes) ||
		    unit_bytes < sizeof(header) ||
		    !gr_bytes_get(section, off, &header, sizeof(header)))
			return false;
		if (header.version != 5 ||
		    header.address_bytes != GR_WORD_BYTES ||
		    header.segment_bytes != 0 ||
		    header.noffsets >
			    (unit_bytes - sizeof(header)) / offset_bytes)
			return false;
		off += unit_bytes;
	}
	return true;
}

static bool read_at(int fd, uint64_t off, void *ret, size_t bytes)
{
	return off <= INT64_MAX &&
	       pread(fd, ret, bytes, (off_t)off) == (ssize_t)bytes;
}

// A section that is not completely in the file is left to libdwarf, which
// detects the error.
static void map_section(struct gr_mapped_section *section, int fd,
			uint64_t file_bytes, const Elf64_Shdr *header)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t start = header->sh_offset & ~(page_bytes - 1);

	if (section->map || header->sh_type == SHT_NOBITS ||
	    header->sh_flags & SHF_COMPRESSED || !header->sh_size ||
	    header->sh_offset > file_bytes ||
	    header->sh_size > file_bytes - header->sh_offset)
		return;
	size_t map_bytes =
		(size_t)(header->sh_offset - start + header->sh_size);
	void *map =
		mmap(NULL, map_bytes, PROT_READ, MAP_PRIVATE, fd, (off_t)start);
	if (map == MAP_FAILED)
		return;
	section->map = map;
	section->map_bytes = map_bytes;
	section->bytes.data = (uint8_t *)map + (header->sh_offset - start);
	section->bytes.size = header->sh_size;
}

// May a section be decompressed? zlib's ratio is at most about a thousand; for
// debug information, about four is usual.
static bool is_sane_packed(int fd, const char *name, const Elf64_Shdr *header)
{
	uint64_t most = header->sh_size > UINT64_MAX / PACKED_MAX ?
				UINT64_MAX :
				header->sh_size * PACKED_MAX;
	Elf64_Chdr packed;
	uint8_t old[12]; // "ZLIB", and the size in eight bytes

	if (header->sh_flags & SHF_COMPRESSED)
		return !read_at(fd, header->sh_offset, &packed,
				sizeof(packed)) ||
		       packed.ch_size <= most;
	if (strncmp(name, ".zdebug_", 8) != 0 ||
	    !read_at(fd, header->sh_offset, old, sizeof(old)))
		return true;
	return __builtin_bswap64(gr_load_u64(old + 4)) <= most;
}

// The section headers, and *@count of them; NULL if there are none.
static Elf64_Shdr *read_headers(int fd, size_t *count, size_t *names)
{
	_cleanup_free_ Elf64_Shdr *headers = NULL;
	Elf64_Ehdr elf;

	if (!read_at(fd, 0, &elf, sizeof(elf)) ||
	    memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf.e_ident[EI_DATA] != ELFDATA2LSB ||
	    elf.e_shentsize != sizeof(*headers) || !elf.e_shnum)
		return NULL;
	headers = calloc(elf.e_shnum, sizeof(*headers));
	if (!headers || elf.e_shstrndx >= elf.e_shnum ||
	    !read_at(fd, elf.e_shoff, headers, elf.e_shnum * sizeof(*headers)))
		return NULL;
	*count = elf.e_shnum;
	*names = elf.e_shstrndx;
	return_ptr(headers);
}

// False if a section is too large to take memory for.
static bool map_sections(struct gr_lists *lists, int fd, uint64_t file_bytes)
{
	_cleanup_free_ Elf64_Shdr *headers = NULL;
	size_t count = 0, names = 0;
	char name[sizeof(".debug_loclists")];

	headers = read_headers(fd, &count, &names);
	for (size_t i = 0; headers && i < count; i++) {
		uint64_t off;
		if (__builtin_add_overflow(headers[names].sh_offset,
					   headers[i].sh_name, &off) ||
		    !read_at(fd, off, name, sizeof(name)))
			continue;
		name[sizeof(name) - 1] = '\0';
		if (!is_sane_packed(fd, name, &headers[i]))
			return false;
		if (strcmp(name, ".debug_loclists") == 0)
			map_section(&lists->locations, fd, file_bytes,
				    &headers[i]);
		else if (strcmp(name, ".debug_rnglists") == 0)
			map_section(&lists->ranges, fd, file_bytes,
				    &headers[i]);
	}
	return true;
}

bool gr_lists_init(struct gr_lists *lists, int fd)
{
	struct stat status;

	if (fstat(fd, &status) < 0 || status.st_size < 0)
		return true;
	return map_sections(lists, fd, (uint64_t)status.st_size) &&
	       gr_list_headers_fit(lists->locations.bytes) &&
	       gr_list_headers_fit(lists->ranges.bytes);
}

static void unmap_section(struct gr_mapped_section *section)
{
	if (section->map)
		munmap(section->map, section->map_bytes);
	memset(section, 0, sizeof(*section));
}

void gr_lists_deinit(struct gr_lists *lists)
{
	unmap_section(&lists->locations);
	unmap_section(&lists->ranges);
}
