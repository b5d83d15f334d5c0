// SPDX-License-Identifier: Apache-2.0
/*
 * The rows of a dominator tree, those that keep most first: a heap has the rows
 * that may come next. A row keeps no more than the row above it, so the rows
 * that come first are a tree, however many are taken.
 *
 * A list or a tree of objects of one type is one row, and so are the pieces of
 * a map: an object that another one of its type dominates directly belongs to
 * the row of that one.
 */
#include "retention/dominator_tree.h"

#include "graph/children.h"
#include "naming/memory_name.h"
#include "naming/vertex.h"
#include "scan/answers.h"

/* A row, or one that may become a row. */
struct branch {
	struct gr_child_group group;
	const gr_vertex *members; /* group.vertices of them */
	gr_vertex *all;		  /* the same if the row owns them; or NULL */
	uint64_t retained_objects;
	uint32_t parent; /* a row */
	uint32_t depth;
	/* Rows directly below that have not been taken, and what they keep. */
	uint32_t left;
	struct gr_sizes left_sizes;
	/* Rows: the first one below, the next one beside; 0: none. */
	uint32_t below, beside;
};

static struct gr_sizes sizes_of(const struct gr_child_group *group)
{
	return (struct gr_sizes){ group->retained_bytes,
				  group->retained_second };
}

enum { POLL_VERTICES = 1 << 14 };

GR_VECTOR(branch_vector, struct branch);
GR_VECTOR(groups_vector, struct gr_child_groups);

struct tree {
	struct gr_answers *answers;
	const struct gr_graph *g;
	const struct gr_dominators_options *options;
	struct gr_poll poll;
	uint32_t *counts; /* objects that each vertex retains; or NULL */
	struct branch_vector rows;
	struct branch_vector heap;   /* the one that keeps most is first */
	struct groups_vector groups; /* has the members of all branches */
	struct gr_error *err;	     /* of key_of() */
};

static void tree_deinit(struct tree *t)
{
	for (size_t i = 0; i < t->groups.size; i++)
		gr_child_groups_deinit(&t->groups.data[i]);
	for (size_t i = 0; i < t->rows.size; i++)
		free(t->rows.data[i].all);
	groups_vector_deinit(&t->groups);
	branch_vector_deinit(&t->rows);
	branch_vector_deinit(&t->heap);
	gr_error_destroy(t->err);
	free(t->counts);
}

// ---------------------------------------------------------------------- heap

static bool comes_before(const struct branch *a, const struct branch *b)
{
	if (a->group.retained_bytes != b->group.retained_bytes)
		return a->group.retained_bytes > b->group.retained_bytes;
	if (a->depth != b->depth)
		return a->depth < b->depth;
	return a->group.example < b->group.example;
}

static bool heap_push(struct branch_vector *heap, struct branch branch)
{
	if (!branch_vector_append(heap, branch))
		return false;
	for (size_t i = heap->size - 1; i > 0;) {
		size_t up = (i - 1) / 2;
		if (!comes_before(&heap->data[i], &heap->data[up]))
			break;
		branch = heap->data[up];
		heap->data[up] = heap->data[i];
		heap->data[i] = branch;
		i = up;
	}
	return true;
}

/* Take the first one of a heap that is not empty. */
static struct branch heap_pop(struct branch_vector *heap)
{
	struct branch first = heap->data[0];
	struct branch last = heap->data[--heap->size];
	size_t i = 0;

	for (size_t down; (down = 2 * i + 1) < heap->size; i = down) {
		if (down + 1 < heap->size &&
		    comes_before(&heap->data[down + 1], &heap->data[down]))
			down++;
		if (!comes_before(&heap->data[down], &last))
			break;
		heap->data[i] = heap->data[down];
	}
	if (heap->size)
		heap->data[i] = last;
	return first;
}

// ---------------------------------------------------------------------- keys

/* The kind of a key: its highest bits. */
enum key_of {
	KEY_OBJECT,    /* a type's label */
	KEY_VERTEX,    /* an object without one */
	KEY_ROOT,      /* a name, which is interned */
	KEY_GOROUTINE, /* where it begins */
	KEY_SYSTEM,    /* the system stack of a thread */
	KEY_GROUP,
};

#define KEY_SHIFT 60

static uint64_t root_key(struct tree *t, gr_vertex v)
{
	struct gr_vertex_info info;

	if (t->err)
		return 0;
	t->err = gr_vertex_describe(t->answers, v, &info);
	if (t->err)
		return 0;
	return (uint64_t)KEY_ROOT << KEY_SHIFT | (uintptr_t)info.name;
}

static uint64_t group_key(struct tree *t, gr_vertex v)
{
	const struct gr_heap_graph *hg = t->answers->graph;
	uint32_t index = v - gr_graph_first_group(t->g);

	if (index >= hg->ngoroutines + hg->statics.size)
		return (uint64_t)KEY_GROUP << KEY_SHIFT;
	// A variable with its static memory.
	if (index >= hg->ngoroutines)
		return root_key(t, v);
	const struct gr_goroutine *g =
		&t->answers->stop->sched.goroutines[index];
	if (g->is_g0)
		return (uint64_t)KEY_SYSTEM << KEY_SHIFT;
	return (uint64_t)KEY_GOROUTINE << KEY_SHIFT |
	       (g->startpc & ((UINT64_C(1) << KEY_SHIFT) - 1));
}

enum { LARGE_DIVISOR = 100 };

/* A large object of unknown type is like no other one: a row of its own has its
 * address. */
static bool is_apart(const struct tree *t, gr_vertex v)
{
	return !t->options->is_view && t->g->objects->type[v] == GR_TYPE_NONE &&
	       t->g->retained[v] >=
		       t->g->retained[gr_graph_top(t->g)] / LARGE_DIVISOR;
}

static uint64_t key_of(void *ctx, gr_vertex v)
{
	struct tree *t = ctx;

	switch (gr_graph_kind(t->g, v)) {
	case GR_VERTEX_OBJECT:
		if (is_apart(t, v))
			return (uint64_t)KEY_VERTEX << KEY_SHIFT | v;
		// Blocks of C and objects are not merged.
		return (uint64_t)KEY_OBJECT << KEY_SHIFT |
		       (uint64_t)gr_vertex_is_block(t->g, v) << 32 |
		       t->g->objects->type[v];
	case GR_VERTEX_ROOT:
		return root_key(t, v);
	case GR_VERTEX_GROUP:
	case GR_VERTEX_TOP:
		break;
	}
	return group_key(t, v);
}

// ------------------------------------------------------------------ branches

GR_VECTOR(vertex_vector, gr_vertex);

/* True if the row has one known type; others are never grouped. */
static bool is_recursive(const struct branch *row)
{
	return row->depth && row->group.key >> KEY_SHIFT == KEY_OBJECT &&
	       row->group.key != GR_TYPE_NONE;
}

/* Add the children of a vertex that have the type of a row. */
static bool add_alike(const struct tree *t, struct branch *row, gr_vertex v,
		      struct vertex_vector *all)
{
	struct gr_children c = gr_graph_children(t->g, v);

	for (uint32_t i = 0; i < c.count; i++) {
		gr_vertex child = c.vertices[i];
		if (child >= t->g->nobjects ||
		    t->g->objects->type[child] != row->group.key)
			continue;
		if (!vertex_vector_append(all, child))
			return false;
		row->group.own_bytes += gr_graph_own_bytes(t->g, child);
	}
	return true;
}

/* Objects of the same type directly below those of a row belong to it. */
static struct gr_error *absorb(struct tree *t, struct branch *row)
{
	_cleanup_(vertex_vector_deinit) struct vertex_vector all = { 0 };
	uint32_t n = row->group.vertices;
	struct gr_error *err = NULL;

	if (!is_recursive(row))
		return NULL;
	if (!vertex_vector_reserve(&all, n))
		return &gr_enomem;
	memcpy(all.data, row->members, n * sizeof(*all.data));
	all.size = n;
	for (size_t i = 0; !err && i < all.size; i++) {
		if (!add_alike(t, row, all.data[i], &all))
			return &gr_enomem;
		err = i % POLL_VERTICES ? NULL : gr_poll_ask(&t->poll);
	}
	if (err || all.size == n)
		return err;
	row->group.vertices = all.size;
	row->members = row->all = steal_ptr(all.data);
	return NULL;
}

/* Take out the groups of roots, whose children are there instead, and what
 * belongs to the row itself. */
static void drop_groups(const struct branch *row,
			struct gr_child_groups *groups)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < groups->count; i++) {
		uint64_t key = groups->groups[i].key;
		if (key >> KEY_SHIFT != KEY_GROUP &&
		    !(is_recursive(row) && key == row->group.key))
			groups->groups[kept++] = groups->groups[i];
	}
	groups->count = kept;
}

/* Group the children of a row's vertices. */
static struct gr_error *group_children(struct tree *t, const struct branch *row,
				       struct gr_child_groups *ret)
{
	gr_vertex top[1 + GR_NROOT_GROUPS];
	const gr_vertex *vertices = row->members;
	uint32_t count = row->group.vertices;

	if (row->group.example == gr_graph_top(t->g)) {
		top[0] = row->group.example;
		for (int i = 0; i < GR_NROOT_GROUPS; i++)
			top[i + 1] = gr_group_vertex(t->answers->graph, i);
		vertices = top;
		count = GR_ARRAY_SIZE(top);
	}
	struct gr_error *err = gr_graph_group_children(
		t->g, vertices, count, key_of, t, &t->poll, ret);
	if (!err)
		err = steal_ptr(t->err);
	if (!err)
		drop_groups(row, ret);
	return err;
}

/* Put the groups below a row among those that may be taken. */
static struct gr_error *expand(struct tree *t, uint32_t row)
{
	const struct gr_dominators_options *o = t->options;
	struct gr_child_groups *groups;
	uint32_t depth = t->rows.data[row].depth + 1;

	if (depth > o->max_depth || depth > GR_DOMINATORS_MAX_DEPTH)
		return NULL;
	groups = groups_vector_append_entry(&t->groups);
	if (!groups)
		return &gr_enomem;
	*groups = (struct gr_child_groups){ 0 };
	struct gr_error *err = group_children(t, &t->rows.data[row], groups);
	for (uint32_t i = 0; !err && i < groups->count; i++) {
		const struct gr_child_group *group = &groups->groups[i];
		t->rows.data[row].left++;
		t->rows.data[row].left_sizes = gr_sizes_add(
			t->rows.data[row].left_sizes, sizes_of(group));
		if ((o->max_children && i >= o->max_children) ||
		    group->retained_bytes < o->min_bytes)
			continue;
		const struct branch branch = {
			.group = *group,
			.members = groups->members + group->first,
			.parent = row,
			.depth = depth,
		};
		if (!heap_push(&t->heap, branch))
			err = &gr_enomem;
	}
	return err;
}

/* Count the objects that each vertex retains. The dominator of a vertex is
 * nearer to the top, so it comes later in the order from the end. */
static struct gr_error *count_objects(struct tree *t)
{
	const struct gr_graph *g = t->g;
	struct gr_error *err = NULL;

	t->counts = calloc(g->nvertices, sizeof(*t->counts));
	if (!t->counts)
		return &gr_enomem;
	for (gr_vertex i = g->nreached; !err && i-- > 1;) {
		gr_vertex v = g->order[i];
		t->counts[v] += v < g->nobjects;
		t->counts[g->idom[v]] += t->counts[v];
		err = i % POLL_VERTICES ? NULL : gr_poll_ask(&t->poll);
	}
	return err;
}

/* Make a branch the next row. */
static struct gr_error *take(struct tree *t, struct branch branch)
{
	for (uint32_t i = 0; t->counts && i < branch.group.vertices; i++)
		branch.retained_objects += t->counts[branch.members[i]];
	if (!branch_vector_append(&t->rows, branch))
		return &gr_enomem;
	struct gr_error *err = absorb(t, &t->rows.data[t->rows.size - 1]);
	return err ? err : expand(t, t->rows.size - 1);
}

/* Take the rows, those that keep most first. */
static struct gr_error *take_rows(struct tree *t)
{
	uint32_t max = t->options->max_rows;
	struct gr_error *err = NULL;

	while (!err && t->heap.size && (!max || t->rows.size <= max)) {
		struct branch branch = heap_pop(&t->heap);
		struct branch *parent = &t->rows.data[branch.parent];
		parent->left--;
		parent->left_sizes = gr_sizes_sub(parent->left_sizes,
						  sizes_of(&branch.group));
		err = take(t, branch);
	}
	return err;
}

// ---------------------------------------------------------------------- rows

/* Several vertices are not at one address. */
static struct gr_error *name_merged(struct gr_answers *answers,
				    gr_vertex example, struct gr_dominator *row)
{
	const struct gr_graph *g = answers->graph->graph;

	row->addr = 0;
	row->goroutine_id = 0;
	switch (gr_graph_kind(g, example)) {
	case GR_VERTEX_OBJECT:
		row->type = gr_memory_name(answers->stop->program,
					   g->objects->type[example]);
		row->name = *row->type ? row->type : row->name;
		break;
	case GR_VERTEX_GROUP:
		if (example - gr_graph_first_group(g) <
		    answers->graph->ngoroutines)
			row->name = gr_goroutines_name(
				&answers->stop->sched,
				example - gr_graph_first_group(g));
		break;
	case GR_VERTEX_ROOT:
	case GR_VERTEX_TOP:
		break;
	}
	return row->name ? NULL : &gr_enomem;
}

struct gr_error *gr_dominator_describe(struct gr_answers *answers,
				       gr_vertex vertex,
				       struct gr_dominator *ret)
{
	struct gr_vertex_info info;
	struct gr_error *err = gr_vertex_describe(answers, vertex, &info);

	if (err)
		return err;
	*ret = (struct gr_dominator){
		.name = info.name,
		.kind = info.kind,
		.type = info.type,
		.addr = info.addr,
		.goroutine_id = info.goroutine_id,
		.vertices = 1,
		.objects = info.class == GR_CLASS_OBJECT,
		.bytes = gr_graph_own_bytes(answers->graph->graph, vertex),
		.retained_bytes = info.retained_bytes,
		.retained_c_bytes = info.retained_c_bytes,
	};
	return NULL;
}

static struct gr_error *make_row(struct tree *t, const struct branch *branch,
				 struct gr_dominator *ret)
{
	const struct gr_child_group *group = &branch->group;
	struct gr_error *err =
		gr_dominator_describe(t->answers, group->example, ret);

	if (!err && (group->vertices > 1 || t->options->is_view))
		err = name_merged(t->answers, group->example, ret);
	ret->depth = branch->depth;
	ret->vertices = group->vertices;
	ret->objects *= group->vertices;
	ret->bytes = group->own_bytes;
	ret->retained_bytes = group->retained_bytes;
	ret->retained_c_bytes = group->retained_second;
	ret->retained_objects = branch->retained_objects;
	ret->cut = branch->left;
	ret->cut_bytes = branch->left_sizes.bytes;
	ret->cut_c_bytes = branch->left_sizes.second;
	return err;
}

/* Link the rows below each row, in the order in which they were taken. */
static void link_rows(struct tree *t)
{
	for (size_t i = t->rows.size; i-- > 1;) {
		struct branch *row = &t->rows.data[i];
		row->beside = t->rows.data[row->parent].below;
		t->rows.data[row->parent].below = i;
	}
}

/* The row behind another one, parents before children; 0: it was the last. */
static uint32_t next_row(const struct tree *t, uint32_t row)
{
	if (t->rows.data[row].below)
		return t->rows.data[row].below;
	while (row && !t->rows.data[row].beside)
		row = t->rows.data[row].parent;
	return row ? t->rows.data[row].beside : 0;
}

static struct gr_error *make_rows(struct tree *t, struct gr_dominators *ret)
{
	struct gr_error *err = NULL;
	uint32_t row = 0;

	link_rows(t);
	ret->rows = calloc(t->rows.size, sizeof(*ret->rows));
	if (!ret->rows)
		return &gr_enomem;
	// Bounded by the rows, which are a tree.
	do {
		err = make_row(t, &t->rows.data[row], &ret->rows[ret->nrows++]);
		row = next_row(t, row);
	} while (!err && row);
	return err;
}

/* The first row: all vertices as one. */
static struct gr_error *take_first(struct tree *t, const gr_vertex *vertices,
				   uint32_t nvertices)
{
	struct branch first = {
		.group = { .example = vertices[0], .vertices = nvertices },
		.members = vertices,
	};

	for (uint32_t i = 0; i < nvertices; i++) {
		first.group.own_bytes += gr_graph_own_bytes(t->g, vertices[i]);
		first.group.retained_bytes += t->g->retained[vertices[i]];
		first.group.retained_second +=
			gr_graph_retained_second(t->g, vertices[i]);
	}
	return take(t, first);
}

struct gr_error *gr_dominator_tree(struct gr_answers *answers,
				   const struct gr_dominators_options *options,
				   const gr_vertex *vertices,
				   uint32_t nvertices,
				   struct gr_dominators *ret)
{
	_cleanup_(tree_deinit) struct tree t = {
		.answers = answers,
		.g = answers->graph->graph,
		.options = options,
		.poll = gr_runtime_poller(&answers->stop->program->rt),
	};

	if (!nvertices)
		return NULL;
	struct gr_error *err = options->is_view ? count_objects(&t) : NULL;
	if (!err)
		err = take_first(&t, vertices, nvertices);
	if (!err)
		err = take_rows(&t);
	return err ? err : make_rows(&t, ret);
}
