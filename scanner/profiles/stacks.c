// SPDX-License-Identifier: Apache-2.0
#include "profiles/stacks.h"

#include "base/cleanup.h"
#include "goruntime/layout/inline.h"
#include "goruntime/layout/names.h"

void gr_stacks_deinit(struct gr_stacks *stacks)
{
	gr_stack_line_vector_deinit(&stacks->lines);
	gr_stack_call_vector_deinit(&stacks->calls);
	gr_stack_vector_deinit(&stacks->stacks);
	gr_keys_deinit(&stacks->by_pc);
	gr_keys_deinit(&stacks->by_call);
}

/** Does a stack show a wrapper that is the innermost call at a pc? */
enum wrappers {
	HIDES_WRAPPER,
	SHOWS_WRAPPER,
};

/* Does a stack show a wrapper that calls @p callee (NULL: nothing)?
 * runtime/traceback.go: elideWrapperCalling. */
static enum wrappers wrappers_calling(const char *callee)
{
	return callee && (gr_name_has(callee, GR_NAME_SHOWS_WRAPPER) ||
			  gr_name_has(callee, GR_NAME_SIGPANIC)) ?
		       SHOWS_WRAPPER :
		       HIDES_WRAPPER;
}

static bool is_wrapper(const struct gr_runtime *rt,
		       const struct gr_logical_frame *frame)
{
	return rt->layout.has.funcid_wrapper &&
	       frame->func_id == rt->layout.consts.funcid_wrapper;
}

/* Add the lines of a call; none if all are hidden. */
static struct gr_error *add_lines(struct gr_stacks *stacks,
				  struct gr_runtime *rt,
				  const struct gr_func *func, uint64_t pc,
				  enum wrappers wrappers)
{
	struct gr_logical_frame frames[GR_MAX_INLINED];
	size_t n;
	struct gr_error *err = gr_inline_frames(rt, func, pc, frames, &n);

	for (size_t i = 0; !err && i < n; i++) {
		const struct gr_logical_frame *f = &frames[i];
		const struct gr_stack_line line = { f->function, f->file,
						    f->line };

		if (i)
			wrappers = wrappers_calling(frames[i - 1].function);
		if ((wrappers == HIDES_WRAPPER && is_wrapper(rt, f)) ||
		    gr_name_has(f->function, GR_NAME_GOEXIT))
			continue;
		if (!gr_stack_line_vector_append(&stacks->lines, line))
			err = &gr_enomem;
	}
	return err;
}

/* The call at @p pc of a function, @p off_bytes behind whose entry the frame's
 * pc is. */
static struct gr_error *find_call(struct gr_stacks *stacks,
				  struct gr_runtime *rt,
				  const struct gr_func *func, uint64_t pc,
				  uint64_t off_bytes, enum wrappers wrappers,
				  uint32_t *ret)
{
	struct gr_stack_call call = {
		.pc = pc,
		.off_bytes = (uint32_t)off_bytes,
		.first = (uint32_t)stacks->lines.size,
	};

	*ret = gr_keys_find(&stacks->by_pc, pc, wrappers);
	if (*ret != UINT32_MAX)
		return NULL;
	struct gr_error *err = add_lines(stacks, rt, func, pc, wrappers);
	if (err)
		return err;
	call.nlines = (uint32_t)stacks->lines.size - call.first;
	*ret = (uint32_t)stacks->calls.size;
	return gr_stack_call_vector_append(&stacks->calls, call) &&
			       gr_keys_add(&stacks->by_pc, pc, wrappers, *ret) ?
		       NULL :
		       &gr_enomem;
}

/* Put a call on top of the stack *@p stack. */
static struct gr_error *push(struct gr_stacks *stacks, uint32_t call,
			     uint32_t *stack)
{
	struct gr_stack top = { .caller = *stack, .call = call, .ncalls = 1 };

	if (!stacks->calls.data[call].nlines)
		return NULL;
	if (top.caller != GR_NO_STACK)
		top.ncalls += stacks->stacks.data[top.caller].ncalls;
	*stack = gr_keys_find(&stacks->by_call, call, top.caller);
	if (*stack != UINT32_MAX)
		return NULL;
	*stack = (uint32_t)stacks->stacks.size;
	return gr_stack_vector_append(&stacks->stacks, top) &&
			       gr_keys_add(&stacks->by_call, call, top.caller,
					   *stack) ?
		       NULL :
		       &gr_enomem;
}

struct gr_error *gr_stacks_add_frames(struct gr_stacks *stacks,
				      struct gr_runtime *rt,
				      const struct gr_goroutine *g,
				      uint32_t *ret)
{
	struct gr_error *err = NULL;

	*ret = GR_NO_STACK;
	for (size_t i = g->nframes; !err && i-- > 0;) {
		const struct gr_frame *frame = &g->frames[i];
		const char *callee = i ? g->frames[i - 1].func->name : NULL;
		uint32_t call;

		err = gr_runtime_step(rt, 1);
		if (!err)
			err = find_call(stacks, rt, frame->func,
					gr_frame_call_pc(frame),
					frame->pc - frame->func->entry,
					wrappers_calling(callee), &call);
		if (!err)
			err = push(stacks, call, ret);
	}
	return err;
}

/* Is the innermost function at a return address the runtime's?
 * runtime/pprof/protomem.go: writeHeapProto asks runtime.FuncForPC. */
static struct gr_error *is_runtime(struct gr_runtime *rt, uint64_t pc,
				   bool *ret)
{
	struct gr_logical_frame frames[GR_MAX_INLINED];
	struct gr_func func;
	size_t n;

	*ret = false;
	if (!gr_func_find(rt, pc, &func))
		return NULL;
	struct gr_error *err = gr_inline_frames(rt, &func, pc, frames, &n);
	if (!err)
		*ret = gr_name_is_runtime_frame(frames[0].function);
	return err;
}

/* How many addresses from the first one on belong to its call: those of the
 * calls that are inlined there. runtime/symtab.go: (*Frames).Next. */
static struct gr_error *count_inlined(struct gr_runtime *rt,
				      const struct gr_func *func, uint64_t pc,
				      const uint64_t *pcs, size_t npcs,
				      size_t *ret)
{
	struct gr_logical_frame frames[GR_MAX_INLINED];
	size_t n;
	struct gr_error *err = gr_inline_frames(rt, func, pc, frames, &n);

	*ret = 1;
	for (size_t i = 1; !err && i < n && *ret < npcs; i++)
		if (pcs[*ret] == frames[i].pc + 1)
			++*ret;
	return err;
}

/* The calls of return addresses, the innermost first. The runtime has left out
 * wrappers where it does so. */
static struct gr_error *find_calls(struct gr_stacks *stacks,
				   struct gr_runtime *rt, const uint64_t *pcs,
				   size_t npcs, uint32_t *calls, size_t *ncalls)
{
	struct gr_error *err = NULL;
	size_t used;

	*ncalls = 0;
	// Bounded by the addresses: each call uses one.
	for (size_t i = 0; !err && i < npcs; i += used) {
		struct gr_func func;

		used = 1;
		if (!gr_func_find(rt, pcs[i], &func))
			continue;
		uint64_t pc = pcs[i] > func.entry ? pcs[i] - 1 : pcs[i];
		err = count_inlined(rt, &func, pc, &pcs[i], npcs - i, &used);
		if (!err)
			err = find_call(stacks, rt, &func, pc,
					pcs[i] - func.entry, SHOWS_WRAPPER,
					&calls[(*ncalls)++]);
	}
	return err;
}

static struct gr_error *add_all_pcs(struct gr_stacks *stacks,
				    struct gr_runtime *rt, const uint64_t *pcs,
				    size_t npcs, uint32_t *ret)
{
	_cleanup_free_ uint32_t *calls = calloc(npcs + 1, sizeof(*calls));
	size_t ncalls;

	*ret = GR_NO_STACK;
	if (!calls)
		return &gr_enomem;
	struct gr_error *err =
		find_calls(stacks, rt, pcs, npcs, calls, &ncalls);
	while (!err && ncalls > 0)
		err = push(stacks, calls[--ncalls], ret);
	return err;
}

struct gr_error *gr_stacks_add_pcs(struct gr_stacks *stacks,
				   struct gr_runtime *rt, const uint64_t *pcs,
				   size_t npcs, bool hides_runtime,
				   uint32_t *ret)
{
	struct gr_error *err = NULL;
	bool hides = hides_runtime;
	size_t hidden = 0;

	// Bounded by the addresses: hides ends it.
	while (!err && hides && hidden < npcs) {
		err = is_runtime(rt, pcs[hidden], &hides);
		hidden += hides;
	}
	if (!err)
		err = add_all_pcs(stacks, rt, pcs + hidden, npcs - hidden, ret);
	if (!err && *ret == GR_NO_STACK && hidden)
		err = add_all_pcs(stacks, rt, pcs, npcs, ret);
	return err;
}

struct gr_stack_frame *gr_stacks_frames(const struct gr_stacks *stacks,
					uint32_t stack, size_t *count)
{
	struct gr_stack_frame *frames;
	size_t n = 0;

	for (uint32_t i = stack; i != GR_NO_STACK;
	     i = stacks->stacks.data[i].caller)
		n += stacks->calls.data[stacks->stacks.data[i].call].nlines;
	frames = calloc(n + 1, sizeof(*frames));
	*count = 0;
	for (uint32_t i = stack; frames && i != GR_NO_STACK;
	     i = stacks->stacks.data[i].caller) {
		const struct gr_stack_call *call =
			&stacks->calls.data[stacks->stacks.data[i].call];

		for (uint32_t j = 0; j < call->nlines; j++) {
			const struct gr_stack_line *line =
				&stacks->lines.data[call->first + j];

			frames[(*count)++] = (struct gr_stack_frame){
				line->function,	      line->file,
				line->line,	      call->off_bytes,
				j + 1 < call->nlines,
			};
		}
	}
	return frames;
}
