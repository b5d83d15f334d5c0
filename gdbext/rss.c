// SPDX-License-Identifier: Apache-2.0
// Scan.rss(), and its rows.
#include "gdbext.h"

static const struct gr_py_field class_fields[] = {
	GR_PY_FIELD(gr_rss_row, name),
	GR_PY_FIELD(gr_rss_row, text),
	GR_PY_FIELD(gr_rss_row, bytes),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_rss_class_row = { "RssClass", class_fields, NULL };

static PyObject *from_classes(const void *value)
{
	const struct gr_rss_row *rows = value;

	return gr_py_row_tuple(&gr_py_rss_class_row, rows, sizeof(*rows),
			       GR_NRSS_CLASSES);
}

static PyObject *from_number(const void *value)
{
	int64_t number = *(const int64_t *)value;

	if (number == INT64_MIN)
		Py_RETURN_NONE;
	return PyLong_FromLongLong(number);
}

static const struct gr_py_field collector_fields[] = {
	GR_PY_FIELD_AS(gr_collector, gogc, from_number),
	GR_PY_FIELD_AS(gr_collector, memory_limit, from_number),
	GR_PY_FIELD_AS(gr_collector, goal_bytes, from_number),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_collector_row = { "Collector", collector_fields, NULL };

static PyObject *from_collector(const void *value)
{
	return gr_py_row_new(&gr_py_collector_row, value);
}

static const struct gr_py_field rss_fields[] = {
	GR_PY_FIELD(gr_rss, residency),
	{ "classes", offsetof(struct gr_rss, rows), from_classes },
	GR_PY_FIELD(gr_rss, total_bytes),
	GR_PY_FIELD(gr_rss, anonymous_bytes),
	GR_PY_FIELD(gr_rss, allocated_bytes),
	GR_PY_FIELD(gr_rss, garbage_bytes),
	GR_PY_FIELD_AS(gr_rss, returnable_bytes, gr_py_from_bytes),
	GR_PY_FIELD_AS(gr_rss, untouched_bytes, gr_py_from_bytes),
	GR_PY_FIELD_AS(gr_rss, collector, from_collector),
	GR_PY_FIELD(gr_rss, gaps),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_rss_row = { "Rss", rss_fields, NULL };

PyObject *gr_py_scan_rss(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "marked", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_rss rss;
	int is_marked = 1;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:rss", names,
					 &is_marked) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_rss(self->scan, is_marked, &rss);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_row_new(&gr_py_rss_row, &rss);
}
