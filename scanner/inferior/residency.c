// SPDX-License-Identifier: Apache-2.0
#include "inferior/residency.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "inferior/image_internal.h"

enum { PAGEMAP_ENTRIES = 4096, SCAN_REGIONS = 512 };

#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_FILE (UINT64_C(1) << 61) /* of a file, or shared */

/* PAGEMAP_SCAN of linux/fs.h, which older headers lack (kernel 6.7). */
#define SCAN_FILE (UINT64_C(1) << 2)
#define SCAN_PRESENT (UINT64_C(1) << 3)
#define SCAN_ZERO (UINT64_C(1) << 5)

struct scan_region {
	uint64_t start, end, categories;
};

struct scan_args {
	uint64_t size, flags, start, end, walk_end, regions, nregions;
	uint64_t max_pages, inverted, mask, any_of_mask, return_mask;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_args)

void gr_residency_deinit(struct gr_residency *r)
{
	gr_mappings_deinit(&r->mappings);
	gr_resident_vector_deinit(&r->ranges);
}

static struct gr_error *add(struct gr_residency *r, uint32_t mapping,
			    uint64_t start, uint64_t end, bool is_anonymous)
{
	struct gr_resident *last =
		r->ranges.size ? &r->ranges.data[r->ranges.size - 1] : NULL;

	if (last && last->mapping == mapping && last->end == start &&
	    last->is_anonymous == is_anonymous) {
		last->end = end;
		return NULL;
	}
	return gr_resident_vector_append(
		       &r->ranges, (struct gr_resident){ start, end, mapping,
							 is_anonymous }) ?
		       NULL :
		       &gr_enomem;
}

// ------------------------------------------------------------------- process

/** The files of /proc/PID. Each is of the memory that the process had when the
 * file was opened. */
struct process {
	const struct gr_target *target;
	FILE *smaps;
	int pagemap; /**< Opened first and asked last: see check_alive(). */
	bool has_no_scan;   /**< The kernel has no PAGEMAP_SCAN. */
	uint64_t rss_bytes; /**< The sum of smaps. */
	uint64_t found_bytes;
};

static void process_deinit(struct process *p)
{
	if (p->smaps)
		fclose(p->smaps);
	if (p->pagemap >= 0)
		close(p->pagemap);
}

static struct gr_error *process_open(struct process *p)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/pagemap", p->target->pid);
	p->pagemap = open(name, O_RDONLY | O_CLOEXEC);
	if (p->pagemap >= 0) {
		snprintf(name, sizeof(name), "/proc/%d/smaps", p->target->pid);
		p->smaps = fopen(name, "re");
	}
	return p->smaps ? NULL :
			  gr_error_format(GR_ERROR_IO, "cannot open %s: %s",
					  name, strerror(errno));
}

/* The process has died, or begun another program. */
static struct gr_error *error_ended(const struct process *p)
{
	return gr_error_format(GR_ERROR_IO,
			       "process %d has ended: its pages are not there",
			       p->target->pid);
}

/* Fail if the memory for which pagemap was opened is gone. smaps then ends
 * early or fails half way, and PAGEMAP_SCAN finds no page and says that it has
 * looked at all of them. Only a read of pagemap tells (fs/proc/task_mmu.c:
 * pagemap_read). If the memory is still there, all that was read before is
 * whole. */
static struct gr_error *check_alive(const struct process *p)
{
	uint64_t entry;

	return pread(p->pagemap, &entry, sizeof(entry), 0) == sizeof(entry) ?
		       NULL :
		       error_ended(p);
}

/* The resident bytes of each mapping, from smaps. */
static struct gr_error *read_smaps(struct process *p, struct gr_residency *r,
				   uint64_t *rss_bytes)
{
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0, at = 0;
	uint64_t start, end, kb;
	struct gr_error *err = NULL;

	while (!err && getline(&line, &capacity, p->smaps) > 0) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) ==
		    2) {
			while (at < r->mappings.list.size &&
			       r->mappings.list.data[at].start < start)
				at++;
			err = gr_source_poll(p->target);
		} else if (sscanf(line, "Rss: %" SCNu64 " kB", &kb) == 1 &&
			   at < r->mappings.list.size) {
			rss_bytes[at] = kb * 1024;
			p->rss_bytes += kb * 1024;
		} else if (sscanf(line, "Swap: %" SCNu64 " kB", &kb) == 1) {
			r->swapped_bytes += kb * 1024;
		}
	}
	return err || !ferror(p->smaps) ? err : error_ended(p);
}

/* Add the resident pages of a mapping: newer kernels tell them by ranges, and
 * leave out those of zeros, which do not count. What an older kernel answers, it
 * answers to the first question. */
static struct gr_error *scan_mapping(struct process *p, uint32_t mapping,
				     uint64_t start, uint64_t end,
				     struct gr_residency *r)
{
	struct scan_region regions[SCAN_REGIONS];
	struct gr_error *err = NULL;

	while (!err && start < end) {
		struct scan_args args = {
			.size = sizeof(args),
			.start = start,
			.end = end,
			.regions = (uintptr_t)regions,
			.nregions = SCAN_REGIONS,
			.inverted = SCAN_ZERO,
			.mask = SCAN_PRESENT | SCAN_ZERO,
			.return_mask = SCAN_FILE,
		};
		int n = ioctl(p->pagemap, SCAN_IOCTL, &args);

		if (n < 0 && !p->found_bytes) {
			p->has_no_scan = true;
			return NULL;
		}
		if (n < 0 || args.walk_end <= start)
			return error_ended(p);
		for (int i = 0; !err && i < n; i++) {
			p->found_bytes += regions[i].end - regions[i].start;
			err = add(r, mapping, regions[i].start, regions[i].end,
				  !(regions[i].categories & SCAN_FILE));
		}
		start = args.walk_end;
		if (!err)
			err = gr_source_poll(p->target);
	}
	return err;
}

static struct gr_error *read_pagemap(struct process *p, uint32_t mapping,
				     uint64_t start, uint64_t end,
				     struct gr_residency *r)
{
	_cleanup_free_ uint64_t *entries = calloc(PAGEMAP_ENTRIES, 8);
	struct gr_error *err = NULL;

	if (!entries)
		return &gr_enomem;
	while (!err && start < end) {
		uint64_t n = (end - start) / GR_PAGE_BYTES;

		if (n > PAGEMAP_ENTRIES)
			n = PAGEMAP_ENTRIES;
		ssize_t got = pread(p->pagemap, entries, n * 8,
				    start / GR_PAGE_BYTES * 8);
		if (got < 8)
			return error_ended(p);
		n = got / 8;
		for (uint64_t i = 0; !err && i < n; i++) {
			uint64_t page = start + i * GR_PAGE_BYTES;

			if (!(entries[i] & PAGEMAP_PRESENT))
				continue;
			p->found_bytes += GR_PAGE_BYTES;
			err = add(r, mapping, page, page + GR_PAGE_BYTES,
				  !(entries[i] & PAGEMAP_FILE));
		}
		start += n * GR_PAGE_BYTES;
		if (!err)
			err = gr_source_poll(p->target);
	}
	return err;
}

static struct gr_error *read_process(const struct gr_image *image,
				     struct gr_residency *r)
{
	_cleanup_(process_deinit) struct process p = { .target = image->target,
						       .pagemap = -1 };
	struct gr_error *err = process_open(&p);

	if (!err)
		err = gr_mappings_add_process(&r->mappings, p.target->pid);
	if (err)
		return err;
	size_t n = r->mappings.list.size;
	_cleanup_free_ uint64_t *rss_bytes = calloc(n + 1, sizeof(*rss_bytes));
	if (!rss_bytes)
		return &gr_enomem;
	err = read_smaps(&p, r, rss_bytes);
	for (size_t i = 0; !err && i < n; i++) {
		const struct gr_mapping *m = &r->mappings.list.data[i];

		// Most of the address space is reserved only.
		if (!rss_bytes[i])
			continue;
		if (!p.has_no_scan)
			err = scan_mapping(&p, i, m->start, m->end, r);
		if (!err && p.has_no_scan)
			err = read_pagemap(&p, i, m->start, m->end, r);
	}
	if (!err)
		err = check_alive(&p);
	// Older kernels do not tell the pages of zeros.
	r->kind = p.found_bytes == p.rss_bytes ? GR_RESIDENCY_EXACT :
						 GR_RESIDENCY_ANONYMOUS;
	return err;
}

// ---------------------------------------------------------------------- core

/* The kernel writes no sections, and the registers of the first thread first
 * (fs/binfmt_elf.c: elf_core_dump, fill_note_info). gdb and Delve do not. */
static bool is_by_kernel(const struct gr_elf *elf)
{
	for (size_t i = 0; i < elf->phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(elf, i);
		struct gr_bytes notes = gr_elf_segment_bytes(elf, &header);
		Elf64_Nhdr first;

		if (header.p_type != PT_NOTE || notes.size < sizeof(first))
			continue;
		memcpy(&first, notes.data, sizeof(first));
		return !elf->header.e_shoff && first.n_type == NT_PRSTATUS;
	}
	return false;
}

/* Add the parts of a segment that the file has: the rest are holes. */
static struct gr_error *add_segment(struct gr_residency *r, uint32_t mapping,
				    int fd, const Elf64_Phdr *header,
				    uint64_t *found_bytes)
{
	off_t at = header->p_offset, end = at + header->p_filesz;
	struct gr_error *err = NULL;

	while (!err && at < end) {
		off_t data = fd < 0 ? at : lseek(fd, at, SEEK_DATA);
		off_t hole = fd < 0 ? end : lseek(fd, data, SEEK_HOLE);

		if (data < at || data >= end || hole <= data)
			break;
		if (hole > end)
			hole = end;
		*found_bytes += hole - data;
		uint64_t start = header->p_vaddr + (data - header->p_offset);
		err = add(r, mapping, start, start + (hole - data), true);
		at = hole;
	}
	return err;
}

/* Copy the segments, with the paths of files. Both lists are sorted. */
static struct gr_error *add_mappings(const struct gr_image *image,
				     struct gr_residency *r)
{
	const struct gr_mapping_vector *files = &image->core.files.list;
	const struct gr_mapping_vector *segments = &image->core.segments.list;
	struct gr_error *err = NULL;
	size_t file = 0;

	for (size_t i = 0; !err && i < segments->size; i++) {
		struct gr_mapping m = segments->data[i];

		while (file < files->size && files->data[file].end <= m.start)
			file++;
		m.path = file < files->size &&
					 files->data[file].start <= m.start ?
				 files->data[file].path :
				 NULL;
		err = gr_mappings_add(&r->mappings, m);
		if (!err && i % 256 == 0)
			err = gr_source_poll(image->target);
	}
	return err;
}

/* Add what the file has. Segments come in the order of their headers. */
static struct gr_error *add_segments(const struct gr_image *image,
				     struct gr_residency *r, int fd,
				     uint64_t *found_bytes,
				     uint64_t *file_bytes)
{
	const struct gr_elf *elf = &image->core.elf;
	const struct gr_mapping_vector *list = &r->mappings.list;
	struct gr_error *err = add_mappings(image, r);
	size_t next = 0;

	for (size_t i = 0; !err && i < elf->phnum && next < list->size; i++) {
		Elf64_Phdr header = gr_elf_program_header(elf, i);

		if (header.p_type != PT_LOAD ||
		    list->data[next].start != header.p_vaddr)
			continue;
		size_t mapping = next++;
		// No two segments share bytes of the file.
		if (header.p_filesz > header.p_memsz ||
		    header.p_offset > elf->file.size ||
		    header.p_filesz > elf->file.size - header.p_offset ||
		    header.p_filesz > elf->file.size - *file_bytes)
			continue;
		*file_bytes += header.p_filesz;
		err = add_segment(r, mapping, fd, &header, found_bytes);
		if (!err)
			err = gr_source_poll(image->target);
	}
	return err;
}

static struct gr_error *read_core(const struct gr_image *image,
				  struct gr_residency *r)
{
	bool by_kernel = is_by_kernel(&image->core.elf);
	uint64_t found_bytes = 0, file_bytes = 0;
	_cleanup_close_ int fd = by_kernel ? open(image->target->core_path,
						  O_RDONLY | O_CLOEXEC) :
					     -1;
	struct gr_error *err =
		add_segments(image, r, fd, &found_bytes, &file_bytes);

	// A copy without holes tells as little as a core of gdb.
	r->kind = fd >= 0 && found_bytes < file_bytes ? GR_RESIDENCY_ANONYMOUS :
							GR_RESIDENCY_UNKNOWN;
	return err;
}

// --------------------------------------------------------------- saved files

static struct gr_error *copy_residency(const struct gr_residency *from,
				       struct gr_residency *ret)
{
	struct gr_error *err = NULL;

	ret->kind = from->kind;
	for (size_t i = 0; !err && i < from->mappings.list.size; i++)
		err = gr_mappings_add(&ret->mappings,
				      from->mappings.list.data[i]);
	for (size_t i = 0; !err && i < from->ranges.size; i++)
		if (!gr_resident_vector_append(&ret->ranges,
					       from->ranges.data[i]))
			err = &gr_enomem;
	return err;
}

struct gr_error *gr_residency_read(const struct gr_image *image,
				   struct gr_residency *ret)
{
	*ret = (struct gr_residency){ 0 };
	switch (image->target->kind) {
	case GR_TARGET_CORE:
		return read_core(image, ret);
	case GR_TARGET_NATIVE:
		return read_process(image, ret);
	case GR_TARGET_SAVED:
		if (image->target->stored->has_residency)
			return copy_residency(&image->target->stored->residency,
					      ret);
		break;
	case GR_TARGET_SNAPSHOT:
	case GR_TARGET_REMOTE:
		break;
	}
	return gr_error_format(GR_ERROR_ARGUMENT,
			       "resident pages are known of a process on this "
			       "machine and of a core, not of a snapshot or a "
			       "remote process");
}

struct gr_error *gr_residency_plan_heads(const struct gr_residency *residency,
					 struct gr_image *image)
{
	const struct gr_mapping_vector *list = &residency->mappings.list;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < list->size; i++)
		if (list->data[i].start % GR_C_ARENA_BYTES == 0 &&
		    list->data[i].flags & PF_W)
			err = gr_image_plan(image, list->data[i].start,
					    list->data[i].start +
						    GR_PAGE_BYTES);
	return err;
}
