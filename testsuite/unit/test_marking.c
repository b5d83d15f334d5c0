// SPDX-License-Identifier: Apache-2.0
/*
 * marking: the walk by masks over random heaps, held against a naive walker:
 * what is reached, who is billed in which tier, and over whom.
 */
#include "base/cleanup.h"

#include "marking_world.h"

TEST(walk)
{
	uint64_t seen = 0, freed = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct world w;
		struct gr_marking m;
		struct gr_ledger ledger;
		uint64_t objects[NROOTS] = { 0 }, count = 0;

		world_init(&w, seed);
		struct naive *n = naive_walk(&w);
		walk(&w, false, &ledger, &m);
		assert_null(gr_tree_finish(&m.tree));
		for (gr_obj i = 0; i < w.heap->nobjs; i++) {
			if (gr_marking_is_reached(&m, i) != !!n->billed[i])
				fail_msg("seed %d: object %u", (int)seed, i);
			if (n->billed[i])
				objects[n->billed[i] - 1]++;
			count += !!n->billed[i];
		}
		assert_int_equal(ledger.masked.objects, count);
		assert_int_equal(m.untyped_total.objects, count);
		for (size_t i = 0; i < m.tree.nodes.size; i++) {
			const struct gr_node *node = &m.tree.nodes.data[i];
			const char *name = m.tree.roots.data[node->root].name;

			objects[name - w.names] -= node->objects;
		}
		for (int i = 0; i < NROOTS; i++)
			assert_int_equal(objects[i], 0);
		seen += count;
		freed += w.f->gaps.count[GR_GAP_FREE_SLOT_POINTERS];
		gr_marking_deinit(&m);
		free(n);
		world_deinit(&w);
	}
	// The worlds are not trivial.
	assert_true(seen > 40 * 100 && freed > 40);
}

/* The first goroutine that led to an object is the one, in whatever order. */
TEST(goroutine_of_chain)
{
	static const struct gr_frame_object rows[] = {
		{ 7, 1 }, { 3, 2 }, { 9, 3 }, { 3, 4 }, { 0, 5 },
	};
	struct gr_parents *parents;

	assert_null(gr_parents_create(10, &parents));
	for (size_t i = 0; i < GR_ARRAY_SIZE(rows); i++)
		assert_true(gr_stack_object_vector_append(&parents->on_stack,
							  rows[i]));
	assert_null(gr_parents_finish(parents, NULL, NULL));
	assert_int_equal(gr_parents_goroutine(parents, 0), 5);
	assert_int_equal(gr_parents_goroutine(parents, 3), 2);
	assert_int_equal(gr_parents_goroutine(parents, 7), 1);
	assert_int_equal(gr_parents_goroutine(parents, 9), 3);
	assert_int_equal(gr_parents_goroutine(parents, 4), UINT32_MAX);
	assert_int_equal(gr_parents_goroutine(parents, 10), UINT32_MAX);
	gr_parents_destroy(parents);
}

/* Entries lie side by side: none changes its neighbours. */
static void check_entries(gr_obj nobjs, size_t entry_bytes)
{
	const struct {
		gr_obj obj, from;
		struct gr_way way;
	} rows[] = {
		{ 1, 0, { 5, 6 } },	      { 0, nobjs - 1, { 1, 2 } },
		{ 2, GR_OBJ_NONE, { 7, 8 } }, { nobjs - 1, 2, { 1, 2 } },
		{ nobjs - 2, 77, { 9, 9 } },
	};
	struct gr_parents *parents;

	assert_null(gr_parents_create(nobjs, &parents));
	assert_int_equal(parents->entry_bytes, entry_bytes);
	for (size_t i = 0; i < GR_ARRAY_SIZE(rows); i++)
		gr_parents_set(parents, rows[i].obj, rows[i].from,
			       gr_parents_way(parents, rows[i].way));
	for (size_t i = 0; i < GR_ARRAY_SIZE(rows); i++) {
		gr_obj obj = rows[i].obj;

		assert_int_equal(gr_parents_from(parents, obj), rows[i].from);
		assert_int_equal(gr_parents_node(parents, obj),
				 rows[i].way.node);
		assert_int_equal(gr_parents_label(parents, obj),
				 rows[i].way.label);
	}
	assert_false(gr_parents_has(parents, 3));
	assert_false(gr_parents_has(parents, nobjs - 3));
	gr_parents_destroy(parents);
}

TEST(entries_of_parents)
{
	check_entries(100, 7);
	check_entries(1 << 26, 7);
	check_entries((1 << 26) + 1, 8);
}

TEST(parents)
{
	for (uint64_t seed = 50; seed < 70; seed++) {
		struct world w;
		struct gr_marking m;
		struct gr_ledger ledger;

		world_init(&w, seed);
		struct naive *n = naive_walk(&w);
		walk(&w, true, &ledger, &m);
		for (gr_obj i = 0; i < w.heap->nobjs; i++) {
			bool is_reached = gr_parents_has(m.parents, i);
			gr_obj top = i;
			int hops = 0;

			assert_int_equal(is_reached, !!n->billed[i]);
			if (!is_reached)
				continue;
			assert_int_equal(gr_parents_above(m.parents, &m.tree,
							  i),
					 n->from[i]);
			for (gr_obj o = i; o != GR_OBJ_NONE;
			     o = gr_parents_above(m.parents, &m.tree, o)) {
				assert_true(hops++ < MAX_OBJECTS);
				top = o;
			}
			uint32_t node = gr_parents_top(
				&m.tree, gr_parents_node(m.parents, top));
			uint32_t root = m.tree.nodes.data[node].root;
			assert_ptr_equal(m.tree.roots.data[root].name,
					 &w.names[n->billed[i] - 1]);
		}
		// Roots, and two for all objects: no type, and `$sub_objects$`.
		assert_true(m.tree.nodes.size <= 2 * NROOTS + 2);
		gr_marking_deinit(&m);
		free(n);
		world_deinit(&w);
	}
}

/* One walk leaves what another has found, and the heap, as they are. */
TEST(markings_are_values)
{
	struct world w;
	struct gr_marking first, second;
	struct gr_ledger ledger;
	uint8_t states[MAX_OBJECTS];

	world_init(&w, 7);
	size_t bytes = gr_bitmap_words(w.heap->nobjs) * 8;
	_cleanup_free_ uint64_t *allocated = malloc(bytes);
	assert_non_null(allocated);
	memcpy(allocated, w.heap->allocated, bytes);
	walk(&w, false, &ledger, &first);
	memcpy(states, first.states, w.heap->nobjs);
	w.roots.list.size = 3;
	walk(&w, false, &ledger, &second);
	assert_memory_equal(states, first.states, w.heap->nobjs);
	assert_memory_not_equal(states, second.states, w.heap->nobjs);
	assert_memory_equal(allocated, w.heap->allocated, bytes);
	gr_marking_deinit(&first);
	gr_marking_deinit(&second);
	world_deinit(&w);
}

GR_SUITE("marking")
