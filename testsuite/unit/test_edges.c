// SPDX-License-Identifier: Apache-2.0
/* Edges of random heaps, held against a naive sweep. */
#include "mark/edges.h"

#include "marking_world.h"

enum { MAX_EDGES = 1 << 16 };

struct edge_list {
	size_t count;
	struct gr_edge edges[MAX_EDGES];
};

static struct gr_error *keep_edges(void *ctx, const struct gr_edge *edges,
				   size_t count)
{
	struct edge_list *list = ctx;

	assert_true(count && list->count + count <= MAX_EDGES);
	memcpy(&list->edges[list->count], edges, count * sizeof(*edges));
	list->count += count;
	return NULL;
}

static void naive_edge(struct edge_list *list, struct world *w,
		       struct gr_edge edge)
{
	edge.to = naive_target(w, edge.value);
	if (edge.value && edge.to != GR_OBJ_NONE)
		list->edges[list->count++] = edge;
}

/* The words of an object's slot, as edges like @p like. A root does not lead to
 * the object whose contents it is. */
static void naive_object_edges(struct edge_list *list, struct world *w,
			       gr_obj obj, struct gr_edge like)
{
	const struct gr_span *span = gr_heap_span_of(w->heap, obj);
	uint64_t addr = gr_span_slot_addr(span, obj - span->first_obj);

	for (uint64_t i = 0; i < span->elem_bytes / 8; i++) {
		like.addr = addr + i * 8;
		memcpy(&like.value, fake_find(&w->f->image, like.addr, 8), 8);
		bool is_self = naive_target(w, like.value) == obj;

		if (gr_bitmap_test(pointer_bits, (like.addr - HEAP) / 8) &&
		    !span->is_noscan && !(is_self && like.from == GR_OBJ_NONE))
			naive_edge(list, w, like);
	}
}

static void naive_sweep(struct edge_list *list, struct world *w,
			const struct naive *n)
{
	for (gr_obj i = 0; i < w->heap->nobjs; i++) {
		struct gr_edge like = { .from = i };

		if (n ? n->billed[i] : gr_heap_is_allocated(w->heap, i))
			naive_object_edges(list, w, i, like);
	}
	for (uint32_t i = 0; i < AREA_WORDS; i++) {
		struct gr_edge like = {
			.from = GR_OBJ_NONE,
			.is_area = true,
			.is_doubtful = gr_bitmap_test(w->area.conservative, i),
			.addr = AREA + i * 8,
		};

		memcpy(&like.value, fake_find(&w->f->image, like.addr, 8), 8);
		if (gr_bitmap_test(w->area.live, i))
			naive_edge(list, w, like);
	}
	for (uint32_t i = 0; i < NROOTS; i++) {
		const struct gr_root *root = &w->roots.list.data[i];
		gr_obj obj = naive_target(w, root->addr);
		struct gr_edge like = {
			.from = GR_OBJ_NONE,
			.root = i,
			.is_doubtful = root->is_conservative,
			.value = root->addr,
		};

		if (root->form == GR_ROOT_VALUE)
			naive_edge(list, w, like);
		else if (obj != GR_OBJ_NONE)
			naive_object_edges(list, w, obj, like);
	}
}

static int compare_edges(const void *a, const void *b)
{
	const struct gr_edge *x = a, *y = b;

#define COMPARE(field)            \
	if (x->field != y->field) \
		return x->field < y->field ? -1 : 1;
	COMPARE(addr)
	COMPARE(from)
	COMPARE(to)
	COMPARE(root)
	COMPARE(is_area)
	COMPARE(is_doubtful)
	COMPARE(is_fresh)
	COMPARE(value)
#undef COMPARE
	return 0;
}

static void check_edges(struct world *w, const struct gr_marking *m,
			const struct naive *n)
{
	struct edge_list *got = suite_alloc(sizeof(*got));
	struct edge_list *want = suite_alloc(sizeof(*want));

	assert_null(
		gr_for_each_edge(w->heap, &w->roots, m, keep_edges, NULL, got));
	naive_sweep(want, w, n);
	assert_int_equal(got->count, want->count);
	assert_true(want->count > 20);
	qsort(got->edges, got->count, sizeof(got->edges[0]), compare_edges);
	qsort(want->edges, want->count, sizeof(want->edges[0]), compare_edges);
	for (size_t i = 0; i < want->count; i++)
		assert_int_equal(compare_edges(&got->edges[i], &want->edges[i]),
				 0);
	free(got);
	free(want);
}

TEST(edges)
{
	for (uint64_t seed = 100; seed < 120; seed++) {
		struct world w;
		struct gr_marking m;
		struct gr_ledger ledger;

		world_init(&w, seed);
		struct naive *n = naive_walk(&w);
		walk(&w, false, &ledger, &m);
		w.roots.areas.areas = &w.area;
		w.roots.areas.count = 1;
		check_edges(&w, NULL, NULL);
		check_edges(&w, &m, n);
		gr_marking_deinit(&m);
		free(n);
		world_deinit(&w);
	}
}

static struct gr_error *refuse(void *ctx, const struct gr_edge *edges,
			       size_t count)
{
	(void)ctx, (void)edges, (void)count;
	return &gr_enomem;
}

TEST(edges_end_with_an_error)
{
	struct world w;

	world_init(&w, 3);
	assert_ptr_equal(gr_for_each_edge(w.heap, &w.roots, NULL, refuse, NULL,
					  NULL),
			 &gr_enomem);
	world_deinit(&w);
}

GR_SUITE("edges")
