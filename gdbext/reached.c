// SPDX-License-Identifier: Apache-2.0
// Scan.reached(): a list of objects goes to a file or to a callable.
#include "gdbext/gdbext.h"

#include "proto/output.h"
#include "walks/reached.h"

static struct gr_error *list_in_file(struct gr_scan *scan, const char *path,
				     struct gr_total *total)
{
	_cleanup_(gr_output_deinit) struct gr_output output = { .fd = -1 };
	struct gr_error *err = gr_output_init(&output, path, GR_OUTPUT_PLAIN);

	if (!err)
		err = gr_scan_write_reached(scan, gr_py_write_to_output,
					    &output, total);
	return err ? err : gr_output_commit(&output);
}

PyObject *gr_py_scan_reached(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_total total;
	const char *path = NULL;
	PyObject *where;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:reached",
					 gr_py_scan_reached_names, &where))
		return NULL;
	if (!PyCallable_Check(where) && !PyArg_Parse(where, "s:reached", &path))
		return NULL;
	if (!gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err =
		path ? list_in_file(self->scan, path, &total) :
		       gr_scan_write_reached(self->scan,
					     gr_py_write_to_callable, where,
					     &total);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_row_new(&gr_py_total_row, &total);
}
