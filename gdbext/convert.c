// SPDX-License-Identifier: Apache-2.0
// Conversions of single values from C to Python.
#include "gdbext/gdbext.h"

#include "goruntime/roots/root_kinds.h"

PyObject *gr_py_string(const char *text)
{
	if (!text)
		Py_RETURN_NONE;
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *gr_py_from_bool(const void *value)
{
	return PyBool_FromLong(*(const bool *)value);
}

PyObject *gr_py_from_i32(const void *value)
{
	return PyLong_FromLong(*(const int32_t *)value);
}

PyObject *gr_py_from_u8(const void *value)
{
	return PyLong_FromLong(*(const uint8_t *)value);
}

PyObject *gr_py_from_u32(const void *value)
{
	return PyLong_FromUnsignedLong(*(const uint32_t *)value);
}

PyObject *gr_py_from_i64(const void *value)
{
	return PyLong_FromLongLong(*(const int64_t *)value);
}

PyObject *gr_py_from_u64(const void *value)
{
	return PyLong_FromUnsignedLongLong(*(const uint64_t *)value);
}

PyObject *gr_py_from_char(const void *value)
{
	return PyUnicode_FromStringAndSize(value, 1);
}

PyObject *gr_py_from_text(const void *value)
{
	return gr_py_string(*(const char *const *)value);
}

PyObject *gr_py_from_text_or_none(const void *value)
{
	const char *text = *(const char *const *)value;

	return gr_py_string(text && *text ? text : NULL);
}

PyObject *gr_py_from_i32_or_none(const void *value)
{
	if (!*(const int32_t *)value)
		Py_RETURN_NONE;
	return gr_py_from_i32(value);
}

PyObject *gr_py_from_u64_or_none(const void *value)
{
	if (!*(const uint64_t *)value)
		Py_RETURN_NONE;
	return gr_py_from_u64(value);
}

PyObject *gr_py_from_known_i64(const void *value)
{
	if (*(const int64_t *)value == INT64_MIN)
		Py_RETURN_NONE;
	return gr_py_from_i64(value);
}

PyObject *gr_py_from_known_u64(const void *value)
{
	if (*(const uint64_t *)value == UINT64_MAX)
		Py_RETURN_NONE;
	return gr_py_from_u64(value);
}

PyObject *gr_py_from_number_i32(const void *value)
{
	if (*(const int32_t *)value < 0)
		Py_RETURN_NONE;
	return gr_py_from_i32(value);
}

PyObject *gr_py_from_number_i64(const void *value)
{
	if (*(const int64_t *)value < 0)
		Py_RETURN_NONE;
	return gr_py_from_i64(value);
}

PyObject *gr_py_from_type_id(const void *value)
{
	if (*(const uint32_t *)value == UINT32_MAX)
		Py_RETURN_NONE;
	return gr_py_from_u32(value);
}

// These are separate functions because row.c recognises addresses by them.
PyObject *gr_py_from_addr(const void *value)
{
	return gr_py_from_u64(value);
}

PyObject *gr_py_from_addr_or_none(const void *value)
{
	return gr_py_from_u64_or_none(value);
}

PyObject *gr_py_from_path(const void *value)
{
	const char *path = *(const char *const *)value;

	if (!path)
		Py_RETURN_NONE;
	return PyUnicode_DecodeFSDefault(path);
}

PyObject *gr_py_from_root_kind(const void *value)
{
	const enum gr_root_kind *kind = value;

	return gr_py_string(gr_root_kind_name(*kind));
}

PyObject *gr_py_bytes(const void *data, uint64_t count)
{
	if (!data)
		Py_RETURN_NONE;
	return PyBytes_FromStringAndSize(data, (Py_ssize_t)count);
}

PyObject *gr_py_tuple(const void *values, size_t stride, size_t count,
		      gr_py_convert_fn *convert)
{
	_cleanup_py_ PyObject *tuple = PyTuple_New((Py_ssize_t)count);

	for (size_t i = 0; tuple && i < count; i++) {
		PyObject *item = convert((const char *)values + i * stride);

		if (!item || PyTuple_SetItem(tuple, (Py_ssize_t)i, item))
			return NULL;
	}
	return steal_ptr(tuple);
}

PyObject *gr_py_texts(const char *const *texts)
{
	size_t count = 0;

	while (texts && texts[count])
		count++;
	return gr_py_tuple(texts, sizeof(*texts), count, gr_py_from_text);
}
