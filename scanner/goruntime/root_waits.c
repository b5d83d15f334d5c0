// SPDX-License-Identifier: Apache-2.0
/*
 * Roots of goroutines that are blocked: what they offer to channels. Often that
 * is a temporary of the compiler's, which no variable names; but the channel
 * knows its type.
 */
#include "goruntime/roots.h"

#include "base/cleanup.h"
#include "goruntime/stackmask.h"

enum {
	/** Beyond two for each goroutine: cases of a select, up to 65,536. */
	MAX_SUDOGS = 1 << 18,
	MAX_RECORD_BYTES = 512,
	POLL_GOROUTINES = 1024,
};

/** A sudog of a goroutine that waits (runtime/runtime2.go). */
struct wait {
	uint64_t elem; /**< Where the value lies, or is wanted. */
	uint64_t chan; /**< 0: waits for something else. */
	uint64_t next; /**< Of the same goroutine, for a select. */
};

/* The pointer that counts: of a field that is there twice, the second. */
static uint64_t pointer_of(const uint8_t *record, struct gr_field field,
			   struct gr_field truth)
{
	return gr_field_word(record,
			     gr_field_is_present(truth) ? truth : field);
}

static struct gr_error *read_wait(struct gr_runtime *rt, uint64_t addr,
				  struct wait *ret)
{
	const typeof(rt->layout.sudog) *f = &rt->layout.sudog;
	uint8_t record[MAX_RECORD_BYTES];
	struct gr_error *err;

	if (f->size_bytes > sizeof(record))
		return gr_error_fault(addr, f->size_bytes);
	err = gr_image_read(rt->image, addr, record, f->size_bytes);
	if (err)
		return err;
	ret->elem = pointer_of(record, f->elem, f->elem_truth);
	ret->chan = pointer_of(record, f->chan, f->chan_truth);
	ret->next = gr_field_word(record, f->waitlink);
	return NULL;
}

/* Note a value that lies on the goroutine's stack: names come later. */
static struct gr_error *note_offer(struct gr_runtime *rt, uint32_t index,
				   const struct wait *wait,
				   struct gr_root_list *list)
{
	const struct gr_goroutine *g = &rt->goroutines[index];
	struct gr_root root = {
		.goroutine = index,
		.form = GR_ROOT_REGION,
		.type = GR_TYPE_NONE,
		.addr = wait->elem,
	};

	if (!wait->chan || wait->elem < g->stack.start ||
	    wait->elem >= g->stack_hi)
		return NULL;
	struct gr_error *err = gr_image_read_u64(
		rt->image, wait->chan + rt->layout.hchan.elemtype.off,
		&root.type_addr);
	if (err || !root.type_addr)
		return err;
	return gr_root_list_append(list, root) ? NULL : &gr_enomem;
}

/* @p left: how many sudogs may be looked at yet; a torn list may loop. */
static struct gr_error *read_waits(struct gr_runtime *rt, uint32_t index,
				   struct gr_root_list *list, uint64_t *left)
{
	uint64_t addr = rt->goroutines[index].waiting_addr;
	struct gr_error *err = NULL;
	struct wait wait;

	for (; !err && addr && *left; --*left) {
		err = read_wait(rt, addr, &wait);
		if (!err)
			err = note_offer(rt, index, &wait, list);
		addr = wait.next;
	}
	// They bring names only: what cannot be read, the masks find.
	gr_error_catch(&err, GR_ERROR_FAULT);
	return err;
}

struct gr_error *gr_roots_read_waits(struct gr_runtime *rt,
				     struct gr_root_list *list)
{
	struct gr_error *err = NULL;
	uint64_t left = 2 * rt->ngoroutines + MAX_SUDOGS;

	for (size_t i = 0; !err && i < rt->ngoroutines; i++) {
		const struct gr_goroutine *g = &rt->goroutines[i];

		if (i % POLL_GOROUTINES == 0)
			err = rt->poll(rt->poll_ctx);
		// One that only receives has nothing to offer.
		if (!err && strcmp(g->wait_reason, "chan receive"))
			err = read_waits(rt, i, list, &left);
	}
	return err;
}

static const struct gr_frame *frame_at(const struct gr_goroutine *g,
				       uint64_t addr)
{
	for (size_t i = 0; i < g->nframes; i++)
		if (addr >= g->frames[i].sp && addr < g->frames[i].fp)
			return &g->frames[i];
	return NULL;
}

struct gr_error *gr_roots_place_wait(struct gr_runtime *rt,
				     struct gr_root *root, bool *is_live)
{
	const struct gr_goroutine *g = &rt->goroutines[root->goroutine];
	const struct gr_frame *frame = frame_at(g, root->addr);
	struct gr_error *err;

	*is_live = false;
	if (!frame)
		return NULL;
	err = gr_types_from_runtime(rt, root->type_addr, &root->type);
	if (err || root->type == GR_TYPE_NONE)
		return err;
	root->bytes = gr_types_get(rt->types, root->type)->size_bytes;
	if (!gr_area_has_live(&g->stack, root->addr, root->bytes))
		return NULL;
	root->kind = g->is_system ? GR_ROOT_RUNTIME : GR_ROOT_LOCAL;
	root->stratum = gr_roots_frame_stratum(g, frame->func.name);
	root->is_conservative =
		gr_area_has_doubt(&g->stack, root->addr, root->bytes);
	root->goroutine_state =
		gr_arena_intern(rt->arena, g->state, strlen(g->state));
	root->name = gr_arena_internf(rt->arena, "%s.$send", frame->func.name);
	if (!root->name || !root->goroutine_state)
		return &gr_enomem;
	gr_func_line(&frame->func, frame->pc, &root->file, &root->line);
	*is_live = true;
	return NULL;
}
