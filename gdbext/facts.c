// SPDX-License-Identifier: Apache-2.0
// elf_facts(), core_facts(), core_modules(), debug_file(): what files say
// without a scan; and Scan.goroutine_of_thread().
#include "gdbext/gdbext.h"

#include <string.h>

#include "facts/core_facts.h"
#include "facts/core_modules.h"
#include "facts/debug_file.h"
#include "facts/elf_facts.h"
#include "goroutines/thread_goroutine.h"

_Static_assert(!__builtin_strcmp(GR_DEBUG_FOLDER, "/usr/lib/debug"),
	       "_goref.pyi has another folder");

/* The only argument, a path, as bytes; NULL with an exception set. */
static PyObject *parse_path(PyObject *args, PyObject *kwargs, char **names,
			    const char *format)
{
	PyObject *path = NULL;

	return PyArg_ParseTupleAndKeywords(args, kwargs, format, names,
					   PyUnicode_FSConverter, &path) ?
		       path :
		       NULL;
}

/* -------------------------------------------------------------------- a file */

PyObject *gr_py_elf_facts(PyObject *module, PyObject *args, PyObject *kwargs)
{
	_cleanup_py_ PyObject *path =
		parse_path(args, kwargs, gr_py_elf_facts_names, "O&:elf_facts");
	struct gr_elf_facts facts;

	(void)module;
	if (!path)
		return NULL;
	struct gr_error *err =
		gr_elf_facts_read(PyBytes_AsString(path), &facts);
	if (err)
		return gr_py_raise(err);
	return gr_py_row_new(&gr_py_elf_facts_row, &facts);
}

/* -------------------------------------------------------------------- a core */

PyObject *gr_py_core_facts(PyObject *module, PyObject *args, PyObject *kwargs)
{
	_cleanup_py_ PyObject *path = parse_path(
		args, kwargs, gr_py_core_facts_names, "O&:core_facts");
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

PyObject *gr_py_core_modules(PyObject *module, PyObject *args, PyObject *kwargs)
{
	_cleanup_py_ PyObject *core = NULL;
	_cleanup_py_ PyObject *exe = NULL;
	_cleanup_py_ PyObject *folder = NULL;
	struct gr_core_modules list;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O&|O&:core_modules",
					 gr_py_core_modules_names,
					 PyUnicode_FSConverter, &core,
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
	_cleanup_py_ PyObject *path = NULL;
	_cleanup_py_ PyObject *folder = NULL;
	_cleanup_free_ char *found = NULL;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|O&:debug_file",
					 gr_py_debug_file_names,
					 PyUnicode_FSConverter, &path,
					 PyUnicode_FSConverter, &folder))
		return NULL;
	struct gr_error *err = gr_debug_file_find(
		PyBytes_AsString(path),
		folder ? PyBytes_AsString(folder) : GR_DEBUG_FOLDER, &found);
	return err ? gr_py_raise(err) : gr_py_from_path(&found);
}

/* ------------------------------------------------------------------- threads */

PyObject *gr_py_scan_goroutine_of_thread(PyObject *obj, PyObject *args,
					 PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	uint64_t goid;
	int thread_id;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i:goroutine_of_thread",
					 gr_py_scan_goroutine_of_thread_names,
					 &thread_id) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err =
		gr_scan_goroutine_of_thread(self->scan, thread_id, &goid);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_from_u64_or_none(&goid);
}
