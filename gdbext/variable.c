// SPDX-License-Identifier: Apache-2.0
// Scan.variable() and its rows.
#include "gdbext.h"

GR_DEFINE_CLEANUP(variable, struct gr_variable, gr_variable_destroy)

enum { MAX_HELD = 1 << 16 };

static const struct gr_py_field held_fields[] = {
	GR_PY_FIELD(gr_held, name),
	GR_PY_FIELD(gr_held, type),
	GR_PY_FIELD_AS(gr_held, addr, gr_py_from_addr),
	GR_PY_FIELD_AS(gr_held, base_addr, gr_py_from_addr),
	GR_PY_FIELD(gr_held, bytes),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_held_row = { "Held", held_fields, NULL };

GR_PY_DEFINE_ROWS(held_of, gr_variable, held, nheld, gr_py_held_row)

static const struct gr_py_field variable_fields[] = {
	GR_PY_FIELD(gr_variable, name),
	GR_PY_FIELD(gr_variable, type),
	GR_PY_FIELD_AS(gr_variable, addr, gr_py_from_addr),
	GR_PY_FIELD(gr_variable, bytes),
	GR_PY_FIELD_OF(held, held_of),
	GR_PY_FIELD(gr_variable, nothers),
	GR_PY_FIELD(gr_variable, is_cut),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_variable_row = { "Variable", variable_fields, NULL };

PyObject *gr_py_scan_variable(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "place", "max_held", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_variable) struct gr_variable *variable = NULL;
	_cleanup_free_ struct gr_place *places = NULL;
	_cleanup_py_ PyObject *list = NULL;
	unsigned int max;
	PyObject *place;
	size_t count = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OI:variable", names,
					 &place, &max) ||
	    !gr_py_scan_enter(self))
		return NULL;
	list = PyList_New(0);
	if (list && !PyList_Append(list, place))
		places = gr_py_parse_places(self->scan, list, &count);
	if (!places) {
		gr_py_scan_leave(self);
		return NULL;
	}
	struct gr_error *err = gr_scan_read_variable(
		self->scan, places, max < MAX_HELD ? max : MAX_HELD, &variable);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_variable_row, variable);
}
