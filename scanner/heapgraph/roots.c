// SPDX-License-Identifier: Apache-2.0
/*
 * The roots as vertices. A root of the list is one vertex. Words of data that
 * no variable covers are one vertex for each name, other words one each.
 * A root that leads to no object is none.
 */
#include "goruntime/sched/waits.h"
#include "heapgraph/internal.h"

struct adder {
	struct gr_graph_maker *maker;
	const char *symbol; /* of the last vertex, if it is a word of data */
};

enum gr_root_group gr_root_group_of(enum gr_root_kind kind)
{
	switch (kind) {
	case GR_ROOT_GLOBAL:
		return GR_GROUP_VARIABLES;
	case GR_ROOT_TIMER:
		return GR_GROUP_TIMERS;
	case GR_ROOT_FINALIZER:
	case GR_ROOT_CLEANUP:
		return GR_GROUP_FINALIZERS;
	case GR_ROOT_LOCAL:
	case GR_ROOT_STACK:
	case GR_ROOT_REGISTER:
	case GR_ROOT_DEFER:
	case GR_ROOT_TINY:
	case GR_ROOT_RUNTIME:
	case GR_ROOT_ADDRESS:
		break;
	}
	return GR_GROUP_RUNTIME;
}

static uint32_t holder_of(const struct gr_root *root)
{
	return root->goroutine != UINT32_MAX ?
		       GR_NROOT_GROUPS + root->goroutine :
		       gr_root_group_of(root->kind);
}

struct gr_error *gr_graph_add_root_vertex(struct gr_graph_maker *maker,
					  struct gr_root_vertex vertex)
{
	return gr_runtime_append(maker->spec->heap->rt, gr_root_vertex_vector,
				 &maker->hg->roots, vertex);
}

struct gr_error *gr_graph_add_root_edge(struct gr_graph_maker *maker,
					gr_vertex to)
{
	struct gr_root_edges *edges = &maker->root_edges;
	struct gr_budget *budget = &maker->hg->budget;

	if (!gr_array_grow(budget, (void **)&edges->data, &edges->capacity,
			   edges->size + 1, sizeof(*edges->data)))
		return gr_budget_error(budget);
	edges->data[edges->size++] =
		(struct gr_root_edge){ maker->hg->roots.size - 1, to };
	return NULL;
}

static struct gr_error *add_vertex(struct adder *a,
				   struct gr_root_vertex vertex)
{
	return gr_graph_add_root_vertex(a->maker, vertex);
}

/* Begin the vertex of a root of the list, unless it is the last one. */
static struct gr_error *begin_listed(struct adder *a, uint32_t index)
{
	const struct gr_root_vertex_vector *roots = &a->maker->hg->roots;
	const struct gr_root *root = &a->maker->spec->roots->list.data[index];

	if (roots->size && roots->data[roots->size - 1].index == index)
		return NULL;
	return add_vertex(a, (struct gr_root_vertex){
				     .index = index,
				     .source = GR_FROM_LIST,
				     .tier = root->tier,
				     .holder = holder_of(root),
			     });
}

/* The index in the list of a package variable, by its interned name; or
 * UINT32_MAX. */
static struct gr_error *find_variable(struct gr_graph_maker *maker,
				      const char *name, uint32_t *ret)
{
	const struct gr_root_list *list = &maker->spec->roots->list;
	struct gr_keys *keys = &maker->variables;

	for (size_t i = keys->count ? list->size : 0; i < list->size; i++) {
		const struct gr_root *root = &list->data[i];
		uint64_t key = (uintptr_t)root->name;
		if ((root->kind == GR_ROOT_GLOBAL ||
		     root->kind == GR_ROOT_RUNTIME) &&
		    gr_keys_find(keys, key, 0) == UINT32_MAX &&
		    !gr_keys_add(keys, key, 0, i))
			return &gr_enomem;
	}
	*ret = gr_keys_find(keys, (uintptr_t)name, 0);
	return NULL;
}

/* The static group of a variable of the list; it is made if it is new. */
static struct gr_error *find_static_group(struct gr_graph_maker *maker,
					  uint32_t variable, uint32_t *ret)
{
	struct gr_u32_vector *statics = &maker->hg->statics;

	*ret = gr_keys_find(&maker->static_groups, variable, 0);
	if (*ret != UINT32_MAX)
		return NULL;
	*ret = statics->size;
	if (!gr_u32_vector_append(statics, variable) ||
	    !gr_keys_add(&maker->static_groups, variable, 0, *ret))
		return &gr_enomem;
	return NULL;
}

static uint32_t static_holder(const struct gr_heap_graph *hg, uint32_t group)
{
	return GR_NROOT_GROUPS + hg->ngoroutines + group;
}

/* The walk's names from a variable to @p node, as `main.cache.pages`, in the
 * arena. NULL: no memory. */
static const char *way_to(struct gr_graph_maker *maker, const char *variable,
			  uint32_t node)
{
	const struct gr_node *nodes = maker->spec->marking->tree.nodes.data;
	struct gr_arena *arena = maker->spec->heap->rt->arena;
	const char *name = "";

	for (; name && nodes[node].parent != GR_NODE_NONE;
	     node = nodes[node].parent) {
		const char *step = nodes[node].name;
		// Names of fields end in a dot or in `. (type)`.
		size_t len = strcspn(step, " ");
		if (len && step[len - 1] == '.')
			len--;
		name = gr_arena_internf(arena, ".%.*s%s", (int)len, step, name);
	}
	return name ? gr_arena_internf(arena, "%s%s", variable, name) : NULL;
}

/*
 * A word of static memory that no variable covers, such as the value behind
 * `var cache Store = &store{}`: find the variable from which the walk came this
 * way to object @p to. Without one, the vertex stays as it is.
 */
static struct gr_error *place_static(struct adder *a, gr_obj to,
				     struct gr_root_vertex *vertex)
{
	struct gr_graph_maker *maker = a->maker;
	const struct gr_marking *m = maker->spec->marking;
	const struct gr_tree *tree = &m->tree;
	uint32_t node = gr_parents_node(m->parents, to), variable, group;

	if (gr_parents_above(m->parents, tree, to) != GR_OBJ_NONE ||
	    tree->nodes.data[node].parent == GR_NODE_NONE)
		return NULL;
	const char *name = tree->roots.data[tree->nodes.data[node].root].name;
	struct gr_error *err = find_variable(maker, name, &variable);
	if (err || variable == UINT32_MAX)
		return err;
	err = find_static_group(maker, variable, &group);
	if (err)
		return err;
	vertex->holder = static_holder(maker->hg, group);
	vertex->name = way_to(maker, name, node);
	return vertex->name ? NULL : &gr_enomem;
}

/* A variable that has static memory belongs to its own static group. */
static void place_variables(struct gr_graph_maker *maker)
{
	struct gr_root_vertex_vector *roots = &maker->hg->roots;

	for (size_t i = 0; i < roots->size; i++) {
		struct gr_root_vertex *vertex = &roots->data[i];
		if (vertex->source != GR_FROM_LIST)
			continue;
		uint32_t group =
			gr_keys_find(&maker->static_groups, vertex->index, 0);
		if (group != UINT32_MAX)
			vertex->holder = static_holder(maker->hg, group);
	}
}

/* Begin the vertex of a word of an area. */
static struct gr_error *begin_word(struct adder *a, const struct gr_edge *edge)
{
	const struct gr_heap_graph_spec *spec = a->maker->spec;
	struct gr_root_vertex vertex = { .addr = edge->addr,
					 .index = edge->root,
					 .source = GR_FROM_AREA };
	uint32_t owner = spec->roots->areas.owners[edge->root];
	struct gr_root root;

	if (owner < spec->sched->ngoroutines) {
		a->symbol = NULL;
		vertex.holder = GR_NROOT_GROUPS + owner;
		vertex.tier =
			gr_roots_stack_tier(spec->sched, owner, edge->addr);
		return add_vertex(a, vertex);
	}
	struct gr_error *err = gr_roots_name_word(
		spec->sched, spec->roots, edge->root, edge->addr, &root);
	if (err)
		return err;
	vertex.name = root.name;
	vertex.tier = root.tier;
	vertex.holder = holder_of(&root);
	// No symbol covers it: it is called `$data+0x18`.
	if (*root.name == '$' && edge->to != GR_OBJ_NONE)
		err = place_static(a, edge->to, &vertex);
	if (err || a->symbol == vertex.name)
		return err;
	a->symbol = vertex.name;
	return add_vertex(a, vertex);
}

/* Note that a variable of a known type leads to the start of a block. */
static struct gr_error *add_seed(struct gr_graph_maker *maker,
				 const struct gr_edge *edge)
{
	const struct gr_root *root =
		edge->is_area ? NULL :
				&maker->spec->roots->list.data[edge->root];
	const struct gr_block *block =
		&gr_graph_blocks(maker)->list.data[edge->block];

	if (!root || root->form != GR_ROOT_REGION || !edge->addr ||
	    block->addr != edge->value)
		return NULL;
	const struct gr_block_seed seed = { .from = GR_VERTEX_NONE,
					    .type = root->type,
					    .block = edge->block,
					    .off_bytes =
						    edge->addr - root->addr };
	struct gr_budget *budget = &maker->hg->budget;
	return gr_block_seeds_append(&maker->seeds, budget, seed) ?
		       NULL :
		       gr_budget_error(budget);
}

static struct gr_error *add_edges(void *ctx, const struct gr_edge *edges,
				  size_t count)
{
	struct adder *a = ctx;
	struct gr_graph_maker *maker = a->maker;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++) {
		const struct gr_edge *edge = &edges[i];
		bool is_block = edge->to == GR_OBJ_NONE;
		gr_vertex to =
			is_block ?
				gr_block_vertex(maker->objects, edge->block) :
				gr_object_vertex(maker->objects, edge->to);

		if (to == GR_VERTEX_NONE)
			continue;
		if (!is_block && gr_bitmap_test(maker->owned, edge->to)) {
			maker->hg->left_out++;
			continue;
		}
		if (is_block)
			err = add_seed(maker, edge);
		if (err)
			break;
		err = edge->is_area ? begin_word(a, edge) :
				      begin_listed(a, edge->root);
		if (!err)
			err = gr_graph_add_root_edge(maker, to);
	}
	return err;
}

/* Add a vertex that holds the g or a sudog of a goroutine. */
static struct gr_error *add_record(struct adder *a, uint32_t goroutine,
				   uint64_t addr)
{
	struct gr_graph_maker *maker = a->maker;
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(maker->spec->heap, addr, &span);
	struct gr_error *err;

	if (obj == GR_OBJ_NONE || !gr_bitmap_test(maker->owned, obj))
		return NULL;
	err = add_vertex(a, (struct gr_root_vertex){
				    .index = goroutine,
				    .source = GR_FROM_SCHEDULER,
				    .tier = GR_TIER_RUNTIME,
				    .holder = GR_NROOT_GROUPS + goroutine,
			    });
	return err ? err :
		     gr_graph_add_root_edge(
			     maker, gr_objects_rank(maker->objects, obj));
}

static struct gr_error *add_scheduler(struct adder *a)
{
	const struct gr_sched *sched = a->maker->spec->sched;
	const struct gr_waits *waits = sched->waits;
	struct gr_runtime *rt = a->maker->spec->heap->rt;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < sched->ngoroutines; i++) {
		err = gr_runtime_step(rt, 1);
		if (!err)
			err = add_record(a, i, sched->goroutines[i].addr);
	}
	for (size_t i = 0; !err && waits && i < waits->nsudogs; i++) {
		err = gr_runtime_step(rt, 1);
		if (!err)
			err = add_record(a, waits->sudogs[i].goroutine,
					 waits->sudogs[i].addr);
	}
	return err;
}

struct gr_error *gr_graph_add_roots(struct gr_graph_maker *maker)
{
	struct gr_runtime *rt = maker->spec->heap->rt;
	struct adder a = { .maker = maker };
	const struct gr_edge_source source = {
		.heap = maker->spec->heap,
		.roots = maker->spec->roots,
		.words = maker->words,
		.objects = maker->objects->slots,
		.blocks = gr_graph_blocks(maker),
		.poll = rt->poll,
		.poll_ctx = rt->poll_ctx,
	};
	struct gr_error *err = gr_edges_of_roots(&source, add_edges, &a);

	if (!err)
		place_variables(maker);
	return err ? err : add_scheduler(&a);
}

static void set_owned(struct gr_graph_maker *maker, uint64_t addr)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(maker->spec->heap, addr, &span);

	if (obj != GR_OBJ_NONE && gr_bitmap_test(maker->objects->slots, obj))
		gr_bitmap_set(maker->owned, obj);
}

struct gr_error *gr_graph_find_owned(struct gr_graph_maker *maker)
{
	const struct gr_sched *sched = maker->spec->sched;
	const struct gr_waits *waits = sched->waits;

	maker->owned = gr_bitmap_alloc(maker->spec->heap->nobjs);
	if (!maker->owned)
		return &gr_enomem;
	for (size_t i = 0; i < sched->ngoroutines; i++)
		set_owned(maker, sched->goroutines[i].addr);
	for (size_t i = 0; waits && i < waits->nsudogs; i++)
		set_owned(maker, waits->sudogs[i].addr);
	return NULL;
}
