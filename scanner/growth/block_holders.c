// SPDX-License-Identifier: Apache-2.0
#include "growth/block_holders.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "native/motion.h"
#include "native/view.h"

/** Words of a stack that the innermost calls of an allocator have. */
enum { STACK_WORDS = 128 };

void gr_block_holders_deinit(struct gr_block_holders *holders)
{
	free(holders->in_doubt);
}

// --------------------------------------------------------------------- doubt

/* Doubt the block whose header has the address. */
static void doubt(struct gr_block_holders *h, uint64_t addr)
{
	const struct gr_block_vector *list = &h->native->blocks.list;
	uint32_t i = gr_blocks_from(&h->native->blocks, addr);

	if (i < list->size && list->data[i].addr != addr &&
	    list->data[i].addr - addr <= 2 * GR_WORD_BYTES)
		gr_bitmap_set(h->in_doubt, i);
}

/* Doubt what a thread has in hand: in registers, and in the innermost calls. */
static struct gr_error *doubt_thread(struct gr_block_holders *h,
				     struct gr_view *view,
				     const struct gr_regs *regs)
{
	const struct gr_arch *arch = view->rt->arch;
	uint64_t at = regs->value[arch->sp] - arch->red_zone_bytes, word;

	if (regs->is_partial)
		h->is_leak_proven = false;
	for (unsigned int i = 0; i < arch->nregs; i++)
		doubt(h, regs->value[i]);
	for (int i = 0; i < STACK_WORDS; i++)
		if (gr_view_word(view, at + (uint64_t)i * GR_WORD_BYTES, &word))
			doubt(h, word);
	return gr_runtime_step(view->rt, STACK_WORDS / 2);
}

static struct gr_error *doubt_all(struct gr_block_holders *h)
{
	_cleanup_(gr_c_threads_deinit) struct gr_c_threads threads = { 0 };
	const struct gr_sched *sched = &h->pages->answers->stop->sched;
	struct gr_view view = gr_view_of(sched->rt);
	struct gr_error *err = gr_c_threads_read(sched, &threads);

	for (size_t i = 0; !err && i < threads.registers.size; i++) {
		const struct gr_regs *regs = &threads.registers.data[i].regs;
		bool is_at_work;

		err = gr_native_is_at_work(sched->rt, regs, h->native,
					   &is_at_work);
		if (!err && is_at_work)
			err = doubt_thread(h, &view, regs);
		if (!err)
			err = gr_runtime_step(sched->rt, 16);
	}
	return err;
}

/* Is all memory at hand that may lead to blocks? An arena that is not checked is
 * among what holds them. */
static bool has_all_holders(const struct gr_block_holders *h)
{
	static const enum gr_gap losses[] = {
		GR_GAP_UNREADABLE_PAGES,    GR_GAP_BAD_SPANS,
		GR_GAP_GOROUTINES_SKIPPED,  GR_GAP_BROKEN_LISTS,
		GR_GAP_THREADS_NOT_STOPPED,
	};
	const struct gr_gaps *gaps = &h->pages->answers->graph_gaps;

	for (size_t i = 0; i < GR_ARRAY_SIZE(losses); i++)
		if (gaps->count[losses[i]])
			return false;
	return !h->native->missing_bytes;
}

struct gr_error *gr_block_holders_init(struct gr_block_holders *h,
				       struct gr_page_holders *pages)
{
	struct gr_runtime *rt = &pages->answers->stop->program->rt;

	h->pages = pages;
	h->native = pages->answers->graph->native;
	if (!h->native)
		return NULL;
	h->nobody = (uint32_t)pages->names.size;
	if (!gr_holder_names_append(&pages->names, "nobody"))
		return &gr_enomem;
	h->is_leak_proven = has_all_holders(h);
	size_t nblocks = h->native->blocks.list.size;
	struct gr_error *err = gr_image_want(rt->image, nblocks / 8);

	if (err)
		return err;
	h->in_doubt = gr_bitmap_alloc(nblocks + 1);
	return h->in_doubt ? doubt_all(h) : &gr_enomem;
}

// --------------------------------------------------------------------- facts

struct gr_error *gr_block_holders_find(const struct gr_block_holders *h,
				       uint32_t block,
				       struct gr_block_facts *ret)
{
	const struct gr_graph *g = h->pages->answers->graph->graph;
	gr_vertex v = gr_block_vertex(g->objects, block);

	*ret = (struct gr_block_facts){
		.type = g->objects->type[v],
		.holder = UINT32_MAX,
		.root = h->pages->root_of[v],
		.is_held = gr_graph_is_reached(g, v),
	};
	ret->is_held_known =
		ret->is_held ||
		(h->is_leak_proven && !gr_bitmap_test(h->in_doubt, block));
	if (!ret->is_held && ret->is_held_known)
		ret->holder = h->nobody;
	return ret->is_held ? gr_page_holder_of(h->pages, v, &ret->holder) :
			      NULL;
}
