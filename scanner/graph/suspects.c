// SPDX-License-Identifier: Apache-2.0
/*
 * As Eclipse MAT's leak suspects: first the heavy dominators, then the groups
 * of equal ones. MAT looks at the children of the top only. Here a heavy path
 * may fork, because two caches of one service are two suspects: a child that
 * retains enough is split off, unless it is a piece of the same structure (has
 * the key of one of its next dominators, as nodes of a tree do), one of several
 * alike, or a minor element of a container.
 */
#include "graph/suspects.h"

#include "base/vector.h"
#include "graph/groups.h"

enum {
	/** As many large children with one key are alike: none is split off. */
	MANY_ALIKE = 3,
	/** Steps from a node of a tree to its next nodes: over an array, or
	 * over the pieces of a map. */
	MAX_TREE_STEPS = 4,
};

GR_VECTOR(suspect_vector, struct gr_suspect);
GR_VECTOR(suspect_stack, gr_vertex);

struct finder {
	const struct gr_graph *g;
	const struct gr_suspect_question *q;
	struct gr_ticker ticker;
	const struct gr_poll *poll;
	struct suspect_vector found;
	struct gr_suspect largest;
	struct suspect_stack open; /* found, with groups still to be made */
	struct suspect_stack split;
};

static void finder_deinit(struct finder *f)
{
	suspect_vector_deinit(&f->found);
	suspect_stack_deinit(&f->open);
	suspect_stack_deinit(&f->split);
}

static enum gr_vertex_form form_of(const struct gr_suspect_question *q,
				   gr_vertex v)
{
	return q->form(q->ctx, v);
}

static uint64_t key_of(const struct gr_suspect_question *q, gr_vertex v)
{
	return q->key(q->ctx, v);
}

/* Large children of @p parent, which come first, that have a key. */
static uint32_t count_alike(const struct gr_graph *g,
			    const struct gr_suspect_question *q,
			    gr_vertex parent, uint64_t key)
{
	struct gr_children children = gr_graph_children(g, parent);
	uint32_t count = 0;

	for (uint32_t i = 0; i < children.count && count < MANY_ALIKE; i++) {
		if (g->retained[children.vertices[i]] < q->min_bytes)
			break;
		count += key_of(q, children.vertices[i]) == key;
	}
	return count;
}

/* Is a child of @p parent with that key a node of the same structure? Nothing
 * else is known of objects without a key, one below another. */
static bool is_nested(const struct gr_graph *g,
		      const struct gr_suspect_question *q, gr_vertex parent,
		      uint64_t key)
{
	gr_vertex v = parent;

	for (int i = 0; i < MAX_TREE_STEPS && v != gr_graph_top(g); i++) {
		if (key_of(q, v) == key && (key || v == parent))
			return true;
		v = g->idom[v];
	}
	return false;
}

/* Is a child a suspect of its own, not a part of its dominator's? */
static bool is_split(const struct gr_graph *g,
		     const struct gr_suspect_question *q, gr_vertex parent,
		     gr_vertex child)
{
	uint64_t key;

	if (g->retained[child] < q->min_bytes)
		return false;
	key = key_of(q, child);
	if (is_nested(g, q, parent, key))
		return false;
	// Without a key, only children of one object are taken for alike.
	if ((key || form_of(q, parent) != GR_FORM_OPEN) &&
	    count_alike(g, q, parent, key) >= MANY_ALIKE)
		return false;
	return form_of(q, parent) != GR_FORM_CONTAINER ||
	       g->retained[child] >= g->retained[parent] / 2;
}

static void note_largest(struct finder *f, struct gr_suspect suspect)
{
	if (suspect.retained.bytes > f->largest.retained.bytes)
		f->largest = suspect;
}

static struct gr_error *add_suspect(struct finder *f, struct gr_suspect suspect)
{
	return suspect_vector_append(&f->found, suspect) ? NULL : &gr_enomem;
}

/*
 * Put the children of @p v that are suspects of their own on the stack, but for
 * the one that the path goes on with. @p left loses what they retain.
 */
static struct gr_error *split_children(struct finder *f, gr_vertex v,
				       gr_vertex next, struct gr_sizes *left,
				       bool *has_split)
{
	struct gr_children children = gr_graph_children(f->g, v);
	struct gr_error *err = NULL;

	*has_split = false;
	for (uint32_t i = 0; !err && i < children.count; i++) {
		gr_vertex child = children.vertices[i];
		if (f->g->retained[child] < f->q->min_bytes)
			break;
		if (child == next || !is_split(f->g, f->q, v, child))
			continue;
		*has_split = true;
		*left = gr_sizes_sub(*left, gr_graph_retained(f->g, child));
		if (!suspect_stack_append(&f->split, child))
			return &gr_enomem;
		err = gr_tick(&f->ticker);
	}
	return err;
}

/* Follow the heavy path from @p start to the place where bytes accumulate. */
static struct gr_error *follow(struct finder *f, gr_vertex start)
{
	const struct gr_graph *g = f->g;
	struct gr_suspect suspect = { .holder = start, .vertices = 1 };
	gr_vertex v = start, next;
	struct gr_sizes unused = { 0 };
	bool has_split = false;
	struct gr_error *err = gr_graph_accumulation(g, start, GR_DROP_PERCENT,
						     f->poll, &suspect.at);

	for (; !err && v != suspect.at.at; v = next) {
		next = gr_graph_children(g, v).vertices[0];
		err = split_children(f, v, next, &unused, &has_split);
		if (has_split)
			suspect.holder = next;
		if (!err)
			err = gr_tick(&f->ticker);
	}
	if (err)
		return err;
	has_split = false;
	suspect.retained = gr_graph_retained(g, suspect.holder);
	if (suspect.at.kind == GR_ACCUMULATION_DROP)
		err = split_children(f, v, GR_VERTEX_NONE, &suspect.retained,
				     &has_split);
	if (err || (has_split && suspect.retained.bytes < f->q->min_bytes))
		return err;
	return add_suspect(f, suspect);
}

/* A vertex that is no suspect alone may be one together with others. */
static bool add_small(struct finder *f, gr_vertex v, struct gr_groups *groups)
{
	uint64_t key = key_of(f->q, v);
	struct gr_sizes retained = gr_graph_retained(f->g, v);
	const struct gr_suspect alone = { .holder = v,
					  .retained = retained,
					  .vertices = 1 };

	if (key)
		return gr_groups_add(groups, f->g, key, v, retained);
	note_largest(f, alone);
	return true;
}

/* Sort the children of an open vertex: open, large, or one of a group. */
static struct gr_error *open_vertex(struct finder *f, gr_vertex v,
				    struct gr_groups *groups)
{
	const struct gr_graph *g = f->g;
	struct gr_children children = gr_graph_children(g, v);
	struct gr_error *err = NULL;
	bool is_stored = true;

	for (uint32_t i = 0; !err && i < children.count; i++) {
		gr_vertex child = children.vertices[i];
		enum gr_vertex_form form = form_of(f->q, child);

		if (form == GR_FORM_OPEN)
			is_stored = suspect_stack_append(&f->open, child);
		else if (form != GR_FORM_IGNORED && is_split(g, f->q, v, child))
			is_stored = suspect_stack_append(&f->split, child);
		else if (form != GR_FORM_IGNORED)
			is_stored = add_small(f, child, groups);
		err = is_stored ? gr_tick(&f->ticker) : &gr_enomem;
	}
	return err;
}

/* Look at all open vertices, from the top down. */
static struct gr_error *open_all(struct finder *f, struct gr_child_groups *ret)
{
	_cleanup_(gr_groups_deinit) struct gr_groups groups = { 0 };
	struct gr_error *err = NULL;

	if (!suspect_stack_append(&f->open, gr_graph_top(f->g)))
		return &gr_enomem;
	while (!err && f->open.size)
		err = open_vertex(f, f->open.data[--f->open.size], &groups);
	if (!err)
		gr_groups_finish(&groups, ret);
	return err;
}

static struct gr_error *add_groups(struct finder *f,
				   const struct gr_child_groups *groups)
{
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < groups->count; i++) {
		const struct gr_child_group *group = &groups->groups[i];
		struct gr_suspect suspect = {
			.holder = group->example,
			.retained = { group->retained_bytes,
				      group->retained_second },
			.is_group = group->vertices > 1,
			.key = group->key,
			.vertices = group->vertices,
		};
		note_largest(f, suspect);
		if (group->retained_bytes < f->q->min_bytes)
			break;
		err = add_suspect(f, suspect);
	}
	return err;
}

static int compare_suspects(const void *a, const void *b)
{
	const struct gr_suspect *x = a, *y = b;

	if (x->retained.bytes != y->retained.bytes)
		return x->retained.bytes < y->retained.bytes ? 1 : -1;
	return x->holder < y->holder ? -1 : x->holder > y->holder;
}

static struct gr_error *find(struct finder *f)
{
	_cleanup_(gr_child_groups_deinit) struct gr_child_groups groups = { 0 };
	struct gr_error *err = open_all(f, &groups);

	if (!err)
		err = add_groups(f, &groups);
	while (!err && f->split.size)
		err = follow(f, f->split.data[--f->split.size]);
	if (!err && f->found.size) {
		qsort(f->found.data, f->found.size, sizeof(*f->found.data),
		      compare_suspects);
		f->largest = f->found.data[0];
	}
	return err;
}

struct gr_error *gr_graph_suspects(const struct gr_graph *g,
				   const struct gr_suspect_question *question,
				   const struct gr_poll *poll,
				   struct gr_suspects *ret)
{
	_cleanup_(finder_deinit) struct finder f = {
		.g = g,
		.q = question,
		.ticker = { .poll = poll },
		.poll = poll,
		.largest = { .holder = GR_VERTEX_NONE },
	};

	assert(question->min_bytes);
	struct gr_error *err = find(&f);
	if (err)
		return err;
	ret->count = f.found.size;
	ret->suspects = steal_ptr(f.found.data);
	ret->largest = f.largest;
	return NULL;
}

void gr_suspects_deinit(struct gr_suspects *suspects)
{
	free(suspects->suspects);
	memset(suspects, 0, sizeof(*suspects));
}

// ------------------------------------------------------------------- contents

/* Call @p use for each member of a group. */
static struct gr_error *
for_each_member(const struct gr_graph *g, const struct gr_suspect_question *q,
		const struct gr_suspect *suspect, struct gr_ticker *ticker,
		bool (*use)(void *ctx, gr_vertex v), void *ctx)
{
	_cleanup_(suspect_stack_deinit) struct suspect_stack open = { 0 };
	struct gr_error *err = NULL;

	if (!suspect_stack_append(&open, gr_graph_top(g)))
		return &gr_enomem;
	while (!err && open.size) {
		gr_vertex v = open.data[--open.size];
		struct gr_children children = gr_graph_children(g, v);
		for (uint32_t i = 0; !err && i < children.count; i++) {
			gr_vertex child = children.vertices[i];
			enum gr_vertex_form form = form_of(q, child);
			bool is_done = true;

			if (form == GR_FORM_OPEN)
				is_done = suspect_stack_append(&open, child);
			else if (form != GR_FORM_IGNORED &&
				 key_of(q, child) == suspect->key &&
				 !is_split(g, q, v, child))
				is_done = use(ctx, child);
			err = is_done ? gr_tick(ticker) : &gr_enomem;
		}
	}
	return err;
}

static bool set_member(void *ctx, gr_vertex v)
{
	gr_bitmap_set(ctx, v);
	return true;
}

struct gr_error *
gr_graph_suspect_members(const struct gr_graph *g,
			 const struct gr_suspect_question *question,
			 const struct gr_suspect *suspect,
			 const struct gr_poll *poll, uint64_t *bits)
{
	struct gr_ticker ticker = { .poll = poll };

	return for_each_member(g, question, suspect, &ticker, set_member, bits);
}

/* Held vertices, on the way to groups. */
struct contents {
	const struct gr_graph *g;
	const struct gr_suspect_question *q;
	struct gr_ticker ticker;
	/* Keys that are seen through; in a tree, those of all containers. */
	uint64_t keys[MAX_TREE_STEPS];
	int nkeys;
	bool is_tree;
	struct gr_groups groups;
	struct suspect_stack stack; /* whose children are next */
};

static void contents_deinit(struct contents *c)
{
	gr_groups_deinit(&c->groups);
	suspect_stack_deinit(&c->stack);
}

/* A member counts itself, unless it is no object: then what it holds does. */
static bool add_member(void *ctx, gr_vertex v)
{
	struct contents *c = ctx;

	if (gr_graph_kind(c->g, v) != GR_VERTEX_OBJECT)
		return suspect_stack_append(&c->stack, v);
	return gr_groups_add(&c->groups, c->g, key_of(c->q, v), v,
			     gr_graph_retained(c->g, v));
}

static bool is_seen_through(const struct contents *c, gr_vertex v, uint64_t key)
{
	for (int i = 0; i < c->nkeys; i++)
		if (c->keys[i] == key)
			return true;
	return c->is_tree && form_of(c->q, v) == GR_FORM_CONTAINER;
}

/* Count a child, or a piece of what is seen through. */
static bool add_child(struct contents *c, gr_vertex child)
{
	uint64_t key = key_of(c->q, child);

	if (gr_graph_kind(c->g, child) != GR_VERTEX_OBJECT)
		return suspect_stack_append(&c->stack, child);
	if (!is_seen_through(c, child, key))
		return gr_groups_add(&c->groups, c->g, key, child,
				     gr_graph_retained(c->g, child));
	return suspect_stack_append(&c->stack, child) &&
	       gr_groups_add(&c->groups, c->g, key, child,
			     gr_graph_own(c->g, child));
}

static struct gr_error *add_children(struct contents *c,
				     const struct gr_suspect *suspect)
{
	struct gr_error *err = NULL;

	while (!err && c->stack.size) {
		gr_vertex v = c->stack.data[--c->stack.size];
		struct gr_children children = gr_graph_children(c->g, v);
		bool is_point = !suspect->is_group && v == suspect->at.at &&
				suspect->at.kind == GR_ACCUMULATION_DROP;

		for (uint32_t i = 0; !err && i < children.count; i++) {
			gr_vertex child = children.vertices[i];
			if (is_point && is_split(c->g, c->q, v, child))
				continue;
			err = add_child(c, child) ? gr_tick(&c->ticker) :
						    &gr_enomem;
		}
	}
	return err;
}

/* The elements of a chain, each with what hangs on it alone. */
static struct gr_error *add_elements(struct contents *c,
				     const struct gr_accumulation *chain)
{
	const struct gr_graph *g = c->g;
	struct gr_error *err = NULL;
	uint64_t key = key_of(c->q, chain->at);
	gr_vertex v = chain->at, next;

	for (uint32_t i = 1; !err && v != GR_VERTEX_NONE; i++, v = next) {
		struct gr_children children = gr_graph_children(g, v);
		struct gr_sizes rest = { 0 };

		// Near the end a few elements are no path that is heavy.
		next = GR_VERTEX_NONE;
		if (children.count &&
		    (i < chain->vertices ||
		     key_of(c->q, children.vertices[0]) == key)) {
			next = children.vertices[0];
			rest = gr_graph_retained(g, next);
		}
		if (!gr_groups_add(&c->groups, g, key_of(c->q, v), v,
				   gr_sizes_sub(gr_graph_retained(g, v), rest)))
			return &gr_enomem;
		err = gr_tick(&c->ticker);
	}
	return err;
}

enum { MAX_AROUND = 2 * MAX_TREE_STEPS + 1 };

/* The heavy path around @p at: so many dominators of it, then itself, then so
 * many heaviest children. @return the number of vertices; @p self: its place. */
static int path_around(const struct gr_graph *g, gr_vertex at, gr_vertex *path,
		       int *self)
{
	gr_vertex v = at;
	int n;

	for (n = 0; n < MAX_TREE_STEPS && v != gr_graph_top(g); n++)
		v = g->idom[v];
	*self = n;
	path[n] = at;
	for (int i = n; i > 0; i--)
		path[i - 1] = g->idom[path[i]];
	for (v = at; ++n <= *self + MAX_TREE_STEPS; path[n] = v) {
		if (!gr_graph_children(g, v).count)
			break;
		v = gr_graph_children(g, v).vertices[0];
	}
	return n;
}

/*
 * Find what is seen through at the point @p at: what has its key. If that is
 * within a tree, a vertex of the path around it has the key of one above the
 * point: then all that lies between two nodes.
 */
static void find_keys(struct contents *c, gr_vertex at)
{
	gr_vertex path[MAX_AROUND];
	uint64_t keys[MAX_AROUND];
	int self, n = path_around(c->g, at, path, &self);

	for (int i = 0; i < n; i++)
		keys[i] = key_of(c->q, path[i]);
	c->keys[0] = keys[self];
	c->nkeys = 1;
	for (int steps = 1; steps <= MAX_TREE_STEPS; steps++)
		for (int i = self < steps ? 0 : self - steps;
		     i <= self && i + steps < n; i++) {
			if (!keys[i] || keys[i] != keys[i + steps])
				continue;
			memcpy(c->keys, &keys[i], steps * sizeof(*keys));
			c->nkeys = steps;
			for (int k = i; k < i + steps; k++)
				c->is_tree |= form_of(c->q, path[k]) !=
					      GR_FORM_CONTAINER;
			return;
		}
}

/* Fill the groups, by the kind of the suspect. */
static struct gr_error *add_contents(struct contents *c,
				     const struct gr_suspect *suspect)
{
	struct gr_error *err = NULL;

	if (!suspect->is_group && suspect->at.kind == GR_ACCUMULATION_CHAIN)
		return add_elements(c, &suspect->at);
	if (suspect->is_group) {
		c->keys[c->nkeys++] = suspect->key;
		err = for_each_member(c->g, c->q, suspect, &c->ticker,
				      add_member, c);
	} else {
		find_keys(c, suspect->at.at);
		if (!suspect_stack_append(&c->stack, suspect->at.at))
			return &gr_enomem;
	}
	return err ? err : add_children(c, suspect);
}

struct gr_error *gr_graph_suspect_contents(
	const struct gr_graph *g, const struct gr_suspect_question *question,
	const struct gr_suspect *suspect, const struct gr_poll *poll,
	struct gr_child_groups *ret)
{
	_cleanup_(contents_deinit) struct contents c = {
		.g = g,
		.q = question,
		.ticker = { .poll = poll },
	};
	struct gr_error *err = add_contents(&c, suspect);

	if (!err)
		gr_groups_finish(&c.groups, ret);
	return err;
}
