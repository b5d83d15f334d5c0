// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks of C as vertices: the edges between them, and those from the roots of
 * C. All of them are conservative. Data of Go is among the roots of C with the
 * words that the collector does not follow; live words are Go's own roots.
 */
#include "goruntime/layout/c_variable.h"
#include "heapgraph/internal.h"
#include "native/class_name.h"

#include <inttypes.h>

struct c_adder {
	struct gr_graph_maker *maker;
	struct gr_view view;
	uint32_t root; /* index of a root of C */
	/* The place of the last vertex. Without a name, it is another root's. */
	struct gr_c_variable last;
};

struct gr_error *gr_graph_sweep_blocks(struct gr_graph_maker *maker,
				       struct gr_edges *part)
{
	struct gr_blocks *blocks = gr_graph_blocks(maker);
	gr_vertex first = gr_objects_second(maker->objects);
	struct gr_runtime *rt = maker->spec->heap->rt;
	struct gr_view view = gr_view_of(rt);
	struct gr_error *err = gr_edges_init(part, &maker->hg->budget, first,
					     maker->objects->count,
					     maker->objects->count, 0);

	for (size_t i = 0; !err && blocks && i < blocks->list.size; i++) {
		const struct gr_block *block = &blocks->list.data[i];
		uint64_t at = block->addr;
		uint64_t end = at + gr_block_usable_bytes(block);
		struct gr_range piece;

		gr_edges_begin(part, first + i);
		while (!err && at < end &&
		       gr_view_part(&view, at, end, &piece)) {
			uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

			for (uint64_t k = 0; k < n; k++) {
				uint32_t to = gr_blocks_find(
					blocks, gr_load_u64(piece.host +
							    k * GR_WORD_BYTES));

				if (GR_UNLIKELY(to != GR_BLOCK_NONE))
					gr_edges_add(part, first + to);
			}
			at = piece.end;
			err = gr_runtime_step(rt, n / 64 + 1);
		}
	}
	return err;
}

// --------------------------------------------------------------------- roots

static struct gr_error *add_vertex(struct c_adder *a,
				   struct gr_root_vertex vertex)
{
	vertex.tier = GR_TIER_RUNTIME;
	vertex.holder = GR_GROUP_C;
	return gr_graph_add_root_vertex(a->maker, vertex);
}

static struct gr_error *add_edge(struct c_adder *a, uint32_t block)
{
	return gr_graph_add_root_edge(
		a->maker, gr_block_vertex(a->maker->objects, block));
}

/* The name of memory of a root that no variable has; interned. */
static const char *name_memory(struct gr_arena *arena,
			       const struct gr_c_root *root)
{
	const char *kind = gr_c_root_kind_name(root->kind);
	const char *slash = root->path ? strrchr(root->path, '/') : NULL;

	if (slash && root->kind == GR_C_ROOT_MEMORY)
		return gr_arena_internf(arena, "shared memory %s", root->path);
	if (slash)
		return gr_arena_internf(arena, "data of %s", slash + 1);
	if (root->kind == GR_C_ROOT_THREAD && root->lwp)
		return gr_arena_internf(arena, "memory of thread %" PRId32,
					root->lwp);
	if (root->lwp)
		return gr_arena_internf(arena, "%s of thread %" PRId32, kind,
					root->lwp);
	return gr_arena_internf(arena, "%s at 0x%" PRIx64, kind, root->start);
}

/* Find what has the word at @p addr: a variable, or the root. */
static struct gr_error *find_place(struct c_adder *a, uint64_t addr,
				   struct gr_c_variable *ret)
{
	const struct gr_c_root *root = &a->maker->hg->c_roots.data[a->root];
	struct gr_runtime *rt = a->maker->spec->heap->rt;
	struct gr_error *err = NULL;

	*ret = (struct gr_c_variable){ NULL, addr, 0 };
	if (root->kind == GR_C_ROOT_DATA)
		err = gr_c_variable_find(rt, addr, ret);
	if (err || ret->name)
		return err;
	*ret = (struct gr_c_variable){ name_memory(rt->arena, root), addr, 0 };
	return ret->name ? NULL : &gr_enomem;
}

/* Do two words belong to one vertex? */
static bool is_one(const struct gr_c_variable *x, const struct gr_c_variable *y)
{
	return x->name == y->name && x->bytes == y->bytes &&
	       (!x->bytes || x->addr == y->addr);
}

/* Begin the vertex of a place. */
static struct gr_error *begin_vertex(struct c_adder *a,
				     const struct gr_c_variable *place)
{
	const struct gr_c_root *root = &a->maker->hg->c_roots.data[a->root];
	const char *name;
	struct gr_error *err = gr_variable_name(a->maker->spec->heap->rt->arena,
						place->name, &name);

	if (err)
		return err;
	a->last = *place;
	return add_vertex(
		a,
		(struct gr_root_vertex){
			.name = name,
			.addr = place->addr > root->start ? place->addr :
							    root->start,
			.bytes = place->bytes > UINT32_MAX ? 0 : place->bytes,
			.index = a->root,
			.source = GR_FROM_C,
		});
}

/* Is the word one that the roots of Go have? */
static bool is_live_word(const struct c_adder *a, uint64_t addr)
{
	const struct gr_area_list *areas = &a->maker->spec->roots->areas;
	size_t n =
		gr_count_before(areas->count, i, areas->areas[i].start <= addr);
	const struct gr_area *area = n ? &areas->areas[n - 1] : NULL;

	return area && addr < area->end && area->live &&
	       gr_bitmap_test(area->live, (addr - area->start) / GR_WORD_BYTES);
}

/* Note a variable that may tell the type of a block: it leads to the start. */
static struct gr_error *add_seed(struct c_adder *a, uint64_t addr,
				 uint64_t word, uint32_t block)
{
	const struct gr_c_root *root = &a->maker->hg->c_roots.data[a->root];
	const struct gr_c_seed seed = { addr, block };

	if (root->kind != GR_C_ROOT_DATA ||
	    word != gr_graph_blocks(a->maker)->list.data[block].addr)
		return NULL;
	return gr_runtime_append(a->maker->spec->heap->rt, gr_c_seeds,
				 &a->maker->c_seeds, seed);
}

/* Add an edge from the word at @p addr, and the vertex of its name before it,
 * if that is another one. */
static struct gr_error *add_word(struct c_adder *a, uint64_t addr,
				 uint64_t word, uint32_t block)
{
	struct gr_c_variable place;

	if (is_live_word(a, addr))
		return NULL;
	struct gr_error *err = find_place(a, addr, &place);
	if (!err && !is_one(&place, &a->last))
		err = begin_vertex(a, &place);
	if (!err)
		err = add_seed(a, addr, word, block);
	return err ? err : add_edge(a, block);
}

static struct gr_error *add_root(struct c_adder *a, uint32_t index)
{
	const struct gr_c_root *root = &a->maker->hg->c_roots.data[index];
	struct gr_blocks *blocks = gr_graph_blocks(a->maker);
	struct gr_runtime *rt = a->maker->spec->heap->rt;
	struct gr_error *err = NULL;
	uint64_t at = root->start;
	struct gr_range piece;

	a->root = index;
	a->last = (struct gr_c_variable){ NULL, 0, 0 };
	while (!err && at < root->end &&
	       gr_view_part(&a->view, at, root->end, &piece)) {
		uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

		for (uint64_t i = 0; !err && i < n; i++) {
			uint64_t word =
				gr_load_u64(piece.host + i * GR_WORD_BYTES);
			uint32_t block = gr_blocks_find(blocks, word);

			if (GR_UNLIKELY(block != GR_BLOCK_NONE))
				err = add_word(a,
					       piece.start + i * GR_WORD_BYTES,
					       word, block);
		}
		at = piece.end;
		if (!err)
			err = gr_runtime_step(rt, n / 64 + 1);
	}
	return err;
}

/* Add the registers of one thread. The base of its variables is one, too: musl
 * may have those of the first thread in a block. */
static struct gr_error *add_registers(struct c_adder *a,
				      const struct gr_thread_registers *thread)
{
	struct gr_runtime *rt = a->maker->spec->heap->rt;
	unsigned int nregs = rt->arch->nregs;
	const char *name = gr_arena_internf(
		rt->arena, "registers of thread %" PRId32, thread->lwp);
	struct gr_error *err = name ? NULL : &gr_enomem;
	bool has_vertex = false;

	for (unsigned int i = 0; !err && i <= nregs; i++) {
		uint64_t word = i < nregs ? thread->regs.value[i] :
					    thread->regs.fs_base;
		uint32_t block =
			gr_blocks_find(gr_graph_blocks(a->maker), word);

		if (block == GR_BLOCK_NONE)
			continue;
		if (!has_vertex)
			err = add_vertex(a,
					 (struct gr_root_vertex){
						 .name = name,
						 .index = thread->lwp,
						 .source = GR_FROM_C_REGISTERS,
					 });
		has_vertex = true;
		if (!err)
			err = add_edge(a, block);
	}
	return err ? err : gr_runtime_step(rt, 1);
}

struct gr_error *gr_graph_add_c_roots(struct gr_graph_maker *maker)
{
	const struct gr_c_roots_spec *spec = maker->spec->c_roots;
	struct c_adder a = { .maker = maker,
			     .view = gr_view_of(maker->spec->heap->rt) };
	struct gr_error *err = gr_c_roots_find(spec, &maker->hg->c_roots);

	for (size_t i = 0; !err && i < maker->hg->c_roots.size; i++)
		err = add_root(&a, i);
	for (size_t i = 0; !err && i < spec->threads->registers.size; i++)
		err = add_registers(&a, &spec->threads->registers.data[i]);
	return err;
}
