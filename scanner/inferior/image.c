// SPDX-License-Identifier: Apache-2.0
#include "inferior/image.h"

#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "inferior/image_internal.h"

GR_DEFINE_CLEANUP(image, struct gr_image, gr_image_destroy)

static struct gr_error *warn(struct gr_image *image, const char *fmt, ...)
	GR_PRINTF(2, 3);

// Warnings share one line.
static struct gr_error *warn(struct gr_image *image, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	char *joined;
	va_list ap;

	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		text = NULL;
		return &gr_enomem;
	}
	if (!image->warning) {
		image->warning = steal_ptr(text);
		return NULL;
	}
	if (asprintf(&joined, "%s; %s", image->warning, text) < 0)
		return &gr_enomem;
	free(image->warning);
	image->warning = joined;
	return NULL;
}

static struct gr_error *warn_about_core(struct gr_image *image)
{
	const struct gr_core *core = &image->core;
	struct gr_error *err = NULL;
	char missing[32], promised[32];

	if (core->missing_bytes)
		err = warn(image,
			   "core file is truncated: %s of %s are missing; "
			   "objects there, and those only reachable through "
			   "them, are missing from the answer",
			   gr_text_bytes(core->missing_bytes, missing,
					 sizeof(missing)),
			   gr_text_bytes(core->promised_bytes, promised,
					 sizeof(promised)));
	if (!err && core->bad_headers)
		err = warn(image,
			   core->bad_headers == 1 ?
				   "%llu program header of the core is lost or "
				   "makes no sense" :
				   "%llu program headers of the core are lost "
				   "or make no sense",
			   (unsigned long long)core->bad_headers);
	if (!err && !core->threads.size)
		err = warn(image, "the core has no thread registers");
	return err;
}

uint64_t gr_image_mapped_bytes(const struct gr_image *image)
{
	bool is_core = image->target->kind == GR_TARGET_CORE;

	if (image->target->saved)
		return image->target->saved->mapped_bytes;
	const struct gr_mapping_vector *list =
		is_core ? &image->core.segments.list : &image->process.list;
	uint64_t sum = 0;

	if (!list->size || (is_core && image->core.bad_headers))
		return UINT64_MAX;
	for (size_t i = 0; i < list->size; i++)
		if (__builtin_add_overflow(
			    sum, list->data[i].end - list->data[i].start, &sum))
			return UINT64_MAX;
	return sum;
}

bool gr_image_is_mapped_core(const struct gr_image *image)
{
	return image->target->kind == GR_TARGET_CORE && !image->target->saved;
}

uint64_t gr_image_readable_bytes(const struct gr_image *image)
{
	const struct gr_range_vector *core = &image->core.memory;
	const struct gr_mapping_vector *process = &image->process.list;
	bool is_core = image->target->kind == GR_TARGET_CORE;
	uint64_t sum = 0;

	if (image->target->saved)
		return image->target->saved->readable_bytes;
	for (size_t i = 0; is_core && i < core->size; i++)
		if (__builtin_add_overflow(
			    sum, core->data[i].end - core->data[i].start, &sum))
			return UINT64_MAX;
	for (size_t i = 0; !is_core && i < process->size; i++)
		if (process->data[i].flags & PF_R)
			sum += process->data[i].end - process->data[i].start;
	return sum ? sum : UINT64_MAX;
}

struct gr_error *gr_image_want(const struct gr_image *image, uint64_t bytes)
{
	return gr_source_want(image->target, bytes);
}

struct gr_error *gr_image_update_ranges(struct gr_image *image)
{
	struct gr_ranges ranges;

	struct gr_error *err =
		gr_ranges_init(&ranges, &image->known, image->target);
	if (err)
		return err;
	gr_ranges_deinit(&image->ranges);
	image->ranges = ranges;
	for (size_t i = 0; image->recorder && i < ranges.count; i++)
		gr_recorder_add_host(image->recorder, ranges.data[i]);
	return NULL;
}

static struct gr_error *open_core(struct gr_image *image)
{
	const char *path = image->target->core_path;

	if (!path)
		return gr_error_format(GR_ERROR_ARGUMENT, "no core file");
	if (asprintf(&image->what, "core %s", path) < 0) {
		image->what = NULL;
		return &gr_enomem;
	}
	struct gr_error *err = gr_core_open(path, image->target, &image->core);
	if (err)
		return err;
	if (image->core.lacks_anonymous)
		return gr_error_format(
			GR_ERROR_FORMAT,
			"%s lacks the anonymous private memory, where a Go "
			"program has its heap: /proc/PID/coredump_filter left "
			"it out (`echo 0x33 >/proc/PID/coredump_filter' before "
			"the next one)",
			image->what);
	image->auxv = image->core.auxv;
	for (size_t i = 0; i < image->core.memory.size; i++)
		if (!gr_range_vector_append(&image->known,
					    image->core.memory.data[i]))
			return &gr_enomem;
	err = gr_image_update_ranges(image);
	return err ? err : warn_about_core(image);
}

// Read the auxiliary vector. Without it, only the search for a moved executable
// fails.
static struct gr_auxv read_auxv(int32_t pid)
{
	uint8_t buf[4096];
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/auxv", pid);
	_cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));
	return gr_auxv_parse((struct gr_bytes){ buf, n < 0 ? 0 : n });
}

static struct gr_error *open_process(struct gr_image *image)
{
	int32_t pid = gr_target_memory_pid(image->target);

	if (asprintf(&image->what, "process %d", image->target->pid) < 0) {
		image->what = NULL;
		return &gr_enomem;
	}
	// This comes first because its messages are better.
	struct gr_error *err = gr_source_init_native(
		&image->source, image->target, &image->process);
	if (err)
		return err;
	image->auxv = read_auxv(pid);
	return gr_mappings_add_process(&image->process, pid);
}

struct gr_error *gr_image_refresh(struct gr_image *image)
{
	image->plan.size = image->kept_ranges;
	image->is_plan_sorted = false;
	if (image->target->kind != GR_TARGET_NATIVE &&
	    image->target->kind != GR_TARGET_SNAPSHOT)
		return NULL;
	gr_source_deinit(&image->source);
	gr_mappings_deinit(&image->process);
	struct gr_error *err = gr_source_init_native(
		&image->source, image->target, &image->process);
	return err ? err :
		     gr_mappings_add_process(
			     &image->process,
			     gr_target_memory_pid(image->target));
}

void gr_image_forget(struct gr_image *image)
{
	if (image->source.ops)
		gr_cache_forget(image->source.cache);
}

static struct gr_error *open_remote(struct gr_image *image)
{
	image->what = strdup("the remote process");
	if (!image->what)
		return &gr_enomem;
	return gr_source_init_remote(&image->source, image->target);
}

/* The lists belong to the saved file, which outlives the image. */
static struct gr_error *open_saved(struct gr_image *image)
{
	const struct gr_saved *saved = image->target->saved;

	if (!saved)
		return gr_error_format(GR_ERROR_ARGUMENT, "no saved file");
	if (asprintf(&image->what, "%s", saved->origin) < 0) {
		image->what = NULL;
		return &gr_enomem;
	}
	image->core.segments = saved->segments;
	image->core.files = saved->files;
	image->core.threads = saved->threads;
	image->core.missing_bytes = saved->missing_bytes;
	image->core.bad_headers = saved->bad_headers;
	if (!saved->has_values)
		image->words = (struct gr_word_set *)&saved->words;
	struct gr_error *err = gr_image_want(
		image, saved->memory.size * sizeof(*image->known.data));
	if (err)
		return err;
	if (!gr_range_vector_reserve(&image->known, saved->memory.size))
		return &gr_enomem;
	for (size_t i = 0; i < saved->memory.size; i++)
		if (!gr_range_vector_append(&image->known,
					    saved->memory.data[i]))
			return &gr_enomem;
	return saved->warning ? warn(image, "%s", saved->warning) : NULL;
}

static struct gr_error *open_memory(struct gr_image *image)
{
	switch (image->target->kind) {
	case GR_TARGET_CORE:
		return open_core(image);
	case GR_TARGET_NATIVE:
	case GR_TARGET_SNAPSHOT:
		return open_process(image);
	case GR_TARGET_REMOTE:
		return open_remote(image);
	case GR_TARGET_SAVED:
		return open_saved(image);
	}
	return gr_error_format(GR_ERROR_ARGUMENT, "unknown kind of target");
}

// Check a module's file. With the wrong executable the scan is meaningless;
// with the wrong library only its constant data is missing.
static struct gr_error *check_module(struct gr_image *image, size_t i)
{
	struct gr_module_file *file = &image->modules[i];

	// The files of a saved target were checked then.
	if (!file->is_usable || image->target->saved)
		return NULL;
	struct gr_error *err = gr_module_file_check(file, i == 0, image->auxv,
						    gr_image_files(image),
						    image, image->what);
	if (!err || i == 0 || err->code != GR_ERROR_MISMATCH)
		return err;
	file->is_usable = false;
	struct gr_error *warn_err = warn(image, "%s", err->message);
	gr_error_destroy(err);
	return warn_err;
}

// Check that the core and the executable are for the same processor.
static struct gr_error *check_arch(const struct gr_image *image)
{
	const struct gr_arch *core = image->core.elf.arch;

	if (!core || core == gr_image_arch(image))
		return NULL;
	return gr_error_format(GR_ERROR_ARCH, "%s is for %s, but %s is of %s",
			       image->modules[0].path,
			       gr_image_arch(image)->name, image->what,
			       core->name);
}

static struct gr_error *open_modules(struct gr_image *image)
{
	const struct gr_target *target = image->target;

	if (!target->nmodules)
		return gr_error_format(GR_ERROR_ARGUMENT, "no executable");
	image->modules = calloc(target->nmodules, sizeof(*image->modules));
	if (!image->modules)
		return &gr_enomem;
	// The array is zeroed, so gr_image_destroy() can handle a partial list.
	for (size_t i = 0; i < target->nmodules; i++) {
		struct gr_error *err = gr_module_file_init(
			&image->modules[i], &target->modules[i], i == 0,
			image->auxv, gr_image_files(image));
		if (!err && i == 0)
			err = check_arch(image);
		if (!err)
			err = check_module(image, i);
		if (err)
			return err;
	}
	return NULL;
}

static struct gr_error *add_constant_segments(struct gr_image *image,
					      const struct gr_module_file *file)
{
	for (size_t i = 0; i < file->elf.phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(&file->elf, i);
		if (!gr_module_segment_is_constant(&header))
			continue;
		struct gr_bytes bytes =
			gr_elf_segment_bytes(&file->elf, &header);
		uint64_t start = file->bias + header.p_vaddr;
		if (!bytes.size || bytes.size > UINT64_MAX - start)
			continue;
		if (!gr_range_vector_append(
			    &image->known,
			    (struct gr_range){ start, start + bytes.size,
					       bytes.data }))
			return &gr_enomem;
	}
	return NULL;
}

struct gr_error *gr_image_create(const struct gr_target *target,
				 struct gr_gaps *gaps, struct gr_image **ret)
{
	_cleanup_(gr_cleanup_image) struct gr_image *image =
		calloc(1, sizeof(*image));
	if (!image)
		return &gr_enomem;
	image->target = target;
	image->gaps = gaps;
	image->is_plan_sorted = true;
	if (target->is_recorded) {
		image->recorder = calloc(1, sizeof(*image->recorder));
		if (!image->recorder)
			return &gr_enomem;
	}
	struct gr_error *err = open_memory(image);
	if (err)
		return err;
	// The files' bytes are added after all checks, because the checks read
	// the target's own memory.
	err = open_modules(image);
	for (size_t i = 0; !err && i < target->nmodules; i++)
		if (image->modules[i].is_usable)
			err = add_constant_segments(image, &image->modules[i]);
	if (!err)
		err = gr_image_update_ranges(image);
	if (err)
		return err;
	image->file_ranges = image->known.size;
	*ret = steal_ptr(image);
	return NULL;
}

void gr_image_destroy(struct gr_image *image)
{
	if (!image)
		return;
	gr_copy_destroy(image->reserve);
	gr_noted_destroy(image->noted);
	while (image->copies) {
		struct gr_copy *next = image->copies->next;
		gr_copy_destroy(image->copies);
		image->copies = next;
	}
	for (size_t i = 0; image->modules && i < image->target->nmodules; i++)
		gr_module_file_deinit(&image->modules[i]);
	free(image->modules);
	gr_plan_deinit(&image->plan);
	gr_ranges_deinit(&image->ranges);
	gr_range_vector_deinit(&image->known);
	gr_source_deinit(&image->source);
	gr_mappings_deinit(&image->process);
	if (!image->target->saved)
		gr_core_deinit(&image->core);
	if (image->recorder)
		gr_recorder_deinit(image->recorder);
	free(image->recorder);
	free(image->warning);
	free(image->what);
	free(image);
}

struct gr_recorder *gr_image_recorder(const struct gr_image *image)
{
	return image->recorder;
}

bool gr_image_lacks_values(const struct gr_image *image)
{
	return image->words;
}

const struct gr_ranges *gr_image_ranges(const struct gr_image *image)
{
	return &image->ranges;
}

const struct gr_mappings *gr_image_file_mappings(const struct gr_image *image)
{
	return gr_image_files(image);
}

const struct gr_mappings *gr_image_segments(const struct gr_image *image)
{
	return &image->core.segments;
}

const struct gr_elf *gr_image_elf(const struct gr_image *image, size_t module)
{
	const struct gr_module_file *file = &image->modules[module];

	return file->is_usable ? &file->elf : NULL;
}

const struct gr_arch *gr_image_arch(const struct gr_image *image)
{
	return image->modules[0].elf.arch;
}

uint64_t gr_image_bias(const struct gr_image *image, size_t module)
{
	const struct gr_module_file *file = &image->modules[module];

	return file->is_usable ? file->bias : UINT64_MAX;
}

uint64_t gr_image_missing_bytes(const struct gr_image *image)
{
	return image->core.missing_bytes;
}

uint64_t gr_image_bad_headers(const struct gr_image *image)
{
	return image->core.bad_headers;
}

uint64_t gr_image_private_bytes(const struct gr_image *image)
{
	return image->private_bytes;
}

const char *gr_image_warning(const struct gr_image *image)
{
	return image->warning;
}

struct gr_error *gr_image_check(const struct gr_image *image)
{
	struct gr_error *err = gr_sigbus_check(image->core.elf.area);

	for (size_t i = 0; !err && i < image->target->nmodules; i++)
		err = gr_sigbus_check(image->modules[i].elf.area);
	return err;
}

const struct gr_target_thread *gr_image_threads(const struct gr_image *image,
						size_t *nthreads)
{
	if (image->core.threads.size) {
		*nthreads = image->core.threads.size;
		return image->core.threads.data;
	}
	*nthreads = image->target->nthreads;
	return image->target->threads;
}

void gr_image_seal(struct gr_image *image)
{
	image->is_sealed = true;
	if (!image->target->is_held)
		gr_source_deinit(&image->source);
}

static size_t find_segment(const struct gr_image *image, uint64_t addr,
			   struct gr_mapping *ret)
{
	for (size_t i = 0; i < image->target->nmodules; i++)
		if (gr_module_segment(&image->modules[i], addr, ret))
			return i;
	return SIZE_MAX;
}

size_t gr_image_module_at(const struct gr_image *image, uint64_t addr)
{
	struct gr_mapping mapping;
	size_t i = find_segment(image, addr, &mapping);

	return i != SIZE_MAX && image->modules[i].is_usable ? i : SIZE_MAX;
}

uint64_t gr_image_segment_end(const struct gr_image *image, uint64_t addr)
{
	struct gr_mapping mapping;
	size_t i = find_segment(image, addr, &mapping);

	return i != SIZE_MAX && image->modules[i].is_usable ? mapping.end : 0;
}

bool gr_image_is_constant(const struct gr_image *image, uint64_t addr)
{
	struct gr_mapping mapping;
	size_t i = find_segment(image, addr, &mapping);

	return i != SIZE_MAX && image->modules[i].is_usable &&
	       !(mapping.flags & PF_W);
}

static bool find_mapping(const struct gr_image *image, uint64_t addr,
			 struct gr_mapping *ret)
{
	const struct gr_mapping *file =
		gr_mappings_find(gr_image_files(image), addr);
	const struct gr_mapping *segment =
		gr_mappings_find(&image->core.segments, addr);
	struct gr_mapping module = { 0 };
	bool has_module = find_segment(image, addr, &module) != SIZE_MAX;

	if (!file && !segment) {
		*ret = module;
		return has_module;
	}
	*ret = segment ? *segment : *file;
	if (file)
		ret->path = file->path;
	else if (has_module)
		ret->path = module.path;
	// A core's list of files has no permissions.
	if (!ret->flags && has_module)
		ret->flags = module.flags;
	return true;
}

bool gr_image_mapping(struct gr_image *image, uint64_t addr,
		      struct gr_mapping_info *ret)
{
	struct gr_mapping mapping = { 0 };
	uint8_t byte;

	// Nobody asks for the byte: it may be one of a value.
	gr_recorder_pause(image->recorder);
	struct gr_error *err = gr_image_read(image, addr, &byte, 1);
	gr_recorder_resume(image->recorder);
	bool is_readable = !err || err->code == GR_ERROR_NOT_SAVED;
	gr_error_destroy(err);
	if (!find_mapping(image, addr, &mapping)) {
		if (!is_readable)
			return false;
		// A read through gdb shows only that this page exists.
		mapping.start = addr & ~(GR_PAGE_BYTES - 1);
		mapping.end = mapping.start + GR_PAGE_BYTES;
		if (mapping.end < mapping.start)
			mapping.end = UINT64_MAX;
	}
	*ret = (struct gr_mapping_info){
		.start = mapping.start,
		.end = mapping.end,
		.writable = mapping.flags & PF_W,
		.executable = mapping.flags & PF_X,
		.path = mapping.path,
	};
	return true;
}
