// SPDX-License-Identifier: Apache-2.0
// Methods of Scan for typed values: types, memory, and where values lie.
#include "gdbext/gdbext.h"

#include "values/local_values.h"
#include "values/memory.h"
#include "values/type_view.h"
#include "values/value_place.h"
#include "values/value_text.h"

// --------------------------------------------------------------------- types

PyObject *gr_py_scan_type_info(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_type_info_deinit) struct gr_type_info info = { 0 };
	struct gr_error *err;
	unsigned int type;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I:type_info",
					 gr_py_scan_type_info_names, &type) ||
	    !gr_py_scan_enter(self))
		return NULL;
	err = gr_scan_describe_type(self->scan, type, &info);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_type_info_row, &info);
}

PyObject *gr_py_scan_dynamic_type(PyObject *obj, PyObject *args,
				  PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_dynamic_type dynamic;
	unsigned long long word;
	struct gr_error *err;
	unsigned int type;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "IK:dynamic_type",
					 gr_py_scan_dynamic_type_names, &type,
					 &word) ||
	    !gr_py_scan_enter(self))
		return NULL;
	err = gr_scan_dynamic_type(self->scan, type, word, &dynamic);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_dynamic_type_row, &dynamic);
}

// -------------------------------------------------------------------- memory

PyObject *gr_py_scan_read(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_free_ uint8_t *content = NULL;
	unsigned long long addr, bytes;
	struct gr_error *err;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KK:read",
					 gr_py_scan_read_names, &addr,
					 &bytes) ||
	    !gr_py_scan_enter(self))
		return NULL;
	err = gr_scan_read_memory(self->scan, addr, bytes, &content);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_bytes(content, bytes);
}

PyObject *gr_py_scan_show(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_show_limits limits = GR_SHOW_DEFAULTS;
	_cleanup_free_ char *text = NULL;
	const char *content = NULL;
	Py_ssize_t nbytes = 0;
	unsigned long long addr;
	struct gr_error *err;
	unsigned int type;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "IK|z#III:show", gr_py_scan_show_names, &type,
		    &addr, &content, &nbytes, &limits.max_string,
		    &limits.max_elements, &limits.max_depth) ||
	    !gr_py_scan_enter(self))
		return NULL;
	const struct gr_shown value = {
		.type = type,
		.addr = addr,
		.host = (const uint8_t *)content,
		.host_bytes = (uint64_t)nbytes,
	};
	err = gr_scan_show(self->scan, &value, &limits, &text);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_string(text);
}

// -------------------------------------------------------------------- places

PyObject *gr_py_scan_value_place(PyObject *obj, PyObject *args,
				 PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_value_place place;
	struct gr_error *err;
	unsigned int vertex;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I:value_place",
					 gr_py_scan_value_place_names,
					 &vertex) ||
	    !gr_py_scan_enter(self))
		return NULL;
	err = gr_scan_value_place(self->scan, vertex, &place);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_value_place_row, &place);
}

PyObject *gr_py_scan_local_values(PyObject *obj, PyObject *args,
				  PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_local_values_deinit) struct gr_local_values list = { 0 };
	unsigned long long id;
	struct gr_error *err;
	unsigned int first, count;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KII:local_values",
					 gr_py_scan_local_values_names, &id,
					 &first, &count) ||
	    !gr_py_scan_enter(self))
		return NULL;
	err = gr_scan_local_values(self->scan, id, first, count, &list);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_tuple(&gr_py_local_value_row, list.values,
				     sizeof(*list.values), list.count);
}
