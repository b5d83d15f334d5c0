// SPDX-License-Identifier: Apache-2.0
// Scan.panic(), and its rows.
#include "gdbext/gdbext.h"

#include "goroutines/panic.h"

GR_DEFINE_CLEANUP(panic, struct gr_panic, gr_panic_destroy)

PyObject *gr_py_scan_panic(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_panic) struct gr_panic *panic = NULL;
	struct gr_panic_query query = { .limits = GR_SHOW_DEFAULTS };

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "|III:panic", gr_py_scan_panic_names,
		    &query.limits.max_string, &query.limits.max_elements,
		    &query.limits.max_depth) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_panic(self->scan, &query, &panic);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_row_new(&gr_py_panic_row, panic);
}
