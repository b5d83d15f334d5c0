// SPDX-License-Identifier: Apache-2.0
#include "goroutines/goroutine_start.h"

#include "goruntime/layout/inline.h"
#include "goruntime/layout/names.h"
#include "goruntime/layout/runtime.h"

/* Is the frame's function a wrapper that the compiler made, and the call that
 * it makes not one that is inlined into it? */
static struct gr_error *is_wrapper(struct gr_runtime *rt,
				   const struct gr_frame *frame, bool *ret)
{
	const struct gr_layout *layout = &rt->layout;
	struct gr_logical_frame frames[GR_MAX_INLINED];
	struct gr_error *err;
	size_t n;

	*ret = layout->has.funcid_wrapper &&
	       frame->func->func_id == layout->consts.funcid_wrapper;
	if (!*ret)
		return NULL;
	err = gr_inline_frames(rt, frame->func, gr_frame_call_pc(frame), frames,
			       &n);
	*ret = !err && n == 1;
	return err;
}

struct gr_error *gr_goroutine_find_start(struct gr_runtime *rt,
					 const struct gr_goroutine *g,
					 uint64_t *ret)
{
	struct gr_error *err = NULL;
	bool is_outer = true;
	size_t i = g->nframes;

	*ret = g->startpc;
	while (i && g->frames[i - 1].func->entry != g->startpc)
		i--;
	while (!err && is_outer && i-- > 1) {
		err = is_wrapper(rt, &g->frames[i], &is_outer);
		is_outer &= !gr_name_is_in_runtime(g->frames[i - 1].func->name);
		if (is_outer)
			*ret = g->frames[i - 1].func->entry;
	}
	return err;
}
