// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/unwind.h"

#include "base/cleanup.h"
#include "goruntime/layout/names.h"
#include "goruntime/sched/copied.h"
#include "inferior/recorder.h"

enum {
	/** Frames kept for naming. Frames beyond these are only scanned. */
	MAX_KEPT_FRAMES = 1 << 16,
	GOROUTINE_STEPS = 16,
	FRAME_STEPS = 1,
	SAMPLES = 64,
	SAMPLE_BYTES = 1 << 14, /**< Limit for one stack. */
};

/* Identify a function by its function ID if the target has that constant,
 * else by its name. */
static bool is_special(const struct gr_func *func, bool has_id, int64_t id,
		       enum gr_name_trait trait)
{
	return has_id ? func->func_id == id : gr_name_has(func->name, trait);
}

/* Which injected function @p func is, if it is one. */
static enum gr_injected injected(const struct gr_runtime *rt,
				 const struct gr_func *func)
{
	const struct gr_layout *layout = &rt->layout;

	if (is_special(func, layout->has.funcid_sigpanic,
		       layout->consts.funcid_sigpanic, GR_NAME_SIGPANIC))
		return GR_INJECTED_SIGPANIC;
	if (is_special(func, layout->has.funcid_async_preempt,
		       layout->consts.funcid_async_preempt,
		       GR_NAME_ASYNC_PREEMPT))
		return GR_INJECTED_ASYNC_PREEMPT;
	if (is_special(func, layout->has.funcid_debug_call,
		       layout->consts.funcid_debug_call, GR_NAME_DEBUG_CALL))
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

static size_t cache_slot(uint64_t addr)
{
	return (addr * UINT64_C(0x9e3779b97f4a7c15) >> 32) %
	       GR_PC_CACHE_ENTRIES;
}

/* Return the copy of a function that all its frames share. */
static const struct gr_func *keep_func(struct gr_unwinder *u,
				       const struct gr_func *func)
{
	const struct gr_func **slot = &u->cache->funcs[cache_slot(func->entry)];
	struct gr_func *copy;

	if (*slot && (*slot)->entry == func->entry)
		return *slot;
	copy = gr_arena_alloc(u->rt->arena, sizeof(*copy));
	if (!copy) {
		u->is_out_of_memory = true;
		return NULL;
	}
	*copy = *func;
	return *slot = copy;
}

/* Find the function at a pc. Fill in the frame's func and map_index, and the
 * spdelta at the pc. */
static bool find_pc(struct gr_unwinder *u, uint64_t pc, struct gr_frame *frame,
		    int32_t *spdelta)
{
	struct gr_pc_entry *entry = &u->cache->entries[cache_slot(pc)];
	struct gr_func found;
	bool ok;

	if (entry->pc != pc || !pc) {
		if (!gr_func_find(u->rt, pc, &found))
			return false;
		entry->func = keep_func(u, &found);
		entry->pc = entry->func ? pc : 0;
		entry->spdelta = gr_func_spdelta(&found, pc, &ok);
		if (!ok)
			entry->spdelta = -1;
		entry->map_index =
			pc == found.entry ?
				-1 :
				gr_func_pcdata(u->rt, &found,
					       GR_PCDATA_STACK_MAP_INDEX,
					       pc - 1);
	}
	frame->func = entry->func;
	frame->map_index = entry->map_index;
	*spdelta = entry->spdelta;
	return entry->func;
}

/* Return a word of the stack, or 0 if it lies outside or was not read. */
static uint64_t stack_word(const struct gr_runtime *rt,
			   const struct gr_goroutine *g, uint64_t addr)
{
	if (!g->stack.host || addr < g->stack.start ||
	    addr > g->stack.end - GR_WORD_BYTES || g->stack.end < GR_WORD_BYTES)
		return 0;
	const uint8_t *host = g->stack.host + (addr - g->stack.start);
	gr_recorder_note(rt->recorder, host, GR_WORD_BYTES);
	return gr_load_u64(host);
}

static bool stop(struct gr_unwinder *u, uint64_t unknown_start)
{
	u->unknown_start = unknown_start;
	u->return_pc = 0;
	return false;
}

/* Return true if the function changes SP in ways that its tables do not
 * describe, so that no outer frame can be trusted. The exceptions are those of
 * the runtime, and one for threads that goref stopped at an arbitrary pc. */
static bool writes_sp(const struct gr_unwinder *u)
{
	const struct gr_frame *frame = &u->frame;

	if (!(frame->func->flag & GR_FUNC_SP_WRITE))
		return false;
	if (gr_name_has(frame->func->name, GR_NAME_WRITES_SP_SAFELY))
		return false;
	if (!frame->is_innermost)
		return true;
	/* Without registers, the goroutine stopped by itself at the function's
	 * entry or before the system call. */
	return u->g->regs &&
	       !gr_name_has(frame->func->name, GR_NAME_LEAVES_STACK);
}

/* Return the pc at which the frame continues. Its liveness is looked up there.
 * A frame that trapped continues at the function's deferreturn call, if there
 * is one. */
static uint64_t continuation_pc(const struct gr_unwinder *u)
{
	const struct gr_func *func = u->frame.func;

	if (u->callee != GR_INJECTED_SIGPANIC)
		return u->frame.pc;
	return func->deferreturn ? func->entry + func->deferreturn + 1 : 0;
}

/* Return true if the frame is one of the allocator's. The collector never runs
 * between taking a slot and clearing it (acquirem in runtime.mallocgc and its
 * callees), but a debugger may stop there. The frame's pointer to the slot
 * then points to the slot's previous contents. */
static bool is_allocating(const struct gr_unwinder *u)
{
	return u->g->regs &&
	       gr_name_has(u->frame.func->name, GR_NAME_ALLOCATES);
}

/* Return true for functions during whose calls no collection begins. The
 * compiler emits no stack map for such calls (cmd/compile
 * liveness.hasStackMap), or, for calls on the system stack, one in which the
 * arguments are dead. Assembly functions have no maps either, but their own
 * frames show that. */
static bool is_unsafe_point(const struct gr_unwinder *u)
{
	return u->g->status == u->rt->layout.consts.grunning &&
	       gr_name_has(u->frame.func->name, GR_NAME_UNSAFE_POINT);
}

/* Return true if the frame has no precise map. The collector has none for a
 * frame that was interrupted between calls and for the frame that holds its
 * registers. */
static bool is_conservative(const struct gr_unwinder *u)
{
	enum gr_injected own = injected(u->rt, u->frame.func);

	return is_allocating(u) || u->is_unsafe_call || is_unsafe_point(u) ||
	       own == GR_INJECTED_ASYNC_PREEMPT ||
	       own == GR_INJECTED_DEBUG_CALL ||
	       u->callee == GR_INJECTED_ASYNC_PREEMPT ||
	       u->callee == GR_INJECTED_DEBUG_CALL ||
	       (u->frame.is_innermost && u->g->regs);
}

/* Return the frame's return address. The call pushed it, or it was in the link
 * register, which every frame that is not empty saves at its bottom. */
static uint64_t find_return_pc(const struct gr_unwinder *u)
{
	const struct gr_arch *arch = u->rt->arch;
	const struct gr_frame *frame = &u->frame;

	if (arch->lr == GR_REG_NONE)
		return stack_word(u->rt, u->g,
				  frame->fp - arch->call_pushes_bytes);
	if (!u->lr || (frame->is_innermost && frame->sp < frame->fp))
		return stack_word(u->rt, u->g, frame->sp);
	return u->lr;
}

/* Fill in the frame from its func, pc and sp (unwinder.resolveInternal). */
static bool resolve(struct gr_unwinder *u, int32_t spdelta)
{
	const struct gr_arch *arch = u->rt->arch;
	struct gr_frame *frame = &u->frame;
	const struct gr_func *func = frame->func;

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
	if (frame->continpc != frame->pc)
		frame->map_index = GR_MAP_INDEX_UNKNOWN;
	frame->is_conservative = is_conservative(u);
	frame->is_exact_pc = frame->pc == func->entry ||
			     u->callee != GR_INJECTED_NONE ||
			     (frame->is_innermost && u->g->regs);
	u->unknown_start = u->is_complete ? u->g->stack_hi : frame->fp;
	return true;
}

/* Undo an injected call. The thread stopped at the entry of asyncPreempt, which
 * the signal handler made the code call (sigctxt.pushCall). All registers still
 * have the values of the interrupted function. */
static void undo_injected(struct gr_unwinder *u)
{
	const struct gr_arch *arch = u->rt->arch;
	struct gr_frame *frame = &u->frame;

	// In other frames, the word at SP may be a value.
	if (!u->g->regs || frame->pc != frame->func->entry ||
	    injected(u->rt, frame->func) != GR_INJECTED_ASYNC_PREEMPT)
		return;
	uint64_t word = stack_word(u->rt, u->g, frame->sp);
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
		/* The code called a nil function: start in the caller. */
		u->frame.pc = stack_word(u->rt, g, g->sp);
		u->frame.sp += rt->arch->call_pushes_bytes;
	} else {
		u->lr = g->lr;
	}
	if (!find_pc(u, u->frame.pc, &u->frame, &spdelta))
		return stop(u, g->stack.start);
	undo_injected(u);
	if (!find_pc(u, u->frame.pc, &u->frame, &spdelta))
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
	u->callee = injected(u->rt, u->frame.func);
	u->is_unsafe_call = is_unsafe_point(u);
	bool is_known = find_pc(u, next.pc, &next, &spdelta);
	u->lr = 0;
	if (arch->lr != GR_REG_NONE && u->callee != GR_INJECTED_NONE) {
		// The signal handler saved LR below the injected call.
		uint64_t lr = stack_word(u->rt, u->g, next.sp);

		next.sp += arch->injected_call_bytes;
		if (!is_known) {
			next.pc = lr;
			is_known = find_pc(u, lr, &next, &spdelta);
		} else if (!spdelta) {
			u->lr = lr;
		}
	}
	if (!is_known)
		return stop(u, u->frame.fp);
	// In its prologue asyncPreempt has not saved the registers yet.
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
	struct gr_error *err = NULL;

	bool more = gr_unwind_start(&u, rt, g, cache);
	for (uint64_t i = 1, end = g->stack.start; !err && more; i++) {
		// Later lookups use binary search, so frames must be sorted.
		GR_ASSERT(u.frame.func && u.frame.sp >= end);
		GR_ASSERT(u.frame.fp >= u.frame.sp &&
			  u.frame.fp <= g->stack_hi);
		end = u.frame.fp;
		g->is_cut = i > MAX_KEPT_FRAMES;
		err = gr_runtime_step(rt, FRAME_STEPS);
		if (!err && !g->is_cut &&
		    !frame_vector_append(&frames, u.frame))
			err = &gr_enomem;
		more = gr_unwind_next(&u);
	}
	if (!err && u.is_out_of_memory)
		err = &gr_enomem;
	if (err) {
		frame_vector_deinit(&frames);
		return err;
	}
	g->unknown_start = u.unknown_start;
	if (!u.is_complete && !g->is_g0)
		gr_gap_add(rt->gaps, GR_GAP_FRAMES_NOT_UNWOUND, 1);
	g->nframes = frames.size;
	g->frames = frames.data;
	/* There may be many goroutines with few frames each, so the spare
	 * capacity is freed. */
	if (frames.size && frames.size < frames.capacity) {
		void *fitted =
			realloc(g->frames, frames.size * sizeof(*g->frames));
		if (fitted)
			g->frames = fitted;
	}
	return NULL;
}

/* A goroutine that runs finalizers or cleanups is a system goroutine until it
 * calls user code (runtime.isSystemGoroutine). */
static void reconsider_system(struct gr_goroutine *g)
{
	if (!g->is_system || !g->nframes)
		return;
	const char *outermost =
		g->nframes > 1 ? g->frames[g->nframes - 2].func->name : "";
	if (!gr_name_calls_back(outermost))
		return;
	for (size_t i = 0; i < g->nframes; i++)
		if (!gr_name_is_internal(g->frames[i].func->name))
			g->is_system = false;
}

static struct gr_error *unwind_one(struct gr_runtime *rt,
				   struct gr_goroutine *g,
				   struct gr_pc_cache *cache)
{
	struct gr_error *err = NULL;

	if (g->stack.start < g->stack.end)
		err = gr_image_map_torn(rt->image, g->stack.start,
					g->stack.end - g->stack.start,
					&g->stack.host);
	if (err)
		return err;
	if (!g->stack.host)
		gr_gap_add(rt->gaps, GR_GAP_GOROUTINES_SKIPPED, 1);
	GR_ASSERT(g->stack.start <= g->stack.end &&
		  g->stack.end == g->stack_hi);
	err = keep_frames(rt, g, cache);
	if (!err)
		reconsider_system(g);
	return err;
}

struct gr_error *gr_goroutines_unwind(struct gr_sched *sched)
{
	struct gr_error *err;
	_cleanup_free_ struct gr_pc_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return &gr_enomem;
	for (size_t i = 0; i < sched->ngoroutines; i++) {
		err = gr_runtime_step(sched->rt, GOROUTINE_STEPS);
		if (!err)
			err = unwind_one(sched->rt, &sched->goroutines[i],
					 cache);
		if (err)
			return err;
	}
	return NULL;
}

/* Return a limit for the number of _defer records, which lie on stacks and in
 * the heap. */
static uint64_t count_defers(const struct gr_sched *sched)
{
	uint64_t defer_bytes = sched->rt->layout.defer.size_bytes + 1;
	uint64_t count = sched->heap_slots;

	for (size_t i = 0; i < sched->ngoroutines; i++)
		count += (sched->goroutines[i].stack.end -
			  sched->goroutines[i].stack.start) /
			 defer_bytes;
	return count;
}

struct gr_error *gr_goroutines_mark_live(struct gr_sched *sched)
{
	uint64_t defers_left = count_defers(sched);
	struct gr_error *err = gr_copied_note(sched);

	for (size_t i = 0; !err && i < sched->ngoroutines; i++) {
		struct gr_goroutine *g = &sched->goroutines[i];

		err = gr_runtime_step(sched->rt, GOROUTINE_STEPS);
		if (!err)
			err = gr_goroutine_collect_values(sched, g,
							  &defers_left);
		if (!err)
			err = gr_stack_mark_live(sched->rt, g);
	}
	return err;
}

/* Read the innermost part of one stack and count its frames. */
static struct gr_error *sample_stack(struct gr_runtime *rt,
				     const struct gr_goroutine *g,
				     struct gr_pc_cache *cache,
				     struct gr_stack_sample *ret)
{
	uint8_t bytes[SAMPLE_BYTES];
	struct gr_goroutine part = *g;
	struct gr_unwinder u;
	uint64_t n = g->stack.end - g->stack.start;

	if (n > sizeof(bytes))
		n = sizeof(bytes);
	struct gr_error *err =
		gr_image_read(rt->image, g->stack.start, bytes, n);
	if (err)
		return err;
	part.stack.host = bytes;
	part.stack.end = g->stack.start + n;
	ret->bytes += n;
	for (bool more = gr_unwind_start(&u, rt, &part, cache); more;
	     more = gr_unwind_next(&u))
		ret->frames++;
	return NULL;
}

struct gr_error *gr_goroutines_sample(const struct gr_sched *sched,
				      struct gr_stack_sample *ret)
{
	_cleanup_free_ struct gr_pc_cache *cache = calloc(1, sizeof(*cache));
	size_t step = sched->ngoroutines / SAMPLES + 1;
	struct gr_error *err = NULL;

	*ret = (struct gr_stack_sample){ 0 };
	if (!cache)
		return &gr_enomem;
	// Bounded by SAMPLES.
	for (size_t i = 0; !err && i < sched->ngoroutines; i += step) {
		const struct gr_goroutine *g = &sched->goroutines[i];

		if (g->stack.start < g->stack.end)
			err = sample_stack(sched->rt, g, cache, ret);
		gr_error_catch(&err, GR_ERROR_FAULT);
	}
	return err;
}
