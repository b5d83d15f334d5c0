// SPDX-License-Identifier: Apache-2.0
#include "goroutines/backtrace.h"

#include "goroutines/call_variables.h"
#include "goroutines/goroutine_info.h"
#include "goruntime/layout/inline.h"
#include "scan/enter.h"

GR_VECTOR(call_vector, struct gr_backtrace_call);

void gr_backtrace_destroy(struct gr_backtrace *backtrace)
{
	if (!backtrace)
		return;
	for (size_t i = 0; i < backtrace->ncalls; i++)
		gr_call_variables_free(&backtrace->calls[i]);
	free(backtrace->calls);
	free(backtrace);
}
GR_DEFINE_CLEANUP(backtrace, struct gr_backtrace, gr_backtrace_destroy)

static struct gr_error *add_frame(struct gr_runtime *rt,
				  const struct gr_frame *frame, uint32_t index,
				  struct call_vector *calls)
{
	struct gr_logical_frame frames[GR_MAX_INLINED];
	size_t n;
	struct gr_error *err = gr_inline_frames(
		rt, frame->func, gr_frame_call_pc(frame), frames, &n);

	for (size_t i = 0; !err && i < n; i++) {
		const struct gr_backtrace_call call = {
			.at = { frame->pc, frames[i].function, frames[i].file,
				frames[i].line },
			.is_inlined = frames[i].is_inlined,
			.frame = index,
			.depth = n - 1 - i,
			.sp = frame->sp,
			.fp = frame->fp,
			.is_conservative = frame->is_conservative,
		};
		if (!call_vector_append(calls, call))
			err = &gr_enomem;
	}
	return err;
}

static struct gr_error *add_calls(struct gr_runtime *rt,
				  const struct gr_goroutine *g, uint32_t max,
				  struct gr_backtrace *backtrace)
{
	_cleanup_(call_vector_deinit) struct call_vector calls = { 0 };
	struct gr_error *err = NULL;
	size_t i = 0;

	for (; !err && i < g->nframes && !(max && calls.size >= max); i++)
		err = add_frame(rt, &g->frames[i], i, &calls);
	if (err)
		return err;
	if (max && calls.size > max)
		calls.size = max;
	// The range that could not be unwound is empty if all could.
	backtrace->is_cut = i == g->nframes &&
			    (g->is_cut || g->unknown_start < g->stack_hi);
	backtrace->calls = calls.data;
	backtrace->ncalls = calls.size;
	memset(&calls, 0, sizeof(calls));
	return NULL;
}

static struct gr_error *answer(struct gr_stop *stop,
			       const struct gr_backtrace_query *query,
			       struct gr_backtrace *backtrace)
{
	const struct gr_goroutine *g;
	struct gr_error *err =
		gr_stop_need_goroutine(stop, query->goroutine_id, &g);

	if (err)
		return err;
	err = gr_goroutine_info_read(stop, g, &backtrace->goroutine);
	if (!err)
		err = add_calls(&stop->program->rt, g, query->max_calls,
				backtrace);
	if (!err && query->with_variables)
		err = gr_call_variables_add(stop->program, g, query, backtrace);
	return err;
}

struct gr_error *gr_backtrace_make(struct gr_stop *stop,
				   const struct gr_backtrace_query *query,
				   struct gr_backtrace **ret)
{
	_cleanup_(gr_cleanup_backtrace) struct gr_backtrace *backtrace =
		calloc(1, sizeof(*backtrace));
	struct gr_error *err = NULL;

	if (!backtrace)
		return &gr_enomem;
	if (query->with_variables && !gr_stop_may_have_values(stop))
		err = gr_error_format(GR_ERROR_NOT_SAVED,
				      "this file has no variable values; save "
				      "with `goref save --values'");
	if (!err)
		err = answer(stop, query, backtrace);
	if (!err)
		*ret = steal_ptr(backtrace);
	return err;
}

struct gr_error *gr_scan_backtrace(struct gr_scan *scan,
				   const struct gr_backtrace_query *query,
				   struct gr_backtrace **ret)
{
	struct gr_stop *stop;
	_cleanup_(gr_cleanup_backtrace) struct gr_backtrace *backtrace = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter_goroutines(scan, &guard, &stop);

	if (!err)
		err = gr_backtrace_make(stop, query, &backtrace);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(backtrace);
	return err;
}
