// SPDX-License-Identifier: Apache-2.0
// Rows: information about the opened target.
#include "gdbext.h"

static const struct gr_py_field goroutine_count_fields[] = {
	GR_PY_FIELD(gr_goroutine_count, state),
	GR_PY_FIELD_AS(gr_goroutine_count, wait_reason,
		       gr_py_from_text_or_none),
	GR_PY_FIELD(gr_goroutine_count, is_system),
	GR_PY_FIELD(gr_goroutine_count, goroutines),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_goroutine_count_row = { "GoroutineCount",
					       goroutine_count_fields, NULL };

GR_PY_DEFINE_ROWS(goroutine_counts_of, gr_scan_info, goroutine_counts,
		  ngoroutine_counts, gr_py_goroutine_count_row)

static PyObject *last_gc_of(const void *value)
{
	const struct gr_scan_info *info = value;

	if (!info->has_last_gc)
		Py_RETURN_NONE;
	return gr_py_from_u64(&info->last_gc_ns);
}

static const struct gr_py_field info_fields[] = {
	GR_PY_FIELD(gr_scan_info, go_version),
	GR_PY_FIELD(gr_scan_info, gc_phase),
	GR_PY_FIELD_OF(last_gc_ns, last_gc_of),
	GR_PY_FIELD(gr_scan_info, pointer_scheme),
	GR_PY_FIELD(gr_scan_info, exe_path),
	GR_PY_FIELD_AS(gr_scan_info, core_path, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_scan_info, pid, gr_py_from_i32_or_none),
	GR_PY_FIELD_AS(gr_scan_info, kind, gr_py_from_target_kind),
	GR_PY_FIELD_AS(gr_scan_info, saved_path, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_scan_info, origin, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_scan_info, stop, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_scan_info, identity, gr_py_from_text_or_none),
	GR_PY_FIELD(gr_scan_info, saved_s),
	GR_PY_FIELD(gr_scan_info, has_values),
	GR_PY_FIELD_AS(gr_scan_info, build_id, gr_py_from_text_or_none),
	GR_PY_FIELD(gr_scan_info, missing_bytes),
	GR_PY_FIELD(gr_scan_info, broken_list),
	GR_PY_FIELD(gr_scan_info, bad_headers),
	GR_PY_FIELD(gr_scan_info, late_threads),
	GR_PY_FIELD_AS(gr_scan_info, warnings, gr_py_from_texts),
	GR_PY_FIELD(gr_scan_info, goroutines),
	GR_PY_FIELD_OF(goroutine_counts, goroutine_counts_of),
	GR_PY_FIELD(gr_scan_info, types),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_info_row = { "Info", info_fields, NULL };

PyObject *gr_py_scan_info(PyObject *obj, PyObject *unused)
{
	const struct gr_py_scan *self = (struct gr_py_scan *)obj;

	(void)unused;
	return gr_py_row_new(&gr_py_info_row, gr_scan_info(self->scan));
}

PyObject *gr_py_scan_layout(PyObject *obj, PyObject *unused)
{
	const struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_free_ char *text = gr_scan_layout_text(self->scan);

	(void)unused;
	return text ? gr_py_string(text) : PyErr_NoMemory();
}
