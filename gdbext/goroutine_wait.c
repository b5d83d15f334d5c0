// SPDX-License-Identifier: Apache-2.0
// Scan.goroutine_wait(), and its rows.
#include "gdbext/gdbext.h"

#include "goroutines/goroutine_wait.h"

GR_DEFINE_CLEANUP(goroutine_wait, struct gr_goroutine_wait,
		  gr_goroutine_wait_destroy)

PyObject *gr_py_scan_goroutine_wait(PyObject *obj, PyObject *args,
				    PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_goroutine_wait) struct gr_goroutine_wait *wait =
		NULL;
	struct gr_wait_query query = { .limits = GR_SHOW_DEFAULTS };
	unsigned long long id;
	int may_walk = 1;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "K|pIII:goroutine_wait",
					 gr_py_scan_goroutine_wait_names, &id,
					 &may_walk, &query.limits.max_string,
					 &query.limits.max_elements,
					 &query.limits.max_depth) ||
	    !gr_py_scan_enter(self))
		return NULL;
	query.goroutine_id = id;
	query.may_walk = may_walk;
	struct gr_error *err =
		gr_scan_goroutine_wait(self->scan, &query, &wait);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_goroutine_wait_row, wait);
}
