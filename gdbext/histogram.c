// SPDX-License-Identifier: Apache-2.0
// Scan.histogram(), and its rows.
#include "gdbext.h"

GR_DEFINE_CLEANUP(histogram, struct gr_histogram, gr_histogram_destroy)

static const struct gr_py_field row_fields[] = {
	GR_PY_FIELD(gr_histogram_row, key),
	GR_PY_FIELD(gr_histogram_row, objects),
	GR_PY_FIELD(gr_histogram_row, bytes),
	GR_PY_FIELD(gr_histogram_row, retained_bytes),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_histogram_row_row = { "HistogramRow", row_fields, NULL };

GR_PY_DEFINE_ROWS(rows_of, gr_histogram, rows, nrows, gr_py_histogram_row_row)

static const struct gr_py_field histogram_fields[] = {
	GR_PY_FIELD_OF(rows, rows_of),
	GR_PY_FIELD(gr_histogram, objects),
	GR_PY_FIELD(gr_histogram, bytes),
	GR_PY_FIELD(gr_histogram, exact_objects),
	GR_PY_FIELD(gr_histogram, exact_bytes),
	GR_PY_FIELD(gr_histogram, gaps),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_histogram_row = { "Histogram", histogram_fields, NULL };

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
	static char *names[] = { "by", "with_retained", "garbage", "exact",
				 NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_histogram) struct gr_histogram *histogram = NULL;
	struct gr_histogram_options options = { .exact = NULL };
	int with_retained = 0, is_garbage = 0;
	const char *by = "type";

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|sppz:histogram", names,
					 &by, &with_retained, &is_garbage,
					 &options.exact) ||
	    !parse_key(by, &options.by) || !gr_py_scan_enter(self))
		return NULL;
	options.with_retained = with_retained;
	options.is_garbage = is_garbage;
	struct gr_error *err =
		gr_scan_histogram(self->scan, &options, &histogram);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_histogram_row, histogram);
}
