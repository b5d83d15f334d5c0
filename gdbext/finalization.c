// SPDX-License-Identifier: Apache-2.0
// Scan.finalization(), and its rows.
#include "gdbext/gdbext.h"

#include "goroutines/finalizers/finalization.h"

GR_DEFINE_CLEANUP(answer, struct gr_finalization, gr_finalization_destroy)

PyObject *gr_py_scan_finalization(PyObject *obj, PyObject *args,
				  PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_answer) struct gr_finalization *answer = NULL;
	int with_pools = 1;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:finalization",
					 gr_py_scan_finalization_names,
					 &with_pools) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err =
		gr_scan_finalization(self->scan, with_pools, &answer);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_finalization_row, answer);
}
