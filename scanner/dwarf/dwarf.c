// SPDX-License-Identifier: Apache-2.0
#include "dwarf/dwarf.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/sort.h"
#include "dwarf/internal.h"

// This file opens debug information, looks up rows and destroys the tables.

enum {
	POLL_STEPS = 4096,
	NAME_BYTES_A_STEP = 64,
	INDEXED_NAME_BYTES = 64 << 20, /* of all functions: 0.1 s */
	// For the walk. Even a packed file needs at most one.
	STEPS_A_BYTE = 4,
	SPARE_STEPS = 1 << 22,
	// For questions about functions: of each one, and, beyond what the walk
	// may take, of all.
	QUESTION_STEPS = 1 << 22,
	SPARE_QUESTION_STEPS = 1 << 26,
	SKIPPED_BYTES_A_STEP = 64,
};

GR_DEFINE_CLEANUP(dwarf, struct gr_dwarf, gr_dwarf_destroy)
#define _cleanup_dwarf_ _cleanup_(gr_cleanup_dwarf)

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

struct gr_error *gr_dwarf_check_library(void)
{
	const char *version = dwarf_package_version();
	Dl_info theirs, ours;

	// Old versions are dates ("20210528"). New ones have dots ("0.11.1", or
	// "1.11.1" for Debian's build).
	bool is_old = version && !strchr(version, '.');
	if (is_old != GR_LIBDWARF_IS_OLD)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "libdwarf %s is loaded, but goref was "
				       "built for another, incompatible one",
				       version ? version : "?");
	// libdw has functions of the same names, and gdb may have loaded it.
	if (!dladdr((void *)dwarf_tag, &theirs) || !theirs.dli_fname)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "cannot tell which library dwarf_tag "
				       "is from");
	if (strstr(base_name(theirs.dli_fname), "libdwarf"))
		return NULL;
	// A statically linked libdwarf is in the same file as this function.
	if (dladdr((void *)gr_dwarf_check_library, &ours) &&
	    ours.dli_fbase == theirs.dli_fbase)
		return NULL;
	return gr_error_format(GR_ERROR_ARGUMENT,
			       "dwarf_tag is from %s, not from libdwarf: load "
			       "the module with RTLD_DEEPBIND",
			       base_name(theirs.dli_fname));
}

struct gr_error *gr_dwarf_step(struct gr_dwarf *dwarf, uint64_t n)
{
	dwarf->all_steps += n;
	dwarf->steps += n;
	if (dwarf->steps < POLL_STEPS)
		return NULL;
	dwarf->steps = 0;
	return dwarf->poll ? dwarf->poll(dwarf->ctx) : NULL;
}

// Count steps without polling; the next gr_dwarf_step() may poll for them.
void gr_dwarf_count(struct gr_dwarf *dwarf, uint64_t n)
{
	dwarf->all_steps += n;
	dwarf->steps += n;
}

struct gr_error *gr_dwarf_next(struct gr_dwarf *dwarf, struct gr_die_iter *iter)
{
	uint64_t before = iter->off;
	struct gr_error *err = gr_dwarf_step(dwarf, 1);

	if (!err)
		err = gr_die_iter_next(iter);
	if (!err && iter->handle)
		gr_dwarf_count(dwarf,
			       (iter->off - before) / SKIPPED_BYTES_A_STEP);
	return err;
}

bool gr_dwarf_is_answered(const struct gr_dwarf *dwarf)
{
	return dwarf->all_steps - dwarf->question_start >= QUESTION_STEPS;
}

// End the last question, and begin another one.
static struct gr_error *begin_question(struct gr_dwarf *dwarf)
{
	dwarf->question_steps += dwarf->all_steps - dwarf->question_start;
	dwarf->question_start = dwarf->all_steps;
	if (dwarf->question_steps <= dwarf->max_steps + SPARE_QUESTION_STEPS)
		return NULL;
	return gr_error_format(GR_ERROR_FORMAT,
			       "the functions have too many variables");
}

struct gr_error *gr_dwarf_read_die(struct gr_dwarf *dwarf, Dwarf_Die handle,
				   struct gr_die *ret)
{
	struct gr_error *err = gr_die_read(dwarf->dbg, handle, ret);

	if (err)
		return err;
	gr_dwarf_count(dwarf, ret->nattrs);
	return NULL;
}

const char *gr_dwarf_clean_name(struct gr_dwarf *dwarf, const char *name)
{
	const uint8_t *p = (const uint8_t *)name;

	// The file's own bytes stay mapped as long as the tables exist. Nearly
	// all names are plain ASCII. The others are repaired in the arena.
	while (*p >= 0x20 && *p < 0x7f)
		p++;
	gr_dwarf_count(dwarf, (p - (const uint8_t *)name) / NAME_BYTES_A_STEP);
	if (*p == '\0')
		return name;
	return gr_arena_intern(&dwarf->arena, name, strlen(name));
}

/* The name of the abstract function at @p off, or NULL. */
static const char *abstract_name(const struct gr_dwarf *dwarf, uint64_t off)
{
	const struct gr_dwarf_abstract *abstracts = dwarf->abstracts.data;
	size_t i = gr_count_before(dwarf->abstracts.size, j,
				   abstracts[j].die_off < off);

	if (i == dwarf->abstracts.size || abstracts[i].die_off != off)
		return NULL;
	return abstracts[i].name;
}

static void name_functions(struct gr_die_walk *walk)
{
	struct gr_dwarf_function *functions = walk->dwarf->functions.data;

	for (size_t i = 0; i < walk->dwarf->functions.size; i++) {
		if (!functions[i].name)
			functions[i].name = abstract_name(
				walk->dwarf, walk->function_origins.data[i]);
		if (!functions[i].name)
			functions[i].name = "?";
	}
}

static int compare_functions(const void *a, const void *b)
{
	const struct gr_dwarf_function *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->die_off < y->die_off ? -1 : x->die_off > y->die_off;
}

static int compare_variables(const void *a, const void *b)
{
	const struct gr_dwarf_variable *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	int by_name = strcmp(x->name, y->name);
	if (by_name)
		return by_name;
	return x->type < y->type ? -1 : x->type > y->type;
}

// Go types come before C types, and types with a runtime type come first. The
// first type with a name keeps the name.
static bool type_in_round(const struct gr_die_walk *walk, uint32_t i, int round)
{
	bool is_go = walk->types.data[i].is_go;

	if (walk->dwarf->canonical[i] != i ||
	    walk->dwarf->types.data[i].dict_index)
		return false;
	switch (round) {
	case 0:
		return is_go && walk->dwarf->types.data[i].runtime_type;
	case 1:
		return is_go && !walk->dwarf->types.data[i].runtime_type;
	default:
		return !is_go;
	}
}

static struct gr_column type_names(const struct gr_dwarf *dwarf)
{
	return GR_COLUMN(dwarf->types.data, name);
}

static struct gr_column runtime_types(const struct gr_dwarf *dwarf)
{
	return GR_COLUMN(dwarf->types.data, runtime_type);
}

static struct gr_column variable_names(const struct gr_dwarf *dwarf)
{
	return GR_COLUMN(dwarf->variables.data, name);
}

static struct gr_column constant_names(const struct gr_dwarf *dwarf)
{
	return GR_COLUMN(dwarf->constants.data, name);
}

static struct gr_error *index_types(const struct gr_die_walk *walk, int round)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < dwarf->types.size; i++) {
		err = gr_dwarf_step(dwarf, 1);
		if (!type_in_round(walk, i, round))
			continue;
		gr_index_add_name(&dwarf->types_by_name, type_names(dwarf), i);
		if (dwarf->types.data[i].runtime_type)
			gr_index_add_number(&dwarf->types_by_runtime_type,
					    runtime_types(dwarf), i);
	}
	return err;
}

static struct gr_error *build_indexes(struct gr_die_walk *walk)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	struct gr_error *err = NULL;

	if (!gr_index_init(&dwarf->types_by_name, dwarf->types.size) ||
	    !gr_index_init(&dwarf->types_by_runtime_type, dwarf->types.size) ||
	    !gr_index_init(&dwarf->variables_by_name, dwarf->variables.size) ||
	    !gr_index_init(&dwarf->constants_by_name, dwarf->constants.size))
		return &gr_enomem;
	for (int round = 0; !err && round < 3; round++)
		err = index_types(walk, round);
	for (uint32_t i = 0; !err && i < dwarf->variables.size; i++) {
		gr_index_add_name(&dwarf->variables_by_name,
				  variable_names(dwarf), i);
		err = gr_dwarf_step(dwarf, 1);
	}
	for (uint32_t i = 0; !err && i < dwarf->constants.size; i++) {
		gr_index_add_name(&dwarf->constants_by_name,
				  constant_names(dwarf), i);
		err = gr_dwarf_step(dwarf, 1);
	}
	return err;
}

static struct gr_error *fill(struct gr_dwarf *dwarf, struct gr_die_walk *walk)
{
	struct gr_error *err;

	err = gr_die_walk_run(walk);
	if (err)
		return err;
	if (!dwarf->types.size && !dwarf->functions.size)
		return gr_error_format(dwarf->damaged_units ? GR_ERROR_FORMAT :
							      GR_ERROR_NO_DWARF,
				       dwarf->damaged_units ?
					       "the debug information is "
					       "damaged" :
					       "no debug information");
	err = gr_dwarf_resolve_types(walk);
	if (!err && walk->is_data_only)
		err = gr_dwarf_prune(walk);
	if (err)
		return err;
	name_functions(walk);
	// Types are resolved, so that raw notes need not be parallel any more.
	err = gr_sort(dwarf->functions.data, dwarf->functions.size,
		      sizeof(*dwarf->functions.data), compare_functions,
		      dwarf->poll, dwarf->ctx);
	if (!err)
		err = gr_sort(dwarf->variables.data, dwarf->variables.size,
			      sizeof(*dwarf->variables.data), compare_variables,
			      dwarf->poll, dwarf->ctx);
	return err ? err : build_indexes(walk);
}

/* Open the file at @p path with libdwarf; the tables stay empty. */
static struct gr_error *open_file(const char *path, struct gr_dwarf **ret)
{
	_cleanup_dwarf_ struct gr_dwarf *dwarf = calloc(1, sizeof(*dwarf));
	Dwarf_Error err = NULL;

	if (!dwarf)
		return &gr_enomem;
	dwarf->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (dwarf->fd < 0)
		return gr_error_format(GR_ERROR_IO, "%s: %s", path,
				       strerror(errno));
	dwarf->path = strdup(path);
	if (!dwarf->path)
		return &gr_enomem;
	if (!gr_lists_init(&dwarf->lists, dwarf->fd))
		return gr_error_format(GR_ERROR_FORMAT,
				       "%s: the debug information is damaged",
				       path);
	int rc = gr_compat_init(dwarf->fd, &dwarf->dbg, &err);
	if (rc == DW_DLV_OK) {
		*ret = steal_ptr(dwarf);
		return NULL;
	}
	struct gr_error *failure = gr_error_format(
		rc == DW_DLV_NO_ENTRY ? GR_ERROR_NO_DWARF : GR_ERROR_FORMAT,
		"%s: %s", path,
		rc == DW_DLV_NO_ENTRY ? "no debug information" :
		err		      ? dwarf_errmsg(err) :
					"not a file that libdwarf reads");
	gr_die_check(dwarf->dbg, rc, &err);
	return failure;
}

static void set_limits(struct gr_dwarf *dwarf)
{
	struct stat status;

	dwarf->max_steps = SPARE_STEPS;
	if (!fstat(dwarf->fd, &status))
		dwarf->max_steps += (uint64_t)status.st_size * STEPS_A_BYTE;
}

/* Open the debug information if the tables are from the cache. */
static struct gr_error *attach(struct gr_dwarf *dwarf)
{
	_cleanup_dwarf_ struct gr_dwarf *file = NULL;
	struct gr_error *err;
	struct stat status;

	if (dwarf->dbg)
		return NULL;
	if (dwarf->is_packed)
		return gr_error_format(GR_ERROR_NOT_SAVED,
				       "the saved file lacks this answer about "
				       "a function: no question asked for it "
				       "when the file was saved");
	err = open_file(dwarf->path, &file);
	// The tables are complete; only the answers from the file are missing.
	if (err && err != &gr_enomem) {
		gr_error_destroy(err);
		return gr_error_format(GR_ERROR_FORMAT, "%s: cannot be read",
				       dwarf->path);
	}
	if (err)
		return err;
	if (fstat(file->fd, &status) ||
	    !gr_dwarf_key_fits(&dwarf->key, &status))
		return gr_error_format(GR_ERROR_FORMAT, "%s: has changed",
				       dwarf->path);
	dwarf->dbg = steal_ptr(file->dbg);
	dwarf->fd = file->fd;
	file->fd = -1;
	dwarf->lists = file->lists;
	memset(&file->lists, 0, sizeof(file->lists));
	set_limits(dwarf);
	return NULL;
}

struct gr_error *gr_dwarf_function_die(struct gr_dwarf *dwarf,
				       uint32_t function, Dwarf_Die *ret)
{
	struct gr_error *err = attach(dwarf);

	if (!err)
		err = begin_question(dwarf);
	if (!err)
		*ret = gr_die_at(dwarf->dbg,
				 dwarf->functions.data[function].die_off);
	return err;
}

struct gr_error *gr_dwarf_open_file(const char *path, bool is_data_only,
				    struct gr_error *(*poll)(void *ctx),
				    void *ctx, struct gr_dwarf **ret)
{
	_cleanup_dwarf_ struct gr_dwarf *dwarf = NULL;
	_cleanup_walk_ struct gr_die_walk walk = { .is_data_only =
							   is_data_only };
	struct gr_error *err = gr_dwarf_check_library();

	if (err)
		return err;
	err = open_file(path, &dwarf);
	if (err)
		return err;
	walk.dwarf = dwarf;
	dwarf->poll = poll;
	dwarf->ctx = ctx;
	set_limits(dwarf);
	err = fill(dwarf, &walk);
	dwarf->question_start = dwarf->all_steps;
	if (err && err->code != GR_ERROR_INTERRUPTED &&
	    err->code != GR_ERROR_MEMORY_LIMIT)
		return gr_error_prefix(err, "%s: ", path);
	if (err)
		return err;
	*ret = steal_ptr(dwarf);
	return NULL;
}

struct gr_error *gr_dwarf_open(const char *path, const char *debug_path,
			       struct gr_error *(*poll)(void *ctx), void *ctx,
			       struct gr_dwarf **ret)
{
	return gr_dwarf_open_file(debug_path ? debug_path : path, false, poll,
				  ctx, ret);
}

static void destroy_tables(struct gr_dwarf *dwarf)
{
	gr_dwarf_type_vector_deinit(&dwarf->types);
	gr_dwarf_field_vector_deinit(&dwarf->fields);
	gr_dwarf_variable_vector_deinit(&dwarf->variables);
	gr_dwarf_function_vector_deinit(&dwarf->functions);
	gr_dwarf_constant_vector_deinit(&dwarf->constants);
	gr_dwarf_abstract_vector_deinit(&dwarf->abstracts);
	gr_index_deinit(&dwarf->types_by_name);
	gr_index_deinit(&dwarf->types_by_runtime_type);
	gr_index_deinit(&dwarf->variables_by_name);
	gr_index_deinit(&dwarf->constants_by_name);
	free(dwarf->canonical);
}

void gr_dwarf_destroy(struct gr_dwarf *dwarf)
{
	if (!dwarf)
		return;
	if (dwarf->block)
		free(dwarf->block);
	else
		destroy_tables(dwarf);
	gr_index_deinit(&dwarf->functions_by_name);
	gr_answers_deinit(&dwarf->answers);
	gr_arena_deinit(&dwarf->arena);
	free(dwarf->path);
	if (dwarf->dbg)
		gr_compat_finish(dwarf->dbg);
	gr_lists_deinit(&dwarf->lists);
	if (dwarf->fd >= 0)
		close(dwarf->fd);
	free(dwarf);
}

const struct gr_dwarf_type *gr_dwarf_types(const struct gr_dwarf *dwarf,
					   size_t *count)
{
	*count = dwarf->types.size;
	return dwarf->types.data;
}

size_t gr_dwarf_field_count(const struct gr_dwarf *dwarf)
{
	return dwarf->fields.size;
}

const struct gr_dwarf_field *gr_dwarf_fields(const struct gr_dwarf *dwarf)
{
	return dwarf->fields.data;
}

const struct gr_dwarf_variable *gr_dwarf_variables(const struct gr_dwarf *dwarf,
						   size_t *count)
{
	*count = dwarf->variables.size;
	return dwarf->variables.data;
}

const struct gr_dwarf_constant *gr_dwarf_constants(const struct gr_dwarf *dwarf,
						   size_t *count)
{
	*count = dwarf->constants.size;
	return dwarf->constants.data;
}

const struct gr_dwarf_function *gr_dwarf_functions(const struct gr_dwarf *dwarf,
						   size_t *count)
{
	*count = dwarf->functions.size;
	return dwarf->functions.data;
}

uint32_t gr_dwarf_find_type(const struct gr_dwarf *dwarf, const char *name)
{
	return gr_index_find_name(&dwarf->types_by_name, type_names(dwarf),
				  name);
}

uint32_t gr_dwarf_find_runtime_type(const struct gr_dwarf *dwarf, uint64_t off)
{
	return gr_index_find_number(&dwarf->types_by_runtime_type,
				    runtime_types(dwarf), off);
}

uint32_t gr_dwarf_find_variable(const struct gr_dwarf *dwarf, const char *name)
{
	return gr_index_find_name(&dwarf->variables_by_name,
				  variable_names(dwarf), name);
}

bool gr_dwarf_find_constant(const struct gr_dwarf *dwarf, const char *name,
			    int64_t *ret)
{
	uint32_t i = gr_index_find_name(&dwarf->constants_by_name,
					constant_names(dwarf), name);
	if (i == GR_DWARF_NONE)
		return false;
	*ret = dwarf->constants.data[i].value;
	return true;
}

static struct gr_column function_names(const struct gr_dwarf *dwarf)
{
	return GR_COLUMN(dwarf->functions.data, name);
}

/* Make the index of functions. A crafted file may have a long name for each
 * function; then the last ones are not in the index. */
static bool index_functions(struct gr_dwarf *dwarf)
{
	struct gr_index *index = &dwarf->functions_by_name;
	size_t left = INDEXED_NAME_BYTES;

	if (!gr_index_init(index, dwarf->functions.size))
		return false;
	for (uint32_t i = 0; i < dwarf->functions.size; i++) {
		size_t bytes = strlen(dwarf->functions.data[i].name);

		if (bytes > left)
			break;
		left -= bytes;
		gr_index_add_name(index, function_names(dwarf), i);
	}
	return true;
}

uint32_t gr_dwarf_find_function(struct gr_dwarf *dwarf, const char *name)
{
	struct gr_index *index = &dwarf->functions_by_name;

	if (!index->slots && !index_functions(dwarf))
		return GR_DWARF_NONE;
	return gr_index_find_name(index, function_names(dwarf), name);
}

uint32_t gr_dwarf_function_at(const struct gr_dwarf *dwarf, uint64_t pc)
{
	const struct gr_dwarf_function *functions = dwarf->functions.data;
	size_t n = gr_count_before(dwarf->functions.size, i,
				   functions[i].low <= pc);

	// The last function that starts at or before pc.
	if (!n || pc >= functions[n - 1].high)
		return GR_DWARF_NONE;
	return (uint32_t)(n - 1);
}
