// SPDX-License-Identifier: Apache-2.0
// Scan.object_info() and its rows, and Scan.print_value().
#include "gdbext.h"

GR_DEFINE_CLEANUP(object_info, struct gr_object_info, gr_object_info_destroy)

static PyObject *from_vertex(const void *value)
{
	return gr_py_row_new(&gr_py_vertex_row, value);
}

static const struct gr_py_field reference_fields[] = {
	GR_PY_FIELD_AS(gr_reference, vertex, from_vertex),
	GR_PY_FIELD(gr_reference, name),
	GR_PY_FIELD_AS(gr_reference, word_addr, gr_py_from_addr_or_none),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_reference_row = { "Reference", reference_fields, NULL };

static const struct gr_py_field group_fields[] = {
	GR_PY_FIELD(gr_reference_group, type),
	GR_PY_FIELD(gr_reference_group, name),
	GR_PY_FIELD(gr_reference_group, references),
	GR_PY_FIELD(gr_reference_group, bytes),
	GR_PY_FIELD_AS(gr_reference_group, example_addr,
		       gr_py_from_addr_or_none),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_reference_group_row = { "ReferenceGroup", group_fields,
					       NULL };

GR_PY_DEFINE_ROWS(list_of, gr_references, list, nlist, gr_py_reference_row)
GR_PY_DEFINE_ROWS(groups_of, gr_references, groups, ngroups,
		  gr_py_reference_group_row)

static const struct gr_py_field references_fields[] = {
	GR_PY_FIELD(gr_references, total),
	GR_PY_FIELD_OF(list, list_of),
	GR_PY_FIELD_OF(groups, groups_of),
	GR_PY_FIELD(gr_references, ungrouped),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_references_row = { "References", references_fields,
					  NULL };

static PyObject *from_references(const void *value)
{
	return gr_py_row_new(&gr_py_references_row, value);
}

static const struct gr_py_field special_fields[] = {
	GR_PY_FIELD(gr_special, kind),
	GR_PY_FIELD_AS(gr_special, function, gr_py_from_text_or_none),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_special_row = { "Special", special_fields, NULL };

GR_PY_DEFINE_ROWS(specials_of, gr_object_info, specials, nspecials,
		  gr_py_special_row)

// Garbage has no dominator.
static PyObject *dominator_of(const void *value)
{
	const struct gr_object_info *info = value;

	if (!info->is_reachable)
		Py_RETURN_NONE;
	return from_vertex(&info->dominator);
}

static const struct gr_py_field info_fields[] = {
	GR_PY_FIELD_AS(gr_object_info, addr, gr_py_from_addr),
	GR_PY_FIELD(gr_object_info, is_object),
	GR_PY_FIELD_AS(gr_object_info, description, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_object_info, base_addr, gr_py_from_addr),
	GR_PY_FIELD(gr_object_info, bytes),
	GR_PY_FIELD(gr_object_info, offset),
	GR_PY_FIELD_AS(gr_object_info, type, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_object_info, type_source, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_object_info, type_bytes, gr_py_from_u64_or_none),
	GR_PY_FIELD_AS(gr_object_info, slot_addr, gr_py_from_addr),
	GR_PY_FIELD(gr_object_info, slot_bytes),
	GR_PY_FIELD_AS(gr_object_info, span_start, gr_py_from_addr),
	GR_PY_FIELD_AS(gr_object_info, span_end, gr_py_from_addr),
	GR_PY_FIELD(gr_object_info, slot_index),
	GR_PY_FIELD(gr_object_info, nslots),
	GR_PY_FIELD_AS(gr_object_info, spanclass, gr_py_from_u8),
	GR_PY_FIELD(gr_object_info, header_bytes),
	GR_PY_FIELD(gr_object_info, is_reachable),
	GR_PY_FIELD(gr_object_info, is_unswept),
	GR_PY_FIELD(gr_object_info, is_fresh),
	GR_PY_FIELD_OF(specials, specials_of),
	GR_PY_FIELD(gr_object_info, retained_bytes),
	GR_PY_FIELD_OF(dominator, dominator_of),
	GR_PY_FIELD_AS(gr_object_info, references, from_references),
	GR_PY_FIELD_AS(gr_object_info, referrers, from_references),
	GR_PY_FIELD(gr_object_info, gaps),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_object_info_row = { "ObjectInfo", info_fields, NULL };

PyObject *gr_py_scan_object(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "addr",
				 "max_references",
				 "max_referrers",
				 "group_references",
				 "group_referrers",
				 NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_object_info) struct gr_object_info *info = NULL;
	unsigned int max_references, max_referrers;
	int group_references = 0, group_referrers = 0;
	unsigned long long addr;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KII|pp:object_info",
					 names, &addr, &max_references,
					 &max_referrers, &group_references,
					 &group_referrers) ||
	    !gr_py_scan_enter(self))
		return NULL;
	const struct gr_object_options options = {
		.max_references = max_references,
		.max_referrers = max_referrers,
		.group_references = group_references,
		.group_referrers = group_referrers,
	};
	struct gr_error *err =
		gr_scan_object(self->scan, addr, &options, &info);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_object_info_row, info);
}

PyObject *gr_py_scan_print_value(PyObject *obj, PyObject *args,
				 PyObject *kwargs)
{
	static char *names[] = { "place", "max_string", "max_elements",
				 "max_depth", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_show_limits limits = GR_SHOW_DEFAULTS;
	_cleanup_free_ struct gr_place *places = NULL;
	_cleanup_free_ char *text = NULL;
	_cleanup_py_ PyObject *list = NULL;
	size_t count = 0;
	PyObject *place;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|III:print_value",
					 names, &place, &limits.max_string,
					 &limits.max_elements,
					 &limits.max_depth) ||
	    !gr_py_scan_enter(self))
		return NULL;
	list = PyList_New(0);
	if (list && !PyList_Append(list, place))
		places = gr_py_parse_places(self->scan, list, &count);
	if (!places) {
		gr_py_scan_leave(self);
		return NULL;
	}
	struct gr_error *err =
		gr_scan_print_value(self->scan, places, &limits, &text);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_string(text);
}
