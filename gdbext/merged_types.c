// SPDX-License-Identifier: Apache-2.0
// Scan.merge_type(), and its rows.
#include "gdbext.h"

GR_DEFINE_CLEANUP(merged_types, struct gr_merged_types, gr_merged_types_destroy)

static PyObject *from_vertex(const void *value)
{
	return gr_py_row_new(&gr_py_vertex_row, value);
}

static const struct gr_py_field branch_fields[] = {
	GR_PY_FIELD(gr_merged_branch, parent),
	GR_PY_FIELD(gr_merged_branch, depth),
	GR_PY_FIELD_AS(gr_merged_branch, example, from_vertex),
	GR_PY_FIELD_AS(gr_merged_branch, field, gr_py_from_text_or_none),
	GR_PY_FIELD(gr_merged_branch, vertices),
	GR_PY_FIELD(gr_merged_branch, objects),
	GR_PY_FIELD(gr_merged_branch, bytes),
	GR_PY_FIELD(gr_merged_branch, cut),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_merged_branch_row = { "MergedBranch", branch_fields,
					     NULL };

GR_PY_DEFINE_ROWS(branches_of, gr_merged_types, branches, nbranches,
		  gr_py_merged_branch_row)

static const struct gr_py_field merged_fields[] = {
	GR_PY_FIELD(gr_merged_types, type),
	GR_PY_FIELD(gr_merged_types, objects),
	GR_PY_FIELD(gr_merged_types, bytes),
	GR_PY_FIELD(gr_merged_types, unreached),
	GR_PY_FIELD_OF(branches, branches_of),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_merged_types_row = { "MergedTypes", merged_fields,
					    NULL };

PyObject *gr_py_scan_merge_type(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "type", "max_branches", "exclude_weak", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_merged_types) struct gr_merged_types *merged =
		NULL;
	unsigned int max;
	int exclude_weak = 0;
	const char *type;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sI|p:merge_type", names,
					 &type, &max, &exclude_weak) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_merge_type(
		self->scan, type, max ? max : 1, exclude_weak, &merged);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_merged_types_row, merged);
}
