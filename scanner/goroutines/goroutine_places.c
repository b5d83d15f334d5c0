// SPDX-License-Identifier: Apache-2.0
#include "goroutine_places.h"

#include "goruntime/layout/inline.h"
#include "goruntime/layout/names.h"

void gr_user_pcs_deinit(struct gr_user_pcs *pcs)
{
	gr_keys_deinit(&pcs->known);
}

/* The innermost call of a frame that is the caller's own; n if there is none. */
static struct gr_error *read_calls(struct gr_user_pcs *pcs,
				   const struct gr_frame *frame,
				   struct gr_logical_frame *calls, size_t *n,
				   size_t *user)
{
	struct gr_error *err = gr_inline_frames(
		pcs->rt, frame->func, gr_frame_call_pc(frame), calls, n);

	for (*user = 0; !err && *user < *n; ++*user)
		if (gr_name_is_user_place(calls[*user].function) &&
		    !gr_name_is_sync(calls[*user].function))
			break;
	return err;
}

static struct gr_error *is_user(struct gr_user_pcs *pcs,
				const struct gr_frame *frame, bool *ret)
{
	struct gr_logical_frame calls[GR_MAX_INLINED];
	uint32_t known =
		gr_keys_find(&pcs->known, frame->pc, frame->is_exact_pc);
	size_t n, user;

	*ret = known == 1;
	if (known != UINT32_MAX)
		return NULL;
	struct gr_error *err = read_calls(pcs, frame, calls, &n, &user);
	if (err)
		return err;
	*ret = user < n;
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

struct gr_error *gr_user_place(struct gr_user_pcs *pcs,
			       const struct gr_goroutine *g,
			       struct gr_source_place *ret)
{
	struct gr_logical_frame calls[GR_MAX_INLINED];
	const struct gr_frame *frame;
	size_t n = 0, user = 0;
	struct gr_error *err = gr_user_frame(pcs, g, &frame);

	*ret = (struct gr_source_place){ 0, "", "", 0 };
	if (err || !frame)
		return err;
	err = read_calls(pcs, frame, calls, &n, &user);
	if (err || !n)
		return err;
	const struct gr_logical_frame *call = &calls[user < n ? user : 0];
	*ret = (struct gr_source_place){ frame->pc, call->function, call->file,
					 call->line };
	return NULL;
}
