// SPDX-License-Identifier: Apache-2.0
#include "facts/core_modules.h"

#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/number_set.h"
#include "facts/core_memory.h"
#include "facts/debug_file.h"
#include "facts/link_map.h"
#include "inferior/elf.h"
#include "inferior/sigbus.h"

/** The state of gr_core_modules_find(). */
struct finder {
	const char *debug_folder;
	struct stat exe; /**< All zeros if there is no executable. */
	struct gr_core_memory memory;
	struct gr_loaded_file_vector loaded;
	struct gr_number_set names; /**< Names of `loaded` that are done. */
	struct gr_core_modules list;
};

void gr_core_modules_deinit(struct gr_core_modules *modules)
{
	gr_arena_deinit(&modules->arena);
	memset(modules, 0, sizeof(*modules));
}

/* Copy a name as it is. It is for opening a file, so no byte is replaced. */
static const char *copy_text(struct gr_arena *arena, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = gr_arena_alloc(arena, bytes);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

static struct gr_error *add_module(struct finder *f, const char *path,
				   uint64_t bias)
{
	struct gr_core_module *module = &f->list.data[f->list.count];
	_cleanup_free_ char *debug = NULL;

	struct gr_error *err =
		gr_debug_file_find(path, f->debug_folder, &debug);
	if (err)
		return err;
	module->bias = bias;
	module->path = copy_text(&f->list.arena, path);
	module->debug_path = debug ? copy_text(&f->list.arena, debug) : NULL;
	if (!module->path || (debug && !module->debug_path))
		return &gr_enomem;
	f->list.count++;
	return NULL;
}

/* The absolute name of a loaded file. A relative name is relative to the
 * program's current folder; the kernel's list of files has the absolute one. */
static const char *name_of(const struct finder *f,
			   const struct gr_loaded_file *file)
{
	const struct gr_mapping *mapping;

	if (*file->name == '/')
		return file->name;
	mapping = gr_mappings_find(&f->memory.core.files, file->dynamic);
	return mapping && mapping->path && *mapping->path == '/' ?
		       mapping->path :
		       NULL;
}

static struct gr_error *add_library(struct finder *f,
				    const struct gr_loaded_file *file)
{
	const char *name = name_of(f, file);
	struct stat st;
	bool is_new;

	if (!name)
		return NULL;
	// Equal names are one string after this. A file that is loaded twice is
	// listed once: a damaged list must not open a file many times.
	name = gr_arena_intern(&f->list.arena, name, strlen(name));
	if (!name || !gr_number_set_add(&f->names, (uintptr_t)name, &is_new))
		return &gr_enomem;
	if (!is_new || stat(name, &st))
		return NULL;
	if (!S_ISREG(st.st_mode)) {
		f->list.special[f->list.nspecial++] = name;
		return NULL;
	}
	if (st.st_dev == f->exe.st_dev && st.st_ino == f->exe.st_ino)
		return NULL;
	return add_module(f, name, file->bias);
}

static struct gr_error *read_loaded(struct finder *f, const char *path)
{
	const struct gr_memory memory = gr_core_memory_of(&f->memory);
	struct gr_elf exe = { .phnum = 0 };
	uint64_t bias = 0;

	struct gr_error *err = gr_elf_open(path, &exe);
	if (err && err->code == GR_ERROR_NO_MEMORY)
		return err;
	if (err) {
		gr_error_destroy(err);
		return NULL;
	}
	if (exe.header.e_type != ET_EXEC)
		bias = f->memory.core.auxv.entry - exe.header.e_entry;
	err = gr_link_map_read(&memory, &exe, bias, &f->list.arena, &f->loaded);
	gr_elf_deinit(&exe);
	return err;
}

static struct gr_error *find(struct finder *f, const char *core,
			     const char *exe)
{
	struct gr_error *err = gr_core_memory_open(core, &f->memory);

	if (!err)
		err = read_loaded(f, exe);
	if (err)
		return err;
	size_t room = f->loaded.size + 1;
	f->list.data =
		gr_arena_alloc(&f->list.arena, room * sizeof(*f->list.data));
	f->list.special =
		gr_arena_alloc(&f->list.arena, room * sizeof(*f->list.special));
	if (!f->list.data || !f->list.special)
		return &gr_enomem;
	if (stat(exe, &f->exe))
		memset(&f->exe, 0, sizeof(f->exe));
	err = add_module(f, exe, UINT64_MAX);
	for (size_t i = 0; !err && i < f->loaded.size; i++)
		err = add_library(f, &f->loaded.data[i]);
	return err;
}

struct gr_error *gr_core_modules_find(const char *core, const char *exe,
				      const char *debug_folder,
				      struct gr_core_modules *ret)
{
	struct finder f = { .debug_folder = debug_folder };
	struct gr_sigbus_guard guard;

	gr_sigbus_guard_begin(&guard);
	struct gr_error *err = find(&f, core, exe);
	gr_loaded_file_vector_deinit(&f.loaded);
	gr_number_set_deinit(&f.names);
	gr_core_memory_close(&f.memory);
	err = gr_sigbus_guard_end(&guard, err);
	if (err)
		gr_core_modules_deinit(&f.list);
	else
		*ret = f.list;
	return err;
}
