// SPDX-License-Identifier: Apache-2.0
// Scan.why(), and its rows.
#include "gdbext.h"

GR_DEFINE_CLEANUP(why, struct gr_why, gr_why_destroy)

static const struct gr_py_field hop_fields[] = {
	GR_PY_FIELD(gr_hop, name),
	GR_PY_FIELD_AS(gr_hop, type, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_hop, addr, gr_py_from_addr_or_none),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_hop_row = { "Hop", hop_fields, NULL };

// Without a root, root_kind has no meaning.
static PyObject *root_kind_of(const void *value)
{
	const struct gr_why *why = value;

	if (!why->is_reachable)
		Py_RETURN_NONE;
	return gr_py_from_root_kind(&why->root_kind);
}

GR_PY_DEFINE_ROWS(hops_of, gr_why, hops, nhops, gr_py_hop_row)

static const struct gr_py_field why_fields[] = {
	GR_PY_FIELD_AS(gr_why, addr, gr_py_from_addr),
	GR_PY_FIELD(gr_why, is_object),
	GR_PY_FIELD_AS(gr_why, base_addr, gr_py_from_addr),
	GR_PY_FIELD(gr_why, bytes),
	GR_PY_FIELD_AS(gr_why, type, gr_py_from_text_or_none),
	GR_PY_FIELD(gr_why, offset),
	GR_PY_FIELD(gr_why, is_reachable),
	GR_PY_FIELD_AS(gr_why, root_name, gr_py_from_text_or_none),
	GR_PY_FIELD_OF(root_kind, root_kind_of),
	GR_PY_FIELD_AS(gr_why, goroutine_id, gr_py_from_u64_or_none),
	GR_PY_FIELD_OF(hops, hops_of),
	GR_PY_FIELD_AS(gr_why, description, gr_py_from_text_or_none),
	GR_PY_FIELD(gr_why, gaps),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_why_row = { "Why", why_fields, NULL };

PyObject *gr_py_scan_why(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "addr", "max_depth", "max_nodes",
				 "attribution", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_why) struct gr_why *why = NULL;
	struct gr_walk_options options = { .max_depth = 0 };
	const char *attribution = "nearest";
	unsigned long long addr;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KII|s:why", names,
					 &addr, &options.max_depth,
					 &options.max_nodes, &attribution) ||
	    !gr_py_parse_attribution(attribution, &options.attribution) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_why(self->scan, &options, addr, &why);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_row_new(&gr_py_why_row, why);
}
