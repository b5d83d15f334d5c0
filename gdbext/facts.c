// SPDX-License-Identifier: Apache-2.0
// elf_facts(), core_facts(), core_modules(), debug_file(): what files say
// without a scan; and Scan.goroutine_of_thread().
#include "gdbext.h"

#include <string.h>

static PyObject *from_path(const void *value)
{
	const char *path = *(const char *const *)value;

	if (!path)
		Py_RETURN_NONE;
	return PyUnicode_DecodeFSDefault(path);
}

/* The only argument, a path, as bytes; NULL with an exception set. */
static PyObject *parse_path(PyObject *args, PyObject *kwargs,
			    const char *format)
{
	static char *names[] = { "path", NULL };
	PyObject *path = NULL;

	return PyArg_ParseTupleAndKeywords(args, kwargs, format, names,
					   PyUnicode_FSConverter, &path) ?
		       path :
		       NULL;
}

static PyObject *gnu_id_of(const void *value)
{
	const struct gr_build_id *id = value;

	return PyBytes_FromStringAndSize((const char *)id->gnu,
					 (Py_ssize_t)id->gnu_bytes);
}

static PyObject *go_id_of(const void *value)
{
	const struct gr_build_id *id = value;

	return PyBytes_FromStringAndSize(id->go, (Py_ssize_t)id->go_bytes);
}

/* The fields of a struct @p tag whose ids are in its member `id`. */
#define ID_FIELDS(tag)                                                     \
	{ .name = "gnu_build_id",                                          \
	  .offset = offsetof(struct tag, id),                              \
	  .convert = gnu_id_of },                                          \
	{                                                                  \
		.name = "go_build_id", .offset = offsetof(struct tag, id), \
		.convert = go_id_of                                        \
	}

/* -------------------------------------------------------------------- a file */

static PyObject *entry_of(const void *value)
{
	const struct gr_elf_facts *facts = value;

	if (!facts->has_header)
		Py_RETURN_NONE;
	return PyLong_FromUnsignedLongLong(facts->entry);
}

static const struct gr_py_field elf_fields[] = {
	GR_PY_FIELD(gr_elf_facts, file_bytes),
	GR_PY_FIELD(gr_elf_facts, compression),
	GR_PY_FIELD(gr_elf_facts, kind),
	GR_PY_FIELD(gr_elf_facts, machine),
	GR_PY_FIELD(gr_elf_facts, missing_part),
	GR_PY_FIELD(gr_elf_facts, needed_bytes),
	GR_PY_FIELD_OF(entry, entry_of),
	GR_PY_FIELD_AS(gr_elf_facts, lowest_page, gr_py_from_bytes),
	GR_PY_FIELD_AS(gr_elf_facts, text_addr, gr_py_from_bytes),
	GR_PY_FIELD(gr_elf_facts, text_bytes),
	GR_PY_FIELD_AS(gr_elf_facts, loader, from_path),
	ID_FIELDS(gr_elf_facts),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_elf_facts_row = { "ElfFacts", elf_fields, NULL };

PyObject *gr_py_elf_facts(PyObject *module, PyObject *args, PyObject *kwargs)
{
	_cleanup_py_ PyObject *path = parse_path(args, kwargs, "O&:elf_facts");
	struct gr_elf_facts facts;

	(void)module;
	if (!path)
		return NULL;
	struct gr_error *err =
		gr_elf_facts_read(PyBytes_AsString(path), &facts);
	if (err)
		return gr_py_raise(err);
	PyObject *row = gr_py_row_new(&gr_py_elf_facts_row, &facts);
	gr_elf_facts_deinit(&facts);
	return row;
}

/* -------------------------------------------------------------------- a core */

static PyObject *random_of(const void *value)
{
	const struct gr_core_facts *facts = value;

	return PyBytes_FromStringAndSize((const char *)facts->random,
					 (Py_ssize_t)facts->random_bytes);
}

/* A field of the siginfo, if it is known; else None. */
static PyObject *signal_code_of(const void *value)
{
	const struct gr_core_facts *facts = value;

	if (!facts->siginfo.number)
		Py_RETURN_NONE;
	return PyLong_FromLong(facts->siginfo.code);
}

static PyObject *sender_of(const void *value)
{
	const struct gr_core_facts *facts = value;

	if (!facts->siginfo.number)
		Py_RETURN_NONE;
	return PyLong_FromLong(facts->siginfo.sender_pid);
}

static PyObject *fault_of(const void *value)
{
	const struct gr_core_facts *facts = value;

	if (!facts->siginfo.number)
		Py_RETURN_NONE;
	return PyLong_FromUnsignedLongLong(facts->siginfo.fault_addr);
}

static PyObject *paths(const char *const *values, size_t count)
{
	return gr_py_tuple(values, sizeof(*values), count, from_path);
}

static PyObject *code_files_of(const void *value)
{
	const struct gr_core_facts *facts = value;

	return paths(facts->code_files, facts->ncode_files);
}

static PyObject *thread_ids_of(const void *value)
{
	const struct gr_core_facts *facts = value;

	return gr_py_tuple(facts->thread_ids, sizeof(*facts->thread_ids),
			   facts->nthreads, gr_py_from_i32);
}

static const struct gr_py_field core_fields[] = {
	GR_PY_FIELD_AS(gr_core_facts, exe_path, from_path),
	ID_FIELDS(gr_core_facts),
	GR_PY_FIELD(gr_core_facts, pid),
	GR_PY_FIELD_OF(random, random_of),
	GR_PY_FIELD_AS(gr_core_facts, signal, gr_py_from_i32_or_none),
	GR_PY_FIELD_OF(signal_code, signal_code_of),
	GR_PY_FIELD_OF(sender_pid, sender_of),
	GR_PY_FIELD_OF(fault_addr, fault_of),
	GR_PY_FIELD_OF(code_files, code_files_of),
	GR_PY_FIELD_OF(thread_ids, thread_ids_of),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_core_facts_row = { "CoreFacts", core_fields, NULL };

PyObject *gr_py_core_facts(PyObject *module, PyObject *args, PyObject *kwargs)
{
	_cleanup_py_ PyObject *path = parse_path(args, kwargs, "O&:core_facts");
	struct gr_core_facts facts;

	(void)module;
	if (!path)
		return NULL;
	struct gr_error *err =
		gr_core_facts_read(PyBytes_AsString(path), &facts);
	if (err)
		return gr_py_raise(err);
	PyObject *row = gr_py_row_new(&gr_py_core_facts_row, &facts);
	gr_core_facts_deinit(&facts);
	return row;
}

/* ------------------------------------------------------------------- modules */

static const struct gr_py_field module_fields[] = {
	GR_PY_FIELD_AS(gr_core_module, path, from_path),
	GR_PY_FIELD_AS(gr_core_module, debug_path, from_path),
	GR_PY_FIELD_AS(gr_core_module, bias, gr_py_from_bytes),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_module_row = { "Module", module_fields, NULL };

GR_PY_DEFINE_ROWS(modules_of, gr_core_modules, data, count, gr_py_module_row)

static PyObject *special_of(const void *value)
{
	const struct gr_core_modules *list = value;

	return paths(list->special, list->nspecial);
}

static const struct gr_py_field modules_fields[] = {
	GR_PY_FIELD_OF(modules, modules_of),
	GR_PY_FIELD_OF(special, special_of),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_core_modules_row = { "CoreModules", modules_fields,
					    NULL };

PyObject *gr_py_core_modules(PyObject *module, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "core", "exe", "debug_folder", NULL };
	_cleanup_py_ PyObject *core = NULL;
	_cleanup_py_ PyObject *exe = NULL;
	_cleanup_py_ PyObject *folder = NULL;
	struct gr_core_modules list;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O&|O&:core_modules",
					 names, PyUnicode_FSConverter, &core,
					 PyUnicode_FSConverter, &exe,
					 PyUnicode_FSConverter, &folder))
		return NULL;
	struct gr_error *err = gr_core_modules_find(
		PyBytes_AsString(core), PyBytes_AsString(exe),
		folder ? PyBytes_AsString(folder) : GR_DEBUG_FOLDER, &list);
	if (err)
		return gr_py_raise(err);
	PyObject *row = gr_py_row_new(&gr_py_core_modules_row, &list);
	gr_core_modules_deinit(&list);
	return row;
}

PyObject *gr_py_debug_file(PyObject *module, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "path", "folder", NULL };
	_cleanup_py_ PyObject *path = NULL;
	_cleanup_py_ PyObject *folder = NULL;
	_cleanup_free_ char *found = NULL;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|O&:debug_file",
					 names, PyUnicode_FSConverter, &path,
					 PyUnicode_FSConverter, &folder))
		return NULL;
	struct gr_error *err = gr_debug_file_find(
		PyBytes_AsString(path),
		folder ? PyBytes_AsString(folder) : GR_DEBUG_FOLDER, &found);
	return err ? gr_py_raise(err) : from_path(&found);
}

/* ------------------------------------------------------------------- threads */

PyObject *gr_py_scan_goroutine_of_thread(PyObject *obj, PyObject *args,
					 PyObject *kwargs)
{
	static char *names[] = { "thread_id", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	uint64_t goid;
	int thread_id;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i:goroutine_of_thread",
					 names, &thread_id) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err =
		gr_scan_goroutine_of_thread(self->scan, thread_id, &goid);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_from_u64_or_none(&goid);
}
