// SPDX-License-Identifier: Apache-2.0
// Scan.suspects(), and its rows.
#include "gdbext.h"

GR_DEFINE_CLEANUP(report, struct gr_suspect_report, gr_suspect_report_destroy)

static PyObject *from_vertex(const void *value)
{
	return gr_py_row_new(&gr_py_vertex_row, value);
}

static const struct gr_py_field hop_fields[] = {
	GR_PY_FIELD_AS(gr_suspect_hop, vertex, from_vertex),
	GR_PY_FIELD_AS(gr_suspect_hop, step, gr_py_from_text_or_none),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_suspect_hop_row = { "SuspectHop", hop_fields, NULL };

static const struct gr_py_field content_fields[] = {
	GR_PY_FIELD(gr_suspect_content, type),
	GR_PY_FIELD(gr_suspect_content, objects),
	GR_PY_FIELD(gr_suspect_content, bytes),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_suspect_content_row = { "SuspectContent", content_fields,
					       NULL };

GR_PY_DEFINE_ROWS(hops_of, gr_suspect_info, hops, nhops, gr_py_suspect_hop_row)
GR_PY_DEFINE_ROWS(contents_of, gr_suspect_info, contents, ncontents,
		  gr_py_suspect_content_row)

static const struct gr_py_field suspect_fields[] = {
	GR_PY_FIELD(gr_suspect_info, kind),
	GR_PY_FIELD(gr_suspect_info, name),
	GR_PY_FIELD(gr_suspect_info, objects),
	GR_PY_FIELD(gr_suspect_info, retained_bytes),
	GR_PY_FIELD_AS(gr_suspect_info, resident_bytes, gr_py_from_bytes),
	GR_PY_FIELD(gr_suspect_info, accumulation_point),
	GR_PY_FIELD_AS(gr_suspect_info, at, from_vertex),
	GR_PY_FIELD(gr_suspect_info, is_chain),
	GR_PY_FIELD_AS(gr_suspect_info, holder, from_vertex),
	GR_PY_FIELD_AS(gr_suspect_info, created_by, gr_py_from_text_or_none),
	GR_PY_FIELD_OF(hops, hops_of),
	GR_PY_FIELD(gr_suspect_info, hops_left_out),
	GR_PY_FIELD_OF(contents, contents_of),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_suspect_row = { "Suspect", suspect_fields, NULL };

GR_PY_DEFINE_ROWS(suspects_of, gr_suspect_report, suspects, count,
		  gr_py_suspect_row)

static const struct gr_py_field report_fields[] = {
	GR_PY_FIELD(gr_suspect_report, reached_bytes),
	GR_PY_FIELD(gr_suspect_report, min_bytes),
	GR_PY_FIELD(gr_suspect_report, runtime_bytes),
	GR_PY_FIELD(gr_suspect_report, residency),
	GR_PY_FIELD_OF(suspects, suspects_of),
	GR_PY_FIELD_AS(gr_suspect_report, largest_name,
		       gr_py_from_text_or_none),
	GR_PY_FIELD(gr_suspect_report, largest_bytes),
	GR_PY_FIELD(gr_suspect_report, gaps),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_suspects_row = { "Suspects", report_fields, NULL };

PyObject *gr_py_scan_suspects(PyObject *obj, PyObject *unused)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_report) struct gr_suspect_report *report = NULL;

	(void)unused;
	if (!gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_suspects(self->scan, &report);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_suspects_row, report);
}
