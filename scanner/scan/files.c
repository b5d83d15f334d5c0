// SPDX-License-Identifier: Apache-2.0
/*
 * Files and their symbols: which of them has the Go runtime, and which one
 * each module of the runtime's list came from. A Go program is one file; with
 * plugins there are several under one runtime; a C program may have loaded Go
 * libraries, with a runtime each.
 */
#include "scan/scan.h"

#include "goruntime/layout/c_variable.h"
#include "goruntime/layout/symbols.h"
#include "goruntime/search/search.h"
#include "goruntime/types/dictionary.h"
#include "inferior/elf.h"
#include "inferior/go_build.h"
#include "inferior/modules.h"
#include "inferior/notes.h"
#include "inferior/recorder.h"
#include "inferior/saved_target.h"

/* Does the file have a table of Go functions? The section is found by name, so
 * that large C libraries need no search. Without section headers, it is not
 * found. */
static bool has_go_section(const struct gr_stop *stop, size_t module)
{
	static const char *const sections[] = { ".gopclntab",
						".data.rel.ro.gopclntab",
						GR_GO_BUILD_SECTION };
	struct gr_error *err;
	bool has = false;
	struct gr_elf elf;

	err = gr_module_open(&stop->target.modules[module], &elf);
	if (err) {
		gr_error_destroy(err);
		return false;
	}
	for (size_t i = 0; !has && i < GR_ARRAY_SIZE(sections); i++)
		has = gr_elf_section(&elf, sections[i], NULL).size;
	gr_elf_deinit(&elf);
	return has;
}

/* Find the layout of the runtime by search. What the search looks at is all of
 * the program's data: it is not recorded. */
static struct gr_error *search_with_cache(struct gr_stop *stop, size_t module,
					  const struct gr_elf *elf)
{
	const struct gr_target_module *m = &stop->target.modules[module];
	struct gr_search_kept kept = { 0 }, before;
	const char *build_id = NULL;

	if (stop->target.use_cache) {
		build_id = gr_program_build_id(stop->program, m);
		gr_search_kept_read(m->path, build_id, &kept);
	}
	before = kept;
	gr_recorder_pause(stop->program->rt.recorder);
	struct gr_error *err =
		gr_search_layout(&stop->program->rt, elf,
				 gr_image_bias(stop->image, module), &kept);
	gr_recorder_resume(stop->program->rt.recorder);
	if (!err && build_id && memcmp(&before, &kept, sizeof(kept)) != 0)
		gr_search_kept_write(m->path, build_id, &kept);
	return err;
}

/* Find the layout of the runtime, or read it from the saved file. */
static struct gr_error *obtain_layout(struct gr_stop *stop, size_t module,
				      const struct gr_elf *elf)
{
	struct gr_runtime *rt = &stop->program->rt;
	struct gr_error *err;

	if (!stop->saved)
		return search_with_cache(stop, module, elf);
	err = gr_layout_restore(stop->saved->layout, &rt->layout);
	if (gr_error_catch(&err, GR_ERROR_LAYOUT))
		return gr_error_format(
			GR_ERROR_FORMAT,
			"the saved file is damaged (its layout "
			"makes no sense): copy or save it again");
	return err ? err :
		     gr_symbols_read(rt, elf,
				     gr_image_bias(stop->image, module));
}

/* Find the runtime without debug information, by its own tables. */
static struct gr_error *search_runtime(struct gr_stop *stop, size_t module)
{
	const char *path = stop->target.modules[module].path;
	struct gr_error *err;
	struct gr_elf elf;

	gr_dwarf_destroy(stop->program->dwarfs[module]);
	stop->program->dwarfs[module] = NULL;
	// The tables of known layouts are only for x86-64.
	if (stop->program->rt.arch != &gr_arch_x86_64)
		return gr_error_format(GR_ERROR_NO_DWARF,
				       "%s has no debug information of Go, and "
				       "without it only programs for x86-64 "
				       "can be read: use the executable as "
				       "built without -s and -w",
				       path);
	err = gr_module_open(&stop->target.modules[module], &elf);
	if (err)
		return err;
	err = obtain_layout(stop, module, &elf);
	gr_elf_deinit(&elf);
	if (gr_error_catch(&err, GR_ERROR_NOT_GO))
		return gr_error_format(GR_ERROR_NOT_GO,
				       "%s is not a Go program, and no Go "
				       "library of it was found: a library has "
				       "to be at the path from which the "
				       "program loaded it",
				       path);
	if (err)
		return stop->saved ? err : gr_error_prefix(err, "%s: ", path);
	return gr_program_warn(
		stop->program,
		"no debug information: names come from the "
		"runtime's own tables; for all names use the "
		"executable as built without -s and -w, or put its debug "
		"file where its build id or .gnu_debuglink names it, such "
		"as below /usr/lib/debug");
}

const char *gr_program_build_id(struct gr_program *program,
				const struct gr_target_module *module)
{
	struct gr_error *err;
	struct gr_elf elf;

	err = gr_module_open(module, &elf);
	if (err) {
		gr_error_destroy(err);
		return "";
	}
	struct gr_build_id id = gr_build_id_of(&elf);
	gr_elf_deinit(&elf);
	if (!id.gnu_bytes)
		return gr_arena_intern(&program->arena, id.go, id.go_bytes);
	char text[2 * sizeof(id.gnu) + 1] = "";
	for (size_t i = 0; i < id.gnu_bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", id.gnu[i]);
	return gr_arena_intern(&program->arena, text, 2 * id.gnu_bytes);
}

static struct gr_error *open_dwarf(struct gr_stop *stop, size_t module)
{
	const struct gr_target_module *m = &stop->target.modules[module];
	struct gr_saved *saved = stop->saved;
	const char *build_id = NULL;

	if (saved)
		return gr_dwarf_open_packed(
			m->path, steal_ptr(saved->tables[module].block),
			saved->tables[module].bytes, stop->program->rt.poll,
			stop->program->rt.poll_ctx,
			&stop->program->dwarfs[module]);

	if (stop->target.use_cache)
		build_id = gr_program_build_id(stop->program, m);
	struct gr_error *err = gr_dwarf_open_cached(
		m->path, m->debug_path, build_id, stop->program->rt.poll,
		stop->program->rt.poll_ctx, &stop->program->dwarfs[module]);
	if (!err && stop->target.is_recorded)
		gr_dwarf_keep_answers(stop->program->dwarfs[module]);
	return err;
}

void gr_stop_save_symbols(struct gr_stop *stop)
{
	for (size_t i = 0; i < stop->target.nmodules; i++)
		gr_dwarf_save(stop->program->dwarfs[i]);
}

/* Warn once that there is no cache, if its folder is not safe. */
static struct gr_error *check_cache(struct gr_stop *stop)
{
	struct gr_error *refused;

	if (!stop->target.use_cache)
		return NULL;
	refused = gr_dwarf_check_cache();
	if (!refused)
		return NULL;
	const char *text = gr_arena_internf(
		&stop->program->arena, "debug information is not cached: %s",
		refused->message);
	gr_error_destroy(refused);
	return gr_program_warn(stop->program, text);
}

size_t gr_stop_runtime_module(const struct gr_stop *stop)
{
	for (size_t i = 0; i < stop->target.nmodules; i++)
		if (gr_image_bias(stop->image, i) != UINT64_MAX &&
		    has_go_section(stop, i))
			return i;
	return 0;
}

void gr_stop_drop_program(struct gr_stop *stop)
{
	gr_types_destroy(steal_ptr(stop->program->types));
	free(steal_ptr(stop->program->rt.modules));
	free(steal_ptr(stop->program->rt.symbols));
	free(steal_ptr(stop->program->rt.c_functions));
	gr_c_variables_deinit(&stop->program->rt.c_variables);

	stop->program->rt.nmodules = stop->program->rt.nsymbols =
		stop->program->rt.nc_functions = 0;
	for (size_t i = 0; stop->program->dwarfs && i < stop->target.nmodules;
	     i++)
		gr_dwarf_destroy(stop->program->dwarfs[i]);
	free(steal_ptr(stop->program->dwarfs));
	free(steal_ptr(stop->program->is_c_asked));
	stop->program->c_debug_bytes = 0;
	stop->program->nwarnings = 0;
}

static struct gr_error *open_symbols(struct gr_stop *stop)
{
	size_t module = gr_stop_runtime_module(stop);
	struct gr_error *err;

	stop->program->dwarfs = calloc(stop->target.nmodules + 1,
				       sizeof(*stop->program->dwarfs));
	if (!stop->program->dwarfs)
		return &gr_enomem;
	err = check_cache(stop);
	if (!err)
		err = open_dwarf(stop, module);
	if (!err)
		err = gr_layout_resolve(stop->program->dwarfs[module],
					gr_image_bias(stop->image, module),
					&stop->program->rt.layout);
	// Debug information of a C library, without Go code, does not count.
	if (gr_error_catch(&err, GR_ERROR_NO_DWARF) ||
	    gr_error_catch(&err, GR_ERROR_NOT_GO))
		return search_runtime(stop, module);
	return err;
}

struct gr_error *gr_stop_open_symbols(struct gr_stop *stop)
{
	struct gr_error *err = NULL;

	// If the runtime of a process that runs is not found, what the search
	// has looked at is copied.
	if (stop->program->rt.is_running)
		err = gr_image_note_fetches(stop->image, true);
	if (!err)
		err = open_symbols(stop);
	if (!err)
		err = gr_image_note_fetches(stop->image, false);
	return err ? err : gr_image_leave_copy(stop->image);
}

/* The debug information of the file that the module was loaded from. */
static struct gr_error *attach_dwarf(struct gr_stop *stop,
				     struct gr_module *module, size_t file)
{
	struct gr_error *err = NULL;

	// The debug information of the first module is open if it exists.
	if (!stop->program->dwarfs[file] && module != stop->program->rt.modules)
		err = open_dwarf(stop, file);
	if (gr_error_catch(&err, GR_ERROR_NO_DWARF))
		return gr_program_warn(
			stop->program,
			gr_arena_internf(&stop->program->arena,
					 "%s has no debug information: its own "
					 "symbols will have less precise names",
					 stop->target.modules[file].path));
	if (err)
		return err;
	module->dwarf = stop->program->dwarfs[file];
	module->bias = gr_image_bias(stop->image, file);
	return NULL;
}

/* Warn about files whose Go code has another runtime. */
static struct gr_error *warn_about_others(struct gr_stop *stop,
					  const bool *is_used)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < stop->target.nmodules; i++)
		if (!is_used[i] && has_go_section(stop, i))
			err = gr_program_warn(
				stop->program,
				gr_arena_internf(
					&stop->program->arena,
					"%s has a Go runtime of its own, "
					"which goref does not read",
					stop->target.modules[i].path));
	return err;
}

struct gr_error *gr_stop_read_modules(struct gr_stop *stop)
{
	struct gr_runtime *rt = &stop->program->rt;
	_cleanup_free_ bool *is_used =
		calloc(stop->target.nmodules + 1, sizeof(*is_used));
	struct gr_error *err;

	if (!is_used)
		return &gr_enomem;
	err = gr_modules_read(rt);
	for (size_t i = 0; !err && i < rt->nmodules; i++) {
		size_t file =
			gr_image_module_at(stop->image, rt->modules[i].text);
		if (file == SIZE_MAX)
			continue;
		is_used[file] = true;
		err = attach_dwarf(stop, &rt->modules[i], file);
	}
	return err ? err : warn_about_others(stop, is_used);
}

struct gr_error *gr_stop_read_dictionaries(struct gr_stop *stop)
{
	const struct gr_target_module *modules = stop->target.modules;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < stop->target.nmodules; i++)
		if (stop->program->dwarfs[i])
			err = gr_dictionaries_read(
				stop->program->types, &modules[i],
				gr_image_bias(stop->image, i));
	return err;
}
