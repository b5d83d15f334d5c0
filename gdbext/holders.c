// SPDX-License-Identifier: Apache-2.0
// Scan.holders(), and its rows.
#include "gdbext.h"

GR_DEFINE_CLEANUP(holders, struct gr_holders, gr_holders_destroy)

static const struct gr_py_field goroutine_fields[] = {
	GR_PY_FIELD(gr_goroutine_brief, id),
	GR_PY_FIELD(gr_goroutine_brief, state),
	GR_PY_FIELD_AS(gr_goroutine_brief, wait_reason,
		       gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_goroutine_brief, function, gr_py_from_text_or_none),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_goroutine_brief_row = { "GoroutineBrief",
					       goroutine_fields, NULL };

static PyObject *from_goroutine(const void *value)
{
	const struct gr_goroutine_brief *brief = value;

	if (!brief->id)
		Py_RETURN_NONE;
	return gr_py_row_new(&gr_py_goroutine_brief_row, brief);
}

static PyObject *from_vertex(const void *value)
{
	return gr_py_row_new(&gr_py_vertex_row, value);
}

static const struct gr_py_field hop_fields[] = {
	GR_PY_FIELD_AS(gr_path_hop, vertex, from_vertex),
	GR_PY_FIELD(gr_path_hop, name),
	GR_PY_FIELD_AS(gr_path_hop, word_addr, gr_py_from_addr_or_none),
	GR_PY_FIELD(gr_path_hop, left_out),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_path_hop_row = { "PathHop", hop_fields, NULL };

GR_PY_DEFINE_ROWS(hops_of, gr_holder_path, hops, nhops, gr_py_path_hop_row)

static const struct gr_py_field path_fields[] = {
	GR_PY_FIELD_OF(hops, hops_of),
	GR_PY_FIELD_AS(gr_holder_path, goroutine, from_goroutine),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_path_row = { "Path", path_fields, NULL };

static const struct gr_py_field root_fields[] = {
	GR_PY_FIELD_AS(gr_reaching_root, vertex, from_vertex),
	GR_PY_FIELD(gr_reaching_root, distance),
	GR_PY_FIELD_AS(gr_reaching_root, goroutine, from_goroutine),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_reaching_root_row = { "ReachingRoot", root_fields,
					     NULL };

static const struct gr_py_field group_fields[] = {
	GR_PY_FIELD(gr_holder_root_group, name),
	GR_PY_FIELD(gr_holder_root_group, kind),
	GR_PY_FIELD(gr_holder_root_group, roots),
	GR_PY_FIELD(gr_holder_root_group, least_distance),
	GR_PY_FIELD_AS(gr_holder_root_group, goroutine_id,
		       gr_py_from_u64_or_none),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_root_group_row = { "RootGroup", group_fields, NULL };

static PyObject *holder_vertex_of(const void *value)
{
	const struct gr_holder *holder = value;

	if (!holder->has_vertex)
		Py_RETURN_NONE;
	return from_vertex(&holder->vertex);
}

static const struct gr_py_field holder_fields[] = {
	GR_PY_FIELD(gr_holder, kind),
	GR_PY_FIELD_OF(vertex, holder_vertex_of),
	GR_PY_FIELD_AS(gr_holder, name, gr_py_from_text_or_none),
	GR_PY_FIELD(gr_holder, freed_bytes),
	GR_PY_FIELD_AS(gr_holder, goroutine, from_goroutine),
	GR_PY_FIELD(gr_holder, nroots),
	GR_PY_FIELD(gr_holder, is_more),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_holder_row = { "Holder", holder_fields, NULL };

static PyObject *holder_of(const void *value)
{
	const struct gr_holders *holders = value;

	if (!holders->is_reachable)
		Py_RETURN_NONE;
	return gr_py_row_new(&gr_py_holder_row, &holders->holder);
}

GR_PY_DEFINE_ROWS(paths_of, gr_holders, paths, npaths, gr_py_path_row)
GR_PY_DEFINE_ROWS(roots_of, gr_holders, roots, nroots, gr_py_reaching_root_row)
GR_PY_DEFINE_ROWS(groups_of, gr_holders, groups, ngroups, gr_py_root_group_row)

static const struct gr_py_field holders_fields[] = {
	GR_PY_FIELD(gr_holders, is_reachable),
	GR_PY_FIELD(gr_holders, retained_bytes),
	GR_PY_FIELD_OF(holder, holder_of),
	GR_PY_FIELD_OF(paths, paths_of),
	GR_PY_FIELD(gr_holders, is_complete),
	GR_PY_FIELD_OF(roots, roots_of),
	GR_PY_FIELD(gr_holders, all_roots),
	GR_PY_FIELD_OF(groups, groups_of),
	GR_PY_FIELD(gr_holders, ungrouped),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_holders_row = { "Holders", holders_fields, NULL };

PyObject *gr_py_scan_holders(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "addr",      "max_paths",    "max_roots",
				 "all_roots", "exclude_weak", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_holders) struct gr_holders *holders = NULL;
	struct gr_holders_options options = { 0 };
	int all_roots = 0, exclude_weak = 0;
	unsigned long long addr;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KII|pp:holders", names,
					 &addr, &options.max_paths,
					 &options.max_roots, &all_roots,
					 &exclude_weak) ||
	    !gr_py_scan_enter(self))
		return NULL;
	options.all_roots = all_roots;
	options.exclude_weak = exclude_weak;
	struct gr_error *err =
		gr_scan_holders(self->scan, addr, &options, &holders);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_holders_row, holders);
}
