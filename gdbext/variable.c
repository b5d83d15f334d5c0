// SPDX-License-Identifier: Apache-2.0
// Scan.variable() and its rows.
#include "gdbext/gdbext.h"

#include "expr/variable.h"

GR_DEFINE_CLEANUP(variable, struct gr_variable, gr_variable_destroy)

enum { MAX_HELD = 1 << 16 };

PyObject *gr_py_scan_variable(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_variable) struct gr_variable *variable = NULL;
	_cleanup_free_ struct gr_place *places = NULL;
	_cleanup_py_ PyObject *list = NULL;
	unsigned int max;
	PyObject *place;
	size_t count = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OI:variable",
					 gr_py_scan_variable_names, &place,
					 &max) ||
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
