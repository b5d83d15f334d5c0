// SPDX-License-Identifier: Apache-2.0
// Scan.goroutine_wait(), and its rows.
#include "gdbext.h"

GR_DEFINE_CLEANUP(goroutine_wait, struct gr_goroutine_wait,
		  gr_goroutine_wait_destroy)

static PyObject *from_number(const void *value)
{
	const struct gr_wait_info *wait = value;

	if (!wait->has_number)
		Py_RETURN_NONE;
	return gr_py_from_u64(&wait->number);
}

static PyObject *from_descriptor(const void *value)
{
	const struct gr_wait_info *wait = value;

	if (!wait->network.is_known)
		Py_RETURN_NONE;
	return gr_py_from_u64(&wait->network.descriptor);
}

// A field of the wait for the poller.
#define NETWORK_FIELD(member)                                           \
	{                                                               \
#member, offsetof(struct gr_wait_info, network.member), \
			gr_py_from_text_or_none                         \
	}

// A field of the name of the primitive.
#define NAME_FIELD(member)                                           \
	{                                                            \
#member, offsetof(struct gr_wait_info, name.member), \
			gr_py_from_text_or_none                      \
	}

static const struct gr_py_field wait_fields[] = {
	GR_PY_FIELD(gr_wait_info, kind),
	GR_PY_FIELD_AS(gr_wait_info, primitive, gr_py_from_addr_or_none),
	NAME_FIELD(type),
	NAME_FIELD(path),
	NAME_FIELD(holder_type),
	NAME_FIELD(field),
	NAME_FIELD(part_of),
	GR_PY_FIELD(gr_wait_info, count),
	GR_PY_FIELD(gr_wait_info, capacity),
	GR_PY_FIELD(gr_wait_info, is_closed),
	GR_PY_FIELD_AS(gr_wait_info, value, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_wait_info, due_ns, gr_py_from_u64_or_none),
	GR_PY_FIELD(gr_wait_info, holders),
	GR_PY_FIELD(gr_wait_info, waiters),
	GR_PY_FIELD(gr_wait_info, is_woken),
	GR_PY_FIELD_OF(number, from_number),
	GR_PY_FIELD(gr_wait_info, is_in_c),
	GR_PY_FIELD_OF(descriptor, from_descriptor),
	NETWORK_FIELD(action),
	NETWORK_FIELD(network),
	NETWORK_FIELD(local),
	NETWORK_FIELD(remote),
	{ "has_unsaved_addresses",
	  offsetof(struct gr_wait_info, network.has_unsaved), gr_py_from_bool },
	GR_PY_FIELD_AS(gr_wait_info, awaited_id, gr_py_from_u64_or_none),
	GR_PY_FIELD(gr_wait_info, is_callee),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_wait_row = { "Wait", wait_fields, NULL };

static PyObject *from_goroutine(const void *value)
{
	return gr_py_row_new(&gr_py_goroutine_row, value);
}

GR_PY_DEFINE_ROWS(waits_of, gr_goroutine_wait, waits, nwaits, gr_py_wait_row)

static const struct gr_py_field goroutine_wait_fields[] = {
	GR_PY_FIELD_AS(gr_goroutine_wait, goroutine, from_goroutine),
	GR_PY_FIELD_OF(waits, waits_of),
	GR_PY_FIELD(gr_goroutine_wait, is_in_bubble),
	GR_PY_FIELD_AS(gr_goroutine_wait, bubble_id, gr_py_from_u64_or_none),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_goroutine_wait_row = { "GoroutineWait",
					      goroutine_wait_fields, NULL };

PyObject *gr_py_scan_goroutine_wait(PyObject *obj, PyObject *args,
				    PyObject *kwargs)
{
	static char *names[] = { "goroutine_id", "may_walk",  "max_string",
				 "max_elements", "max_depth", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_goroutine_wait) struct gr_goroutine_wait *wait =
		NULL;
	struct gr_wait_query query = { .limits = GR_SHOW_DEFAULTS };
	unsigned long long id;
	int may_walk = 1;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "K|pIII:goroutine_wait", names, &id,
		    &may_walk, &query.limits.max_string,
		    &query.limits.max_elements, &query.limits.max_depth) ||
	    !gr_py_scan_enter(self))
		return NULL;
	query.goroutine_id = id;
	query.may_walk = may_walk;
	struct gr_error *err =
		gr_scan_goroutine_wait(self->scan, &query, &wait);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_goroutine_wait_row, wait);
}
