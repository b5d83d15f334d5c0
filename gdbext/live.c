// SPDX-License-Identifier: Apache-2.0
// Methods of Scan for a process that is stopped as shortly as can be.
#include "gdbext.h"

static struct gr_py_scan *cast(PyObject *self)
{
	return (struct gr_py_scan *)self;
}

// For `return`: None, or NULL with what the error says raised.
static PyObject *none_or_raise(struct gr_py_scan *self, struct gr_error *err)
{
	gr_py_scan_leave(self);
	if (err)
		return gr_py_raise(err);
	Py_RETURN_NONE;
}

PyObject *gr_py_scan_estimate(PyObject *obj, PyObject *unused)
{
	struct gr_estimate e;

	(void)unused;
	gr_scan_estimate(cast(obj)->scan, &e);
	return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:O}", "copy_bytes",
			     (unsigned long long)e.copy_bytes, "table_bytes",
			     (unsigned long long)e.table_bytes, "node_bytes",
			     (unsigned long long)e.node_bytes, "max_nodes",
			     (unsigned long long)e.max_nodes, "read_us",
			     (unsigned long long)e.read_us, "copy_us",
			     (unsigned long long)e.copy_us, "is_rough",
			     e.is_rough ? Py_True : Py_False);
}

PyObject *gr_py_scan_reserve(PyObject *obj, PyObject *unused)
{
	struct gr_py_scan *self = cast(obj);

	(void)unused;
	if (!gr_py_scan_enter_prepared(self))
		return NULL;
	return none_or_raise(self, gr_scan_reserve(self->scan));
}

PyObject *gr_py_scan_capture(PyObject *obj, PyObject *args)
{
	struct gr_py_scan *self = cast(obj);
	struct gr_target_thread *list;
	PyObject *threads;
	int copy_pid = 0;
	size_t count;

	if (!PyArg_ParseTuple(args, "O|i:capture", &threads, &copy_pid))
		return NULL;
	if (gr_py_threads(threads, &list, &count))
		return NULL;
	if (!gr_py_scan_enter_prepared(self)) {
		free(list);
		return NULL;
	}
	struct gr_error *err =
		gr_scan_capture(self->scan, list, count, copy_pid);
	free(list);
	return none_or_raise(self, err);
}

PyObject *gr_py_scan_finish(PyObject *obj, PyObject *unused)
{
	struct gr_py_scan *self = cast(obj);

	(void)unused;
	if (!gr_py_scan_enter_prepared(self))
		return NULL;
	struct gr_error *err = gr_scan_finish(self->scan);
	self->is_prepared = err;
	return none_or_raise(self, err);
}
