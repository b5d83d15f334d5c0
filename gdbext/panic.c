// SPDX-License-Identifier: Apache-2.0
// Scan.panic(), and its rows.
#include "gdbext.h"

GR_DEFINE_CLEANUP(panic, struct gr_panic, gr_panic_destroy)

static const struct gr_py_field value_fields[] = {
	GR_PY_FIELD_AS(gr_panic_value, text, gr_py_from_text),
	GR_PY_FIELD_AS(gr_panic_value, type, gr_py_from_text_or_none),
	GR_PY_FIELD(gr_panic_value, is_recovered),
	GR_PY_FIELD(gr_panic_value, is_repanicked),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_panic_value_row = { "PanicValue", value_fields, NULL };

GR_PY_DEFINE_ROWS(values_of, gr_panic, values, nvalues, gr_py_panic_value_row)
GR_PY_DEFINE_ROWS(deferred_of, gr_panic, deferred, ndeferred,
		  gr_py_location_row)

static PyObject *goroutine_of(const void *value)
{
	const struct gr_panic *panic = value;

	if (!panic->has_goroutine)
		Py_RETURN_NONE;
	return gr_py_row_new(&gr_py_goroutine_row, &panic->goroutine);
}

static PyObject *signal_addr_of(const void *value)
{
	const struct gr_panic *panic = value;

	if (!panic->has_signal_addr)
		Py_RETURN_NONE;
	return gr_py_from_addr(&panic->signal_addr);
}

static const struct gr_py_field panic_fields[] = {
	GR_PY_FIELD_AS(gr_panic, kind, gr_py_from_text_or_none),
	GR_PY_FIELD_OF(goroutine, goroutine_of),
	GR_PY_FIELD_AS(gr_panic, thread_id, gr_py_from_i32_or_none),
	GR_PY_FIELD_AS(gr_panic, fatal_text, gr_py_from_text_or_none),
	GR_PY_FIELD_OF(values, values_of),
	GR_PY_FIELD(gr_panic, signal),
	GR_PY_FIELD(gr_panic, signal_code),
	GR_PY_FIELD_OF(signal_addr, signal_addr_of),
	GR_PY_FIELD_AS(gr_panic, signal_pc, gr_py_from_addr_or_none),
	GR_PY_FIELD_AS(gr_panic, signal_function, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_panic, signal_file, gr_py_from_text_or_none),
	GR_PY_FIELD_OF(deferred, deferred_of),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_panic_row = { "Panic", panic_fields, NULL };

PyObject *gr_py_scan_panic(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "max_string", "max_elements", "max_depth",
				 NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_panic) struct gr_panic *panic = NULL;
	struct gr_panic_query query = { .limits = GR_SHOW_DEFAULTS };

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "|III:panic", names, &query.limits.max_string,
		    &query.limits.max_elements, &query.limits.max_depth) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_panic(self->scan, &query, &panic);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_row_new(&gr_py_panic_row, panic);
}
