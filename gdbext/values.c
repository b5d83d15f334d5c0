// SPDX-License-Identifier: Apache-2.0
// Methods of Scan for typed values: types, memory, and where values lie.
#include "gdbext.h"

static PyObject *from_type_or_none(const void *value)
{
	uint32_t type = *(const uint32_t *)value;

	if (type == UINT32_MAX)
		Py_RETURN_NONE;
	return PyLong_FromUnsignedLong(type);
}

static PyObject *from_content(const uint8_t *bytes, uint64_t nbytes)
{
	if (!bytes)
		Py_RETURN_NONE;
	return PyBytes_FromStringAndSize((const char *)bytes,
					 (Py_ssize_t)nbytes);
}

// --------------------------------------------------------------------- types

static const struct gr_py_field field_info_fields[] = {
	GR_PY_FIELD(gr_field_info, name),
	GR_PY_FIELD(gr_field_info, offset),
	GR_PY_FIELD(gr_field_info, type),
	GR_PY_FIELD(gr_field_info, is_embedded),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_field_info_row = { "FieldInfo", field_info_fields,
					  NULL };

GR_PY_DEFINE_ROWS(fields_of, gr_type_info, fields, nfields,
		  gr_py_field_info_row)

static const struct gr_py_field type_info_fields[] = {
	GR_PY_FIELD(gr_type_info, name),
	GR_PY_FIELD(gr_type_info, kind),
	GR_PY_FIELD(gr_type_info, size),
	GR_PY_FIELD_AS(gr_type_info, elem, from_type_or_none),
	GR_PY_FIELD_AS(gr_type_info, key, from_type_or_none),
	GR_PY_FIELD(gr_type_info, length),
	GR_PY_FIELD(gr_type_info, has_itab),
	GR_PY_FIELD_OF(fields, fields_of),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_type_info_row = { "TypeInfo", type_info_fields, NULL };

PyObject *gr_py_scan_type_info(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "type", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_type_info_deinit) struct gr_type_info info = { 0 };
	struct gr_error *err;
	unsigned int type;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I:type_info", names,
					 &type) ||
	    !gr_py_scan_enter(self))
		return NULL;
	err = gr_scan_describe_type(self->scan, type, &info);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_type_info_row, &info);
}

static const struct gr_py_field dynamic_type_fields[] = {
	GR_PY_FIELD_AS(gr_dynamic_type, type, from_type_or_none),
	GR_PY_FIELD(gr_dynamic_type, is_direct),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_dynamic_type_row = { "DynamicType", dynamic_type_fields,
					    NULL };

PyObject *gr_py_scan_dynamic_type(PyObject *obj, PyObject *args,
				  PyObject *kwargs)
{
	static char *names[] = { "interface", "word", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_dynamic_type dynamic;
	unsigned long long word;
	struct gr_error *err;
	unsigned int type;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "IK:dynamic_type", names,
					 &type, &word) ||
	    !gr_py_scan_enter(self))
		return NULL;
	err = gr_scan_dynamic_type(self->scan, type, word, &dynamic);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_dynamic_type_row, &dynamic);
}

// -------------------------------------------------------------------- memory

PyObject *gr_py_scan_read_memory(PyObject *obj, PyObject *args,
				 PyObject *kwargs)
{
	static char *names[] = { "addr", "bytes", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_free_ uint8_t *content = NULL;
	unsigned long long addr, bytes;
	struct gr_error *err;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KK:read", names, &addr,
					 &bytes) ||
	    !gr_py_scan_enter(self))
		return NULL;
	err = gr_scan_read_memory(self->scan, addr, bytes, &content);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : from_content(content, bytes);
}

PyObject *gr_py_scan_show(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "type",       "addr",	       "content",
				 "max_string", "max_elements", "max_depth",
				 NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_show_limits limits = GR_SHOW_DEFAULTS;
	_cleanup_free_ char *text = NULL;
	const char *content = NULL;
	Py_ssize_t nbytes = 0;
	unsigned long long addr;
	struct gr_error *err;
	unsigned int type;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "IK|z#III:show", names, &type, &addr,
		    &content, &nbytes, &limits.max_string, &limits.max_elements,
		    &limits.max_depth) ||
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

static PyObject *place_bytes(const void *value)
{
	const struct gr_value_place *place = value;

	return from_content(place->bytes, place->nbytes);
}

static const struct gr_py_field value_place_fields[] = {
	GR_PY_FIELD(gr_value_place, form),
	GR_PY_FIELD_AS(gr_value_place, type, from_type_or_none),
	GR_PY_FIELD_AS(gr_value_place, addr, gr_py_from_addr_or_none),
	GR_PY_FIELD(gr_value_place, length),
	GR_PY_FIELD_OF(content, place_bytes),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_value_place_row = { "ValuePlace", value_place_fields,
					   NULL };

PyObject *gr_py_scan_value_place(PyObject *obj, PyObject *args,
				 PyObject *kwargs)
{
	static char *names[] = { "vertex", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_value_place place;
	struct gr_error *err;
	unsigned int vertex;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I:value_place", names,
					 &vertex) ||
	    !gr_py_scan_enter(self))
		return NULL;
	err = gr_scan_value_place(self->scan, vertex, &place);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_value_place_row, &place);
}

static PyObject *local_bytes(const void *value)
{
	const struct gr_local_value *local = value;

	return from_content(local->bytes, local->nbytes);
}

static const struct gr_py_field local_value_fields[] = {
	GR_PY_FIELD(gr_local_value, call),
	GR_PY_FIELD(gr_local_value, name),
	GR_PY_FIELD_AS(gr_local_value, type, from_type_or_none),
	GR_PY_FIELD(gr_local_value, state),
	GR_PY_FIELD_AS(gr_local_value, addr, gr_py_from_addr_or_none),
	GR_PY_FIELD_OF(content, local_bytes),
	GR_PY_FIELD(gr_local_value, is_argument),
	GR_PY_FIELD(gr_local_value, line),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_local_value_row = { "LocalValue", local_value_fields,
					   NULL };

PyObject *gr_py_scan_local_values(PyObject *obj, PyObject *args,
				  PyObject *kwargs)
{
	static char *names[] = { "goroutine_id", "first_call", "ncalls", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_local_values_deinit) struct gr_local_values list = { 0 };
	unsigned long long id;
	struct gr_error *err;
	unsigned int first, count;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KII:local_values",
					 names, &id, &first, &count) ||
	    !gr_py_scan_enter(self))
		return NULL;
	err = gr_scan_local_values(self->scan, id, first, count, &list);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_tuple(&gr_py_local_value_row, list.values,
				     sizeof(*list.values), list.count);
}
