// SPDX-License-Identifier: Apache-2.0
// The module `_goref`, the one symbol of this shared object.
#include "gdbext/gdbext.h"

#include "base/cleanup.h"
#include "proto/output.h"
#include "proto/profile_writer.h"
#include "scan/open.h"

PyObject *gr_py_check_writable(PyObject *module, PyObject *args,
			       PyObject *kwargs)
{
	const char *path;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s:check_writable",
					 gr_py_check_writable_names, &path))
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

PyObject *gr_py_write_file(PyObject *module, PyObject *args, PyObject *kwargs)
{
	const char *path;
	Py_buffer data;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sy*:write_file",
					 gr_py_write_file_names, &path, &data))
		return NULL;
	struct gr_error *err = write_all(path, &data);
	PyBuffer_Release(&data);
	return gr_py_none_or_raise(err);
}

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_goref",
	.m_doc = "The native half of goref. See _goref.pyi.",
	.m_size = -1,
	.m_methods = gr_py_functions,
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
	    gr_py_process_init(module) || gr_py_maps_init(module) ||
	    gr_py_growth_init(module))
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
