// SPDX-License-Identifier: Apache-2.0
// Scan.object_info() and its rows, and Scan.print_value().
#include "gdbext/gdbext.h"

#include "retention/object.h"
#include "retention/object_value.h"

GR_DEFINE_CLEANUP(object_info, struct gr_object_info, gr_object_info_destroy)

PyObject *gr_py_scan_object_info(PyObject *obj, PyObject *args,
				 PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_object_info) struct gr_object_info *info = NULL;
	unsigned int max_references, max_referrers;
	int group_references = 0, group_referrers = 0;
	unsigned long long addr;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KII|pp:object_info",
					 gr_py_scan_object_info_names, &addr,
					 &max_references, &max_referrers,
					 &group_references, &group_referrers) ||
	    !gr_py_scan_enter(self))
		return NULL;
	const struct gr_object_options options = {
		.max_references = max_references,
		.max_referrers = max_referrers,
		.group_references = group_references,
		.group_referrers = group_referrers,
	};
	struct gr_error *err =
		gr_scan_object(self->scan, addr, &options, &info);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_object_info_row, info);
}

PyObject *gr_py_scan_print_value(PyObject *obj, PyObject *args,
				 PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_show_limits limits = GR_SHOW_DEFAULTS;
	_cleanup_free_ char *text = NULL;
	struct gr_place place;
	PyObject *item;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "O|III:print_value",
		    gr_py_scan_print_value_names, &item, &limits.max_string,
		    &limits.max_elements, &limits.max_depth) ||
	    !gr_py_scan_enter(self))
		return NULL;
	if (!gr_py_parse_place(self->scan, item, &place)) {
		gr_py_scan_leave(self);
		return NULL;
	}
	struct gr_error *err =
		gr_scan_print_value(self->scan, &place, &limits, &text);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_string(text);
}
