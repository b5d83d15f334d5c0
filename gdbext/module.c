// SPDX-License-Identifier: Apache-2.0
// The module `_goref`, the one symbol of this shared object.
#include "gdbext.h"

#include "base/cleanup.h"
#include "proto/output.h"
#include "proto/profile_writer.h"

static PyObject *check_writable(PyObject *module, PyObject *args,
				PyObject *kwargs)
{
	static char *names[] = { "path", NULL };
	const char *path;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s:check_writable",
					 names, &path))
		return NULL;
	return gr_py_none_or_raise(gr_profile_check_writable(path));
}

static struct gr_error *write_all(const char *path, const Py_buffer *data)
{
	_cleanup_(gr_output_deinit) struct gr_output out;
	struct gr_error *err = gr_output_init(&out, path, GR_OUTPUT_PLAIN);

	if (!err)
		err = gr_output_write(&out, data->buf, (size_t)data->len);
	return err ? err : gr_output_commit(&out);
}

static PyObject *write_file(PyObject *module, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "path", "data", NULL };
	const char *path;
	Py_buffer data;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sy*:write_file", names,
					 &path, &data))
		return NULL;
	struct gr_error *err = write_all(path, &data);
	PyBuffer_Release(&data);
	return gr_py_none_or_raise(err);
}

static PyMethodDef functions[] = {
	GR_PY_METHOD(check_writable, check_writable, "($module, path)"),
	GR_PY_METHOD(read_registers, gr_py_read_registers, "($module, tid)"),
	GR_PY_METHOD(process_reader, gr_py_process_reader, "($module, pid)"),
	GR_PY_METHOD(why_not_traced, gr_py_why_not_traced, "($module, pid)"),
	GR_PY_METHOD(write_tree_profile, gr_py_write_tree_profile,
		     "($module, path, places, label_sets, nodes, comment=None, "
		     "partial=None, exe_path=None, build_id=None, labels=(), "
		     "time_ns=0)"),
	GR_PY_METHOD(write_file, write_file, "($module, path, data)"),
	GR_PY_METHOD(elf_facts, gr_py_elf_facts, "($module, path)"),
	GR_PY_METHOD(core_facts, gr_py_core_facts, "($module, path)"),
	GR_PY_METHOD(core_modules, gr_py_core_modules,
		     "($module, core, exe, debug_folder='" GR_DEBUG_FOLDER
		     "')"),
	GR_PY_METHOD(debug_file, gr_py_debug_file,
		     "($module, path, folder='" GR_DEBUG_FOLDER "')"),
	{ "__getattr__", gr_py_rows_getattr, METH_O, NULL },
	{ "__dir__", gr_py_rows_dir, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_goref",
	.m_doc = "The native half of goref. See _goref.pyi.",
	.m_size = -1,
	.m_methods = functions,
};

static int fill_module(PyObject *module)
{
	if (gr_py_errors_init(module))
		return -1;
	struct gr_error *err = gr_check_libraries();
	if (err) {
		gr_py_raise(err);
		return -1;
	}
	if (gr_py_rows_type_init(module) || gr_py_scan_init(module) ||
	    gr_py_result_init(module) || gr_py_view_init(module) ||
	    gr_py_process_init(module) || gr_py_maps_init(module))
		return -1;
	if (PyModule_AddIntConstant(module, "MAX_SAMPLES",
				    GR_PROFILE_MAX_SAMPLES))
		return -1;
	return PyModule_AddStringConstant(module, "VERSION", PACKAGE_VERSION);
}

PyMODINIT_FUNC PyInit__goref(void);

PyMODINIT_FUNC PyInit__goref(void)
{
	PyObject *module = PyModule_Create(&definition);

	if (module && fill_module(module))
		Py_CLEAR(module);
	return module;
}
