// SPDX-License-Identifier: Apache-2.0
// Scan.why(), and its rows.
#include "gdbext/gdbext.h"

#include "walks/why.h"

GR_DEFINE_CLEANUP(why, struct gr_why, gr_why_destroy)

PyObject *gr_py_scan_why(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_why) struct gr_why *why = NULL;
	struct gr_walk_options options = { .max_depth = 0 };
	const char *attribution = "nearest";
	unsigned long long addr;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "KII|s:why", gr_py_scan_why_names, &addr,
		    &options.max_depth, &options.max_nodes, &attribution) ||
	    !gr_py_parse_attribution(attribution, &options.attribution) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_why(self->scan, &options, addr, &why);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_row_new(&gr_py_why_row, why);
}
