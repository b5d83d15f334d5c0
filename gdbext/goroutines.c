// SPDX-License-Identifier: Apache-2.0
// Scan.goroutines() and Scan.backtrace(), and their rows.
#include "gdbext/gdbext.h"

#include "goroutines/backtrace.h"
#include "goroutines/goroutine_list.h"

GR_DEFINE_CLEANUP(backtrace, struct gr_backtrace, gr_backtrace_destroy)

PyObject *gr_py_awaited_addrs(const void *value)
{
	const struct gr_awaited_things *things =
		&((const struct gr_goroutine_group *)value)->awaited;
	size_t n = things->count < GR_MAX_AWAITED ? things->count :
						    GR_MAX_AWAITED;

	return gr_py_tuple(things->addrs, sizeof(*things->addrs), n,
			   gr_py_from_u64);
}

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

PyObject *gr_py_scan_goroutines(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_goroutine_list *list = NULL;
	_cleanup_free_ struct gr_goroutine_filter *filters = NULL;
	struct gr_goroutine_query query = { .group = GR_BY_NOTHING };
	const char *group = NULL;
	unsigned long long channel = 0;
	int with_system = 0, with_bytes = 0;
	PyObject *tuple;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|pzIzKp:goroutines",
					 gr_py_scan_goroutines_names, &tuple,
					 &with_system, &group, &query.max_rows,
					 &query.group_label, &channel,
					 &with_bytes) ||
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
	return err ? gr_py_raise(err) : gr_py_keep_goroutine_list(self, list);
}

PyObject *gr_py_scan_backtrace(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_backtrace) struct gr_backtrace *backtrace = NULL;
	struct gr_backtrace_query query = { .limits = GR_SHOW_DEFAULTS };
	unsigned long long id;
	int with_variables = 0;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "K|IpIIIII:backtrace",
		    gr_py_scan_backtrace_names, &id, &query.max_calls,
		    &with_variables, &query.first_call, &query.ncalls,
		    &query.limits.max_string, &query.limits.max_elements,
		    &query.limits.max_depth) ||
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
