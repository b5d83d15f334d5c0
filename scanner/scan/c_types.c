// SPDX-License-Identifier: Apache-2.0
/* The debug information of libraries of C, for the types of their variables. */
#include <sys/stat.h>

#include "goruntime/types/c_types.h"
#include "savedfile/saved.h"
#include "scan/native.h"
#include "scan/scan.h"

/* All files together may have so many bytes; others are left out. */
static const uint64_t max_debug_bytes = UINT64_C(256) << 20;

/* May the file be read? */
static bool is_small(struct gr_stop *stop, const struct gr_target_module *m)
{
	const char *path = m->debug_path ? m->debug_path : m->path;
	struct stat status;

	if (stat(path, &status))
		return false;
	uint64_t bytes = (uint64_t)status.st_size;
	if (bytes > max_debug_bytes - stop->program->c_debug_bytes)
		return false;
	stop->program->c_debug_bytes += bytes;
	return true;
}

static struct gr_error *open_file(struct gr_stop *stop, size_t module)
{
	const struct gr_target_module *m = &stop->target.modules[module];
	struct gr_program *program = stop->program;
	const char *build_id = NULL;

	if (!is_small(stop, m))
		return NULL;
	if (stop->target.use_cache)
		build_id = gr_program_build_id(program, m);
	struct gr_error *err = gr_dwarf_open_data(m->path, m->debug_path,
						  build_id, program->rt.poll,
						  program->rt.poll_ctx,
						  &program->dwarfs[module]);
	if (!err)
		gr_dwarf_save(program->dwarfs[module]);
	return err;
}

static struct gr_error *open_saved(struct gr_stop *stop, size_t module)
{
	struct gr_program *program = stop->program;

	return gr_dwarf_open_packed(
		stop->target.modules[module].path,
		steal_ptr(stop->saved->tables[module].block),
		stop->saved->tables[module].bytes, program->rt.poll,
		program->rt.poll_ctx, &program->dwarfs[module]);
}

/* The first question about a module: open its debug information. */
static struct gr_error *open_types(struct gr_stop *stop, size_t module)
{
	struct gr_error *err;

	if (stop->program->dwarfs[module] || !gr_image_elf(stop->image, module))
		return NULL;
	if (stop->saved) {
		err = open_saved(stop, module);
		gr_error_catch(&err, GR_ERROR_NO_DWARF);
		return err;
	}
	err = open_file(stop, module);
	// Without it, there are no types; nothing else depends on it.
	if (gr_error_catch(&err, GR_ERROR_NO_DWARF) ||
	    gr_error_catch(&err, GR_ERROR_FORMAT) ||
	    gr_error_catch(&err, GR_ERROR_LIMIT) ||
	    gr_error_catch(&err, GR_ERROR_IO))
		return NULL;
	return err;
}

struct gr_error *gr_stop_c_types(struct gr_stop *stop, size_t module,
				 const struct gr_dwarf **ret)
{
	struct gr_program *program = stop->program;
	struct gr_error *err = NULL;

	*ret = NULL;
	if (module >= stop->target.nmodules)
		return NULL;
	if (!program->is_c_asked)
		program->is_c_asked = calloc(stop->target.nmodules,
					     sizeof(*program->is_c_asked));
	if (!program->is_c_asked)
		return &gr_enomem;
	if (!program->is_c_asked[module])
		err = open_types(stop, module);
	program->is_c_asked[module] = !err;
	*ret = program->dwarfs[module];
	return err;
}

struct gr_error *gr_stop_c_variable(struct gr_stop *stop, uint64_t addr,
				    struct gr_c_typed *ret)
{
	struct gr_c_file file = { .module = gr_image_module_at(stop->image,
							       addr) };
	struct gr_types *types = stop->program->types;
	struct gr_error *err = gr_stop_c_types(stop, file.module, &file.dwarf);

	*ret = (struct gr_c_typed){ 0, GR_TYPE_NONE };
	if (err || !file.dwarf)
		return err;
	uint64_t bias = gr_image_bias(stop->image, file.module);
	const struct gr_dwarf_variable *variable =
		gr_c_file_variable(&file, addr - bias);
	if (!variable)
		return NULL;
	ret->addr = variable->addr + bias;
	err = gr_types_from_c(types, &file, variable->type, &ret->type);
	return err || ret->type == GR_TYPE_NONE ?
		       err :
		       gr_types_fill_c(types, ret->type);
}
