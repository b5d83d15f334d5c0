// SPDX-License-Identifier: Apache-2.0
#include "goroutines/scheduler.h"

#include "goroutines/goroutine_info.h"
#include "goroutines/thread_call.h"
#include "goruntime/layout/names.h"
#include "goruntime/sched/sched_records.h"
#include "goruntime/sched/wait_kind.h"
#include "graph/keys.h"
#include "scan/enter.h"
#include "scan/goroutine_counts.h"

enum { M_STEPS = 16 };

struct describer {
	struct gr_stop *stop;
	struct gr_scheduler *ret;
	struct gr_sched_record sched;
	const struct gr_moments *moments;
	struct gr_keys by_g;   /* address of a g -> index of the goroutine */
	struct gr_keys by_p;   /* address of a P -> index in ps */
	struct gr_keys by_m;   /* address of an M -> index in m_records */
	struct gr_keys by_lwp; /* number of a thread -> its index */
	struct gr_m_record *m_records;
	size_t nms;
};

static void describer_deinit(struct describer *d)
{
	gr_keys_deinit(&d->by_g);
	gr_keys_deinit(&d->by_p);
	gr_keys_deinit(&d->by_m);
	gr_keys_deinit(&d->by_lwp);
	free(d->m_records);
}

void gr_scheduler_destroy(struct gr_scheduler *scheduler)
{
	if (!scheduler)
		return;
	free(scheduler->ps);
	free(scheduler->ms);
	free(scheduler);
}
GR_DEFINE_CLEANUP(scheduler, struct gr_scheduler, gr_scheduler_destroy)

// ------------------------------------------------------------------- indices

/* Enter @p index for @p key, unless there is one; the first one counts. */
static struct gr_error *add_key(struct gr_keys *keys, uint64_t key,
				uint32_t index)
{
	if (gr_keys_find(keys, key, 0) != UINT32_MAX)
		return NULL;
	return gr_keys_add(keys, key, 0, index) ? NULL : &gr_enomem;
}

static struct gr_error *index_goroutines(struct describer *d)
{
	struct gr_stop *stop = d->stop;
	const struct gr_sched *sched = &stop->sched;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < sched->ngoroutines; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];

		err = gr_runtime_step(&stop->program->rt, 1);
		if (err || g->is_g0)
			continue;
		if (g->status == stop->program->rt.layout.consts.grunnable)
			d->ret->runnable++;
		err = add_key(&d->by_g, g->addr, i);
	}
	return err;
}

static struct gr_error *index_threads(struct describer *d)
{
	size_t n;
	const struct gr_target_thread *threads =
		gr_image_threads(d->stop->image, &n);
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++)
		err = add_key(&d->by_lwp, (uint32_t)threads[i].lwp, i);
	return err;
}

/* The goroutine of a g; NULL: none, or it is dead. */
static const struct gr_goroutine *goroutine_of(const struct describer *d,
					       uint64_t g)
{
	uint32_t i = g ? gr_keys_find(&d->by_g, g, 0) : UINT32_MAX;

	return i == UINT32_MAX ? NULL : &d->stop->sched.goroutines[i];
}

static uint64_t id_of(const struct describer *d, uint64_t g)
{
	const struct gr_goroutine *goroutine = goroutine_of(d, g);

	return goroutine ? goroutine->goid : 0;
}

static const struct gr_m_record *m_at(const struct describer *d, uint64_t addr)
{
	uint32_t i = addr ? gr_keys_find(&d->by_m, addr, 0) : UINT32_MAX;

	return i == UINT32_MAX ? NULL : &d->m_records[i];
}

// ------------------------------------------------------------------------ Ps

static const char *status_of(const struct gr_layout *layout, uint32_t status)
{
	const typeof(layout->consts) *c = &layout->consts;

	return status == c->pidle    ? "idle" :
	       status == c->prunning ? "running" :
	       status == c->psyscall ? "in a system call" :
	       status == c->pgcstop  ? "stopped" :
	       status == c->pdead    ? "dead" :
				       "?";
}

static const char *worker_of(const struct gr_layout *layout, uint32_t mode)
{
	const typeof(layout->consts) *c = &layout->consts;

	return mode == c->mark_worker_dedicated	 ? "dedicated" :
	       mode == c->mark_worker_fractional ? "fractional" :
	       mode == c->mark_worker_idle	 ? "idle" :
						   "";
}

static void fill_p(const struct describer *d, const struct gr_p_record *p,
		   struct gr_scheduler_p *ret)
{
	const struct gr_layout *layout = &d->stop->program->rt.layout;
	const struct gr_m_record *m = m_at(d, p->m);
	uint64_t latest = d->moments->latest;

	*ret = (struct gr_scheduler_p){
		.id = p->id,
		.status = status_of(layout, p->status),
		.m_id = m ? m->id : -1,
		.running = m && m->p == p->addr ? id_of(d, m->curg) : 0,
		.next_id = id_of(d, p->runnext),
		.queued = p->queued + (p->runnext != 0),
		.schedtick = p->schedtick,
		.syscalltick = p->syscalltick,
		.mark_worker = worker_of(layout, p->worker),
		.is_asked = p->is_asked,
	};
	if (ret->running && p->same_since && p->same_since < latest)
		ret->same_ns = latest - p->same_since;
	// runtime.stopTheWorldWithSema() gives its own P the status, too. The
	// others have no M any more.
	if (d->sched.is_stopping && !d->sched.is_freezing) {
		ret->stops_world = p->status == layout->consts.pgcstop && m;
		ret->is_awaited = d->sched.stop_wait &&
				  (p->status == layout->consts.prunning ||
				   p->status == layout->consts.psyscall);
	}
}

static struct gr_error *read_ps(struct describer *d)
{
	const struct gr_sched *sched = &d->stop->sched;
	struct gr_error *err = NULL;
	struct gr_p_record p;
	bool found;

	d->ret->ps = calloc(sched->nps + 1, sizeof(*d->ret->ps));
	if (!d->ret->ps)
		return &gr_enomem;
	for (size_t i = 0; !err && i < sched->nps; i++) {
		err = gr_sched_read_p(sched, i, &p, &found);
		if (err || !found)
			continue;
		err = add_key(&d->by_p, p.addr, d->ret->nps);
		if (!err)
			fill_p(d, &p, &d->ret->ps[d->ret->nps++]);
	}
	return err;
}

// ------------------------------------------------------------------------ Ms

static struct gr_error *read_ms(struct describer *d)
{
	const struct gr_sched *sched = &d->stop->sched;
	struct gr_error *err = NULL;
	bool found;

	d->m_records = calloc(sched->nms + 1, sizeof(*d->m_records));
	if (!d->m_records)
		return &gr_enomem;
	for (size_t i = 0; !err && i < sched->nms; i++) {
		struct gr_m_record *m = &d->m_records[d->nms];

		err = gr_sched_read_m(sched, i, m, &found);
		if (err || !found)
			continue;
		err = add_key(&d->by_m, m->addr, d->nms++);
	}
	return err;
}

static bool calls_c(const struct gr_goroutine *g)
{
	return g->nframes &&
	       gr_name_has(g->frames[0].func->name, GR_NAME_CALLS_C);
}

/* The state of an M, as a word. */
static const char *state_of(const struct describer *d,
			    const struct gr_m_record *m, const char *start)
{
	const struct gr_goroutine *g = goroutine_of(d, m->curg);
	bool in_call = g &&
		       g->status == d->stop->program->rt.layout.consts.gsyscall;

	if (m->dying)
		return "ending the program";
	if (gr_name_has(start, GR_NAME_SYSTEM_MONITOR))
		return "system monitor";
	if (gr_name_has(start, GR_NAME_TEMPLATE_THREAD))
		return "template thread";
	if (!m->thread_id)
		return "starting";
	if (m->is_extra_in_c || (m->is_in_c && !g) || (g && calls_c(g)))
		return "in C";
	if (in_call && gr_waits_for_signal(&d->stop->program->rt.layout, g))
		return "waiting for a signal";
	if (in_call)
		return "in a system call";
	if (g)
		return m->p ? "running" : "waiting for a P";
	if (m->is_spinning)
		return "spinning";
	if (m->p)
		return "scheduling";
	if (m->is_blocked)
		return m->lockedg ? "idle, locked" : "idle";
	return "in the runtime";
}

static struct gr_error *find_call(struct describer *d,
				  const struct gr_m_record *m,
				  struct gr_scheduler_m *ret)
{
	size_t n;
	const struct gr_target_thread *threads =
		gr_image_threads(d->stop->image, &n);
	struct gr_thread_call call = { .is_known = false };
	uint32_t i = gr_keys_find(&d->by_lwp, (uint32_t)m->thread_id, 0);

	if (i == UINT32_MAX || i >= n)
		return NULL;
	struct gr_error *err = gr_thread_call_find(
		&d->stop->program->rt, m->addr, &threads[i].regs, &call);
	ret->has_number = call.is_known;
	ret->number = call.number;
	return err;
}

static struct gr_error *find_place(struct describer *d, uint64_t curg,
				   struct gr_scheduler_m *ret)
{
	const struct gr_goroutine *g = goroutine_of(d, curg);
	struct gr_goroutine_info info;
	struct gr_error *err = NULL;

	ret->at = (struct gr_source_place){ 0, "", "", 0 };
	ret->wait_reason = "";
	if (!g)
		return NULL;
	err = gr_goroutine_info_read(d->stop, g, &info);
	if (err)
		return err;
	ret->at = info.user;
	ret->wait_reason = info.wait_reason;
	return NULL;
}

static struct gr_error *fill_m(struct describer *d, const struct gr_m_record *m,
			       struct gr_scheduler_m *ret)
{
	uint32_t p = m->p ? gr_keys_find(&d->by_p, m->p, 0) : UINT32_MAX;
	struct gr_func func;
	const char *start = m->start && gr_func_find(&d->stop->program->rt,
						     m->start, &func) ?
				    func.name :
				    "";

	*ret = (struct gr_scheduler_m){
		.id = m->id,
		.thread_id = m->thread_id,
		.state = state_of(d, m, start),
		.p_id = p == UINT32_MAX ? -1 : d->ret->ps[p].id,
		.running = id_of(d, m->curg),
		.start_function = start,
		.locked = id_of(d, m->lockedg),
		.mallocing = m->mallocing,
		.throwing = m->throwing,
		.locks = m->locks,
		.dying = m->dying,
		.ncgo = m->ncgo,
		.is_spinning = m->is_spinning,
		.is_blocked = m->is_blocked,
		.is_extra = m->is_extra,
	};
	struct gr_error *err = gr_runtime_step(&d->stop->program->rt, M_STEPS);
	if (!err)
		err = find_place(d, m->curg, ret);
	return err ? err : find_call(d, m, ret);
}

static struct gr_error *fill_ms(struct describer *d)
{
	struct gr_error *err = NULL;

	d->ret->ms = calloc(d->nms + 1, sizeof(*d->ret->ms));
	if (!d->ret->ms)
		return &gr_enomem;
	for (size_t i = 0; !err && i < d->nms; i++)
		err = fill_m(d, &d->m_records[i], &d->ret->ms[d->ret->nms++]);
	return err;
}

// -------------------------------------------------------------------- answer

static const char *phase_of(const struct gr_layout *layout, uint32_t phase)
{
	const typeof(layout->consts) *c = &layout->consts;

	return phase == c->gc_off	       ? "off" :
	       phase == c->gc_mark	       ? "mark" :
	       phase == c->gc_mark_termination ? "mark termination" :
						 "?";
}

static void fill_globals(struct describer *d)
{
	const struct gr_sched_record *sched = &d->sched;
	struct gr_scheduler *ret = d->ret;

	ret->is_known = sched->is_known;
	ret->gomaxprocs = sched->gomaxprocs;
	ret->ncpu = sched->ncpu;
	ret->queued = sched->queued;
	ret->queue_head = id_of(d, sched->queue_head);
	ret->idle_ps = sched->idle_ps;
	ret->idle_ms = sched->idle_ms;
	ret->idle_locked_ms = sched->idle_locked_ms;
	ret->spinning_ms = sched->spinning_ms;
	ret->needs_spinning = sched->needs_spinning;
	ret->is_stopping = sched->is_stopping;
	ret->stop_wait = sched->stop_wait;
	ret->is_freezing = sched->is_freezing;
	ret->safe_point_wait = sched->safe_point_wait;
	ret->is_sysmon_asleep = sched->has_sysmon_asleep;
	ret->is_user_disabled = sched->is_user_disabled;
	ret->disabled = sched->disabled;
	ret->phase = phase_of(&d->stop->program->rt.layout, sched->phase);
	ret->cycles = sched->cycles;
}

/* The runtime's own counter does not fall in all releases. */
static struct gr_error *count_poll_waiters(struct describer *d)
{
	const struct gr_sched *sched = &d->stop->sched;

	for (size_t i = 0; i < sched->ngoroutines; i++)
		d->ret->poll_waiters +=
			!strcmp(sched->goroutines[i].wait_reason, "IO wait");
	return gr_runtime_step(&d->stop->program->rt, sched->ngoroutines / 16);
}

static struct gr_error *describe(struct describer *d)
{
	const struct gr_sched *sched = &d->stop->sched;
	struct gr_error *err = gr_sched_read_globals(sched, &d->sched);

	if (!err)
		err = gr_stop_moments(d->stop, &d->moments);
	if (!err)
		err = index_goroutines(d);
	if (!err)
		err = index_threads(d);
	if (err)
		return err;
	fill_globals(d);
	err = count_poll_waiters(d);
	if (!err)
		err = read_ms(d);
	if (!err)
		err = read_ps(d);
	return err ? err : fill_ms(d);
}

struct gr_error *gr_scan_scheduler(struct gr_scan *scan,
				   struct gr_scheduler **ret)
{
	_cleanup_(gr_cleanup_scheduler) struct gr_scheduler *scheduler =
		calloc(1, sizeof(*scheduler));
	_cleanup_(describer_deinit) struct describer d = { .ret = scheduler };
	struct gr_sigbus_guard guard;

	if (!scheduler)
		return &gr_enomem;
	struct gr_error *err = gr_scan_enter_goroutines(scan, &guard, &d.stop);
	if (!err)
		err = describe(&d);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(scheduler);
	return err;
}
