// SPDX-License-Identifier: Apache-2.0
// Scan.verify(), and its rows.
#include "gdbext.h"

GR_DEFINE_CLEANUP(verdict, struct gr_verdict, gr_verdict_destroy)

static const struct gr_py_field class_total_fields[] = {
	GR_PY_FIELD(gr_class_total, spanclass),
	GR_PY_FIELD_AS(gr_class_total, elem_bytes, gr_py_from_u64_or_none),
	GR_PY_FIELD(gr_class_total, allocated),
	GR_PY_FIELD(gr_class_total, reached),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_class_total_row = { "ClassTotal", class_total_fields,
					   NULL };

static const struct gr_py_field difference_fields[] = {
	GR_PY_FIELD_AS(gr_difference, addr, gr_py_from_addr),
	GR_PY_FIELD(gr_difference, bytes),
	GR_PY_FIELD_AS(gr_difference, type, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_difference, reason, gr_py_from_text_or_none),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_difference_row = { "Difference", difference_fields,
					  NULL };

static const struct gr_py_field free_slot_fields[] = {
	GR_PY_FIELD_AS(gr_free_slot, addr, gr_py_from_addr),
	GR_PY_FIELD_AS(gr_free_slot, held_by, gr_py_from_addr_or_none),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_free_slot_row = { "FreeSlot", free_slot_fields, NULL };

static PyObject *stats_of(const void *value)
{
	const struct gr_verdict *verdict = value;

	if (!verdict->has_stats)
		Py_RETURN_NONE;
	return gr_py_from_total(&verdict->stats);
}

GR_PY_DEFINE_ROWS(free_slots_of, gr_verdict, free_slots, nfree_slots,
		  gr_py_free_slot_row)
GR_PY_DEFINE_ROWS(classes_of, gr_verdict, classes, nclasses,
		  gr_py_class_total_row)
GR_PY_DEFINE_ROWS(differences_of, gr_verdict, differences, ndifferences,
		  gr_py_difference_row)

static const struct gr_py_field verdict_fields[] = {
	GR_PY_FIELD(gr_verdict, allocated),
	GR_PY_FIELD(gr_verdict, reached),
	GR_PY_FIELD(gr_verdict, kept),
	GR_PY_FIELD(gr_verdict, kept_reached),
	GR_PY_FIELD(gr_verdict, is_most_lost),
	GR_PY_FIELD(gr_verdict, free_slot_pointers),
	GR_PY_FIELD_OF(free_slots, free_slots_of),
	GR_PY_FIELD(gr_verdict, missed_pointers),
	GR_PY_FIELD_OF(stats, stats_of),
	GR_PY_FIELD(gr_verdict, rebuilt),
	GR_PY_FIELD_OF(classes, classes_of),
	GR_PY_FIELD_OF(differences, differences_of),
	GR_PY_FIELD(gr_verdict, unexplained),
	GR_PY_FIELD(gr_verdict, gaps),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_verdict_row = { "Verdict", verdict_fields, NULL };

PyObject *gr_py_scan_verify(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "max_differences", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_verdict) struct gr_verdict *verdict = NULL;
	Py_ssize_t max_differences;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "n:verify", names,
					 &max_differences) ||
	    !gr_py_scan_enter(self))
		return NULL;
	size_t max = max_differences > 0 ? (size_t)max_differences : SIZE_MAX;
	struct gr_error *err = gr_scan_verify(self->scan, max, &verdict);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_verdict_row, verdict);
}
