// SPDX-License-Identifier: Apache-2.0
/*
 * Files and their symbols: which of them has the Go runtime, and which one
 * each module of the runtime's list came from. A Go program is one file; with
 * plugins there are several under one runtime; a C program may have loaded Go
 * libraries, with a runtime each.
 */
#include "scan.h"

#include "goruntime/dictionary.h"
#include "goruntime/search.h"
#include "target/elf.h"
#include "target/notes.h"

/* Has the file a table of Go functions? By name, for big libraries of C are
 * not to be searched; without section headers it is not found. */
static bool has_go_section(const struct gr_scan *scan, size_t module)
{
	static const char *const sections[] = { ".gopclntab",
						".data.rel.ro.gopclntab",
						".go.buildinfo" };
	struct gr_error *err;
	bool has = false;
	struct gr_elf elf;

	err = gr_elf_open(scan->target.modules[module].path, &elf);
	if (err) {
		gr_error_destroy(err);
		return false;
	}
	for (size_t i = 0; !has && i < GR_ARRAY_SIZE(sections); i++)
		has = gr_elf_section(&elf, sections[i], NULL).size;
	gr_elf_deinit(&elf);
	return has;
}

/* Without debug information: the runtime by its own traces (search.h). */
static struct gr_error *search_runtime(struct gr_scan *scan, size_t module)
{
	const char *path = scan->target.modules[module].path;
	struct gr_error *err;
	struct gr_elf elf;

	gr_dwarf_destroy(scan->dwarfs[module]);
	scan->dwarfs[module] = NULL;
	// The tables of known layouts are of that processor.
	if (scan->rt.arch != &gr_arch_x86_64)
		return gr_error_format(GR_ERROR_NO_DWARF,
				       "%s has no debug information of Go, and "
				       "without it only programs for x86-64 "
				       "can be read: use the executable as "
				       "built without -s and -w",
				       path);
	err = gr_elf_open(path, &elf);
	if (err)
		return err;
	err = gr_search_layout(&scan->rt, &elf,
			       gr_image_bias(scan->image, module));
	gr_elf_deinit(&elf);
	if (gr_error_catch(&err, GR_ERROR_NOT_GO))
		return gr_error_format(GR_ERROR_NOT_GO,
				       "%s is not a Go program, nor is a "
				       "library of it that gdb has found "
				       "(`info sharedlibrary`)",
				       path);
	if (err)
		return gr_error_prefix(err, "%s: ", path);
	return gr_scan_warn(
		scan, "no debug information: names come from the "
		      "runtime's own tables; for all names use the "
		      "executable as built without -s and -w, or give its "
		      "debug file with gdb's `symbol-file'");
}

const char *gr_scan_build_id(struct gr_scan *scan, const char *path)
{
	struct gr_error *err;
	struct gr_elf elf;

	err = gr_elf_open(path, &elf);
	if (err) {
		gr_error_destroy(err);
		return "";
	}
	struct gr_build_id id = gr_build_id_of(&elf);
	gr_elf_deinit(&elf);
	if (!id.gnu_bytes)
		return gr_arena_intern(&scan->arena, id.go, id.go_bytes);
	char text[2 * sizeof(id.gnu) + 1] = "";
	for (size_t i = 0; i < id.gnu_bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", id.gnu[i]);
	return gr_arena_intern(&scan->arena, text, 2 * id.gnu_bytes);
}

static struct gr_error *open_dwarf(struct gr_scan *scan, size_t module)
{
	const struct gr_target_module *m = &scan->target.modules[module];
	const char *build_id = NULL;

	if (scan->target.use_cache)
		build_id = gr_scan_build_id(scan, m->path);
	return gr_dwarf_open_cached(m->path, m->debug_path, build_id,
				    gr_scan_poll, scan, &scan->dwarfs[module]);
}

void gr_scan_save_symbols(struct gr_scan *scan)
{
	for (size_t i = 0; i < scan->target.nmodules; i++)
		gr_dwarf_save(scan->dwarfs[i]);
}

/* The executable if it is one of Go's, else the first library that is. */
static size_t runtime_module(const struct gr_scan *scan)
{
	for (size_t i = 0; i < scan->target.nmodules; i++)
		if (gr_image_bias(scan->image, i) != UINT64_MAX &&
		    has_go_section(scan, i))
			return i;
	return 0;
}

struct gr_error *gr_scan_open_symbols(struct gr_scan *scan)
{
	size_t module = runtime_module(scan);
	struct gr_error *err;

	scan->dwarfs = calloc(scan->target.nmodules + 1, sizeof(*scan->dwarfs));
	if (!scan->dwarfs)
		return &gr_enomem;
	err = open_dwarf(scan, module);
	if (!err)
		err = gr_layout_resolve(scan->dwarfs[module],
					gr_image_bias(scan->image, module),
					&scan->rt.layout);
	// Of a C library's, but not of Go's own code, it is none either.
	if (gr_error_catch(&err, GR_ERROR_NO_DWARF) ||
	    gr_error_catch(&err, GR_ERROR_NOT_GO))
		return search_runtime(scan, module);
	return err;
}

/* The debug information of the file that the module was loaded from. */
static struct gr_error *attach_dwarf(struct gr_scan *scan,
				     struct gr_module *module, size_t file)
{
	struct gr_error *err = NULL;

	// The first one's is there if there is any to be had.
	if (!scan->dwarfs[file] && module != scan->rt.modules)
		err = open_dwarf(scan, file);
	if (gr_error_catch(&err, GR_ERROR_NO_DWARF))
		return gr_scan_warn(
			scan,
			gr_arena_internf(&scan->arena,
					 "%s has no debug information: poorer "
					 "names of what is its own",
					 scan->target.modules[file].path));
	if (err)
		return err;
	module->dwarf = scan->dwarfs[file];
	module->bias = gr_image_bias(scan->image, file);
	return NULL;
}

/* Go code that is not under this runtime has one of its own. */
static struct gr_error *warn_about_others(struct gr_scan *scan,
					  const bool *is_used)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < scan->target.nmodules; i++)
		if (!is_used[i] && has_go_section(scan, i))
			err = gr_scan_warn(
				scan, gr_arena_internf(
					      &scan->arena,
					      "%s has a Go runtime of its own, "
					      "which is not looked at",
					      scan->target.modules[i].path));
	return err;
}

struct gr_error *gr_scan_read_modules(struct gr_scan *scan)
{
	struct gr_runtime *rt = &scan->rt;
	_cleanup_free_ bool *is_used =
		calloc(scan->target.nmodules + 1, sizeof(*is_used));
	struct gr_error *err;

	if (!is_used)
		return &gr_enomem;
	err = gr_modules_read(rt);
	for (size_t i = 0; !err && i < rt->nmodules; i++) {
		size_t file =
			gr_image_module_at(scan->image, rt->modules[i].text);
		if (file == SIZE_MAX)
			continue;
		is_used[file] = true;
		err = attach_dwarf(scan, &rt->modules[i], file);
	}
	return err ? err : warn_about_others(scan, is_used);
}

struct gr_error *gr_scan_read_dictionaries(struct gr_scan *scan)
{
	const struct gr_target_module *modules = scan->target.modules;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < scan->target.nmodules; i++)
		if (scan->dwarfs[i])
			err = gr_dictionaries_read(&scan->rt, modules[i].path,
						   modules[i].debug_path,
						   gr_image_bias(scan->image,
								 i));
	return err;
}
