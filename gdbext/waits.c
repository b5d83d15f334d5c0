// SPDX-License-Identifier: Apache-2.0
// Scan.waits() and its rows: groups of waiters, owners, deadlocks,
// and who keeps others waiting.
#include "gdbext/gdbext.h"

#include "goroutines/waits/wait_report.h"

PyObject *gr_py_scan_waits(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_wait_report *report = NULL;
	struct gr_waits_query query = { .with_paths = true };
	unsigned long long id = 0;
	int with_paths = 1;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "|KIIp:waits", gr_py_scan_waits_names, &id,
		    &query.max_groups, &query.max_ids, &with_paths) ||
	    !gr_py_scan_enter(self))
		return NULL;
	query.goroutine_id = id;
	query.with_paths = with_paths;
	struct gr_error *err = gr_scan_waits(self->scan, &query, &report);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_keep_waits(self, report);
}
