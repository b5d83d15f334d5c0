/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Synthetic ELF files for the unit tests: headers first, then segments and
 * notes one after the other. Errors are assertions.
 */
#pragma once

#include "base/base.h"

#include <assert.h>
#include <elf.h>
#include <unistd.h>

enum { BUILDER_MAX_HEADERS = 16, BUILDER_MAX_BYTES = 1 << 20 };

struct elf_builder {
	Elf64_Ehdr header;
	Elf64_Phdr headers[BUILDER_MAX_HEADERS];
	size_t bytes; /**< The file has so many so far. */
	uint8_t file[BUILDER_MAX_BYTES];
};

static inline void builder_init(struct elf_builder *b, uint16_t type)
{
	memset(b, 0, sizeof(*b));
	memcpy(b->header.e_ident, ELFMAG, SELFMAG);
	b->header.e_ident[EI_CLASS] = ELFCLASS64;
	b->header.e_ident[EI_DATA] = ELFDATA2LSB;
	b->header.e_ident[EI_VERSION] = EV_CURRENT;
	b->header.e_type = type;
	b->header.e_machine = EM_X86_64;
	b->header.e_version = EV_CURRENT;
	b->header.e_ehsize = sizeof(b->header);
	b->header.e_phoff = sizeof(b->header);
	b->header.e_phentsize = sizeof(Elf64_Phdr);
	b->bytes = sizeof(b->header) + sizeof(b->headers);
}

static inline void *builder_append(struct elf_builder *b, const void *data,
				   size_t bytes)
{
	assert(bytes <= sizeof(b->file) - b->bytes);
	uint8_t *p = b->file + b->bytes;
	if (data)
		memcpy(p, data, bytes);
	b->bytes += bytes;
	return p;
}

static inline Elf64_Phdr *builder_header(struct elf_builder *b, uint32_t type)
{
	assert(b->header.e_phnum < BUILDER_MAX_HEADERS);
	Elf64_Phdr *header = &b->headers[b->header.e_phnum++];
	*header = (Elf64_Phdr){ .p_type = type,
				.p_offset = b->bytes,
				.p_align = 1 };
	return header;
}

/** A PT_LOAD whose bytes follow from their addresses: see builder_byte(). */
static inline uint8_t builder_byte(uint64_t addr, uint8_t salt)
{
	return (uint8_t)(addr ^ addr >> 8 ^ addr >> 16) + salt;
}

static inline Elf64_Phdr *builder_load(struct elf_builder *b, uint64_t addr,
				       uint64_t bytes, uint32_t flags,
				       uint8_t salt)
{
	Elf64_Phdr *header = builder_header(b, PT_LOAD);
	uint8_t *p = builder_append(b, NULL, bytes);

	header->p_vaddr = addr;
	header->p_filesz = header->p_memsz = bytes;
	header->p_flags = flags;
	for (uint64_t i = 0; i < bytes; i++)
		p[i] = builder_byte(addr + i, salt);
	return header;
}

/** Append a note to the file; the caller keeps the PT_NOTE header. */
static inline void builder_note(struct elf_builder *b, Elf64_Phdr *header,
				const char *owner, uint32_t type,
				const void *desc, size_t desc_bytes)
{
	static const uint8_t zeros[4];
	size_t owner_bytes = *owner ? strlen(owner) + 1 : 0;
	Elf64_Nhdr note = { owner_bytes, desc_bytes, type };

	builder_append(b, &note, sizeof(note));
	builder_append(b, owner, owner_bytes);
	builder_append(b, zeros, -owner_bytes & 3);
	builder_append(b, desc, desc_bytes);
	builder_append(b, zeros, -desc_bytes & 3);
	header->p_filesz = header->p_memsz = b->bytes - header->p_offset;
}

/**
 * Append section headers, which the file's header names.
 *
 * @param names The number of the section that has their names.
 */
static inline void builder_sections(struct elf_builder *b,
				    const Elf64_Shdr *sections, uint16_t count,
				    uint16_t names)
{
	b->header.e_shoff = b->bytes;
	b->header.e_shentsize = sizeof(*sections);
	b->header.e_shnum = count;
	b->header.e_shstrndx = names;
	builder_append(b, sections, count * sizeof(*sections));
}

/** Put the headers into the file's bytes. */
static inline void builder_finish(struct elf_builder *b)
{
	memcpy(b->file, &b->header, sizeof(b->header));
	memcpy(b->file + sizeof(b->header), b->headers, sizeof(b->headers));
}

/**
 * A copy of the file, whose size is that of its allocation: reading past it is
 * seen.
 *
 * @param cut_bytes Size of the copy; 0: all of the file; SIZE_MAX: nothing.
 * @return For free().
 */
static inline uint8_t *builder_copy(const struct elf_builder *b,
				    size_t cut_bytes, size_t *bytes)
{
	*bytes = cut_bytes == SIZE_MAX ? 0 : cut_bytes ? cut_bytes : b->bytes;
	uint8_t *copy = malloc(*bytes ? *bytes : 1);
	assert(copy);
	memcpy(copy, b->file, *bytes);
	return copy;
}

/** Write the first @p bytes to a new file; @p path gets its name. */
static inline void builder_write(struct elf_builder *b, size_t bytes,
				 char path[64])
{
	const char *folder = getenv("TMPDIR");

	snprintf(path, 64, "%.40s/goref-unit-XXXXXX", folder ? folder : "/tmp");
	int fd = mkstemp(path);
	assert(fd >= 0);
	ssize_t n = write(fd, b->file, bytes);
	assert(n == (ssize_t)bytes);
	(void)n;
	close(fd);
}
