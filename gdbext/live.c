// SPDX-License-Identifier: Apache-2.0
// Methods of Scan for a process that is stopped as briefly as possible.
#include "gdbext/gdbext.h"

#include "scan/open.h"

static struct gr_py_scan *cast(PyObject *self)
{
	return (struct gr_py_scan *)self;
}

PyObject *gr_py_scan_estimate(PyObject *obj, PyObject *unused)
{
	struct gr_estimate estimate;

	(void)unused;
	gr_scan_estimate(cast(obj)->scan, &estimate);
	return gr_py_row_new(&gr_py_estimate_row, &estimate);
}

PyObject *gr_py_scan_is_unsettled(PyObject *obj, PyObject *unused)
{
	(void)unused;
	return PyBool_FromLong(gr_scan_is_unsettled(cast(obj)->scan));
}

/* Take a step of a look at a process that is prepared. */
static PyObject *take_step(PyObject *obj,
			   struct gr_error *(*step)(struct gr_scan *scan))
{
	struct gr_py_scan *self = cast(obj);

	if (!gr_py_scan_enter_prepared(self))
		return NULL;
	struct gr_error *err = step(self->scan);
	gr_py_scan_leave(self);
	return gr_py_none_or_raise(err);
}

PyObject *gr_py_scan_copy_searched(PyObject *obj, PyObject *unused)
{
	(void)unused;
	return take_step(obj, gr_scan_copy_searched);
}

PyObject *gr_py_scan_search_copy(PyObject *obj, PyObject *unused)
{
	(void)unused;
	return take_step(obj, gr_scan_search_copy);
}

PyObject *gr_py_scan_reserve(PyObject *obj, PyObject *unused)
{
	(void)unused;
	return take_step(obj, gr_scan_reserve);
}

PyObject *gr_py_scan_capture(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = cast(obj);
	_cleanup_free_ struct gr_target_thread *list = NULL;
	PyObject *threads;
	int copy_pid = 0;
	size_t count;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|i:capture",
					 gr_py_scan_capture_names, &threads,
					 &copy_pid) ||
	    gr_py_threads(threads, &list, &count) ||
	    !gr_py_scan_enter_prepared(self))
		return NULL;
	struct gr_error *err =
		gr_scan_capture(self->scan, list, count, copy_pid);
	gr_py_scan_leave(self);
	return gr_py_none_or_raise(err);
}

PyObject *gr_py_scan_finish(PyObject *obj, PyObject *unused)
{
	struct gr_py_scan *self = cast(obj);

	(void)unused;
	if (!gr_py_scan_enter_prepared(self))
		return NULL;
	struct gr_error *err = gr_scan_finish(self->scan);
	self->is_prepared = err;
	gr_py_scan_leave(self);
	return gr_py_none_or_raise(err);
}
