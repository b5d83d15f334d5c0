// SPDX-License-Identifier: Apache-2.0
#include "goruntime/goroutine.h"

#include "base/cleanup.h"
#include "base/vector.h"
#include "goruntime/sched_lists.h"
#include "goruntime/signal.h"

enum {
	MAX_STACK_BYTES = 1 << 30, /**< runtime.maxstackceiling is below. */
	MAX_RECORD_BYTES = 1 << 16,
	MAX_WAIT_REASON_BYTES = 100,
	MAX_XREGS_BYTES = 1 << 16,
	POLL_GOROUTINES = 512,
	NREASONS = 256,
};

GR_VECTOR(goroutine_vector, struct gr_goroutine);

/** What the enumeration needs besides the runtime. */
struct reader {
	struct gr_runtime *rt;
	struct goroutine_vector goroutines;
	const struct gr_target_thread **threads; /**< Sorted by lwp. */
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
	const struct gr_target_thread *const *x = a, *const *y = b;

	return ((*x)->lwp > (*y)->lwp) - ((*x)->lwp < (*y)->lwp);
}

static struct gr_error *reader_init(struct reader *r, struct gr_runtime *rt)
{
	const struct gr_layout *layout = &rt->layout;

	memset(r, 0, sizeof(*r));
	r->rt = rt;
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
		r->threads[i] = &threads[i];
	qsort(r->threads, r->nthreads, sizeof(*r->threads), compare_lwp);
	return NULL;
}

/* Read a record; *present is false, and counted nowhere, where memory lacks. */
static struct gr_error *read_record(struct gr_runtime *rt, uint64_t addr,
				    uint8_t *record, uint64_t bytes,
				    bool *present)
{
	struct gr_error *err = gr_image_read(rt->image, addr, record, bytes);

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

/* runtime.waitReasonStrings[reason]; "" if it is not text. */
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

/* runtime.isSystemGoroutine. The finalizer and cleanup goroutines are the
 * runtime's own here; unwinding finds out whether they run user code. */
static bool is_system_start(const struct gr_runtime *rt, uint64_t startpc)
{
	static const char *const user[] = {
		"runtime.main",
		"runtime.corostart",
		"runtime.handleAsyncEvent",
	};
	struct gr_func func;

	if (!gr_func_find(rt, startpc, &func) ||
	    strncmp(func.name, "runtime.", 8))
		return false;
	for (size_t i = 0; i < GR_ARRAY_SIZE(user); i++)
		if (!strcmp(func.name, user[i]))
			return false;
	return true;
}

static bool is_on_stack(const struct gr_goroutine *g, uint64_t sp)
{
	return sp >= g->stack_lo && sp < g->stack_hi;
}

static void place_at_regs(const struct reader *r, struct gr_goroutine *g,
			  const struct gr_regs *regs)
{
	const struct gr_arch *arch = r->rt->arch;

	g->has_regs = true;
	g->regs = *regs;
	g->pc = regs->value[arch->pc];
	g->sp = regs->value[arch->sp];
	g->lr = arch->lr != GR_REG_NONE ? regs->value[arch->lr] : 0;
}

/* Where it left its stack. The link register counts where a function has not
 * kept it yet: one not begun, one whose prologue called morestack. */
static void place_at_sched(const struct reader *r, struct gr_goroutine *g)
{
	const struct gr_layout *layout = &r->rt->layout;

	g->pc = gr_field_uint(r->g_record, layout->g.sched_pc);
	g->sp = gr_field_uint(r->g_record, layout->g.sched_sp);
	g->lr = r->rt->arch->lr != GR_REG_NONE ?
			gr_field_uint(r->g_record, layout->g.sched_lr) :
			0;
}

static const struct gr_target_thread *find_thread(const struct reader *r,
						  uint64_t procid)
{
	struct gr_target_thread wanted = { .lwp = (int32_t)procid };
	const struct gr_target_thread *key = &wanted;

	const struct gr_target_thread **found =
		procid && procid <= INT32_MAX ?
			bsearch(&key, r->threads, r->nthreads,
				sizeof(*r->threads), compare_lwp) :
			NULL;
	return found ? *found : NULL;
}

/* The thread is inside a signal handler: take what the handler interrupted,
 * if that was this goroutine. */
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
	if (found && is_on_stack(g, regs.value[r->rt->arch->sp]))
		place_at_regs(r, g, &regs);
	return NULL;
}

/* A goroutine that runs: where its thread is, whatever stack that is on. */
static struct gr_error *place_running(struct reader *r, uint64_t m,
				      struct gr_goroutine *g)
{
	const struct gr_layout *layout = &r->rt->layout;
	struct gr_error *err;
	bool present;

	err = read_record(r->rt, m, r->m_record, layout->m.size_bytes,
			  &present);
	if (err || !present ||
	    gr_field_uint(r->m_record, layout->m.curg) != g->addr)
		return err;
	const struct gr_target_thread *thread =
		find_thread(r, gr_field_uint(r->m_record, layout->m.procid));
	if (!thread)
		return NULL;
	if (is_on_stack(g, thread->regs.value[r->rt->arch->sp])) {
		place_at_regs(r, g, &thread->regs);
		return NULL;
	}
	err = place_at_signal(r, g, &thread->regs);
	if (err || g->has_regs)
		return err;
	/* A vdso call runs on the system stack and saves the caller here. */
	uint64_t vdso_sp = gr_field_uint(r->m_record, layout->m.vdso_sp);
	if (is_on_stack(g, vdso_sp)) {
		g->pc = gr_field_uint(r->m_record, layout->m.vdso_pc);
		g->sp = vdso_sp;
		return NULL;
	}
	/* On the system stack in systemstack or mcall, which saved sched. */
	place_at_sched(r, g);
	return NULL;
}

static struct gr_error *place(struct reader *r, struct gr_goroutine *g)
{
	const struct gr_layout *layout = &r->rt->layout;
	const uint8_t *record = r->g_record;
	struct gr_error *err;

	if (g->status == layout->consts.gcopystack) {
		/* Half moved: no frame can be trusted. */
		g->sp = 0;
	} else if (g->status == layout->consts.grunning) {
		err = place_running(r, gr_field_uint(record, layout->g.m), g);
		if (err)
			return err;
	} else if (gr_field_uint(record, layout->g.syscallsp)) {
		g->is_syscall = true;
		g->pc = gr_field_uint(record, layout->g.syscallpc);
		g->sp = gr_field_uint(record, layout->g.syscallsp);
	} else {
		place_at_sched(r, g);
	}
	if (!is_on_stack(g, g->sp) || g->sp % GR_WORD_BYTES) {
		/* Unknown: the whole stack, word by word. */
		g->sp = 0;
		g->pc = 0;
	}
	g->stack.start = g->sp ? g->sp : g->stack_lo;
	g->stack.end = g->stack_hi;
	return NULL;
}

/* Vector registers of a preempted goroutine (g.xRegs), which are off-heap. */
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
	       g->stack_lo % GR_WORD_BYTES == 0 &&
	       g->stack_hi % GR_WORD_BYTES == 0;
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
	g->status = gr_field_uint(record, layout->g.atomicstatus) &
		    ~layout->consts.gscan;
	g->stack_lo = gr_field_uint(record, layout->g.stack_lo);
	g->stack_hi = gr_field_uint(record, layout->g.stack_hi);
	g->gopc = gr_field_uint(record, layout->g.gopc);
	g->startpc = gr_field_uint(record, layout->g.startpc);
	g->ctxt = gr_field_uint(record, layout->g.sched_ctxt);
	g->defer_addr = gr_field_uint(record, layout->g.defer);
	g->panic_addr = gr_field_uint(record, layout->g.panic);
	g->waiting_addr = gr_field_uint(record, layout->g.waiting);
	g->state = state_name(layout, g->status);
	g->wait_reason = "";
	g->is_system = is_system_start(r->rt, g->startpc);
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
		// One that is being made (newproc1) has its closure already,
		// and nothing else has it any more.
		if (is_gone(layout, g.status) &&
		    (!g.ctxt || !is_stack_sane(&g)))
			return NULL;
	}
	if (!present || !is_stack_sane(&g)) {
		gr_gap_add(r->rt->gaps, GR_GAP_GOROUTINES_SKIPPED, 1);
		return NULL;
	}
	if (g.status == layout->consts.gwaiting)
		err = wait_reason(
			r, gr_field_uint(r->g_record, layout->g.waitreason),
			&g.wait_reason);
	if (!err)
		err = place(r, &g);
	if (!err)
		err = plan_xregs(r, &g);
	if (!err)
		err = gr_image_plan(r->rt->image, g.stack.start, g.stack.end);
	if (err)
		return err;
	return goroutine_vector_append(&r->goroutines, g) ? NULL : &gr_enomem;
}

/* Registers of a thread on its system stack, or of what a signal handler of it
 * interrupted there; has_regs stays false if it is on another stack. */
static struct gr_error *place_g0(struct reader *r,
				 const struct gr_target_thread *thread,
				 struct gr_goroutine *g)
{
	if (is_on_stack(g, thread->regs.value[r->rt->arch->sp])) {
		place_at_regs(r, g, &thread->regs);
		return NULL;
	}
	return place_at_signal(r, g, &thread->regs);
}

/*
 * The system stack of a thread that has a P and is on it. The collector never
 * stops a program there; we may.
 */
static struct gr_error *read_g0(struct reader *r, uint64_t m)
{
	const struct gr_layout *layout = &r->rt->layout;
	const struct gr_target_thread *thread;
	struct gr_error *err;
	struct gr_goroutine g;
	bool present;

	err = read_record(r->rt, m, r->m_record, layout->m.size_bytes,
			  &present);
	if (err || !present || !gr_field_uint(r->m_record, layout->m.p))
		return err;
	thread = find_thread(r, gr_field_uint(r->m_record, layout->m.procid));
	uint64_t addr = gr_field_uint(r->m_record, layout->m.g0);
	if (!thread || !addr)
		return NULL;
	err = read_record(r->rt, addr, r->g_record, layout->g.size_bytes,
			  &present);
	if (err || !present)
		return err;
	load_goroutine(r, addr, &g);
	if (!is_stack_sane(&g))
		return NULL;
	err = place_g0(r, thread, &g);
	if (err || !g.has_regs)
		return err;
	g.is_g0 = g.is_system = true;
	g.state = "running";
	g.defer_addr = g.panic_addr = g.ctxt = 0;
	g.stack.start = g.sp & ~UINT64_C(7);
	g.stack.end = g.stack_hi;
	g.pc = g.sp = 0;
	err = gr_image_plan(r->rt->image, g.stack.start, g.stack.end);
	if (err)
		return err;
	return goroutine_vector_append(&r->goroutines, g) ? NULL : &gr_enomem;
}

static struct gr_error *read_all(struct reader *r)
{
	struct gr_runtime *rt = r->rt;
	struct gr_error *err;
	_cleanup_free_ uint64_t *gs = NULL;
	size_t ngs;

	err = gr_sched_lists_read(rt, &gs, &ngs);
	for (size_t i = 0; !err && i < ngs; i++) {
		if (rt->poll && i % POLL_GOROUTINES == 0)
			err = rt->poll(rt->poll_ctx);
		if (!err)
			err = read_goroutine(r, gs[i]);
	}
	for (size_t i = 0; !err && i < rt->nms; i++)
		err = read_g0(r, rt->ms[i]);
	return err;
}

struct gr_error *gr_goroutines_read(struct gr_runtime *rt)
{
	struct gr_error *err;
	struct reader r;

	err = reader_init(&r, rt);
	/* Not in any module's data: the calls that reflect makes need it. */
	uint64_t objs = rt->layout.vars.method_value_objs;
	if (!err && objs)
		err = gr_image_plan(rt->image, objs,
				    objs + rt->layout.stack_object.size_bytes);
	if (!err)
		err = read_all(&r);
	rt->ngoroutines = r.goroutines.size;
	rt->goroutines = steal_ptr(r.goroutines.data);
	reader_deinit(&r);
	return err;
}

void gr_goroutines_deinit(struct gr_runtime *rt)
{
	for (size_t i = 0; i < rt->ngoroutines; i++) {
		struct gr_goroutine *g = &rt->goroutines[i];
		free(g->frames);
		free(g->values);
		free(g->stack.live);
		free(g->stack.conservative);
	}
	free(rt->goroutines);
	free(rt->ms);
	free(rt->ps);
	rt->goroutines = NULL;
	rt->ms = rt->ps = NULL;
	rt->ngoroutines = rt->nms = rt->nps = 0;
}
