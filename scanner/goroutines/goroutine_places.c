// SPDX-License-Identifier: Apache-2.0
#include "goroutines/goroutine_places.h"

#include "base/text.h"
#include "goroutines/lock_operation.h"
#include "goruntime/layout/inline.h"
#include "goruntime/layout/names.h"

bool gr_is_user_call(const char *function)
{
	// The linker's and the assembler's functions have no package; those of
	// package iter run coroutines.
	return strchr(function, '.') && !gr_lock_is_internal(function) &&
	       !gr_name_is_internal(function) &&
	       !gr_has_prefix(function, "iter.");
}

void gr_user_pcs_deinit(struct gr_user_pcs *pcs)
{
	gr_keys_deinit(&pcs->known);
}

/* Is one of the calls of a frame the user's? */
static struct gr_error *is_user(struct gr_user_pcs *pcs,
				const struct gr_frame *frame, bool *ret)
{
	struct gr_logical_frame calls[GR_MAX_INLINED];
	uint32_t known =
		gr_keys_find(&pcs->known, frame->pc, frame->is_exact_pc);
	size_t n;

	*ret = known == 1;
	if (known != UINT32_MAX)
		return NULL;
	struct gr_error *err = gr_inline_frames(
		pcs->rt, frame->func, gr_frame_call_pc(frame), calls, &n);
	if (err)
		return err;
	for (size_t i = 0; i < n && !*ret; i++)
		*ret = gr_is_user_call(calls[i].function);
	return gr_keys_add(&pcs->known, frame->pc, frame->is_exact_pc, *ret) ?
		       NULL :
		       &gr_enomem;
}

struct gr_error *gr_user_frame(struct gr_user_pcs *pcs,
			       const struct gr_goroutine *g,
			       const struct gr_frame **ret)
{
	struct gr_error *err = NULL;
	bool found = false;

	*ret = g->nframes ? &g->frames[0] : NULL;
	for (size_t i = 0; !err && !found && i < g->nframes; i++) {
		err = gr_runtime_step(pcs->rt, 1);
		if (!err)
			err = is_user(pcs, &g->frames[i], &found);
		if (found)
			*ret = &g->frames[i];
	}
	return err;
}
