// SPDX-License-Identifier: Apache-2.0
// Scan.dominators(), and its rows.
#include "gdbext.h"

GR_DEFINE_CLEANUP(dominators, struct gr_dominators, gr_dominators_destroy)

static const struct gr_py_field dominator_fields[] = {
	GR_PY_FIELD(gr_dominator, name),
	GR_PY_FIELD(gr_dominator, kind),
	GR_PY_FIELD_AS(gr_dominator, type, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_dominator, addr, gr_py_from_addr_or_none),
	GR_PY_FIELD_AS(gr_dominator, goroutine_id, gr_py_from_u64_or_none),
	GR_PY_FIELD(gr_dominator, depth),
	GR_PY_FIELD(gr_dominator, vertices),
	GR_PY_FIELD(gr_dominator, objects),
	GR_PY_FIELD(gr_dominator, bytes),
	GR_PY_FIELD(gr_dominator, retained_bytes),
	GR_PY_FIELD(gr_dominator, cut),
	GR_PY_FIELD(gr_dominator, cut_bytes),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_dominator_row = { "Dominator", dominator_fields, NULL };

GR_PY_DEFINE_ROWS(rows_of, gr_dominators, rows, nrows, gr_py_dominator_row)
GR_PY_DEFINE_ROWS(asked_of, gr_dominators, asked, nasked, gr_py_dominator_row)

static const struct gr_py_field dominators_fields[] = {
	GR_PY_FIELD(gr_dominators, reached_bytes),
	GR_PY_FIELD_OF(rows, rows_of),
	GR_PY_FIELD_OF(asked, asked_of),
	GR_PY_FIELD(gr_dominators, together),
	GR_PY_FIELD(gr_dominators, gaps),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_dominators_row = { "Dominators", dominators_fields,
					  NULL };

PyObject *gr_py_scan_dominators(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "places",   "max_depth", "max_children",
				 "max_rows", "min_bytes", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_dominators) struct gr_dominators *found = NULL;
	struct gr_dominators_options options = { .max_depth = 1 };
	unsigned long long min_bytes = 0;
	PyObject *sequence = NULL;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OIIIK:dominators",
					 names, &sequence, &options.max_depth,
					 &options.max_children,
					 &options.max_rows, &min_bytes) ||
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
