// SPDX-License-Identifier: Apache-2.0
#include "goruntime/unwind.h"

#include "base/cleanup.h"

enum {
	/** Frames that are kept for naming; deeper ones are only scanned. */
	MAX_KEPT_FRAMES = 1 << 16,
	POLL_GOROUTINES = 256,
};

/* By number where the target names the constant, else by name. */
static bool is_special(const struct gr_func *func, bool has_id, int64_t id,
		       const char *name)
{
	return has_id ? func->func_id == id : !strcmp(func->name, name);
}

enum gr_injected gr_func_injected(const struct gr_runtime *rt,
				  const struct gr_func *func)
{
	const struct gr_layout *layout = &rt->layout;

	if (is_special(func, layout->has.funcid_sigpanic,
		       layout->consts.funcid_sigpanic, "runtime.sigpanic"))
		return GR_INJECTED_SIGPANIC;
	if (is_special(func, layout->has.funcid_async_preempt,
		       layout->consts.funcid_async_preempt,
		       "runtime.asyncPreempt"))
		return GR_INJECTED_ASYNC_PREEMPT;
	if (is_special(func, layout->has.funcid_debug_call,
		       layout->consts.funcid_debug_call, "runtime.debugCallV2"))
		return GR_INJECTED_DEBUG_CALL;
	return GR_INJECTED_NONE;
}

int gr_unwind_saved_off(const struct gr_arch *arch, unsigned int reg)
{
	for (size_t i = 0; i < arch->preempt.count; i++)
		if (arch->preempt.reg[i] == reg && reg != GR_REG_NONE)
			return i * GR_WORD_BYTES;
	return -1;
}

int gr_unwind_saved_reg(const struct gr_arch *arch, uint64_t off)
{
	if (off % GR_WORD_BYTES || off / GR_WORD_BYTES >= arch->preempt.count)
		return -1;
	uint8_t reg = arch->preempt.reg[off / GR_WORD_BYTES];
	return reg == GR_REG_NONE ? -1 : reg;
}

static bool find_pc(struct gr_unwinder *u, uint64_t pc, struct gr_func *func,
		    int32_t *spdelta)
{
	struct gr_pc_entry *entry = NULL;
	bool ok;

	if (u->cache) {
		uint64_t hash = pc * UINT64_C(0x9e3779b97f4a7c15) >> 32;
		entry = &u->cache->entries[hash % GR_PC_CACHE_ENTRIES];
		if (entry->pc == pc && pc) {
			*func = entry->func;
			*spdelta = entry->spdelta;
			return true;
		}
	}
	if (!gr_func_find(u->rt, pc, func))
		return false;
	*spdelta = gr_func_spdelta(func, pc, &ok);
	if (!ok)
		*spdelta = -1;
	if (entry)
		*entry = (struct gr_pc_entry){ pc, *func, *spdelta };
	return true;
}

/* A word of the stack; 0 where the stack ends or could not be read. */
static uint64_t stack_word(const struct gr_goroutine *g, uint64_t addr)
{
	if (!g->stack.host || addr < g->stack.start ||
	    addr > g->stack.end - GR_WORD_BYTES || g->stack.end < GR_WORD_BYTES)
		return 0;
	return gr_load_u64(g->stack.host + (addr - g->stack.start));
}

static bool stop(struct gr_unwinder *u, uint64_t unknown_start)
{
	u->unknown_start = unknown_start;
	u->return_pc = 0;
	return false;
}

/* Functions that only leave the goroutine's stack and come back to the same
 * place: as long as SP is on it, their tables are right. */
static bool only_leaves_stack(const char *name)
{
	static const char *const names[] = {
		"runtime.asmcgocall",
		"runtime.mcall",
		"runtime.morestack",
		"runtime.nanotime1",
		"runtime.systemstack",
		"runtime.walltime",
		"time.now",
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* A function that moves SP in ways its tables do not tell: nothing above it
 * can be trusted. The exceptions of the runtime, and ours for a thread that
 * was stopped anywhere. */
static bool writes_sp(const struct gr_unwinder *u)
{
	const struct gr_frame *frame = &u->frame;

	if (!(frame->func.flag & GR_FUNC_SP_WRITE))
		return false;
	if (!strcmp(frame->func.name, "runtime.cgocallback"))
		return false;
	if (!frame->is_innermost)
		return true;
	/* Without registers it stopped by itself, at its entry or before
	 * the system call. */
	return u->g->has_regs && !only_leaves_stack(frame->func.name);
}

/* Where the frame goes on, which is where its liveness is looked up. Below a
 * trap that is the function's deferreturn call, if it has one. */
static uint64_t continuation_pc(const struct gr_unwinder *u)
{
	const struct gr_func *func = &u->frame.func;

	if (u->callee != GR_INJECTED_SIGPANIC)
		return u->frame.pc;
	return func->deferreturn ? func->entry + func->deferreturn + 1 : 0;
}

/* The collector never sees the allocator between taking a slot and clearing
 * it (acquirem in runtime.mallocgc and what it calls), a debugger does: the
 * frame's pointer to the slot is one to what lay there before. */
static bool is_allocating(const struct gr_unwinder *u)
{
	return u->g->has_regs &&
	       !strncmp(u->frame.func.name, "runtime.mallocgc", 16);
}

/* Calls in the midst of which no collection begins: the compiler tells nothing
 * of what is live there (cmd/compile liveness.hasStackMap). Of those to
 * assembly, which has no maps, the frame itself tells. */
static bool is_unsafe_point(const struct gr_unwinder *u)
{
	const char *name = u->frame.func.name;
	static const char *const prefixes[] = {
		"runtime.duffcopy",    "runtime.duffzero",
		"runtime.typedmemclr", "runtime.typedmemmove",
		"runtime.wbMove",      "runtime.wbZero",
	};

	if (u->g->status != u->rt->layout.consts.grunning ||
	    strncmp(name, "runtime.", 8))
		return false;
	for (size_t i = 0; i < GR_ARRAY_SIZE(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* The collector has no precise map for a frame that was interrupted between
 * calls, nor for the one that holds its registers. */
static bool is_conservative(const struct gr_unwinder *u)
{
	enum gr_injected own = gr_func_injected(u->rt, &u->frame.func);

	return is_allocating(u) || u->is_unsafe_call || is_unsafe_point(u) ||
	       own == GR_INJECTED_ASYNC_PREEMPT ||
	       own == GR_INJECTED_DEBUG_CALL ||
	       u->callee == GR_INJECTED_ASYNC_PREEMPT ||
	       u->callee == GR_INJECTED_DEBUG_CALL ||
	       (u->frame.is_innermost && u->g->has_regs);
}

/* Where the frame returns to: what the call pushed; or what was in the link
 * register, which every frame that is not empty keeps at its bottom. */
static uint64_t find_return_pc(const struct gr_unwinder *u)
{
	const struct gr_arch *arch = u->rt->arch;
	const struct gr_frame *frame = &u->frame;

	if (arch->lr == GR_REG_NONE)
		return stack_word(u->g, frame->fp - arch->call_pushes_bytes);
	if (!u->lr || (frame->is_innermost && frame->sp < frame->fp))
		return stack_word(u->g, frame->sp);
	return u->lr;
}

/* Fill in the frame from its func, pc and sp (unwinder.resolveInternal). */
static bool resolve(struct gr_unwinder *u, int32_t spdelta)
{
	const struct gr_arch *arch = u->rt->arch;
	struct gr_frame *frame = &u->frame;
	const struct gr_func *func = &frame->func;

	if (!func->pcsp || spdelta < 0 || writes_sp(u))
		return stop(u, frame->sp);
	uint64_t frame_bytes = (uint64_t)spdelta + arch->call_pushes_bytes;
	if (frame->sp > u->g->stack_hi ||
	    frame_bytes > u->g->stack_hi - frame->sp)
		return stop(u, frame->sp);
	frame->fp = frame->sp + frame_bytes;
	u->is_complete = func->flag & GR_FUNC_TOP_FRAME;
	u->return_pc = u->is_complete ? 0 : find_return_pc(u);
	frame->varp = frame->fp - arch->call_pushes_bytes;
	if (frame->varp > frame->sp)
		frame->varp -= GR_WORD_BYTES;
	frame->argp = frame->fp + arch->min_frame_bytes;
	frame->continpc = continuation_pc(u);
	frame->is_conservative = is_conservative(u);
	frame->is_exact_pc = frame->pc == func->entry ||
			     u->callee != GR_INJECTED_NONE ||
			     (frame->is_innermost && u->g->has_regs);
	u->unknown_start = u->is_complete ? u->g->stack_hi : frame->fp;
	return true;
}

/* Stopped where the signal handler has just made the code call asyncPreempt
 * (sigctxt.pushCall): take the call back, as all registers are still there. */
static void undo_injected(struct gr_unwinder *u)
{
	const struct gr_arch *arch = u->rt->arch;
	struct gr_frame *frame = &u->frame;
	uint64_t word = stack_word(u->g, frame->sp);

	if (!u->g->has_regs || frame->pc != frame->func.entry ||
	    gr_func_injected(u->rt, &frame->func) != GR_INJECTED_ASYNC_PREEMPT)
		return;
	if (arch->lr == GR_REG_NONE) {
		frame->pc = word;
		frame->sp += arch->call_pushes_bytes;
	} else {
		frame->pc = u->lr;
		u->lr = word;
		frame->sp += arch->injected_call_bytes;
	}
}

bool gr_unwind_start(struct gr_unwinder *u, struct gr_runtime *rt,
		     const struct gr_goroutine *g, struct gr_pc_cache *cache)
{
	int32_t spdelta;

	memset(u, 0, sizeof(*u));
	u->rt = rt;
	u->g = g;
	u->cache = cache;
	if (!g->sp || !g->stack.host)
		return stop(u, g->stack.start);
	u->frame.is_innermost = true;
	u->frame.pc = g->pc;
	u->frame.sp = g->sp;
	if (!u->frame.pc) {
		/* A call of a nil function: start in the caller. */
		u->frame.pc = stack_word(g, g->sp);
		u->frame.sp += rt->arch->call_pushes_bytes;
	} else {
		u->lr = g->lr;
	}
	if (!find_pc(u, u->frame.pc, &u->frame.func, &spdelta))
		return stop(u, g->stack.start);
	undo_injected(u);
	if (!find_pc(u, u->frame.pc, &u->frame.func, &spdelta))
		return stop(u, g->stack.start);
	return resolve(u, spdelta);
}

bool gr_unwind_next(struct gr_unwinder *u)
{
	const struct gr_arch *arch = u->rt->arch;
	struct gr_frame next = { .pc = u->return_pc, .sp = u->frame.fp };
	int32_t spdelta;

	if (u->is_complete || !u->return_pc)
		return false;
	// Before a function has saved LR, its frame is empty.
	bool may_be_empty =
		arch->lr != GR_REG_NONE &&
		(u->frame.is_innermost || u->callee != GR_INJECTED_NONE);
	if (next.sp < u->frame.sp || (next.sp == u->frame.sp && !may_be_empty))
		return stop(u, u->frame.fp);
	u->callee = gr_func_injected(u->rt, &u->frame.func);
	u->is_unsafe_call = is_unsafe_point(u);
	bool is_known = find_pc(u, next.pc, &next.func, &spdelta);
	u->lr = 0;
	if (arch->lr != GR_REG_NONE && u->callee != GR_INJECTED_NONE) {
		// The signal handler kept LR below the call that it faked.
		uint64_t lr = stack_word(u->g, next.sp);

		next.sp += arch->injected_call_bytes;
		if (!is_known) {
			next.pc = lr;
			is_known = find_pc(u, lr, &next.func, &spdelta);
		} else if (!spdelta) {
			u->lr = lr;
		}
	}
	if (!is_known)
		return stop(u, u->frame.fp);
	// In the middle of its prologue it has not saved them yet.
	next.is_preempted = u->callee == GR_INJECTED_ASYNC_PREEMPT &&
			    !u->frame.is_innermost;
	u->frame = next;
	return resolve(u, spdelta);
}

GR_VECTOR(frame_vector, struct gr_frame);

static struct gr_error *keep_frames(struct gr_runtime *rt,
				    struct gr_goroutine *g,
				    struct gr_pc_cache *cache)
{
	struct gr_unwinder u;
	struct frame_vector frames = { 0 };

	bool more = gr_unwind_start(&u, rt, g, cache);
	while (more && frames.size < MAX_KEPT_FRAMES) {
		if (!frame_vector_append(&frames, u.frame)) {
			frame_vector_deinit(&frames);
			return &gr_enomem;
		}
		more = gr_unwind_next(&u);
	}
	g->is_cut = more;
	while (more)
		more = gr_unwind_next(&u);
	g->unknown_start = u.unknown_start;
	if (!u.is_complete && !g->is_g0)
		gr_gap_add(rt->gaps, GR_GAP_FRAMES_NOT_UNWOUND, 1);
	g->nframes = frames.size;
	g->frames = frames.data;
	/* Many goroutines, few frames each: give the spare room back. */
	if (frames.size && frames.size < frames.capacity) {
		void *fitted =
			realloc(g->frames, frames.size * sizeof(*g->frames));
		if (fitted)
			g->frames = fitted;
	}
	return NULL;
}

/* The goroutine that runs finalizers or cleanups is the runtime's own until
 * it calls user code (runtime.isSystemGoroutine). */
static void reconsider_system(struct gr_goroutine *g)
{
	if (!g->is_system || !g->nframes)
		return;
	const char *outermost =
		g->nframes > 1 ? g->frames[g->nframes - 2].func.name : "";
	if (strcmp(outermost, "runtime.runfinq") &&
	    strcmp(outermost, "runtime.runFinalizers") &&
	    strcmp(outermost, "runtime.runCleanups"))
		return;
	for (size_t i = 0; i < g->nframes; i++)
		if (strncmp(g->frames[i].func.name, "runtime.", 8) &&
		    strncmp(g->frames[i].func.name, "internal/", 9))
			g->is_system = false;
}

static struct gr_error *unwind_one(struct gr_runtime *rt,
				   struct gr_goroutine *g,
				   struct gr_pc_cache *cache)
{
	struct gr_error *err;

	err = gr_image_map_torn(rt->image, g->stack.start,
				g->stack.end - g->stack.start, &g->stack.host);
	if (err)
		return err;
	if (!g->stack.host)
		gr_gap_add(rt->gaps, GR_GAP_GOROUTINES_SKIPPED, 1);
	err = keep_frames(rt, g, cache);
	if (err)
		return err;
	reconsider_system(g);
	err = gr_goroutine_collect_values(rt, g);
	if (err)
		return err;
	return gr_stack_mark_live(rt, g);
}

struct gr_error *gr_goroutines_unwind(struct gr_runtime *rt)
{
	struct gr_error *err;
	_cleanup_free_ struct gr_pc_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return &gr_enomem;
	for (size_t i = 0; i < rt->ngoroutines; i++) {
		if (rt->poll && i % POLL_GOROUTINES == 0) {
			err = rt->poll(rt->poll_ctx);
			if (err)
				return err;
		}
		err = unwind_one(rt, &rt->goroutines[i], cache);
		if (err)
			return err;
	}
	return NULL;
}
