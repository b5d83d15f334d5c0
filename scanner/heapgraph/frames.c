// SPDX-License-Identifier: Apache-2.0
/*
 * Frames of Go as holders of blocks. The compiler's maps tell the live pointers
 * of a frame, which are roots of Go. Other words may be addresses, too: uintptr,
 * which C.uintptr_t and system calls take. But most that look so are old. So they
 * hold only blocks that nothing else does: such a block is no leak, and what
 * another holder retains does not depend on old words.
 */
#include "heapgraph/internal.h"

#include "base/bitmap.h"
#include "base/cleanup.h"

#include <inttypes.h>

struct frames {
	struct gr_graph_maker *maker;
	const struct gr_edges *of_blocks; /* the edges from blocks */
	gr_vertex first;		  /* of the blocks */
	uint64_t *held;			  /* a bit for each block */
	gr_vertex *queue;		  /* blocks that are held */
	size_t nqueued;
};

static void hold(struct frames *f, gr_vertex to)
{
	if (to < f->first || gr_bitmap_test(f->held, to - f->first))
		return;
	gr_bitmap_set(f->held, to - f->first);
	f->queue[f->nqueued++] = to - f->first;
}

static struct gr_error *hold_all(struct frames *f, const gr_vertex *to,
				 uint64_t n)
{
	enum { PART_EDGES = 1 << 16 };
	struct gr_runtime *rt = f->maker->spec->heap->rt;
	struct gr_error *err = gr_runtime_step(rt, 1);

	while (!err && n) {
		uint64_t part = n < PART_EDGES ? n : PART_EDGES;

		for (uint64_t i = 0; i < part; i++)
			hold(f, to[i]);
		err = gr_runtime_step(rt, part / 64);
		to += part;
		n -= part;
	}
	return err;
}

/* Find the blocks that objects and roots hold, and what these lead to. */
static struct gr_error *find_held(struct frames *f,
				  const struct gr_edges *parts, size_t nparts)
{
	const struct gr_root_edges *roots = &f->maker->root_edges;
	const struct gr_edges *e = f->of_blocks;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < nparts; i++)
		err = hold_all(f, parts[i].to, parts[i].size);
	for (size_t i = 0; !err && i < roots->size; i++)
		err = hold_all(f, &roots->data[i].to, 1);
	// Bounded by the blocks: each is queued once.
	for (size_t i = 0; !err && i < f->nqueued; i++) {
		gr_vertex block = f->queue[i];
		bool is_last = e->start + block + 1 >= e->next;
		uint64_t end = is_last ? e->size : e->first[block + 1];

		if (e->start + block < e->next)
			err = hold_all(f, e->to + e->first[block],
				       end - e->first[block]);
	}
	return err;
}

/* Add the root for words of a goroutine's stack from @p addr on. */
static struct gr_error *add_root(struct frames *f, const struct gr_area *area,
				 uint32_t goroutine, uint64_t addr)
{
	struct gr_heap_graph *hg = f->maker->hg;
	struct gr_runtime *rt = f->maker->spec->heap->rt;
	const char *name = gr_arena_internf(
		rt->arena, "frames of goroutine %" PRIu64,
		f->maker->spec->sched->goroutines[goroutine].goid);
	const struct gr_c_root root = { .start = area->start,
					.end = area->end,
					.kind = GR_C_ROOT_GOROUTINE };
	const struct gr_root_vertex vertex = {
		.name = name,
		.addr = addr,
		.index = hg->c_roots.size,
		.source = GR_FROM_C,
		.tier = GR_TIER_RUNTIME,
		.holder = GR_NROOT_GROUPS + goroutine,
	};

	struct gr_error *err = name ? NULL : &gr_enomem;

	if (!err)
		err = gr_runtime_append(rt, gr_c_root_vector, &hg->c_roots,
					root);
	return err ? err : gr_graph_add_root_vertex(f->maker, vertex);
}

static struct gr_error *add_stack(struct frames *f, const struct gr_area *area,
				  uint32_t goroutine)
{
	struct gr_blocks *blocks = gr_graph_blocks(f->maker);
	uint64_t n = (area->end - area->start) / GR_WORD_BYTES;
	struct gr_error *err = NULL;
	bool has_root = false;

	for (uint64_t i = 0; !err && i < n; i++) {
		uint32_t block = gr_blocks_find(
			blocks, gr_load_u64(area->host + i * GR_WORD_BYTES));

		if (GR_LIKELY(block == GR_BLOCK_NONE) ||
		    gr_bitmap_test(f->held, block))
			continue;
		if (!has_root)
			err = add_root(f, area, goroutine,
				       area->start + i * GR_WORD_BYTES);
		has_root = true;
		if (!err)
			err = gr_graph_add_root_edge(
				f->maker,
				gr_block_vertex(f->maker->objects, block));
	}
	return err ? err :
		     gr_runtime_step(f->maker->spec->heap->rt, n / 64 + 1);
}

struct gr_error *gr_graph_add_frames(struct gr_graph_maker *maker,
				     const struct gr_edges *parts,
				     size_t nparts)
{
	const struct gr_area_list *areas = &maker->spec->roots->areas;
	const struct gr_sched *sched = maker->spec->sched;
	size_t n = gr_graph_blocks(maker)->list.size;
	struct gr_budget *budget = &maker->hg->budget;
	_cleanup_array_ uint64_t *held =
		gr_array_calloc(budget, n / 64 + 1, sizeof(*held));
	_cleanup_array_ gr_vertex *queue =
		gr_array_alloc(budget, n + 1, sizeof(*queue));
	struct frames f = { .maker = maker,
			    .of_blocks = &parts[nparts],
			    .first = gr_objects_second(maker->objects),
			    .held = held,
			    .queue = queue };

	if (!held || !queue)
		return gr_budget_error(budget);
	struct gr_error *err = find_held(&f, parts, nparts);
	// Other owners are modules; system stacks are conservative as they are.
	for (size_t i = 0; !err && i < areas->count; i++)
		if (areas->owners[i] < sched->ngoroutines &&
		    !sched->goroutines[areas->owners[i]].is_g0)
			err = add_stack(&f, &areas->areas[i], areas->owners[i]);
	return err;
}
