// SPDX-License-Identifier: Apache-2.0
// Scan.scheduler(), and its rows.
#include "gdbext/gdbext.h"

#include "goroutines/scheduler.h"

GR_DEFINE_CLEANUP(scheduler, struct gr_scheduler, gr_scheduler_destroy)

PyObject *gr_py_scan_scheduler(PyObject *obj, PyObject *unused)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_scheduler) struct gr_scheduler *scheduler = NULL;

	(void)unused;
	if (!gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_scheduler(self->scan, &scheduler);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_scheduler_row, scheduler);
}
