// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/semaphores.h"

#include "base/cleanup.h"

enum {
	MAX_SLOTS = 1 << 16,
	SLOT_STEPS = 4,
	SEMAPHORE_ALIGN = 8, /* semTable.rootFor() */
};

/** A subtree whose addresses lie in (low, high). */
struct subtree {
	uint64_t sudog;
	uint64_t low, high;
};
GR_VECTOR(subtree_vector, struct subtree);

struct walk {
	struct gr_runtime *rt;
	uint64_t slot, nslots;
	uint64_t left; /* sudogs that may still follow */
	struct subtree_vector todo;
	struct gr_error *(*visit)(void *ctx, const struct gr_sudog *first);
	void *ctx;
};

static void walk_deinit(struct walk *w)
{
	subtree_vector_deinit(&w->todo);
}

/* A node has its place in the order of addresses, which also ends cycles, and
 * is in the slot of its address. */
static bool is_sound(const struct walk *w, const struct subtree *at,
		     const struct gr_sudog *node)
{
	return node->elem > at->low && node->elem < at->high &&
	       node->elem / SEMAPHORE_ALIGN % w->nslots == w->slot;
}

static bool add_subtrees(struct walk *w, const struct subtree *at,
			 const struct gr_sudog *node)
{
	const struct subtree before = { node->prev, at->low, node->elem };
	const struct subtree behind = { node->next, node->elem, at->high };

	return (!before.sudog || subtree_vector_append(&w->todo, before)) &&
	       (!behind.sudog || subtree_vector_append(&w->todo, behind));
}

static struct gr_error *walk_node(struct walk *w, const struct subtree *at)
{
	struct gr_sudog node;
	struct gr_error *err = gr_runtime_step(w->rt, SLOT_STEPS);

	if (!err)
		err = gr_sudog_read(w->rt, at->sudog, &node);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || !w->left ||
	    (!err && !is_sound(w, at, &node))) {
		gr_gap_broken_list(w->rt->gaps, "the tree of semaphores");
		return err;
	}
	if (err)
		return err;
	w->left--;
	if (!add_subtrees(w, at, &node))
		return &gr_enomem;
	return w->visit(w->ctx, &node);
}

static struct gr_error *walk_slot(struct walk *w, uint64_t root)
{
	const struct gr_layout *layout = &w->rt->layout;
	struct subtree at = { .high = UINT64_MAX };
	struct gr_error *err = gr_runtime_step(w->rt, SLOT_STEPS);

	if (!err)
		err = gr_image_read_u64(w->rt->image,
					root + layout->sema_root.treap.off,
					&at.sudog);
	if (gr_error_catch(&err, GR_ERROR_FAULT)) {
		gr_gap_broken_list(w->rt->gaps, "the tree of semaphores");
		return NULL;
	}
	if (!err && at.sudog && !subtree_vector_append(&w->todo, at))
		return &gr_enomem;
	while (!err && w->todo.size) {
		at = w->todo.data[--w->todo.size];
		err = walk_node(w, &at);
	}
	return err;
}

struct gr_error *gr_semaphores_walk(
	const struct gr_sched *sched,
	struct gr_error *(*visit)(void *ctx, const struct gr_sudog *first),
	void *ctx)
{
	const struct gr_layout *layout = &sched->rt->layout;
	int64_t nslots = layout->consts.sema_tab_size;
	_cleanup_(walk_deinit) struct walk w = {
		.rt = sched->rt,
		.left = gr_sudogs_limit(sched),
		.visit = visit,
		.ctx = ctx,
	};
	struct gr_error *err = NULL;

	if (!layout->vars.semtable || nslots < 1 || nslots > MAX_SLOTS ||
	    !gr_field_is_present(layout->sema_root.treap) ||
	    !gr_field_is_present(layout->sudog.prev))
		return NULL;
	uint64_t stride = layout->sema_table.size_bytes / nslots;
	for (w.nslots = nslots; !err && w.slot < w.nslots; w.slot++)
		err = walk_slot(&w, layout->vars.semtable + w.slot * stride);
	return err;
}
