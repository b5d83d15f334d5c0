// SPDX-License-Identifier: Apache-2.0
// The module `_goref`, the one symbol of this shared object.
#include "gdbext.h"

#include "proto/profile_writer.h"

static PyObject *check_writable(PyObject *module, PyObject *args)
{
	const char *path;

	(void)module;
	if (!PyArg_ParseTuple(args, "s:check_writable", &path))
		return NULL;
	struct gr_error *err = gr_profile_check_writable(path);
	if (err)
		return gr_py_raise(err);
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{ "check_writable", check_writable, METH_VARARGS, NULL },
	{ "read_registers", gr_py_read_registers, METH_VARARGS, NULL },
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
	if (gr_py_scan_init(module) || gr_py_result_init(module))
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
