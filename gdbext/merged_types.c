// SPDX-License-Identifier: Apache-2.0
// Scan.merge_type(), and its rows.
#include "gdbext/gdbext.h"

#include "retention/merged_types.h"

GR_DEFINE_CLEANUP(merged_types, struct gr_merged_types, gr_merged_types_destroy)

PyObject *gr_py_scan_merge_type(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_merged_types) struct gr_merged_types *merged =
		NULL;
	unsigned int max;
	int exclude_weak = 0;
	const char *type;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sI|p:merge_type",
					 gr_py_scan_merge_type_names, &type,
					 &max, &exclude_weak) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_merge_type(
		self->scan, type, max ? max : 1, exclude_weak, &merged);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_merged_types_row, merged);
}
