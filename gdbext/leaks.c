// SPDX-License-Identifier: Apache-2.0
// Scan.leaks(), and its rows.
#include "gdbext.h"

GR_DEFINE_CLEANUP(report, struct gr_leak_report, gr_leak_report_destroy)

static const struct gr_py_field group_fields[] = {
	GR_PY_FIELD(gr_leak_group, verdict),
	GR_PY_FIELD(gr_leak_group, goroutines),
	GR_PY_FIELD_AS(gr_leak_group, at, gr_py_from_location),
	GR_PY_FIELD_AS(gr_leak_group, start, gr_py_from_location),
	GR_PY_FIELD_AS(gr_leak_group, go, gr_py_from_location),
	GR_PY_FIELD_AS(gr_leak_group, wait_reason, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_leak_group, awaited, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_leak_group, element_type, gr_py_from_text_or_none),
	GR_PY_FIELD(gr_leak_group, nawaited),
	GR_PY_FIELD(gr_leak_group, retained_bytes),
	GR_PY_FIELD(gr_leak_group, retained_objects),
	GR_PY_FIELD(gr_leak_group, stack_bytes),
	GR_PY_FIELD_AS(gr_leak_group, first, gr_py_from_u64),
	GR_PY_FIELD_AS(gr_leak_group, nids, gr_py_from_u64),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_leak_group_row = { "LeakGroup", group_fields, NULL };

GR_PY_DEFINE_ROWS(groups_of, gr_leak_report, groups, ngroups,
		  gr_py_leak_group_row)

static const struct gr_py_field ignored_fields[] = {
	GR_PY_FIELD(gr_leak_ignored, blocked),
	GR_PY_FIELD(gr_leak_ignored, leaked),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_leak_ignored_row = { "LeakIgnored", ignored_fields,
					    NULL };

GR_PY_DEFINE_ROWS(ignored_of, gr_leak_report, ignored, nignored,
		  gr_py_leak_ignored_row)

static const struct gr_py_field place_fields[] = {
	GR_PY_FIELD_AS(gr_blocked_place, at, gr_py_from_location),
	GR_PY_FIELD_AS(gr_blocked_place, wait_reason, gr_py_from_text_or_none),
	GR_PY_FIELD(gr_blocked_place, goroutines),
	GR_PY_FIELD(gr_blocked_place, leaked),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_blocked_place_row = { "BlockedPlace", place_fields,
					     NULL };

GR_PY_DEFINE_ROWS(places_of, gr_leak_report, places, nplaces,
		  gr_py_blocked_place_row)

static PyObject *ids_of(const void *value)
{
	const struct gr_leak_report *report = value;

	return gr_py_tuple(report->ids, sizeof(*report->ids), report->nids,
			   gr_py_from_u64);
}

static const struct gr_py_field report_fields[] = {
	GR_PY_FIELD(gr_leak_report, goroutines),
	GR_PY_FIELD(gr_leak_report, blocked),
	GR_PY_FIELD(gr_leak_report, leaked),
	GR_PY_FIELD(gr_leak_report, unproven),
	GR_PY_FIELD(gr_leak_report, retained_bytes),
	GR_PY_FIELD(gr_leak_report, retained_objects),
	GR_PY_FIELD(gr_leak_report, stack_bytes),
	GR_PY_FIELD_OF(groups, groups_of),
	GR_PY_FIELD_OF(ids, ids_of),
	GR_PY_FIELD_OF(ignored, ignored_of),
	GR_PY_FIELD_OF(places, places_of),
	GR_PY_FIELD(gr_leak_report, gaps),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_leaks_row = { "Leaks", report_fields, NULL };

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
	static char *names[] = { "ignored", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_report) struct gr_leak_report *report = NULL;
	_cleanup_free_ struct gr_ignore_pattern *patterns = NULL;
	struct gr_leak_query query = { .nignored = 0 };
	PyObject *tuple = NULL;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:leaks", names,
					 &tuple))
		return NULL;
	patterns = parse_patterns(tuple, &query.nignored);
	if (!patterns || !gr_py_scan_enter(self))
		return NULL;
	query.ignored = patterns;
	struct gr_error *err = gr_scan_leaks(self->scan, &query, &report);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_row_new(&gr_py_leaks_row, report);
}
