// SPDX-License-Identifier: Apache-2.0
/*
 * heapgraph: the graph of random heaps, held against the plainest model of it:
 * objects are what a walk reached, edges are what a naive sweep finds less
 * those of the scheduler, and each root has one holder.
 */
#include "heapgraph_service.h"

enum { MAX_EDGES = 1 << 14 };

// -------------------------------------------------------------- naive model

struct naive_root {
	enum gr_root_source source;
	uint32_t index, holder;
	enum gr_tier tier;
	uint64_t addr;
	uint32_t nedges; /* of the first edges of all that follow */
};

struct model {
	struct service *s;
	gr_vertex vertex[MAX_OBJECTS];
	gr_vertex nobjects;
	bool is_owned[MAX_OBJECTS];
	uint64_t left_out;
	/* The edges of objects, by vertex, then those of roots. */
	gr_vertex to[MAX_EDGES];
	uint32_t first[MAX_OBJECTS + 1];
	uint32_t nedges;
	struct naive_root roots[NROOTS + AREA_WORDS + NGOROUTINES + NSUDOGS];
	uint32_t nroots;
	bool is_used[AREA_WORDS];
};

static bool is_reached(const struct model *m, gr_obj obj)
{
	return obj != GR_OBJ_NONE && m->vertex[obj] != GR_VERTEX_NONE;
}

static void number(struct model *m)
{
	struct world *w = &m->s->w;
	gr_obj obj;

	for (gr_obj i = 0; i < w->heap->nobjs; i++)
		m->vertex[i] = gr_parents_has(m->s->m.parents, i) ?
				       m->nobjects++ :
				       GR_VERTEX_NONE;
	for (int i = 0; i < NGOROUTINES; i++) {
		obj = naive_object(w->heap, m->s->goroutines[i].addr);
		if (is_reached(m, obj))
			m->is_owned[obj] = true;
	}
	for (int i = 0; i < NSUDOGS; i++) {
		obj = naive_object(w->heap, m->s->sudogs[i].addr);
		if (is_reached(m, obj))
			m->is_owned[obj] = true;
	}
}

static void add(struct model *m, uint64_t value)
{
	gr_obj to = naive_target(&m->s->w, value);

	if (!value || !is_reached(m, to))
		return;
	if (m->is_owned[to])
		m->left_out++;
	else
		m->to[m->nedges++] = m->vertex[to];
}

static uint64_t word_at(struct world *w, uint64_t addr)
{
	uint64_t value;

	memcpy(&value, fake_find(&w->f->image, addr, 8), 8);
	return value;
}

/* Add the edges out of an object; @p but is one that they do not lead to. */
static void add_contents(struct model *m, gr_obj obj, gr_obj but)
{
	struct world *w = &m->s->w;
	const struct gr_span *span = gr_heap_span_of(w->heap, obj);
	uint64_t addr = gr_span_slot_addr(span, obj - span->first_obj);

	for (uint64_t i = 0; i < span->elem_bytes / 8 && !span->is_noscan; i++)
		if (gr_bitmap_test(pointer_bits, (addr - HEAP) / 8 + i) &&
		    (but == GR_OBJ_NONE ||
		     naive_target(w, word_at(w, addr + i * 8)) != but))
			add(m, word_at(w, addr + i * 8));
}

/* A root has a vertex if it has edges. */
static void end_root(struct model *m, struct naive_root root, uint32_t before)
{
	root.nedges = m->nedges - before;
	if (root.nedges)
		m->roots[m->nroots++] = root;
}

static void add_word(struct model *m, uint32_t i)
{
	struct world *w = &m->s->w;

	if (!gr_bitmap_test(w->area.live, i) || m->is_used[i])
		return;
	m->is_used[i] = true;
	add(m, word_at(w, AREA + i * 8));
}

static uint32_t holder_of(const struct gr_root *root)
{
	static const enum gr_root_group groups[] = {
		[GR_ROOT_GLOBAL] = GR_GROUP_VARIABLES,
		[GR_ROOT_TIMER] = GR_GROUP_TIMERS,
		[GR_ROOT_FINALIZER] = GR_GROUP_FINALIZERS,
		[GR_ROOT_CLEANUP] = GR_GROUP_FINALIZERS,
		[GR_ROOT_LOCAL] = GR_GROUP_RUNTIME,
		[GR_ROOT_STACK] = GR_GROUP_RUNTIME,
		[GR_ROOT_REGISTER] = GR_GROUP_RUNTIME,
		[GR_ROOT_DEFER] = GR_GROUP_RUNTIME,
		[GR_ROOT_TINY] = GR_GROUP_RUNTIME,
		[GR_ROOT_RUNTIME] = GR_GROUP_RUNTIME,
		[GR_ROOT_ADDRESS] = GR_GROUP_RUNTIME,
	};

	return root->goroutine == UINT32_MAX ?
		       groups[root->kind] :
		       GR_NROOT_GROUPS + root->goroutine;
}

static void add_listed(struct model *m, uint32_t i)
{
	struct world *w = &m->s->w;
	const struct gr_root *root = &w->roots.list.data[i];
	gr_obj obj = naive_target(w, root->addr);
	uint32_t before = m->nedges;

	if (root->form == GR_ROOT_VALUE)
		add(m, root->addr);
	else if (root->form == GR_ROOT_CONTENTS && obj != GR_OBJ_NONE)
		add_contents(m, obj, obj);
	else if (root->form == GR_ROOT_REGION)
		for (uint32_t j = 0; j < AREA_WORDS; j++)
			if (AREA + j * 8 >= root->addr &&
			    AREA + j * 8 + 8 <= root->addr + root->bytes)
				add_word(m, j);
	end_root(m,
		 (struct naive_root){ .source = GR_FROM_LIST,
				      .index = i,
				      .holder = holder_of(root),
				      .tier = root->tier },
		 before);
}

static void add_owned(struct model *m, uint32_t goroutine, uint64_t addr)
{
	gr_obj obj = naive_object(m->s->w.heap, addr);
	uint32_t before = m->nedges;

	if (is_reached(m, obj))
		m->to[m->nedges++] = m->vertex[obj];
	end_root(m,
		 (struct naive_root){ .source = GR_FROM_SCHEDULER,
				      .index = goroutine,
				      .holder = GR_NROOT_GROUPS + goroutine,
				      .tier = GR_TIER_RUNTIME },
		 before);
}

static struct model *make_model(struct service *s)
{
	struct model *m = suite_alloc(sizeof(*m));

	m->s = s;
	number(m);
	for (gr_obj i = 0; i < s->w.heap->nobjs; i++) {
		if (!is_reached(m, i))
			continue;
		m->first[m->vertex[i]] = m->nedges;
		add_contents(m, i, GR_OBJ_NONE);
	}
	m->first[m->nobjects] = m->nedges;
	for (int i = 0; i < NROOTS; i++)
		add_listed(m, i);
	for (uint32_t i = 0; i < AREA_WORDS; i++) {
		uint32_t before = m->nedges;

		add_word(m, i);
		end_root(m,
			 (struct naive_root){ .source = GR_FROM_AREA,
					      .addr = AREA + i * 8,
					      .holder = GR_NROOT_GROUPS +
							s->owner,
					      // A word of no frame.
					      .tier = GR_TIER_DEFERRED },
			 before);
	}
	for (uint32_t i = 0; i < NGOROUTINES; i++)
		add_owned(m, i, s->goroutines[i].addr);
	for (uint32_t i = 0; i < NSUDOGS; i++)
		add_owned(m, s->sudogs[i].goroutine, s->sudogs[i].addr);
	assert_true(m->nedges <= MAX_EDGES);
	return m;
}

// ------------------------------------------------------------------ checks

static void check_objects(const struct gr_heap_graph *hg, const struct model *m)
{
	const struct gr_graph *g = hg->graph;
	const struct gr_heap *heap = m->s->w.heap;

	assert_int_equal(g->nobjects, m->nobjects);
	for (gr_obj i = 0; i < heap->nobjs; i++) {
		gr_vertex v = gr_object_vertex(g->objects, i);

		assert_int_equal(v, m->vertex[i]);
		if (v == GR_VERTEX_NONE)
			continue;
		assert_int_equal(gr_objects_addr(g->objects, v),
				 gr_heap_object_addr(heap, i));
		assert_int_equal(gr_graph_own_bytes(g, v),
				 gr_heap_span_of(heap, i)->elem_bytes);
		assert_int_equal(g->objects->type[v],
				 gr_parents_label(m->s->m.parents, i));
	}
}

static void check_edges(const struct gr_heap_graph *hg, const struct model *m)
{
	const struct gr_graph *g = hg->graph;
	gr_vertex root = gr_graph_first_root(g);

	for (gr_vertex v = 0; v < m->nobjects; v++)
		assert_int_equal(g->first[v], m->first[v]);
	assert_int_equal(g->first[root], m->first[m->nobjects]);
	assert_memory_equal(g->to, m->to, m->nedges * sizeof(*m->to));
	assert_int_equal(hg->left_out, m->left_out);
	assert_int_equal(g->nroots, m->nroots);
	assert_int_equal(hg->roots.size, m->nroots);
	for (uint32_t i = 0; i < m->nroots; i++) {
		const struct gr_root_vertex *got = &hg->roots.data[i];
		const struct naive_root *want = &m->roots[i];

		assert_int_equal(got->source, want->source);
		assert_int_equal(got->index, want->index);
		assert_int_equal(got->addr, want->addr);
		assert_int_equal(got->holder, want->holder);
		assert_int_equal(got->tier, want->tier);
		assert_int_equal(gr_graph_rank(g, root + i), want->tier - 1);
		assert_int_equal(g->first[root + i + 1] - g->first[root + i],
				 want->nedges);
	}
}

/* Every root and every group is in the list of its holder, and in no other. */
static void check_groups(const struct gr_heap_graph *hg)
{
	const struct gr_graph *g = hg->graph;
	gr_vertex first = gr_graph_first_root(g), top = gr_graph_top(g);
	_cleanup_free_ gr_vertex *holder =
		calloc(g->nvertices, sizeof(*holder));

	assert_non_null(holder);
	assert_int_equal(g->ngroups, NGOROUTINES + GR_NROOT_GROUPS);
	for (gr_vertex v = gr_graph_first_group(g); v <= top; v++)
		for (uint32_t i = g->first[v]; i < g->first[v + 1]; i++) {
			assert_true(g->to[i] >= first && g->to[i] < v);
			assert_int_equal(holder[g->to[i]], 0);
			holder[g->to[i]] = v;
		}
	for (uint32_t i = 0; i < hg->roots.size; i++) {
		uint32_t want = hg->roots.data[i].holder;
		assert_int_equal(holder[first + i],
				 want < GR_NROOT_GROUPS ?
					 gr_group_vertex(hg, want) :
					 gr_goroutine_vertex(
						 hg, want - GR_NROOT_GROUPS));
	}
	for (uint32_t i = 0; i < NGOROUTINES; i++)
		assert_int_equal(holder[gr_goroutine_vertex(hg, i)],
				 gr_group_vertex(hg,
						 i < 2 ? GR_GROUP_RUNTIME :
							 GR_GROUP_GOROUTINES));
	for (int i = 0; i < GR_NROOT_GROUPS; i++)
		assert_int_equal(holder[gr_group_vertex(hg, i)], top);
}

TEST(graph)
{
	uint64_t nedges = 0, left_out = 0, nroots = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct service s;
		struct gr_heap_graph *hg;

		service_init(&s, seed);
		struct model *m = make_model(&s);
		assert_null(create(&s, 1, 0, &hg));
		check_objects(hg, m);
		check_edges(hg, m);
		check_groups(hg);
		nedges += m->nedges;
		left_out += m->left_out;
		nroots += m->nroots;
		gr_heap_graph_destroy(hg);
		free(m);
		service_deinit(&s);
	}
	// The services are not trivial.
	assert_true(nedges > 60 * 200 && left_out > 60 && nroots > 60 * 20);
}

/* Nothing is reached: all that there is are groups. */
TEST(empty)
{
	for (unsigned int n = 1; n <= 3; n++) {
		struct service s;
		struct gr_heap_graph *hg;

		service_init(&s, 8);
		s.w.roots.list.size = 0;
		s.w.roots.areas.count = 0;
		gr_marking_deinit(&s.m);
		walk(&s.w, true, &s.ledger, &s.m);
		assert_null(create(&s, n, 0, &hg));
		assert_int_equal(hg->graph->nobjects, 0);
		assert_int_equal(hg->graph->nroots, 0);
		check_groups(hg);
		assert_null(gr_graph_need(hg->graph, GR_PART_ALL, NULL));
		assert_int_equal(hg->graph->retained[gr_graph_top(hg->graph)],
				 0);
		gr_heap_graph_destroy(hg);
		service_deinit(&s);
	}
}

GR_SUITE("heapgraph")
