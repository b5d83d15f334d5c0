// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/sudog.h"

enum {
	/** Limit for the cases of a select (runtime/select.go: selectgo). */
	MAX_CASES = 1 << 16,
	MAX_RECORD_BYTES = 512,
	SUDOG_STEPS = 4,
	SPARE_SUDOGS = 1 << 16, /* for torn tables of the heap */
};

/* Return the valid pointer. If the record has the field twice, that is the
 * second one. */
static uint64_t pointer_of(const uint8_t *record, struct gr_field field,
			   struct gr_field truth)
{
	return gr_field_word(record,
			     gr_field_is_present(truth) ? truth : field);
}

void gr_sudog_load(const struct gr_layout *layout, uint64_t addr,
		   const uint8_t *bytes, struct gr_sudog *ret)
{
	const typeof(layout->sudog) *f = &layout->sudog;

	*ret = (struct gr_sudog){
		.addr = addr,
		.g = gr_field_word(bytes, f->g),
		.next = gr_field_word(bytes, f->next),
		.prev = gr_field_word(bytes, f->prev),
		.waitlink = gr_field_word(bytes, f->waitlink),
		.elem = pointer_of(bytes, f->elem, f->elem_truth),
		.chan = pointer_of(bytes, f->chan, f->chan_truth),
		.ticket = gr_field_uint(bytes, f->ticket),
	};
}

struct gr_error *gr_sudog_read(struct gr_runtime *rt, uint64_t addr,
			       struct gr_sudog *ret)
{
	uint64_t bytes = rt->layout.sudog.size_bytes;
	uint8_t record[MAX_RECORD_BYTES];

	if (bytes > sizeof(record))
		return gr_error_fault(addr, bytes);
	struct gr_error *err = gr_image_read(rt->image, addr, record, bytes);
	if (!err)
		gr_sudog_load(&rt->layout, addr, record, ret);
	return err;
}

struct gr_sudog_walk gr_sudog_walk(struct gr_runtime *rt,
				   const struct gr_goroutine *g, uint64_t *left)
{
	return (struct gr_sudog_walk){
		.rt = rt,
		.g = g->addr,
		.next = g->waiting_addr,
		.left = left,
		.gaps = rt->gaps,
		.chain = { .limit = MAX_CASES },
	};
}

static void count_broken(const struct gr_sudog_walk *walk)
{
	if (walk->gaps)
		gr_gap_broken_list(walk->gaps, "the sudogs of a goroutine");
}

struct gr_error *gr_sudog_walk_next(struct gr_sudog_walk *walk,
				    struct gr_sudog *ret, bool *found)
{
	uint64_t addr = walk->next;

	*found = false;
	if (!addr)
		return NULL;
	walk->next = 0;
	if (!*walk->left || !gr_chain_step(&walk->chain, addr)) {
		count_broken(walk);
		return NULL;
	}
	--*walk->left;
	struct gr_error *err = gr_runtime_step(walk->rt, SUDOG_STEPS);
	if (!err)
		err = gr_sudog_read(walk->rt, addr, ret);
	if (gr_error_catch(&err, GR_ERROR_FAULT)) {
		count_broken(walk);
		return NULL;
	}
	if (err)
		return err;
	// Only behind the first one, and only at a semaphore, are others.
	*found = ret->g == walk->g && (!walk->is_select || ret->chan);
	if (!*found && (walk->is_select || walk->chain.seen == 1))
		count_broken(walk);
	walk->is_select = ret->chan;
	if (*found)
		walk->next = ret->waitlink;
	return NULL;
}

uint64_t gr_sudogs_limit(const struct gr_sched *sched)
{
	return sched->readable_bytes /
		       (sched->rt->layout.sudog.size_bytes + 1) +
	       SPARE_SUDOGS;
}
