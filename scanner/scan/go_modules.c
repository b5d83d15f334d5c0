// SPDX-License-Identifier: Apache-2.0
/* go_modules: the Go modules that the program says it is made of. */
#include "scan/scan.h"

#include "inferior/go_build.h"
#include "inferior/modules.h"

enum {
	MAX_DEPENDENCIES = 500,
	MAX_PATH_BYTES = 400, /* more than go accepts */
};

/* The path of a line; "" if it is too long for one. NULL: no memory. */
static const char *path_of(struct gr_stop *stop,
			   const struct gr_go_build_line *line)
{
	struct gr_bytes path = line->path;

	return path.size > MAX_PATH_BYTES ?
		       "" :
		       gr_arena_intern(&stop->program->arena,
				       (const char *)path.data, path.size);
}

static struct gr_error *read_lines(struct gr_stop *stop, struct gr_bytes lines,
				   const char **dependencies)
{
	struct gr_scan_info *info = &stop->info;
	struct gr_go_build_line line;
	uint64_t off = 0;
	size_t count = 0;

	// Bounded by the bytes: each line has one.
	while (gr_go_build_next(lines, &off, &line)) {
		bool is_dependency = gr_go_build_is(&line, "dep");
		const char **ret = NULL;

		if (is_dependency && count < MAX_DEPENDENCIES)
			ret = &dependencies[count];
		else if (gr_go_build_is(&line, "mod"))
			ret = &info->main_module;
		else if (gr_go_build_is(&line, "path"))
			ret = &info->main_path;
		if (!ret || !line.path.size)
			continue;
		*ret = path_of(stop, &line);
		if (!*ret)
			return &gr_enomem;
		count += is_dependency && **ret;
	}
	dependencies[count] = NULL;
	return NULL;
}

struct gr_error *gr_stop_read_go_modules(struct gr_stop *stop)
{
	size_t module = gr_stop_runtime_module(stop);
	struct gr_go_build build;
	struct gr_elf elf;
	const char **dependencies =
		gr_arena_alloc(&stop->program->arena,
			       (MAX_DEPENDENCIES + 1) * sizeof(*dependencies));

	stop->info.main_module = stop->info.main_path = "";
	stop->info.dependencies = dependencies;
	if (!dependencies)
		return &gr_enomem;
	struct gr_error *err =
		gr_module_open(&stop->target.modules[module], &elf);
	if (err) {
		gr_error_destroy(err);
		return NULL;
	}
	if (gr_go_build_find(&elf, &build))
		err = read_lines(stop, build.lines, dependencies);
	gr_elf_deinit(&elf);
	return err;
}
