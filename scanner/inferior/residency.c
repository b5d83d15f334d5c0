// SPDX-License-Identifier: Apache-2.0
#include "inferior/residency_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "inferior/image_internal.h"

void gr_residency_deinit(struct gr_residency *r)
{
	gr_mappings_deinit(&r->mappings);
	gr_resident_vector_deinit(&r->ranges);
	gr_resident_vector_deinit(&r->swapped);
}

/* Append a range; if the list must grow, the memory limit is checked before. */
static struct gr_error *append(const struct gr_target *target,
			       struct gr_resident_vector *list,
			       struct gr_resident range)
{
	struct gr_error *err = NULL;

	if (list->size == list->capacity)
		err = gr_source_want(target,
				     gr_vector_growth_bytes(list->capacity,
							    sizeof(range)));
	return err || gr_resident_vector_append(list, range) ? err : &gr_enomem;
}

/* Append a range, or join it with the one before. */
static struct gr_error *add_range(const struct gr_target *target,
				  struct gr_resident_vector *list,
				  struct gr_resident range)
{
	struct gr_resident *last = list->size ? &list->data[list->size - 1] :
						NULL;

	if (last && last->mapping == range.mapping &&
	    last->end == range.start &&
	    last->is_anonymous == range.is_anonymous &&
	    last->is_zeros == range.is_zeros) {
		last->end = range.end;
		return NULL;
	}
	return append(target, list, range);
}

struct gr_error *gr_residency_add(const struct gr_target *target,
				  struct gr_residency *r,
				  struct gr_resident range)
{
	return add_range(target, &r->ranges, range);
}

struct gr_error *gr_residency_add_swapped(const struct gr_target *target,
					  struct gr_residency *r,
					  struct gr_resident range)
{
	return add_range(target, &r->swapped, range);
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

/** Reads the segments of a core. */
struct reader {
	const struct gr_image *image;
	struct gr_residency *residency;
	int fd; /**< The core's, to find holes; -1: none is looked for. */
	bool with_zeros; /**< Tell pages of zeros apart; holes are zeros. */
	uint64_t found_bytes; /**< Those that are in no hole. */
	uint64_t file_bytes;  /**< All bytes of segments. */
};

/* Add [start, end) of the mapping, which begins at @p off of the file, with its
 * pages of zeros apart. */
static struct gr_error *add_pages(struct reader *r, struct gr_resident range,
				  const uint8_t *data)
{
	enum { POLL_BYTES = 4 << 20 };
	uint64_t end = range.end;
	struct gr_error *err = NULL;

	while (!err && range.start < end) {
		range.end = (range.start | (GR_PAGE_BYTES - 1)) + 1;
		if (range.end > end || !range.end)
			range.end = end;
		uint64_t bytes = range.end - range.start;
		range.is_zeros = !data[0] && !memcmp(data, data + 1, bytes - 1);
		err = gr_residency_add(r->image->target, r->residency, range);
		if (!err && range.start % POLL_BYTES == 0)
			err = gr_source_poll(r->image->target);
		data += bytes;
		range.start = range.end;
	}
	return err;
}

/* Add [start, end) of a segment, from offsets of the file. */
static struct gr_error *add_part(struct reader *r, struct gr_resident range,
				 uint64_t off, bool is_hole)
{
	if (range.start == range.end)
		return NULL;
	if (r->with_zeros && !is_hole)
		return add_pages(r, range, r->image->core.elf.file.data + off);
	range.is_zeros = is_hole;
	return !is_hole || r->with_zeros ?
		       gr_residency_add(r->image->target, r->residency, range) :
		       NULL;
}

/* The next bytes of the file from @p at on, before @p end, that are in no hole. A
 * file system that does not tell has no holes. */
static void find_data(int fd, off_t at, off_t end, off_t *data, off_t *hole)
{
	*data = fd < 0 ? at : lseek(fd, at, SEEK_DATA);
	if (*data < 0 && errno == ENXIO)
		*data = end;
	if (*data < at)
		*data = at;
	if (*data > end)
		*data = end;
	*hole = fd < 0 ? end : lseek(fd, *data, SEEK_HOLE);
	if (*hole <= *data || *hole > end)
		*hole = end;
}

/* Add a segment: what the file has of it, and the holes if they are wanted. */
static struct gr_error *add_segment(struct reader *r, uint32_t mapping,
				    const Elf64_Phdr *header)
{
	off_t at = header->p_offset, end = at + header->p_filesz;
	uint64_t addr = header->p_vaddr - header->p_offset; // of the file
	struct gr_error *err = NULL;

	// Bounded by the segment, and the file's bytes in all.
	while (!err && at < end) {
		off_t data, hole;

		find_data(r->fd, at, end, &data, &hole);
		struct gr_resident range = { .start = addr + at,
					     .end = addr + data,
					     .mapping = mapping,
					     .is_anonymous = true };
		err = add_part(r, range, at, true);
		range.start = addr + data;
		range.end = addr + hole;
		if (!err)
			err = add_part(r, range, data, false);
		r->found_bytes += hole - data;
		at = hole;
	}
	return err;
}

/* The stack of the first thread has the name that it has in a process: the
 * kernel puts both of these behind the arguments (fs/binfmt_elf.c). */
static bool is_first_stack(const struct gr_auxv *auxv,
			   const struct gr_mapping *m)
{
	uint64_t addr = auxv->execfn ? auxv->execfn : auxv->random;

	return !m->path && addr >= m->start && addr < m->end;
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
		if (is_first_stack(&image->core.auxv, &m))
			m.path = GR_FIRST_STACK;
		err = gr_mappings_add(&r->mappings, m);
		if (!err && i % 256 == 0)
			err = gr_source_poll(image->target);
	}
	return err;
}

/* Add what the file has. Segments come in the order of their headers. */
static struct gr_error *add_segments(struct reader *r)
{
	const struct gr_elf *elf = &r->image->core.elf;
	const struct gr_mapping_vector *list = &r->residency->mappings.list;
	struct gr_error *err = NULL;
	size_t next = 0;

	r->found_bytes = r->file_bytes = 0;
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
		    header.p_filesz > elf->file.size - r->file_bytes)
			continue;
		r->file_bytes += header.p_filesz;
		err = add_segment(r, mapping, &header);
		if (!err)
			err = gr_source_poll(r->image->target);
	}
	return err;
}

static struct gr_error *read_core(const struct gr_image *image,
				  bool with_unknown, struct gr_residency *ret)
{
	_cleanup_close_ int fd =
		open(image->target->core_path, O_RDONLY | O_CLOEXEC);
	struct reader r = { .image = image, .residency = ret, .fd = fd };
	struct gr_error *err = add_mappings(image, ret);

	if (!err && fd >= 0 && is_by_kernel(&image->core.elf))
		err = add_segments(&r);
	if (r.found_bytes < r.file_bytes)
		ret->kind = GR_RESIDENCY_ANONYMOUS;
	if (err || ret->kind == GR_RESIDENCY_ANONYMOUS)
		return err;
	// A copy without holes tells as little as a core of gdb.
	ret->kind = GR_RESIDENCY_UNKNOWN;
	ret->ranges.size = 0;
	r.with_zeros = true;
	return with_unknown ? add_segments(&r) : NULL;
}

// --------------------------------------------------------------- saved files

static struct gr_error *copy_residency(const struct gr_target *target,
				       const struct gr_residency *from,
				       struct gr_residency *ret)
{
	struct gr_error *err = NULL;

	ret->kind = from->kind;
	for (size_t i = 0; !err && i < from->mappings.list.size; i++)
		err = gr_mappings_add(&ret->mappings,
				      from->mappings.list.data[i]);
	for (size_t i = 0; !err && i < from->ranges.size; i++)
		err = append(target, &ret->ranges, from->ranges.data[i]);
	return err;
}

static struct gr_error *read_all(const struct gr_image *image,
				 bool with_unknown, struct gr_residency *ret)
{
	*ret = (struct gr_residency){ 0 };
	switch (image->target->kind) {
	case GR_TARGET_CORE:
		return read_core(image, with_unknown, ret);
	case GR_TARGET_NATIVE:
		return gr_residency_read_process(image, ret);
	case GR_TARGET_SNAPSHOT:
		return gr_residency_read_snapshot(image, ret);
	case GR_TARGET_SAVED:
		if (image->target->saved->has_residency)
			return copy_residency(image->target,
					      &image->target->saved->residency,
					      ret);
		break;
	case GR_TARGET_REMOTE:
		break;
	}
	return gr_error_format(GR_ERROR_ARGUMENT,
			       "resident pages need a local process or a core, "
			       "not a remote process");
}

struct gr_error *gr_residency_read(const struct gr_image *image,
				   struct gr_residency *ret)
{
	return read_all(image, true, ret);
}

struct gr_error *gr_residency_read_known(const struct gr_image *image,
					 struct gr_residency *ret)
{
	return read_all(image, false, ret);
}

const char *gr_residency_name(enum gr_residency_kind kind)
{
	static const char *const names[] = {
		[GR_RESIDENCY_UNKNOWN] = "unknown",
		[GR_RESIDENCY_ANONYMOUS] = "anonymous",
		[GR_RESIDENCY_EXACT] = "exact",
	};

	return names[kind];
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
