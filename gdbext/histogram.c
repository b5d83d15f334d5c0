// SPDX-License-Identifier: Apache-2.0
// Scan.histogram(), and its rows.
#include "gdbext/gdbext.h"

#include "histogram/histogram.h"

GR_DEFINE_CLEANUP(histogram, struct gr_histogram, gr_histogram_destroy)

static bool parse_key(const char *text, enum gr_histogram_key *ret)
{
	for (int i = 0; i < GR_NHISTOGRAM_KEYS; i++) {
		if (strcmp(text, gr_histogram_key_name(i)))
			continue;
		*ret = i;
		return true;
	}
	PyErr_Format(gr_py_argument_error, "no key of a histogram: %s", text);
	return false;
}

PyObject *gr_py_scan_histogram(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_histogram) struct gr_histogram *histogram = NULL;
	struct gr_histogram_options options = { .exact = NULL };
	int with_retained = 0, is_garbage = 0;
	const char *by = "type", *weight = "bytes";

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|sppzs:histogram",
					 gr_py_scan_histogram_names, &by,
					 &with_retained, &is_garbage,
					 &options.exact, &weight) ||
	    !parse_key(by, &options.by) ||
	    !gr_py_parse_weight(weight, &options.weight) ||
	    !gr_py_scan_enter(self))
		return NULL;
	options.with_retained = with_retained;
	options.is_garbage = is_garbage;
	struct gr_error *err =
		gr_scan_histogram(self->scan, &options, &histogram);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_histogram_row, histogram);
}
