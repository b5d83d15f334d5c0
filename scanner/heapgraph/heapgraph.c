// SPDX-License-Identifier: Apache-2.0
#include "heapgraph/internal.h"

#include "base/cleanup.h"
#include "goruntime/heap/ptrmap.h"

#include <time.h>

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000) + now.tv_nsec / 1000;
}

const char *gr_root_group_name(enum gr_root_group group)
{
	static const char *const names[] = {
#define X(id, name) [GR_GROUP_##id] = name,
		GR_ROOT_GROUPS(X)
#undef X
	};

	return names[group];
}

void gr_heap_graph_destroy(struct gr_heap_graph *hg)
{
	if (!hg)
		return;
	gr_graph_destroy(hg->graph);
	gr_root_vertex_vector_deinit(&hg->roots);
	gr_u32_vector_deinit(&hg->statics);
	gr_c_root_vector_deinit(&hg->c_roots);
	free(hg);
}

static void maker_deinit(struct gr_graph_maker *maker)
{
	gr_objects_destroy(maker->objects);
	free(maker->words);
	free(maker->owned);
	gr_array_free(maker->root_edges.data);
	gr_array_free(maker->seeds.data);
	gr_c_seeds_deinit(&maker->c_seeds);
	gr_keys_deinit(&maker->variables);
	gr_keys_deinit(&maker->static_groups);
}

/* A bit for each slot that the walk reached, and for each block. NULL: no
 * memory. */
static uint64_t *reached_bits(struct gr_budget *budget,
			      const struct gr_heap_graph_spec *spec,
			      size_t nblocks)
{
	const struct gr_parents *parents = spec->marking->parents;
	gr_obj n = spec->heap->nobjs;
	uint64_t *bits = gr_array_calloc(
		budget, gr_bitmap_words((uint64_t)n + nblocks) + 1,
		sizeof(*bits));

	for (gr_obj obj = 0; bits && obj < n; obj++)
		bits[obj / 64] |= (uint64_t)gr_parents_has(parents, obj)
				  << (obj % 64);
	for (size_t i = 0; bits && i < nblocks; i++)
		gr_bitmap_set(bits, n + i);
	return bits;
}

/* The runs of the spans. */
static uint32_t fill_span_runs(const struct gr_heap *heap,
			       struct gr_run_spec *runs)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];
		GR_ASSERT(!i || span[-1].first_obj + span[-1].nelems ==
					span->first_obj);
		if (span->nelems)
			runs[n++] = (struct gr_run_spec){
				.base = span->base_addr,
				.elem_bytes = span->elem_bytes,
				.head_bytes = span->header_bytes,
				.nslots = span->nelems,
			};
	}
	return n;
}

/* The runs of the blocks, behind @p runs: those of one size that follow each
 * other are one. Returns their number. */
static uint32_t fill_block_runs(const struct gr_blocks *blocks,
				struct gr_run_spec *runs)
{
	const struct gr_block *list = blocks->list.data;
	uint32_t n = 0;

	for (size_t i = 0; i < blocks->list.size; i++) {
		uint64_t bytes = gr_block_bytes(&list[i]);
		struct gr_run_spec *last = n ? &runs[n - 1] : NULL;

		if (last && last->elem_bytes == bytes &&
		    last->base + bytes * last->nslots == list[i].addr)
			last->nslots++;
		else
			runs[n++] = (struct gr_run_spec){ .base = list[i].addr,
							  .elem_bytes = bytes,
							  .nslots = 1 };
	}
	return n;
}

/* Number the reached objects: slots have the numbers of the heap. Blocks
 * follow. */
static struct gr_error *number_objects(struct gr_graph_maker *maker)
{
	const struct gr_heap *heap = maker->spec->heap;
	struct gr_blocks *blocks = gr_graph_blocks(maker);
	size_t nblocks = blocks ? blocks->list.size : 0;
	struct gr_budget *budget = &maker->hg->budget;
	_cleanup_array_ struct gr_run_spec *runs = gr_array_alloc(
		budget, (uint64_t)heap->nspans + nblocks + 1, sizeof(*runs));
	_cleanup_array_ uint64_t *reached =
		runs ? reached_bits(budget, maker->spec, nblocks) : NULL;

	if (!reached)
		return gr_budget_error(budget);
	uint32_t nfirst = fill_span_runs(heap, runs);
	uint32_t nblock_runs = blocks ? fill_block_runs(blocks, runs + nfirst) :
					0;
	return gr_objects_create(budget, runs, nfirst, nfirst + nblock_runs,
				 reached, &maker->objects);
}

/* Objects have the labels of the walk as types. */
static struct gr_error *label_objects(struct gr_graph_maker *maker)
{
	const struct gr_parents *parents = maker->spec->marking->parents;
	struct gr_objects *objects = maker->objects;
	struct gr_error *err =
		gr_objects_add_types(objects, &maker->hg->budget);
	struct gr_object_iterator c = gr_objects_begin(objects);

	// Blocks get theirs from what leads to them (block_types.c).
	while (!err && gr_objects_next(&c))
		objects->type[c.vertex] =
			c.slot < maker->spec->heap->nobjs ?
				gr_parents_label(parents, c.slot) :
				GR_TYPE_NONE;
	return err;
}

/* Move the edges of roots into a part. They are in the order of roots. */
static struct gr_error *fill_root_part(struct gr_graph_maker *maker,
				       struct gr_edges *part)
{
	const struct gr_root_edges *edges = &maker->root_edges;
	gr_vertex first = maker->objects->count;
	struct gr_error *err;

	if (maker->hg->roots.size >= GR_VERTEX_NONE - first)
		return gr_error_format(GR_ERROR_LIMIT,
				       "too many roots for a graph: %zu",
				       maker->hg->roots.size);
	err = gr_edges_init(part, &maker->hg->budget, first,
			    first + maker->hg->roots.size,
			    maker->objects->count, edges->size);
	for (size_t i = 0; !err && i < edges->size; i++) {
		if (!i || edges->data[i].root != edges->data[i - 1].root)
			gr_edges_begin(part, first + edges->data[i].root);
		gr_edges_add(part, edges->data[i].to);
	}
	return err;
}

/* The group that holds a goroutine or a static group, by its index. */
static enum gr_root_group group_of(const struct gr_graph_maker *maker,
				   uint32_t index)
{
	const struct gr_heap_graph *hg = maker->hg;

	if (index < hg->ngoroutines) {
		const struct gr_goroutine *g =
			&maker->spec->sched->goroutines[index];
		return g->is_g0 || g->is_system ? GR_GROUP_RUNTIME :
						  GR_GROUP_GOROUTINES;
	}
	uint32_t root = hg->statics.data[index - hg->ngoroutines];
	return maker->spec->roots->list.data[root].kind == GR_ROOT_RUNTIME ?
		       GR_GROUP_RUNTIME :
		       GR_GROUP_VARIABLES;
}

/* The group of each root, then of each group. For gr_array_free(). */
static gr_vertex *find_holders(const struct gr_graph_maker *maker)
{
	struct gr_heap_graph *hg = maker->hg;
	size_t nroots = hg->roots.size, n = hg->ngoroutines + hg->statics.size;
	gr_vertex first = maker->objects->count + nroots;
	gr_vertex *holders = gr_array_alloc(
		&hg->budget, nroots + n + GR_NROOT_GROUPS, sizeof(*holders));

	for (size_t i = 0; holders && i < nroots; i++) {
		uint32_t holder = hg->roots.data[i].holder;
		holders[i] = holder < GR_NROOT_GROUPS ?
				     first + n + holder :
				     first + holder - GR_NROOT_GROUPS;
	}
	for (size_t i = 0; holders && i < n; i++)
		holders[nroots + i] = first + n + group_of(maker, i);
	for (size_t i = 0; holders && i < GR_NROOT_GROUPS; i++)
		holders[nroots + n + i] = first + n + GR_NROOT_GROUPS;
	return holders;
}

/* The rank of each root. For gr_array_free(). */
static uint8_t *find_ranks(struct gr_heap_graph *hg)
{
	uint8_t *ranks =
		gr_array_alloc(&hg->budget, hg->roots.size + 1, sizeof(*ranks));

	_Static_assert(GR_TIER_RUNTIME - GR_TIER_USER + 1 == GR_RANKS,
		       "each tier is a rank");
	for (size_t i = 0; ranks && i < hg->roots.size; i++)
		ranks[i] = hg->roots.data[i].tier - GR_TIER_USER;
	return ranks;
}

/* Join the parts of the objects and the roots. */
static struct gr_error *join(struct gr_graph_maker *maker,
			     struct gr_edges *parts, size_t nparts)
{
	_cleanup_array_ gr_vertex *holders = find_holders(maker);
	struct gr_heap_graph *hg = maker->hg;
	_cleanup_array_ uint8_t *ranks = find_ranks(hg);

	if (!holders || !ranks)
		return gr_budget_error(&hg->budget);
	struct gr_graph_spec spec = {
		.budget = &hg->budget,
		.objects = steal_ptr(maker->objects),
		.parts = parts,
		.nparts = nparts,
		.nroots = hg->roots.size,
		.ngroups = hg->ngoroutines + hg->statics.size + GR_NROOT_GROUPS,
		.holders = holders,
		.ranks = ranks,
	};
	return gr_graph_create(&spec, &hg->graph);
}

/* Sweep all edges and join them: those of objects, blocks and roots. */
static struct gr_error *make_edges(struct gr_graph_maker *maker)
{
	size_t n = maker->spec->nthreads;
	_cleanup_free_ struct gr_edges *parts = calloc(n + 2, sizeof(*parts));
	struct gr_error *err;

	if (!parts)
		return &gr_enomem;
	err = gr_graph_sweep(maker, parts);
	if (!err)
		err = gr_graph_sweep_blocks(maker, &parts[n]);
	if (!err)
		err = gr_graph_add_roots(maker);
	if (!err && maker->hg->native)
		err = gr_graph_add_c_roots(maker);
	if (!err && maker->hg->native)
		err = gr_graph_add_frames(maker, parts, n);
	if (!err)
		err = fill_root_part(maker, &parts[n + 1]);
	if (!err)
		err = join(maker, parts, n + 2);
	for (size_t i = 0; i <= n + 1; i++)
		gr_edges_deinit(&parts[i]);
	return err;
}

/* Make the pointer bits. The walk, which had its own, has counted their gaps. */
static struct gr_error *make_words(struct gr_graph_maker *maker)
{
	const struct gr_heap *heap = maker->spec->heap;
	struct gr_gaps before = *heap->rt->gaps;
	struct gr_error *err = gr_ptrmap_build(heap, 64, &maker->words);

	gr_gaps_end_walk(heap->rt->gaps, &before);
	return err;
}

static struct gr_error *make(struct gr_graph_maker *maker)
{
	struct gr_heap_graph *hg = maker->hg;
	uint64_t start_us = now_us();
	struct gr_error *err;

	err = make_words(maker);
	uint64_t masks_us = now_us();
	hg->masks_us = masks_us - start_us;
	if (!err)
		err = number_objects(maker);
	if (!err)
		err = label_objects(maker);
	if (!err)
		err = gr_graph_find_owned(maker);
	if (!err)
		err = make_edges(maker);
	if (!err)
		err = gr_graph_type_blocks(maker);
	hg->edges_us = now_us() - masks_us;
	return err;
}

struct gr_error *gr_heap_graph_create(const struct gr_heap_graph_spec *spec,
				      struct gr_heap_graph **ret)
{
	_cleanup_(gr_cleanup_heap_graph) struct gr_heap_graph *hg =
		calloc(1, sizeof(*hg));
	_cleanup_(maker_deinit) struct gr_graph_maker maker = { .spec = spec,
								.hg = hg };
	struct gr_error *err;

	GR_ASSERT(spec->nthreads && spec->marking->parents);
	if (!hg)
		return &gr_enomem;
	hg->budget.limit_bytes = spec->limit_bytes;
	hg->ngoroutines = spec->sched->ngoroutines;
	hg->native = spec->native && spec->native->blocks.list.size ?
			     spec->native :
			     NULL;
	err = make(&maker);
	if (!err)
		*ret = steal_ptr(hg);
	return err;
}
