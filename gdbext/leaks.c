// SPDX-License-Identifier: Apache-2.0
// Scan.leaks(), and its rows.
#include "gdbext/gdbext.h"

#include "goroutines/leaks.h"

GR_DEFINE_CLEANUP(report, struct gr_leak_report, gr_leak_report_destroy)

static bool parse_pattern(PyObject *item, struct gr_ignore_pattern *ret)
{
	const char *field;

	if (!PyArg_ParseTuple(item, "ss;pattern", &field, &ret->text))
		return false;
	ret->field = gr_ignore_field_of(field);
	if (ret->field == GR_NIGNORE_FIELDS)
		PyErr_Format(gr_py_argument_error, "no field of patterns: %s",
			     field);
	return ret->field != GR_NIGNORE_FIELDS;
}

// An array of patterns, for free(); their texts belong to the sequence.
static struct gr_ignore_pattern *parse_patterns(PyObject *sequence,
						size_t *count)
{
	Py_ssize_t n = sequence ? PyTuple_Size(sequence) : 0;

	if (n < 0)
		return NULL;
	_cleanup_free_ struct gr_ignore_pattern *patterns =
		calloc((size_t)n + 1, sizeof(*patterns));
	if (!patterns)
		PyErr_NoMemory();
	for (Py_ssize_t i = 0; patterns && i < n; i++)
		if (!parse_pattern(PyTuple_GetItem(sequence, i), &patterns[i]))
			return NULL;
	*count = (size_t)n;
	return steal_ptr(patterns);
}

PyObject *gr_py_scan_leaks(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_report) struct gr_leak_report *report = NULL;
	_cleanup_free_ struct gr_ignore_pattern *patterns = NULL;
	struct gr_leak_query query = { .nignored = 0 };
	PyObject *tuple = NULL;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:leaks",
					 gr_py_scan_leaks_names, &tuple))
		return NULL;
	patterns = parse_patterns(tuple, &query.nignored);
	if (!patterns || !gr_py_scan_enter(self))
		return NULL;
	query.ignored = patterns;
	struct gr_error *err = gr_scan_leaks(self->scan, &query, &report);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_row_new(&gr_py_leaks_row, report);
}
