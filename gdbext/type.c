// SPDX-License-Identifier: Apache-2.0
// Types of the module: made, allocated and freed with the limited API.
#include "gdbext/gdbext.h"

int gr_py_type_add(PyObject *module, PyType_Spec *spec, PyTypeObject **ret)
{
	*ret = (PyTypeObject *)PyType_FromSpec(spec);
	return *ret ? PyModule_AddType(module, *ret) : -1;
}

PyObject *gr_py_type_alloc(PyTypeObject *type)
{
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);

	return alloc(type, 0);
}

void gr_py_type_free(PyObject *obj)
{
	PyTypeObject *type = Py_TYPE(obj);
	freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

	free_object(obj);
	Py_DECREF(type);
}
