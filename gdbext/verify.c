// SPDX-License-Identifier: Apache-2.0
// Scan.verify(), and its rows.
#include "gdbext/gdbext.h"

#include "walks/verify.h"

GR_DEFINE_CLEANUP(verdict, struct gr_verdict, gr_verdict_destroy)

PyObject *gr_py_scan_verify(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_verdict) struct gr_verdict *verdict = NULL;
	Py_ssize_t max_differences;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "n:verify",
					 gr_py_scan_verify_names,
					 &max_differences) ||
	    !gr_py_scan_enter(self))
		return NULL;
	size_t max = max_differences > 0 ? (size_t)max_differences : SIZE_MAX;
	struct gr_error *err = gr_scan_verify(self->scan, max, &verdict);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_verdict_row, verdict);
}
