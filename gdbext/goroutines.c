// SPDX-License-Identifier: Apache-2.0
// Scan.goroutines() and Scan.backtrace(), and their rows.
#include "gdbext.h"

GR_DEFINE_CLEANUP(backtrace, struct gr_backtrace, gr_backtrace_destroy)

static const struct gr_py_field location_fields[] = {
	GR_PY_FIELD_AS(gr_source_place, pc, gr_py_from_addr),
	GR_PY_FIELD_AS(gr_source_place, function, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_source_place, file, gr_py_from_text_or_none),
	GR_PY_FIELD(gr_source_place, line),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_location_row = { "Location", location_fields, NULL };

PyObject *gr_py_from_location(const void *value)
{
	return gr_py_row_new(&gr_py_location_row, value);
}

static const struct gr_py_field label_fields[] = {
	GR_PY_FIELD_AS(gr_label, key, gr_py_from_text),
	GR_PY_FIELD_AS(gr_label, value, gr_py_from_text),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_label_row = { "Label", label_fields, NULL };

GR_PY_DEFINE_ROWS(known_labels_of, gr_goroutine_info, labels, nlabels,
		  gr_py_label_row)

static PyObject *labels_of(const void *value)
{
	const struct gr_goroutine_info *info = value;

	if (info->has_unsaved_labels)
		Py_RETURN_NONE;
	return known_labels_of(value);
}

static PyObject *m_id_of(const void *value)
{
	const struct gr_goroutine_info *info = value;

	if (info->m_id < 0)
		Py_RETURN_NONE;
	return PyLong_FromLongLong(info->m_id);
}

static const struct gr_py_field goroutine_fields[] = {
	GR_PY_FIELD(gr_goroutine_info, id),
	GR_PY_FIELD(gr_goroutine_info, state),
	GR_PY_FIELD_AS(gr_goroutine_info, wait_reason, gr_py_from_text_or_none),
	GR_PY_FIELD(gr_goroutine_info, is_system),
	GR_PY_FIELD_AS(gr_goroutine_info, thread_id, gr_py_from_i32_or_none),
	GR_PY_FIELD_OF(m_id, m_id_of),
	GR_PY_FIELD_AS(gr_goroutine_info, locked_thread_id,
		       gr_py_from_i32_or_none),
	GR_PY_FIELD_AS(gr_goroutine_info, creator_id, gr_py_from_u64_or_none),
	GR_PY_FIELD_AS(gr_goroutine_info, waited_ns, gr_py_from_u64_or_none),
	GR_PY_FIELD_AS(gr_goroutine_info, current, gr_py_from_location),
	GR_PY_FIELD_AS(gr_goroutine_info, user, gr_py_from_location),
	GR_PY_FIELD_AS(gr_goroutine_info, go, gr_py_from_location),
	GR_PY_FIELD_AS(gr_goroutine_info, start, gr_py_from_location),
	GR_PY_FIELD(gr_goroutine_info, stack_bytes),
	GR_PY_FIELD(gr_goroutine_info, stack_size),
	GR_PY_FIELD(gr_goroutine_info, exclusive_bytes),
	GR_PY_FIELD_OF(labels, labels_of),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_goroutine_row = { "Goroutine", goroutine_fields, NULL };

static PyObject *nawaited_of(const void *value)
{
	const struct gr_goroutine_group *group = value;

	return PyLong_FromUnsignedLongLong(group->awaited.count);
}

static PyObject *awaited_of(const void *value)
{
	const struct gr_awaited_things *things =
		&((const struct gr_goroutine_group *)value)->awaited;
	size_t n = things->count < GR_MAX_AWAITED ? things->count :
						    GR_MAX_AWAITED;

	return gr_py_tuple(things->addrs, sizeof(*things->addrs), n,
			   gr_py_from_u64);
}

static const struct gr_py_field group_fields[] = {
	GR_PY_FIELD(gr_goroutine_group, key),
	GR_PY_FIELD_AS(gr_goroutine_group, at, gr_py_from_location),
	GR_PY_FIELD(gr_goroutine_group, goroutines),
	GR_PY_FIELD_AS(gr_goroutine_group, first, gr_py_from_u64),
	GR_PY_FIELD_AS(gr_goroutine_group, nrows, gr_py_from_u64),
	GR_PY_FIELD(gr_goroutine_group, stack_size),
	GR_PY_FIELD(gr_goroutine_group, exclusive_bytes),
	GR_PY_FIELD_OF(nawaited, nawaited_of),
	GR_PY_FIELD_OF(awaited, awaited_of),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_goroutine_group_row = { "GoroutineGroup", group_fields,
					       NULL };

// An answer, and who keeps it as long as a row of it may be asked for.
struct kept_list {
	struct gr_goroutine_list answer; // the fields of the row are its own
	PyObject *owner;
};

GR_PY_DEFINE_KEPT_ROWS(rows_of, kept_list, rows, nrows, gr_py_goroutine_row)
GR_PY_DEFINE_KEPT_ROWS(groups_of, kept_list, groups, ngroups,
		       gr_py_goroutine_group_row)

static const struct gr_py_field list_fields[] = {
	GR_PY_FIELD(gr_goroutine_list, total),
	GR_PY_FIELD(gr_goroutine_list, stack_size),
	GR_PY_FIELD(gr_goroutine_list, exclusive_bytes),
	GR_PY_FIELD(gr_goroutine_list, shared_bytes),
	GR_PY_FIELD_OF(rows, rows_of),
	GR_PY_FIELD_OF(groups, groups_of),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_goroutine_list_row = { "GoroutineList", list_fields,
					      NULL };

static const struct gr_py_field call_variable_fields[] = {
	GR_PY_FIELD(gr_call_variable, name),
	GR_PY_FIELD(gr_call_variable, type),
	GR_PY_FIELD_AS(gr_call_variable, value, gr_py_from_text),
	GR_PY_FIELD(gr_call_variable, is_argument),
	GR_PY_FIELD(gr_call_variable, line),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_call_variable_row = { "CallVariable",
					     call_variable_fields, NULL };

GR_PY_DEFINE_ROWS(variables_of, gr_backtrace_call, variables, nvariables,
		  gr_py_call_variable_row)

static const struct gr_py_field call_fields[] = {
	GR_PY_FIELD_AS(gr_backtrace_call, at, gr_py_from_location),
	GR_PY_FIELD(gr_backtrace_call, is_inlined),
	GR_PY_FIELD_AS(gr_backtrace_call, sp, gr_py_from_addr),
	GR_PY_FIELD_AS(gr_backtrace_call, fp, gr_py_from_addr),
	GR_PY_FIELD(gr_backtrace_call, is_conservative),
	GR_PY_FIELD_OF(variables, variables_of),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_call_row = { "Call", call_fields, NULL };

GR_PY_DEFINE_ROWS(calls_of, gr_backtrace, calls, ncalls, gr_py_call_row)

static PyObject *from_goroutine(const void *value)
{
	return gr_py_row_new(&gr_py_goroutine_row, value);
}

static const struct gr_py_field backtrace_fields[] = {
	GR_PY_FIELD_AS(gr_backtrace, goroutine, from_goroutine),
	GR_PY_FIELD_OF(calls, calls_of),
	GR_PY_FIELD(gr_backtrace, is_cut),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_backtrace_row = { "Backtrace", backtrace_fields, NULL };

// The field of a name; false with an exception set.
static bool parse_field(const char *name, enum gr_goroutine_field *ret)
{
	*ret = gr_goroutine_field_of(name);
	if (*ret == GR_BY_NOTHING)
		PyErr_Format(gr_py_argument_error,
			     "goroutines have no field %s", name);
	return *ret != GR_BY_NOTHING;
}

static bool parse_filter(PyObject *item, struct gr_goroutine_filter *ret)
{
	const char *name;
	int is_negated;

	if (!PyArg_ParseTuple(item, "sps;filter", &name, &is_negated,
			      &ret->text))
		return false;
	ret->is_negated = is_negated;
	return parse_field(name, &ret->field);
}

// An array of filters, for free(); their texts belong to the sequence.
static struct gr_goroutine_filter *parse_filters(PyObject *sequence,
						 size_t *count)
{
	Py_ssize_t n = PyTuple_Size(sequence);

	if (n < 0)
		return NULL;
	_cleanup_free_ struct gr_goroutine_filter *filters =
		calloc((size_t)n + 1, sizeof(*filters));
	if (!filters)
		PyErr_NoMemory();
	for (Py_ssize_t i = 0; filters && i < n; i++)
		if (!parse_filter(PyTuple_GetItem(sequence, i), &filters[i]))
			return NULL;
	*count = (size_t)n;
	return steal_ptr(filters);
}

GR_PY_DEFINE_KEEP_ANSWER(kept_list, gr_goroutine_list,
			 gr_goroutine_list_destroy, gr_py_goroutine_list_row)

PyObject *gr_py_scan_goroutines(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "filters",    "with_system", "group",
				 "max_rows",   "group_label", "channel",
				 "with_bytes", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_goroutine_list *list = NULL;
	_cleanup_free_ struct gr_goroutine_filter *filters = NULL;
	struct gr_goroutine_query query = { .group = GR_BY_NOTHING };
	const char *group = NULL;
	unsigned long long channel = 0;
	int with_system = 0, with_bytes = 0;
	PyObject *tuple;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|pzIzKp:goroutines",
					 names, &tuple, &with_system, &group,
					 &query.max_rows, &query.group_label,
					 &channel, &with_bytes) ||
	    (group && !parse_field(group, &query.group)))
		return NULL;
	if (query.group == GR_BY_CALL) {
		PyErr_SetString(gr_py_argument_error,
				"goroutines are not grouped by call");
		return NULL;
	}
	filters = parse_filters(tuple, &query.nfilters);
	if (!filters || !gr_py_scan_enter(self))
		return NULL;
	query.filters = filters;
	query.with_system = with_system;
	query.channel = channel;
	query.with_bytes = with_bytes;
	struct gr_error *err =
		gr_scan_list_goroutines(self->scan, &query, &list);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : keep_answer(self, list);
}

PyObject *gr_py_scan_backtrace(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "goroutine_id", "max_calls", "with_variables",
				 "first_call",	 "ncalls",    "max_string",
				 "max_elements", "max_depth", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_backtrace) struct gr_backtrace *backtrace = NULL;
	struct gr_backtrace_query query = { .limits = GR_SHOW_DEFAULTS };
	unsigned long long id;
	int with_variables = 0;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "K|IpIIIII:backtrace", names, &id,
		    &query.max_calls, &with_variables, &query.first_call,
		    &query.ncalls, &query.limits.max_string,
		    &query.limits.max_elements, &query.limits.max_depth) ||
	    !gr_py_scan_enter(self))
		return NULL;
	query.goroutine_id = id;
	query.with_variables = with_variables;
	struct gr_error *err =
		gr_scan_backtrace(self->scan, &query, &backtrace);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_backtrace_row, backtrace);
}
