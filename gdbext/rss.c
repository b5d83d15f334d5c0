// SPDX-License-Identifier: Apache-2.0
// Scan.rss(), and its rows.
#include "gdbext/gdbext.h"

#include "resident/rss.h"

PyObject *gr_py_scan_rss(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_rss rss;
	int is_marked = 1;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:rss",
					 gr_py_scan_rss_names, &is_marked) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_rss(self->scan, is_marked, &rss);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_row_new(&gr_py_rss_row, &rss);
}
