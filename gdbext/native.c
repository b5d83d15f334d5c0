// SPDX-License-Identifier: Apache-2.0
// Scan.native(), native_leaks() and kept_by_c(), and their rows.
#include "gdbext/gdbext.h"

#include "cmemory/kept_by_c.h"
#include "cmemory/leaks.h"
#include "cmemory/report.h"

GR_DEFINE_CLEANUP(native_report, struct gr_native_report,
		  gr_native_report_destroy)

PyObject *gr_py_scan_native(PyObject *obj, PyObject *unused)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_native_report) struct gr_native_report *report =
		NULL;

	(void)unused;
	if (!gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_native(self->scan, &report);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_native_row, report);
}

GR_DEFINE_CLEANUP(native_leaks, struct gr_native_leaks, gr_native_leaks_destroy)

PyObject *gr_py_scan_native_leaks(PyObject *obj, PyObject *unused)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_native_leaks) struct gr_native_leaks *leaks = NULL;

	(void)unused;
	if (!gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_native_leaks(self->scan, &leaks);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_native_leaks_row, leaks);
}

GR_DEFINE_CLEANUP(kept_by_c, struct gr_kept_by_c, gr_kept_by_c_destroy)

PyObject *gr_py_scan_kept_by_c(PyObject *obj, PyObject *unused)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_kept_by_c) struct gr_kept_by_c *kept = NULL;

	(void)unused;
	if (!gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_kept_by_c(self->scan, &kept);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_kept_by_c_row, kept);
}
