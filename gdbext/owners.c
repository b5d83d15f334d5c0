// SPDX-License-Identifier: Apache-2.0
// Scan.waits() and its rows: groups of waiters, owners, deadlocks,
// and who keeps others waiting.
#include "gdbext.h"

static PyObject *from_ids(const uint64_t *ids, size_t count)
{
	return gr_py_tuple(ids, sizeof(*ids), count, gr_py_from_u64);
}

static const struct gr_py_field owner_fields[] = {
	GR_PY_FIELD(gr_wait_owner, id),
	GR_PY_FIELD(gr_wait_owner, is_certain),
	GR_PY_FIELD(gr_wait_owner, is_likely),
	GR_PY_FIELD(gr_wait_owner, evidence),
	GR_PY_FIELD(gr_wait_owner, state),
	GR_PY_FIELD_AS(gr_wait_owner, wait_reason, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_wait_owner, user, gr_py_from_location),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_wait_owner_row = { "WaitOwner", owner_fields, NULL };

GR_PY_DEFINE_ROWS(owners_of, gr_wait_group, owners, nowners,
		  gr_py_wait_owner_row)

static PyObject *group_ids(const void *value)
{
	const struct gr_wait_group *group = value;

	return from_ids(group->ids, group->nids);
}

static const struct gr_py_field group_fields[] = {
	GR_PY_FIELD(gr_wait_group, kind),
	GR_PY_FIELD_AS(gr_wait_group, addr, gr_py_from_addr_or_none),
	GR_PY_FIELD_AS(gr_wait_group, path, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_wait_group, type, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_wait_group, state, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_wait_group, verdict, gr_py_from_text_or_none),
	GR_PY_FIELD(gr_wait_group, waiters),
	GR_PY_FIELD(gr_wait_group, senders),
	GR_PY_FIELD_AS(gr_wait_group, waited_ns, gr_py_from_u64_or_none),
	GR_PY_FIELD_OF(ids, group_ids),
	GR_PY_FIELD_AS(gr_wait_group, user, gr_py_from_location),
	GR_PY_FIELD_OF(owners, owners_of),
	GR_PY_FIELD(gr_wait_group, reaching),
	GR_PY_FIELD(gr_wait_group, likely),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_wait_group_row = { "Awaited", group_fields, NULL };

static PyObject *deadlock_ids(const void *value)
{
	const struct gr_deadlock *deadlock = value;

	return from_ids(deadlock->ids, deadlock->nids);
}

static PyObject *deadlock_awaits(const void *value)
{
	const struct gr_deadlock *deadlock = value;

	return from_ids(deadlock->awaits, deadlock->nids);
}

static PyObject *deadlock_owners(const void *value)
{
	const struct gr_deadlock *deadlock = value;

	return from_ids(deadlock->owner_ids, deadlock->nids);
}

GR_PY_DEFINE_ROWS(primitives_of, gr_deadlock, primitives, nprimitives,
		  gr_py_wait_group_row)

static const struct gr_py_field deadlock_fields[] = {
	GR_PY_FIELD_OF(ids, deadlock_ids),
	GR_PY_FIELD_OF(awaits, deadlock_awaits),
	GR_PY_FIELD_OF(owners, deadlock_owners),
	GR_PY_FIELD_OF(primitives, primitives_of),
	GR_PY_FIELD(gr_deadlock, is_certain),
	GR_PY_FIELD(gr_deadlock, behind),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_deadlock_row = { "Deadlock", deadlock_fields, NULL };

static PyObject *from_owner(const void *value)
{
	return gr_py_row_new(&gr_py_wait_owner_row, value);
}

static PyObject *from_primitive(const void *value)
{
	return gr_py_row_new(&gr_py_wait_group_row, value);
}

static const struct gr_py_field blocker_fields[] = {
	GR_PY_FIELD_AS(gr_wait_blocker, owner, from_owner),
	GR_PY_FIELD_AS(gr_wait_blocker, primitive, from_primitive),
	GR_PY_FIELD(gr_wait_blocker, behind),
	GR_PY_FIELD(gr_wait_blocker, depth),
	GR_PY_FIELD(gr_wait_blocker, is_in_cycle),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_wait_blocker_row = { "WaitBlocker", blocker_fields,
					    NULL };

// An answer, and who keeps it as long as a row of it may be asked for.
struct kept_report {
	struct gr_wait_report answer; // the fields of the row are its own
	PyObject *owner;
};

GR_PY_DEFINE_KEPT_ROWS(groups_of, kept_report, groups, ngroups,
		       gr_py_wait_group_row)
GR_PY_DEFINE_ROWS(deadlocks_of, gr_wait_report, deadlocks, ndeadlocks,
		  gr_py_deadlock_row)
GR_PY_DEFINE_ROWS(blockers_of, gr_wait_report, blockers, nblockers,
		  gr_py_wait_blocker_row)

static const struct gr_py_field report_fields[] = {
	GR_PY_FIELD(gr_wait_report, goroutines),
	GR_PY_FIELD(gr_wait_report, total),
	GR_PY_FIELD_OF(groups, groups_of),
	GR_PY_FIELD_OF(deadlocks, deadlocks_of),
	GR_PY_FIELD_OF(blockers, blockers_of),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_wait_report_row = { "Waits", report_fields, NULL };

GR_PY_DEFINE_KEEP_ANSWER(kept_report, gr_wait_report, gr_wait_report_destroy,
			 gr_py_wait_report_row)

PyObject *gr_py_scan_waits(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "goroutine_id", "max_groups", "max_ids",
				 "with_paths", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_wait_report *report = NULL;
	struct gr_waits_query query = { .with_paths = true };
	unsigned long long id = 0;
	int with_paths = 1;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|KIIp:waits", names,
					 &id, &query.max_groups, &query.max_ids,
					 &with_paths) ||
	    !gr_py_scan_enter(self))
		return NULL;
	query.goroutine_id = id;
	query.with_paths = with_paths;
	struct gr_error *err = gr_scan_waits(self->scan, &query, &report);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : keep_answer(self, report);
}
