// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/modules.h"

#include <elf.h>
#include <fcntl.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "inferior/mappings.h"

enum {
	MAX_FILES = 4096,
	MAX_RANGES = 1 << 16,
	MAX_PATH = 4096,
	MAX_VDSO_BYTES = 1 << 16,
	MIN_NS = 100000000, // between two readings
	LEAST_SHARE = 10,   // of the time is spent otherwise
};

/** Code at [start, end). */
struct gr_code_range {
	uint64_t start, end, off;
	struct gr_code_file *file;
};

GR_VECTOR(gr_range_vector, struct gr_code_range);
GR_VECTOR(gr_file_vector, struct gr_code_file *);

struct gr_code_maps {
	pid_t pid;
	int memory; /**< /proc/PID/mem of the program that runs now. */
	struct gr_range_vector ranges;
	struct gr_file_vector files;
	uint32_t last_id;
	uint64_t generation;
	uint64_t read_ns; /**< When maps were read. */
	uint64_t took_ns; /**< How long this took. */
	uint64_t cpu_ns;  /**< And how much of a processor. */
	bool is_stale;
	bool has_changed; /**< We were told so, and have not read since. */
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void destroy_file(struct gr_code_file *file)
{
	gr_elf_file_destroy(file->elf);
	free(file->path);
	free(file);
}

struct gr_error *gr_code_maps_new(pid_t pid, struct gr_code_maps **ret)
{
	struct gr_code_maps *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return &gr_enomem;
	modules->pid = pid;
	modules->memory = -1;
	modules->is_stale = true;
	*ret = modules;
	return NULL;
}

void gr_code_maps_destroy(struct gr_code_maps *modules)
{
	if (!modules)
		return;
	for (size_t i = 0; i < modules->files.size; i++)
		destroy_file(modules->files.data[i]);
	gr_file_vector_deinit(&modules->files);
	gr_range_vector_deinit(&modules->ranges);
	if (modules->memory >= 0)
		close(modules->memory);
	free(modules);
}

void gr_code_maps_forget_maps(struct gr_code_maps *modules)
{
	modules->is_stale = modules->has_changed = true;
}

uint64_t gr_code_maps_generation(const struct gr_code_maps *modules)
{
	return modules->generation;
}

// -------------------------------------------------------------------- mappings

/* Find or make the file of a mapping; NULL without one, or without memory. */
static struct gr_code_file *file_of(struct gr_code_maps *modules,
				    const struct gr_mapping *m)
{
	const char *path = m->path;

	if (!path || (!m->inode && strcmp(path, "[vdso]") != 0))
		return NULL;
	for (size_t i = modules->files.size; i--;) {
		struct gr_code_file *file = modules->files.data[i];

		if (file->inode == m->inode && file->device == m->device &&
		    !strncmp(file->path, path, MAX_PATH))
			return file;
	}
	struct gr_code_file *file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->id = ++modules->last_id;
	file->path = strndup(path, MAX_PATH);
	file->device = m->device;
	file->inode = m->inode;
	if (!file->path || modules->files.size == MAX_FILES ||
	    !gr_file_vector_append(&modules->files, file)) {
		destroy_file(file);
		return NULL;
	}
	return file;
}

static bool append(struct gr_code_maps *modules, const struct gr_mapping *m,
		   struct gr_range_vector *ranges)
{
	struct gr_code_file *file = file_of(modules, m);
	struct gr_code_range *last =
		ranges->size ? &ranges->data[ranges->size - 1] : NULL;

	if (file)
		file->is_used = true;
	// Parts of one mapping may have other protections in between.
	if (last && last->end == m->start && last->file == file &&
	    (!file || last->off + (last->end - last->start) == m->file_off)) {
		last->end = m->end;
		return true;
	}
	return ranges->size < MAX_RANGES &&
	       gr_range_vector_append(
		       ranges, (struct gr_code_range){ m->start, m->end,
						       m->file_off, file });
}

static const struct gr_code_range *
find_range(const struct gr_range_vector *ranges, uint64_t pc)
{
	size_t end =
		gr_count_before(ranges->size, i, ranges->data[i].start <= pc);

	return end && pc < ranges->data[end - 1].end ? &ranges->data[end - 1] :
						       NULL;
}

/* Does all old code still lie where it lay? */
static bool is_kept(const struct gr_range_vector *old,
		    const struct gr_range_vector *new)
{
	for (size_t i = 0; i < old->size; i++) {
		const struct gr_code_range *a = &old->data[i];
		const struct gr_code_range *b = find_range(new, a->start);

		if (!b || b->end < a->end || a->file != b->file ||
		    (a->file && a->off - b->off != a->start - b->start))
			return false;
	}
	return true;
}

/* Forget the files that no mapping has any more. */
static void prune_files(struct gr_code_maps *modules)
{
	size_t kept = 0;

	for (size_t i = 0; i < modules->files.size; i++) {
		struct gr_code_file *file = modules->files.data[i];

		if (file->is_used)
			modules->files.data[kept++] = file;
		else
			destroy_file(file);
	}
	modules->files.size = kept;
}

static void open_memory(struct gr_code_maps *modules)
{
	char path[64];

	if (modules->memory >= 0)
		close(modules->memory);
	snprintf(path, sizeof(path), "/proc/%d/mem", modules->pid);
	modules->memory = open(path, O_RDONLY | O_CLOEXEC);
}

static void install(struct gr_code_maps *modules,
		    struct gr_range_vector *ranges)
{
	bool kept = is_kept(&modules->ranges, ranges);

	gr_range_vector_deinit(&modules->ranges);
	modules->ranges = *ranges;
	*ranges = (struct gr_range_vector){ 0 };
	if (kept && modules->generation)
		return;
	modules->generation++;
	prune_files(modules);
	// After exec, the old descriptor is that of memory that is gone.
	open_memory(modules);
}

static void read_maps(struct gr_code_maps *modules, uint64_t now)
{
	struct gr_mappings mappings = { 0 };
	struct gr_range_vector ranges = { 0 };
	bool ok = true;

	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	modules->read_ns = now;
	modules->has_changed = false;
	struct gr_error *err = gr_mappings_add_process(&mappings, modules->pid);
	for (size_t i = 0; i < modules->files.size; i++)
		modules->files.data[i]->is_used = false;
	for (size_t i = 0; !err && ok && i < mappings.list.size; i++)
		if (mappings.list.data[i].flags & PF_X)
			ok = append(modules, &mappings.list.data[i], &ranges);
	// A process that ends has no mappings: its last stacks have names.
	if (!err && ok && ranges.size) {
		modules->is_stale = false;
		install(modules, &ranges);
	}
	modules->took_ns = now_ns() - now;
	modules->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	gr_error_destroy(err);
	gr_range_vector_deinit(&ranges);
	gr_mappings_deinit(&mappings);
}

void gr_code_maps_refresh(struct gr_code_maps *modules)
{
	uint64_t now = now_ns();

	uint64_t passed = now - modules->read_ns;

	// A process with many mappings takes long to read.
	if (modules->is_stale &&
	    (!modules->read_ns ||
	     (passed >= MIN_NS && passed >= LEAST_SHARE * modules->took_ns)))
		read_maps(modules, now);
}

/* No code is known at an address. A library that was just loaded is looked for
 * at once, as long as reading takes no more than a tenth of a processor. On a
 * busy machine it takes much longer, most of which is waiting: that is no reason
 * to leave the library unknown. */
static void search_new(struct gr_code_maps *modules)
{
	uint64_t now = now_ns();

	modules->is_stale = true;
	if (modules->has_changed &&
	    now - modules->read_ns >= LEAST_SHARE * modules->cpu_ns)
		read_maps(modules, now);
	else
		gr_code_maps_refresh(modules);
}

bool gr_code_maps_find(struct gr_code_maps *modules, uint64_t pc,
		       struct gr_code_place *ret)
{
	const struct gr_code_range *range = find_range(&modules->ranges, pc);

	if (!range) {
		search_new(modules);
		range = find_range(&modules->ranges, pc);
	}
	*ret = (struct gr_code_place){ 0 };
	if (!range)
		return false;
	ret->file = range->file;
	if (range->file)
		ret->off = range->off + (pc - range->start);
	return true;
}

// ----------------------------------------------------------------------- files

/* Open a file, if it is the mapped one. A link of a mapping leads to no other
 * file, but some file systems show another device there. */
static bool open_checked(const struct gr_code_file *file, const char *path,
			 bool is_link, struct gr_mapped_file *ret)
{
	struct gr_error *err = gr_mapped_file_open(path, ret);

	gr_error_destroy(err);
	if (err)
		return false;
	if (ret->inode == file->inode &&
	    (is_link || ret->device == file->device))
		return true;
	gr_mapped_file_close(ret);
	return false;
}

/* Open the file itself, by one of its mappings. The link needs rights that the
 * path does not need; but the path may name another file by now. */
static bool open_file(const struct gr_code_maps *modules,
		      const struct gr_code_file *file,
		      struct gr_mapped_file *ret)
{
	char path[MAX_PATH + 64];

	for (size_t i = 0; i < modules->ranges.size; i++) {
		const struct gr_code_range *r = &modules->ranges.data[i];

		if (r->file != file)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%jx-%jx",
			 modules->pid, (uintmax_t)r->start, (uintmax_t)r->end);
		if (open_checked(file, path, true, ret))
			return true;
		break;
	}
	// The path of a file that is mapped begins with a slash.
	snprintf(path, sizeof(path), "/proc/%d/root%s", modules->pid,
		 file->path);
	if (open_checked(file, path, false, ret))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/exe", modules->pid);
	return open_checked(file, path, false, ret);
}

/* The vdso is no file, but its memory is an image of one. */
static struct gr_error *open_vdso(const struct gr_code_maps *modules,
				  struct gr_code_file *file)
{
	for (size_t i = 0; i < modules->ranges.size; i++) {
		const struct gr_code_range *r = &modules->ranges.data[i];
		size_t bytes = r->end - r->start;

		if (r->file != file || bytes > MAX_VDSO_BYTES)
			continue;
		_cleanup_free_ uint8_t *data = malloc(bytes);
		if (!data)
			return &gr_enomem;
		if (!gr_code_maps_read(modules, r->start, data, bytes))
			break;
		return gr_elf_file_new_image(steal_ptr(data), bytes,
					     &file->elf);
	}
	return NULL;
}

struct gr_elf_file *gr_code_maps_open(struct gr_code_maps *modules,
				      struct gr_code_file *file)
{
	struct gr_mapped_file mapped = { 0 };
	struct gr_error *err = NULL;

	if (file->is_tried)
		return file->elf;
	file->is_tried = true;
	if (!file->inode)
		err = open_vdso(modules, file);
	else if (open_file(modules, file, &mapped))
		err = gr_elf_file_new(&mapped, &file->elf);
	gr_error_destroy(err);
	return file->elf;
}

void gr_code_maps_open_all(struct gr_code_maps *modules)
{
	for (size_t i = 0; i < modules->files.size; i++)
		gr_code_maps_open(modules, modules->files.data[i]);
}

bool gr_code_maps_read(const struct gr_code_maps *modules, uint64_t addr,
		       void *data, size_t bytes)
{
	uint8_t *to = data;

	while (bytes) {
		// Bounded by the bytes that are left.
		ssize_t n = pread(modules->memory, to, bytes, (off_t)addr);

		if (n <= 0)
			return false;
		to += n;
		addr += n;
		bytes -= n;
	}
	return true;
}
