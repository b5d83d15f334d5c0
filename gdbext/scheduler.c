// SPDX-License-Identifier: Apache-2.0
// Scan.scheduler(), and its rows.
#include "gdbext.h"

GR_DEFINE_CLEANUP(scheduler, struct gr_scheduler, gr_scheduler_destroy)

// A signed number of which -1 means that there is none.
static PyObject *from_number(int64_t number)
{
	if (number < 0)
		Py_RETURN_NONE;
	return PyLong_FromLongLong(number);
}

static PyObject *from_id(const void *value)
{
	return from_number(*(const int64_t *)value);
}

static PyObject *from_small_id(const void *value)
{
	return from_number(*(const int32_t *)value);
}

static const struct gr_py_field p_fields[] = {
	GR_PY_FIELD(gr_scheduler_p, id),
	GR_PY_FIELD(gr_scheduler_p, status),
	GR_PY_FIELD_AS(gr_scheduler_p, m_id, from_id),
	GR_PY_FIELD_AS(gr_scheduler_p, running, gr_py_from_u64_or_none),
	GR_PY_FIELD_AS(gr_scheduler_p, next_id, gr_py_from_u64_or_none),
	GR_PY_FIELD(gr_scheduler_p, queued),
	GR_PY_FIELD(gr_scheduler_p, schedtick),
	GR_PY_FIELD(gr_scheduler_p, syscalltick),
	GR_PY_FIELD_AS(gr_scheduler_p, same_ns, gr_py_from_u64_or_none),
	GR_PY_FIELD_AS(gr_scheduler_p, mark_worker, gr_py_from_text_or_none),
	GR_PY_FIELD(gr_scheduler_p, is_asked),
	GR_PY_FIELD(gr_scheduler_p, stops_world),
	GR_PY_FIELD(gr_scheduler_p, is_awaited),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_scheduler_p_row = { "SchedulerP", p_fields, NULL };

static PyObject *number_of(const void *value)
{
	const struct gr_scheduler_m *m = value;

	if (!m->has_number)
		Py_RETURN_NONE;
	return PyLong_FromUnsignedLongLong(m->number);
}

static const struct gr_py_field m_fields[] = {
	GR_PY_FIELD_AS(gr_scheduler_m, id, from_id),
	GR_PY_FIELD_AS(gr_scheduler_m, thread_id, gr_py_from_i32_or_none),
	GR_PY_FIELD(gr_scheduler_m, state),
	GR_PY_FIELD_AS(gr_scheduler_m, p_id, from_small_id),
	GR_PY_FIELD_AS(gr_scheduler_m, running, gr_py_from_u64_or_none),
	GR_PY_FIELD_AS(gr_scheduler_m, wait_reason, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_scheduler_m, at, gr_py_from_location),
	GR_PY_FIELD_AS(gr_scheduler_m, start_function, gr_py_from_text_or_none),
	GR_PY_FIELD_OF(number, number_of),
	GR_PY_FIELD_AS(gr_scheduler_m, locked, gr_py_from_u64_or_none),
	GR_PY_FIELD(gr_scheduler_m, mallocing),
	GR_PY_FIELD(gr_scheduler_m, throwing),
	GR_PY_FIELD(gr_scheduler_m, locks),
	GR_PY_FIELD(gr_scheduler_m, dying),
	GR_PY_FIELD(gr_scheduler_m, ncgo),
	GR_PY_FIELD(gr_scheduler_m, is_spinning),
	GR_PY_FIELD(gr_scheduler_m, is_blocked),
	GR_PY_FIELD(gr_scheduler_m, is_extra),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_scheduler_m_row = { "SchedulerM", m_fields, NULL };

GR_PY_DEFINE_ROWS(ps_of, gr_scheduler, ps, nps, gr_py_scheduler_p_row)
GR_PY_DEFINE_ROWS(ms_of, gr_scheduler, ms, nms, gr_py_scheduler_m_row)

static const struct gr_py_field scheduler_fields[] = {
	GR_PY_FIELD(gr_scheduler, is_known),
	GR_PY_FIELD_AS(gr_scheduler, gomaxprocs, gr_py_from_u64_or_none),
	GR_PY_FIELD_AS(gr_scheduler, ncpu, gr_py_from_u64_or_none),
	GR_PY_FIELD(gr_scheduler, queued),
	GR_PY_FIELD_AS(gr_scheduler, queue_head, gr_py_from_u64_or_none),
	GR_PY_FIELD(gr_scheduler, idle_ps),
	GR_PY_FIELD(gr_scheduler, idle_ms),
	GR_PY_FIELD(gr_scheduler, idle_locked_ms),
	GR_PY_FIELD(gr_scheduler, spinning_ms),
	GR_PY_FIELD(gr_scheduler, runnable),
	GR_PY_FIELD(gr_scheduler, needs_spinning),
	GR_PY_FIELD(gr_scheduler, is_stopping),
	GR_PY_FIELD(gr_scheduler, stop_wait),
	GR_PY_FIELD(gr_scheduler, is_freezing),
	GR_PY_FIELD(gr_scheduler, safe_point_wait),
	GR_PY_FIELD(gr_scheduler, is_sysmon_asleep),
	GR_PY_FIELD(gr_scheduler, is_user_disabled),
	GR_PY_FIELD(gr_scheduler, disabled),
	GR_PY_FIELD(gr_scheduler, phase),
	GR_PY_FIELD(gr_scheduler, cycles),
	GR_PY_FIELD(gr_scheduler, poll_waiters),
	GR_PY_FIELD_OF(ps, ps_of),
	GR_PY_FIELD_OF(ms, ms_of),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_scheduler_row = { "Scheduler", scheduler_fields, NULL };

PyObject *gr_py_scan_scheduler(PyObject *obj, PyObject *unused)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_scheduler) struct gr_scheduler *scheduler = NULL;

	(void)unused;
	if (!gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_scheduler(self->scan, &scheduler);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_scheduler_row, scheduler);
}
