// SPDX-License-Identifier: Apache-2.0
/*
 * Roots for the values that blocked goroutines offer to channels. Such a value
 * often is a temporary of the compiler that no variable names, but the channel
 * knows its type.
 */
#include "goruntime/roots/roots.h"

#include "goruntime/heap/heap.h"
#include "goruntime/sched/channel.h"
#include "goruntime/sched/stackmask.h"
#include "goruntime/sched/waits.h"

enum { OFFER_STEPS = 4 };

/* A goroutine that receives or waits for a lock offers nothing. */
static bool may_offer(const struct gr_goroutine *g)
{
	return strcmp(g->wait_reason, "chan receive") != 0 &&
	       strncmp(g->wait_reason, "sync.", 5) != 0;
}

/* Return the frame that contains a stack word, or NULL. */
static const struct gr_frame *frame_at(const struct gr_goroutine *g,
				       uint64_t addr)
{
	size_t n = gr_count_before(g->nframes, i, g->frames[i].sp <= addr);

	return n && addr < g->frames[n - 1].fp ? &g->frames[n - 1] : NULL;
}

/* Complete a root that has a place and a type record: its name becomes
 * `main.f.$send`. *is_live is false if the region contains no live word. */
static struct gr_error *place_offer(const struct gr_heap *heap,
				    const struct gr_sched *sched,
				    struct gr_root *root, bool *is_live)
{
	const struct gr_goroutine *g = &sched->goroutines[root->goroutine];
	const struct gr_frame *frame = frame_at(g, root->addr);
	struct gr_error *err;

	*is_live = false;
	if (!frame)
		return NULL;
	err = gr_types_from_runtime(heap->types, root->type_addr, &root->type);
	if (err || root->type == GR_TYPE_NONE)
		return err;
	root->bytes = gr_types_get(heap->types, root->type)->size_bytes;
	if (!gr_area_has_live(&g->stack, root->addr, root->bytes))
		return NULL;
	root->kind = g->is_system ? GR_ROOT_RUNTIME : GR_ROOT_LOCAL;
	root->tier = gr_roots_frame_tier(g, frame->func->name);
	root->is_conservative =
		gr_area_has_doubt(&g->stack, root->addr, root->bytes);
	root->goroutine_state = g->state;
	root->name = gr_arena_internf(heap->rt->arena, "%s.$send",
				      frame->func->name);
	if (!root->name)
		return &gr_enomem;
	gr_func_line(frame->func, frame->pc, &root->file, &root->line);
	*is_live = true;
	return NULL;
}

/* Append the value of a sudog if it lies on the goroutine's own stack. */
static struct gr_error *add_offer(const struct gr_heap *heap,
				  const struct gr_sched *sched,
				  const struct gr_own_sudog *sudog,
				  struct gr_root_list *ret)
{
	const struct gr_goroutine *g = &sched->goroutines[sudog->goroutine];
	struct gr_channel channel;
	struct gr_root root = {
		.goroutine = sudog->goroutine,
		.form = GR_ROOT_REGION,
		.type = GR_TYPE_NONE,
		.addr = sudog->elem,
	};
	bool is_live = false;

	if (!sudog->chan || !may_offer(g) || sudog->elem < g->stack.start ||
	    sudog->elem >= g->stack_hi)
		return NULL;
	struct gr_error *err =
		gr_channel_read(sched->rt, sudog->chan, &channel);
	// The channel only gives a name. The stack masks find the value anyway.
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	root.type_addr = err ? 0 : channel.elem_type_addr;
	if (!err && root.type_addr)
		err = place_offer(heap, sched, &root, &is_live);
	if (!err && is_live && !gr_root_list_append(ret, root))
		return &gr_enomem;
	return err;
}

struct gr_error *gr_roots_add_offers(const struct gr_heap *heap,
				     const struct gr_sched *sched,
				     struct gr_root_list *ret)
{
	const struct gr_waits *waits = sched->waits;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < waits->nsudogs; i++) {
		err = gr_runtime_step(sched->rt, OFFER_STEPS);
		if (!err)
			err = add_offer(heap, sched, &waits->sudogs[i], ret);
	}
	return err;
}
