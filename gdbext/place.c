// SPDX-License-Identifier: Apache-2.0
// Places: expressions that the user typed, and places where a walk begins.
#include "gdbext/gdbext.h"

#include "expr/place.h"

enum { MAX_COMPLETIONS = 10000 };

bool gr_py_parse_place(struct gr_scan *scan, PyObject *item,
		       struct gr_place *ret)
{
	unsigned long long addr, value;
	unsigned int type;
	const char *name;
	int is_variable;

	if (!PyArg_ParseTuple(item, "sKIpK;place", &name, &addr, &type,
			      &is_variable, &value))
		return false;
	*ret = (struct gr_place){
		.name = gr_scan_keep_name(scan, name),
		.addr = addr,
		.type = type,
		.is_variable = is_variable,
		.value = value,
	};
	if (!ret->name)
		PyErr_NoMemory();
	return ret->name;
}

struct gr_place *gr_py_parse_places(struct gr_scan *scan, PyObject *sequence,
				    size_t *count)
{
	Py_ssize_t n = sequence ? PySequence_Size(sequence) : 0;

	if (n < 0)
		return NULL;
	_cleanup_free_ struct gr_place *places =
		calloc((size_t)n + 1, sizeof(*places));
	if (!places) {
		PyErr_NoMemory();
		return NULL;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		_cleanup_py_ PyObject *item = PySequence_GetItem(sequence, i);

		if (!item || !gr_py_parse_place(scan, item, &places[i]))
			return NULL;
	}
	*count = (size_t)n;
	return steal_ptr(places);
}

PyObject *gr_py_scan_resolve(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_place place;
	const char *text;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s:resolve",
					 gr_py_scan_resolve_names, &text) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_resolve(self->scan, text, &place);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_row_new(&gr_py_place_row, &place);
}

PyObject *gr_py_scan_complete(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_free_ const char **found = NULL;
	const char *prefix;
	size_t count = 0;
	int is_type = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|p:complete",
					 gr_py_scan_complete_names, &prefix,
					 &is_type) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_complete(
		self->scan, prefix, is_type, MAX_COMPLETIONS, &found, &count);
	gr_py_scan_leave(self);
	if (err)
		return gr_py_raise(err);
	_cleanup_py_ PyObject *list = PyList_New((Py_ssize_t)count);
	for (size_t i = 0; list && i < count; i++) {
		PyObject *name = gr_py_string(found[i]);

		if (!name || PyList_SetItem(list, (Py_ssize_t)i, name))
			return NULL;
	}
	return steal_ptr(list);
}
