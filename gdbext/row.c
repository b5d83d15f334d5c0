// SPDX-License-Identifier: Apache-2.0
// Rows: tables of fields turn C structs into named tuples.
#include "gdbext/gdbext.h"

static Py_ssize_t count_fields(const struct gr_py_row *row)
{
	Py_ssize_t count = 0;

	while (row->fields[count].name)
		count++;
	return count;
}

// ------------------------------------------------------------------- types

static const struct gr_py_row *row_of(PyObject *object)
{
	for (size_t i = 0; gr_py_all_rows[i]; i++) {
		PyTypeObject *type = gr_py_all_rows[i]->type;

		if (type && PyType_IsSubtype(Py_TYPE(object), type))
			return gr_py_all_rows[i];
	}
	return NULL;
}

static PyObject *value_repr(const struct gr_py_field *field, PyObject *value)
{
	bool is_addr = field->convert == gr_py_from_addr ||
		       field->convert == gr_py_from_addr_or_none;

	if (is_addr && PyLong_Check(value))
		return PyNumber_ToBase(value, 16);
	return PyObject_Repr(value);
}

// Like the repr() of a named tuple, but with addresses in hexadecimal.
static PyObject *row_repr(PyObject *self, PyObject *unused)
{
	const struct gr_py_row *row = row_of(self);
	PyObject *text = PyUnicode_FromFormat("%s(", row->name);
	Py_ssize_t count = count_fields(row);

	(void)unused;
	for (Py_ssize_t i = 0; text && i < count; i++) {
		const struct gr_py_field *field = &row->fields[i];
		_cleanup_py_ PyObject *before = text;
		_cleanup_py_ PyObject *value =
			value_repr(field, PyTuple_GetItem(self, i));

		text = value ? PyUnicode_FromFormat("%U%s%s=%U", before,
						    i ? ", " : "", field->name,
						    value) :
			       NULL;
	}
	_cleanup_py_ PyObject *begin = text;
	return begin ? PyUnicode_FromFormat("%U)", begin) : NULL;
}

static PyMethodDef repr_method = { "__repr__", row_repr, METH_NOARGS, NULL };

static int set_repr(PyObject *type)
{
	_cleanup_py_ PyObject *method =
		PyDescr_NewMethod((PyTypeObject *)type, &repr_method);

	return method ? PyObject_SetAttrString(type, "__repr__", method) : -1;
}

static PyObject *field_names(const struct gr_py_row *row)
{
	Py_ssize_t count = count_fields(row);
	_cleanup_py_ PyObject *names = PyTuple_New(count);

	for (Py_ssize_t i = 0; names && i < count; i++) {
		PyObject *name = gr_py_string(row->fields[i].name);

		if (!name || PyTuple_SetItem(names, i, name))
			return NULL;
	}
	return steal_ptr(names);
}

static PyObject *get_namedtuple(void)
{
	_cleanup_py_ PyObject *collections =
		PyImport_ImportModule("collections");

	return collections ? PyObject_GetAttrString(collections, "namedtuple") :
			     NULL;
}

// To make all types would take a quarter of the time of a small question.
static int make_type(struct gr_py_row *row)
{
	_cleanup_py_ PyObject *namedtuple = get_namedtuple();
	_cleanup_py_ PyObject *names = namedtuple ? field_names(row) : NULL;
	_cleanup_py_ PyObject *args =
		names ? Py_BuildValue("(sO)", row->name, names) : NULL;
	_cleanup_py_ PyObject *kwargs =
		args ? Py_BuildValue("{s:s}", "module", "_goref") : NULL;
	PyObject *type = kwargs ? PyObject_Call(namedtuple, args, kwargs) :
				  NULL;

	if (!type || set_repr(type)) {
		Py_XDECREF(type);
		return -1;
	}
	// Another thread may have run meanwhile. One type alone has rows.
	if (row->type)
		Py_DECREF(type);
	else
		row->type = (PyTypeObject *)type;
	return 0;
}

PyObject *gr_py_rows_getattr(PyObject *module, PyObject *name)
{
	(void)module;
	for (size_t i = 0; PyUnicode_Check(name) && gr_py_all_rows[i]; i++) {
		struct gr_py_row *row = gr_py_all_rows[i];

		if (PyUnicode_CompareWithASCIIString(name, row->name))
			continue;
		if (!row->type && make_type(row))
			return NULL;
		return Py_NewRef((PyObject *)row->type);
	}
	PyErr_Format(PyExc_AttributeError,
		     "module '_goref' has no attribute %R", name);
	return NULL;
}

PyObject *gr_py_rows_dir(PyObject *module, PyObject *unused)
{
	_cleanup_py_ PyObject *names = PyDict_Keys(PyModule_GetDict(module));

	(void)unused;
	for (size_t i = 0; names && gr_py_all_rows[i]; i++) {
		_cleanup_py_ PyObject *name =
			gr_py_string(gr_py_all_rows[i]->name);

		if (!name || PyList_Append(names, name))
			return NULL;
	}
	return steal_ptr(names);
}

// -------------------------------------------------------------------- rows

PyObject *gr_py_row_new(struct gr_py_row *row, const void *value)
{
	Py_ssize_t count = count_fields(row);

	if (!row->type && make_type(row))
		return NULL;
	_cleanup_py_ PyObject *values = PyTuple_New(count);

	for (Py_ssize_t i = 0; values && i < count; i++) {
		const struct gr_py_field *field = &row->fields[i];
		PyObject *item =
			field->convert((const char *)value + field->offset);

		if (!item || PyTuple_SetItem(values, i, item))
			return NULL;
	}
	// The row's own constructor takes fields one by one; the constructor of
	// tuple takes them all.
	newfunc tuple_new = (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
	_cleanup_py_ PyObject *args = values ? PyTuple_Pack(1, values) : NULL;
	return args ? tuple_new(row->type, args, NULL) : NULL;
}

PyObject *gr_py_row_tuple(struct gr_py_row *row, const void *values,
			  size_t stride, size_t count)
{
	_cleanup_py_ PyObject *tuple = PyTuple_New((Py_ssize_t)count);

	for (size_t i = 0; tuple && i < count; i++) {
		PyObject *item =
			gr_py_row_new(row, (const char *)values + i * stride);

		if (!item || PyTuple_SetItem(tuple, (Py_ssize_t)i, item))
			return NULL;
	}
	return steal_ptr(tuple);
}

PyObject *gr_py_row_list(struct gr_py_row *row, const void *values,
			 size_t stride, size_t count)
{
	_cleanup_py_ PyObject *tuple =
		gr_py_row_tuple(row, values, stride, count);

	return tuple ? PySequence_List(tuple) : NULL;
}
