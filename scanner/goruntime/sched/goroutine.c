// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/goroutine.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "base/vector.h"
#include "goruntime/layout/names.h"
#include "goruntime/layout/record.h"
#include "goruntime/sched/sched_lists.h"
#include "goruntime/sched/sched_records.h"
#include "goruntime/sched/signal.h"
#include "goruntime/sched/waits.h"

enum {
	MAX_STACK_BYTES = 1 << 30, /**< runtime.maxstackceiling is below. */
	MAX_RECORD_BYTES = 1 << 16,
	MAX_WAIT_REASON_BYTES = 100,
	MAX_XREGS_BYTES = 1 << 16,
	GOROUTINE_STEPS = 8,
	NREASONS = 256,
};

GR_VECTOR(goroutine_vector, struct gr_goroutine);

/** A thread. It runs one goroutine at most and has one system stack. */
struct thread {
	const struct gr_target_thread *regs_of;
	bool has_curg, has_g0; /**< Already found. */
};

/** A goroutine's stack, for the check that stacks do not overlap. */
struct stack {
	uint64_t start, end;
	size_t goroutine;
};

/** State of the enumeration. */
struct reader {
	struct gr_runtime *rt;
	struct gr_sched *sched;
	struct goroutine_vector goroutines;
	struct thread *threads; /**< Sorted by lwp. */
	size_t nthreads;
	uint8_t *g_record, *m_record;
	const char *reasons[NREASONS];
};

static void reader_deinit(struct reader *r)
{
	free(r->threads);
	free(r->g_record);
	free(r->m_record);
	goroutine_vector_deinit(&r->goroutines);
}

static int compare_lwp(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return (x->regs_of->lwp > y->regs_of->lwp) -
	       (x->regs_of->lwp < y->regs_of->lwp);
}

static struct gr_error *reader_init(struct reader *r, struct gr_sched *sched)
{
	struct gr_runtime *rt = sched->rt;
	const struct gr_layout *layout = &rt->layout;

	memset(r, 0, sizeof(*r));
	r->rt = rt;
	r->sched = sched;
	if (layout->g.size_bytes > MAX_RECORD_BYTES ||
	    layout->m.size_bytes > MAX_RECORD_BYTES)
		return gr_error_format(GR_ERROR_LAYOUT,
				       "runtime.g or runtime.m is too large");
	const struct gr_target_thread *threads =
		gr_image_threads(rt->image, &r->nthreads);
	r->threads = calloc(r->nthreads + 1, sizeof(*r->threads));
	r->g_record = malloc(layout->g.size_bytes);
	r->m_record = malloc(layout->m.size_bytes);
	if (!r->threads || !r->g_record || !r->m_record)
		return &gr_enomem;
	for (size_t i = 0; i < r->nthreads; i++)
		r->threads[i].regs_of = &threads[i];
	qsort(r->threads, r->nthreads, sizeof(*r->threads), compare_lwp);
	return NULL;
}

/* Read a record. *present is false if its memory cannot be read; that is not
 * counted as a gap here. */
static struct gr_error *read_record(struct gr_runtime *rt, uint64_t addr,
				    uint8_t *record, uint64_t bytes,
				    bool *present)
{
	struct gr_error *err = gr_image_read(rt->image, addr, record, bytes);

	*present = !err;
	gr_error_catch(&err, GR_ERROR_FAULT);
	return err;
}

/* read_record() of an M. */
static struct gr_error *read_m(struct reader *r, uint64_t m, bool *present)
{
	const typeof(r->rt->layout.m) *f = &r->rt->layout.m;
	struct gr_error *err =
		gr_record_read(r->rt, m, f, sizeof(*f), r->m_record);

	*present = !err;
	gr_error_catch(&err, GR_ERROR_FAULT);
	return err;
}

static const char *state_name(const struct gr_layout *layout, uint32_t status)
{
	const typeof(layout->consts) *c = &layout->consts;
	const struct {
		int64_t status;
		const char *name;
	} names[] = {
		{ c->grunnable, "runnable" },	{ c->grunning, "running" },
		{ c->gsyscall, "syscall" },	{ c->gwaiting, "waiting" },
		{ c->gcopystack, "copystack" }, { c->gpreempted, "preempted" },
		{ c->gleaked, "leaked" },	{ c->gidle, "idle" },
		{ c->gdead, "dead" },
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++)
		if (names[i].status == status)
			return names[i].name;
	return "unknown";
}

/* Return runtime.waitReasonStrings[reason], or "" if it cannot be read. */
static struct gr_error *wait_reason(struct reader *r, uint8_t reason,
				    const char **ret)
{
	struct gr_runtime *rt = r->rt;
	struct gr_error *err;
	uint64_t header[2];
	char text[MAX_WAIT_REASON_BYTES];

	*ret = r->reasons[reason];
	if (*ret)
		return NULL;
	*ret = r->reasons[reason] = "";
	if (!reason || !rt->layout.vars.wait_reasons)
		return NULL;
	err = gr_image_read(rt->image,
			    rt->layout.vars.wait_reasons +
				    reason * sizeof(header),
			    header, sizeof(header));
	if (!err && header[1] <= sizeof(text))
		err = gr_image_read(rt->image, header[0], text, header[1]);
	else if (!err)
		return NULL;
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	if (err)
		return err;
	*ret = gr_arena_intern(rt->arena, text, header[1]);
	if (!*ret)
		return &gr_enomem;
	r->reasons[reason] = *ret;
	return NULL;
}

/* runtime.isSystemGoroutine. The finalizer and cleanup goroutines count as the
 * runtime's own here. Unwinding later finds out whether they run user code. */
static bool is_system_start(const struct gr_runtime *rt, uint64_t startpc)
{
	struct gr_func func;

	return gr_func_find(rt, startpc, &func) &&
	       gr_name_is_in_runtime(func.name) &&
	       !gr_name_has(func.name, GR_NAME_STARTS_USER_CODE) &&
	       !gr_name_has(func.name, GR_NAME_STARTS_COROUTINE);
}

static bool is_on_stack(const struct gr_goroutine *g, uint64_t sp)
{
	return sp >= g->stack_lo && sp < g->stack_hi;
}

static struct gr_error *place_at_regs(const struct reader *r,
				      struct gr_goroutine *g,
				      const struct gr_regs *regs)
{
	const struct gr_arch *arch = r->rt->arch;
	struct gr_regs *copy = gr_arena_alloc(r->rt->arena, sizeof(*copy));

	if (!copy)
		return &gr_enomem;
	*copy = *regs;
	g->regs = copy;
	g->pc = regs->value[arch->pc];
	g->sp = regs->value[arch->sp];
	g->lr = arch->lr != GR_REG_NONE ? regs->value[arch->lr] : 0;
	return NULL;
}

/* Take pc and sp from g.sched, where the goroutine saved them. The link
 * register matters if the function has not saved it yet: the function has not
 * started, or its prologue called morestack. */
static void place_at_sched(const struct reader *r, struct gr_goroutine *g)
{
	const struct gr_layout *layout = &r->rt->layout;

	g->pc = gr_field_uint(r->g_record, layout->g.sched_pc);
	g->sp = gr_field_uint(r->g_record, layout->g.sched_sp);
	g->lr = r->rt->arch->lr != GR_REG_NONE ?
			gr_field_uint(r->g_record, layout->g.sched_lr) :
			0;
}

/* Return the thread with the ID m.procid, or NULL if there is none. */
static struct thread *find_thread(const struct reader *r, uint64_t procid)
{
	struct gr_target_thread wanted = { .lwp = (int32_t)procid };
	struct thread key = { .regs_of = &wanted };

	return procid && procid <= INT32_MAX ?
		       bsearch(&key, r->threads, r->nthreads,
			       sizeof(*r->threads), compare_lwp) :
		       NULL;
}

/* The thread is inside a signal handler. Take the registers that the handler
 * interrupted if they are on this goroutine's stack. */
static struct gr_error *place_at_signal(struct reader *r,
					struct gr_goroutine *g,
					const struct gr_regs *thread)
{
	const struct gr_layout *layout = &r->rt->layout;
	struct gr_error *err;
	struct gr_regs regs;
	uint64_t lo, hi;
	bool found;

	uint64_t gsignal = gr_field_uint(r->m_record, layout->m.gsignal);
	if (!gsignal)
		return NULL;
	err = gr_image_read_u64(r->rt->image, gsignal + layout->g.stack_lo.off,
				&lo);
	if (!err)
		err = gr_image_read_u64(r->rt->image,
					gsignal + layout->g.stack_hi.off, &hi);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	if (!err)
		err = gr_signal_interrupted(r->rt, lo, hi, thread, &regs,
					    &found);
	if (err)
		return err;
	return found && is_on_stack(g, regs.value[r->rt->arch->sp]) ?
		       place_at_regs(r, g, &regs) :
		       NULL;
}

/* Find the innermost frame of a running goroutine. Its thread may be on the
 * goroutine's stack, the signal stack or the system stack. */
static struct gr_error *place_running(struct reader *r, uint64_t m,
				      struct gr_goroutine *g)
{
	const struct gr_layout *layout = &r->rt->layout;
	bool present;
	struct gr_error *err = read_m(r, m, &present);

	if (err || !present ||
	    gr_field_uint(r->m_record, layout->m.curg) != g->addr)
		return err;
	struct thread *found =
		find_thread(r, gr_field_uint(r->m_record, layout->m.procid));
	if (!found || found->has_curg)
		return NULL;
	const struct gr_target_thread *thread = found->regs_of;
	found->has_curg = true;
	if (is_on_stack(g, thread->regs.value[r->rt->arch->sp]))
		return place_at_regs(r, g, &thread->regs);
	err = place_at_signal(r, g, &thread->regs);
	if (err || g->regs)
		return err;
	/* A vdso call runs on the system stack and saves the caller in m. */
	uint64_t vdso_sp = gr_field_uint(r->m_record, layout->m.vdso_sp);
	if (is_on_stack(g, vdso_sp)) {
		g->pc = gr_field_uint(r->m_record, layout->m.vdso_pc);
		g->sp = vdso_sp;
		return NULL;
	}
	/* The thread is in systemstack or mcall, which filled in g.sched. If it
	 * ran on, nobody knows where it is. */
	if (!thread->regs.is_partial || thread->regs.value[r->rt->arch->sp])
		place_at_sched(r, g);
	return NULL;
}

static struct gr_error *place(struct reader *r, struct gr_goroutine *g)
{
	const struct gr_layout *layout = &r->rt->layout;
	const uint8_t *record = r->g_record;
	struct gr_error *err;

	if (g->status == layout->consts.gcopystack) {
		/* The stack is being moved: no frame can be trusted. */
		g->sp = 0;
	} else if (g->status == layout->consts.grunning) {
		err = place_running(r, gr_field_uint(record, layout->g.m), g);
		if (err)
			return err;
	} else if (gr_field_uint(record, layout->g.syscallsp)) {
		g->pc = gr_field_uint(record, layout->g.syscallpc);
		g->sp = gr_field_uint(record, layout->g.syscallsp);
	} else {
		place_at_sched(r, g);
	}
	if (!is_on_stack(g, g->sp) || g->sp % GR_WORD_BYTES) {
		/* Not known: the whole stack is scanned word by word. */
		g->sp = 0;
		g->pc = 0;
	}
	g->stack.start = g->sp ? g->sp : g->stack_lo;
	g->stack.end = g->stack_hi;
	return NULL;
}

/* Plan the vector registers of a preempted goroutine (g.xRegs), which are
 * saved outside the heap. */
static struct gr_error *plan_xregs(struct reader *r, struct gr_goroutine *g)
{
	const struct gr_layout *layout = &r->rt->layout;
	struct gr_field regs = layout->xreg_state.regs;

	if (!gr_field_uint(r->g_record, layout->g.async_safe_point))
		return NULL;
	uint64_t state = gr_field_uint(r->g_record, layout->g.xregs_state);
	if (!state || !regs.bytes || regs.bytes > MAX_XREGS_BYTES)
		return NULL;
	g->xregs_addr = state + regs.off;
	return gr_image_plan(r->rt->image, g->xregs_addr,
			     g->xregs_addr + regs.bytes);
}

static bool is_stack_sane(const struct gr_goroutine *g)
{
	return g->stack_lo && g->stack_lo < g->stack_hi &&
	       g->stack_hi - g->stack_lo <= MAX_STACK_BYTES &&
	       (g->stack_lo | g->stack_hi) % GR_WORD_BYTES == 0;
}

static bool is_gone(const struct gr_layout *layout, uint32_t status)
{
	return status == layout->consts.gidle ||
	       status == layout->consts.gdead ||
	       (layout->has.gdeadextra && status == layout->consts.gdeadextra);
}

static void load_goroutine(struct reader *r, uint64_t addr,
			   struct gr_goroutine *g)
{
	const struct gr_layout *layout = &r->rt->layout;
	const uint8_t *record = r->g_record;

	memset(g, 0, sizeof(*g));
	g->addr = addr;
	g->goid = gr_field_uint(record, layout->g.goid);
	g->status = gr_field_uint(record, layout->g.atomicstatus);
	g->is_held = g->status & layout->consts.gscan;
	g->status &= ~layout->consts.gscan;
	g->stack_lo = gr_field_uint(record, layout->g.stack_lo);
	g->stack_hi = gr_field_uint(record, layout->g.stack_hi);
	g->gopc = gr_field_uint(record, layout->g.gopc);
	g->startpc = gr_field_uint(record, layout->g.startpc);
	g->ctxt = gr_field_uint(record, layout->g.sched_ctxt);
	g->defer_addr = gr_field_uint(record, layout->g.defer);
	g->panic_addr = gr_field_uint(record, layout->g.panic);
	g->waiting_addr = gr_field_uint(record, layout->g.waiting);
	g->param = gr_field_uint(record, layout->g.param);
	g->waitsince = gr_field_uint(record, layout->g.waitsince);
	g->labels_addr = gr_field_uint(record, layout->g.labels);
	if (gr_field_is_present(layout->g.parent_goid))
		g->creator_id = gr_field_uint(record, layout->g.parent_goid);
	g->state = state_name(layout, g->status);
	g->wait_reason = "";
	g->is_system = is_system_start(r->rt, g->startpc);
}

/* Note the thread that the goroutine is locked to. The g record is loaded. */
static struct gr_error *note_locked(struct reader *r, struct gr_goroutine *g)
{
	const struct gr_field lockedm = r->rt->layout.g.lockedm;
	uint64_t m = gr_field_is_present(lockedm) ?
			     gr_field_uint(r->g_record, lockedm) :
			     0;

	return m ? gr_sched_read_thread_id(r->rt, m, &g->locked_thread_id) :
		   NULL;
}

static struct gr_error *read_goroutine(struct reader *r, uint64_t addr)
{
	const struct gr_layout *layout = &r->rt->layout;
	struct gr_error *err;
	struct gr_goroutine g;
	bool present;

	err = read_record(r->rt, addr, r->g_record, layout->g.size_bytes,
			  &present);
	if (err)
		return err;
	if (present) {
		load_goroutine(r, addr, &g);
		// A goroutine that newproc1 is creating may hold the only
		// reference to its closure already.
		if (is_gone(layout, g.status) &&
		    (!g.ctxt || !is_stack_sane(&g)))
			return NULL;
	}
	if (!present || !is_stack_sane(&g)) {
		gr_gap_add(r->rt->gaps, GR_GAP_GOROUTINES_SKIPPED, 1);
		return NULL;
	}
	if (gr_status_is_waiting(layout, g.status))
		err = wait_reason(
			r, gr_field_uint(r->g_record, layout->g.waitreason),
			&g.wait_reason);
	if (!err)
		err = note_locked(r, &g);
	if (!err)
		err = place(r, &g);
	if (!err)
		err = plan_xregs(r, &g);
	if (err)
		return err;
	return goroutine_vector_append(&r->goroutines, g) ? NULL : &gr_enomem;
}

/* Take the registers of a thread on its system stack, or those that a signal
 * handler interrupted there. g->regs stays NULL if the thread is on another
 * stack. */
static struct gr_error *place_g0(struct reader *r,
				 const struct gr_target_thread *thread,
				 struct gr_goroutine *g)
{
	if (is_on_stack(g, thread->regs.value[r->rt->arch->sp]))
		return place_at_regs(r, g, &thread->regs);
	return place_at_signal(r, g, &thread->regs);
}

/*
 * Read the system stack of a thread that has a P and runs on that stack. The
 * collector never stops a program there, but goref may.
 */
static struct gr_error *read_g0(struct reader *r, uint64_t m)
{
	const struct gr_layout *layout = &r->rt->layout;
	struct thread *thread;
	struct gr_error *err;
	struct gr_goroutine g;
	bool present;

	err = read_m(r, m, &present);
	if (err || !present || !gr_field_uint(r->m_record, layout->m.p))
		return err;
	thread = find_thread(r, gr_field_uint(r->m_record, layout->m.procid));
	uint64_t addr = gr_field_uint(r->m_record, layout->m.g0);
	if (!thread || thread->has_g0 || !addr)
		return NULL;
	thread->has_g0 = true;
	err = read_record(r->rt, addr, r->g_record, layout->g.size_bytes,
			  &present);
	if (err || !present)
		return err;
	load_goroutine(r, addr, &g);
	gr_goroutine_bound_g0(&g, MAX_STACK_BYTES);
	if (!is_stack_sane(&g))
		return NULL;
	err = place_g0(r, thread->regs_of, &g);
	if (err || !g.regs)
		return err;
	g.is_g0 = g.is_system = true;
	g.state = state_name(layout, layout->consts.grunning);
	g.defer_addr = g.panic_addr = g.ctxt = 0;
	g.stack.start = g.sp & ~UINT64_C(7);
	g.stack.end = g.stack_hi;
	g.pc = g.sp = 0;
	return goroutine_vector_append(&r->goroutines, g) ? NULL : &gr_enomem;
}

static int compare_stacks(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->goroutine > y->goroutine) - (x->goroutine < y->goroutine);
}

/* Plan the memory of all stacks. A stack that begins within another one is
 * invalid: it is left empty and later counted as a gap. */
static struct gr_error *plan_stacks(struct reader *r)
{
	size_t n = r->goroutines.size;
	struct gr_error *err = NULL;
	uint64_t end = 0;

	_cleanup_free_ struct stack *stacks = calloc(n + 1, sizeof(*stacks));
	if (!stacks)
		return &gr_enomem;
	for (size_t i = 0; i < n; i++) {
		const struct gr_area *area = &r->goroutines.data[i].stack;

		stacks[i] = (struct stack){ area->start, area->end, i };
	}
	err = gr_sort(stacks, n, sizeof(*stacks), compare_stacks, r->rt->poll,
		      r->rt->poll_ctx);
	for (size_t i = 0; !err && i < n; i++) {
		struct gr_goroutine *g =
			&r->goroutines.data[stacks[i].goroutine];

		if (stacks[i].start < end) {
			g->stack.start = g->stack.end;
			g->pc = g->sp = 0;
			continue;
		}
		GR_ASSERT(stacks[i].start <= stacks[i].end &&
			  stacks[i].end == g->stack_hi);
		end = stacks[i].end;
		err = gr_image_plan(r->rt->image, stacks[i].start, end);
		if (!err)
			err = gr_runtime_step(r->rt, 1);
	}
	return err;
}

static struct gr_error *read_all(struct reader *r)
{
	struct gr_runtime *rt = r->rt;
	struct gr_sched *sched = r->sched;
	struct gr_error *err;
	_cleanup_free_ uint64_t *gs = NULL;
	size_t ngs;

	err = gr_sched_lists_read(sched, &gs, &ngs);
	if (!err)
		err = gr_sched_read_running(sched);
	for (size_t i = 0; !err && i < ngs; i++) {
		err = gr_runtime_step(rt, GOROUTINE_STEPS);
		if (!err)
			err = read_goroutine(r, gs[i]);
	}
	for (size_t i = 0; !err && i < sched->nms; i++) {
		err = gr_runtime_step(rt, GOROUTINE_STEPS);
		if (!err)
			err = read_g0(r, sched->ms[i]);
	}
	if (!err)
		err = gr_sched_records_plan(sched);
	return err ? err : plan_stacks(r);
}

struct gr_error *gr_goroutines_read(struct gr_sched *sched)
{
	struct gr_runtime *rt = sched->rt;
	struct reader r;
	struct gr_error *err = reader_init(&r, sched);

	// For calls by reflect; it lies outside of every module's data.
	uint64_t objs = rt->layout.vars.method_value_objs;
	if (!err && objs)
		err = gr_image_plan(rt->image, objs,
				    objs + rt->layout.stack_object.size_bytes);
	if (!err)
		err = read_all(&r);
	sched->ngoroutines = r.goroutines.size;
	sched->goroutines = steal_ptr(r.goroutines.data);
	reader_deinit(&r);
	return err;
}

void gr_goroutines_deinit(struct gr_sched *sched)
{
	for (size_t i = 0; i < sched->ngoroutines; i++) {
		struct gr_goroutine *g = &sched->goroutines[i];
		free(g->frames);
		free(g->values);
		free(g->stack.live);
		free(g->stack.conservative);
	}
	free(sched->goroutines);
	free(sched->ms);
	free(sched->running);
	free(sched->ps);
	gr_waits_destroy(sched->waits);
	sched->goroutines = NULL;
	sched->ms = sched->ps = NULL;
	sched->running = NULL;
	sched->waits = NULL;
	sched->ngoroutines = sched->nms = sched->nps = sched->nrunning = 0;
}
