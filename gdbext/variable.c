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
	struct gr_place place;
	unsigned int max;
	PyObject *item;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OI:variable",
					 gr_py_scan_variable_names, &item,
					 &max) ||
	    !gr_py_scan_enter(self))
		return NULL;
	if (!gr_py_parse_place(self->scan, item, &place)) {
		gr_py_scan_leave(self);
		return NULL;
	}
	struct gr_error *err = gr_scan_read_variable(
		self->scan, &place, max < MAX_HELD ? max : MAX_HELD, &variable);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_variable_row, variable);
}
