// SPDX-License-Identifier: Apache-2.0
// Scan.dominators(), and its rows.
#include "gdbext/gdbext.h"

#include "retention/dominators.h"

GR_DEFINE_CLEANUP(dominators, struct gr_dominators, gr_dominators_destroy)

PyObject *gr_py_scan_dominators(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_dominators) struct gr_dominators *found = NULL;
	struct gr_dominators_options options = { .max_depth = 1 };
	unsigned long long min_bytes = 0;
	const char *weight = "bytes";
	PyObject *sequence = NULL;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "|OIIIKs:dominators",
		    gr_py_scan_dominators_names, &sequence, &options.max_depth,
		    &options.max_children, &options.max_rows, &min_bytes,
		    &weight) ||
	    !gr_py_parse_weight(weight, &options.weight) ||
	    !gr_py_scan_enter(self))
		return NULL;
	options.min_bytes = min_bytes;
	_cleanup_free_ struct gr_place *places =
		gr_py_parse_places(self->scan, sequence, &options.nplaces);
	options.places = places;
	struct gr_error *err =
		places ? gr_scan_dominators(self->scan, &options, &found) :
			 NULL;
	gr_py_scan_leave(self);
	if (!places || err)
		return err ? gr_py_raise(err) : NULL;
	return gr_py_row_new(&gr_py_dominators_row, found);
}
