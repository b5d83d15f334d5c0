// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/sched_records.h"

#include "base/cleanup.h"
#include "goruntime/layout/record.h"

enum {
	MAX_RECORD_BYTES = 1 << 17,
	RECORD_STEPS = 64,
	GO_STRING_LENGTH = 8, /* offset of the length of a string */
};

// ------------------------------------------------------------- capture plan

static struct gr_error *plan(struct gr_runtime *rt, uint64_t addr,
			     uint64_t bytes)
{
	if (!addr || !bytes || bytes > MAX_RECORD_BYTES ||
	    addr > UINT64_MAX - bytes)
		return NULL;
	return gr_image_plan(rt->image, addr, addr + bytes);
}

static struct gr_error *plan_records(struct gr_runtime *rt,
				     const uint64_t *addrs, size_t n,
				     uint64_t bytes)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++) {
		err = gr_runtime_step(rt, 1);
		if (!err)
			err = plan(rt, addrs[i], bytes);
	}
	return err;
}

struct gr_error *gr_sched_records_plan(const struct gr_sched *sched)
{
	struct gr_runtime *rt = sched->rt;
	const struct gr_layout *layout = &rt->layout;
	const struct {
		uint64_t addr, bytes;
	} variables[] = {
		{ layout->vars.sched, layout->schedt.size_bytes },
		{ layout->vars.work, layout->work.size_bytes },
		{ layout->vars.memstats, layout->mstats.size_bytes },
		{ layout->vars.gomaxprocs, sizeof(uint32_t) },
		{ layout->vars.ncpu, sizeof(uint32_t) },
		{ layout->vars.gcphase, sizeof(uint32_t) },
		{ layout->vars.init_time, sizeof(uint64_t) },
	};
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(variables); i++)
		err = plan(rt, variables[i].addr, variables[i].bytes);
	if (!err)
		err = plan_records(rt, sched->ps, sched->nps,
				   layout->p.size_bytes);
	return err ? err :
		     plan_records(rt, sched->ms, sched->nms,
				  layout->m.size_bytes);
}

// ------------------------------------------------------------------- records

/* Read a record of a section of the layout into memory for free(); *@p ret is
 * NULL if that fails, which is a gap of @p list. */
static struct gr_error *read_record(const struct gr_sched *sched, uint64_t addr,
				    const void *section, size_t section_bytes,
				    const char *list, uint8_t **ret)
{
	uint64_t bytes = *(const uint64_t *)section;
	struct gr_runtime *rt = sched->rt;
	_cleanup_free_ uint8_t *record = NULL;

	*ret = NULL;
	if (!bytes || bytes > MAX_RECORD_BYTES)
		return NULL;
	record = malloc(bytes);
	struct gr_error *err = record ? gr_runtime_step(rt, RECORD_STEPS) :
					&gr_enomem;
	if (!err)
		err = gr_record_read(rt, addr, section, section_bytes, record);
	if (gr_error_catch(&err, GR_ERROR_FAULT)) {
		gr_gap_broken_list(rt->gaps, list);
		return NULL;
	}
	if (!err)
		*ret = steal_ptr(record);
	return err;
}

struct gr_error *gr_sched_read_p(const struct gr_sched *sched, size_t i,
				 struct gr_p_record *ret, bool *found)
{
	const typeof(sched->rt->layout.p) *f = &sched->rt->layout.p;
	_cleanup_free_ uint8_t *p = NULL;
	struct gr_error *err = read_record(sched, sched->ps[i], f, sizeof(*f),
					   "runtime.allp", &p);

	*found = p;
	if (err || !p)
		return err;
	*ret = (struct gr_p_record){
		.addr = sched->ps[i],
		.m = gr_field_uint(p, f->m),
		.id = (int32_t)gr_field_uint(p, f->id),
		.status = gr_field_uint(p, f->status),
		.queued = gr_field_uint(p, f->runqtail) -
			  gr_field_uint(p, f->runqhead),
		.runnext = gr_field_uint(p, f->runnext),
		.schedtick = gr_field_uint(p, f->schedtick),
		.syscalltick = gr_field_uint(p, f->syscalltick),
		.worker = gr_field_uint(p, f->mark_worker_mode),
		.is_asked = gr_field_uint(p, f->preempt),
	};
	if (ret->schedtick == gr_field_uint(p, f->observed_schedtick))
		ret->same_since = gr_field_uint(p, f->schedwhen);
	// The ring cannot hold more; a stop in the middle of a steal may say so.
	if (ret->queued > f->runq.bytes / GR_WORD_BYTES)
		ret->queued = f->runq.bytes / GR_WORD_BYTES;
	return NULL;
}

/* The pc of the function value at @p func; 0: there is none. */
static struct gr_error *read_start(struct gr_runtime *rt, uint64_t func,
				   uint64_t *ret)
{
	struct gr_error *err = NULL;

	*ret = 0;
	if (func)
		err = gr_image_read_u64(rt->image, func, ret);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		*ret = 0;
	return err;
}

struct gr_error *gr_sched_read_m(const struct gr_sched *sched, size_t i,
				 struct gr_m_record *ret, bool *found)
{
	const typeof(sched->rt->layout.m) *f = &sched->rt->layout.m;
	_cleanup_free_ uint8_t *m = NULL;
	struct gr_error *err = read_record(sched, sched->ms[i], f, sizeof(*f),
					   "runtime.allm", &m);

	*found = m;
	if (err || !m)
		return err;
	*ret = (struct gr_m_record){
		.addr = sched->ms[i],
		.curg = gr_field_uint(m, f->curg),
		.g0 = gr_field_uint(m, f->g0),
		.gsignal = gr_field_uint(m, f->gsignal),
		.p = gr_field_uint(m, f->p),
		.nextp = gr_field_uint(m, f->nextp),
		.lockedg = gr_field_uint(m, f->lockedg),
		.id = (int64_t)gr_field_uint(m, f->id),
		.thread_id = (int32_t)gr_field_uint(m, f->procid),
		.mallocing = (int32_t)gr_field_uint(m, f->mallocing),
		.throwing = (int32_t)gr_field_uint(m, f->throwing),
		.locks = (int32_t)gr_field_uint(m, f->locks),
		.dying = (int32_t)gr_field_uint(m, f->dying),
		.ncgo = (int32_t)gr_field_uint(m, f->ncgo),
		.is_spinning = gr_field_uint(m, f->spinning),
		.is_blocked = gr_field_uint(m, f->blocked),
		.is_in_c = gr_field_uint(m, f->incgo),
		.is_extra = gr_field_uint(m, f->is_extra),
		.is_extra_in_c = gr_field_uint(m, f->is_extra_in_c),
	};
	if (f->preemptoff.bytes > GO_STRING_LENGTH)
		ret->has_preemption_off =
			gr_load_u64(m + f->preemptoff.off + GO_STRING_LENGTH);
	return read_start(sched->rt, gr_field_uint(m, f->mstartfn),
			  &ret->start);
}

// ------------------------------------------------------------------- globals

/* Read a variable of 4 bytes; 0: there is none. */
static struct gr_error *read_u32(struct gr_runtime *rt, uint64_t addr,
				 uint32_t *ret)
{
	struct gr_error *err = NULL;
	uint64_t value = 0;

	if (addr)
		err = gr_image_read_uint(rt->image, addr, sizeof(*ret), &value);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		value = 0;
	*ret = value;
	return err;
}

static void fill_sched(const struct gr_layout *layout, const uint8_t *sched,
		       struct gr_sched_record *ret)
{
	const typeof(layout->schedt) *f = &layout->schedt;

	ret->is_known = true;
	ret->queued = gr_field_uint(sched, f->runq_size);
	ret->queue_head = gr_field_uint(sched, f->runq_head);
	ret->idle_ms = gr_field_uint(sched, f->nmidle);
	ret->idle_locked_ms = gr_field_uint(sched, f->nmidlelocked);
	ret->idle_ps = gr_field_uint(sched, f->npidle);
	ret->spinning_ms = gr_field_uint(sched, f->nmspinning);
	ret->needs_spinning = gr_field_uint(sched, f->needspinning);
	ret->is_stopping = gr_field_uint(sched, f->gcwaiting);
	ret->stop_wait = gr_field_uint(sched, f->stopwait);
	ret->is_freezing = ret->stop_wait >=
			   layout->consts.freeze_stop_wait / 2;
	if (ret->is_freezing)
		ret->stop_wait = 0;
	ret->safe_point_wait = gr_field_uint(sched, f->safe_point_wait);
	ret->has_sysmon_asleep = gr_field_uint(sched, f->sysmonwait);
	ret->is_user_disabled = gr_field_uint(sched, f->disable_user);
	ret->disabled = gr_field_uint(sched, f->disable_size);
}

static struct gr_error *read_cycles(const struct gr_sched *sched,
				    struct gr_sched_record *ret)
{
	const struct gr_layout *layout = &sched->rt->layout;

	if (!layout->vars.work || !gr_field_is_present(layout->work.cycles))
		return NULL;
	return read_u32(sched->rt, layout->vars.work + layout->work.cycles.off,
			&ret->cycles);
}

struct gr_error *gr_sched_read_globals(const struct gr_sched *sched,
				       struct gr_sched_record *ret)
{
	const struct gr_layout *layout = &sched->rt->layout;
	_cleanup_free_ uint8_t *record = NULL;
	struct gr_error *err = NULL;

	memset(ret, 0, sizeof(*ret));
	if (layout->vars.sched)
		err = read_record(sched, layout->vars.sched, &layout->schedt,
				  sizeof(layout->schedt), "runtime.sched",
				  &record);
	if (record)
		fill_sched(layout, record, ret);
	if (!err)
		err = read_u32(sched->rt, layout->vars.gomaxprocs,
			       &ret->gomaxprocs);
	if (!err)
		err = read_u32(sched->rt, layout->vars.ncpu, &ret->ncpu);
	if (!err)
		err = read_u32(sched->rt, layout->vars.gcphase, &ret->phase);
	return err ? err : read_cycles(sched, ret);
}
