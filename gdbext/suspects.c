// SPDX-License-Identifier: Apache-2.0
// Scan.suspects(), and its rows.
#include "gdbext/gdbext.h"

#include "retention/suspects.h"

GR_DEFINE_CLEANUP(report, struct gr_suspect_report, gr_suspect_report_destroy)

PyObject *gr_py_scan_suspects(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_report) struct gr_suspect_report *report = NULL;
	const char *name = "bytes";
	enum gr_weight weight;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|s:suspects",
					 gr_py_scan_suspects_names, &name) ||
	    !gr_py_parse_weight(name, &weight) || !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_suspects(self->scan, weight, &report);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_suspects_row, report);
}
