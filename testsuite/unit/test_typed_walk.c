// SPDX-License-Identifier: Apache-2.0
/*
 * The walk by types over random heaps, held against a naive walker: which
 * root and which path of names each object is billed to, in which order of
 * tiers, and under which type it counts.
 *
 * The naive walker knows the types by heart: it goes field by field, keeps a
 * list of objects, and writes paths as text.
 */
#include "goruntime/types/types_internal.h"
#include "mark/walk.h"

#include "heap_builder.h"
#include "pointer_bits.h"

/* The types of the heap, by their ids. */
enum {
	T_INT,
	T_INT_PTR,
	T_LEAF,
	T_LEAF_PTR,
	T_SUDOG,
	T_SUDOG_PTR,
	T_NODE,
	T_NODE_PTR,
	T_NODES,
	T_ANY,
	NTYPES,
};

/* Words of a main.Node. */
enum {
	NEXT,
	LEAF,
	PART,
	ANY_TYPE,
	ANY_DATA,
	NODES,
	NODES_LEN,
	NODES_CAP,
	SUDOG,
	ID,
	NODE_WORDS,
	NODE_BYTES = NODE_WORDS * 8,
	ELEMENTS = 3, /* of each backing array */
	LEAF_BYTES = 48,
	SUDOG_BYTES = 96,
	PART_OFF = 16, /* into a leaf */
};

/* Spans, each of one kind of objects. */
enum { NODE_SPAN, ARRAY_SPAN, LEAF_SPAN, SUDOG_SPAN, NSPANS };

enum {
	NPAGES = 5,
	HEAP_WORDS = NPAGES * PAGE / 8,
	MAX_OBJECTS = 512,
	NROOTS = 12,
	LEAF_RECORD = 0x9000, /* addresses of runtime type records */
	NODE_RECORD = 0x9100,
	NO_DEPTH = 1 << 20,
};
#define AREA UINT64_C(0x700000)

struct world {
	struct fixture *f;
	struct gr_heap *heap;
	struct gr_arena arena;
	struct gr_roots roots;
	struct gr_area area;
	uint64_t live[NROOTS * NODE_WORDS / 64 + 1];
	uint64_t seed;
};

static uint64_t below(struct world *w, uint64_t n)
{
	return suite_random(&w->seed) % n;
}

// ---------------------------------------------------------------- the heap

static void add_type(struct gr_types *types, const char *name, uint8_t kind,
		     uint64_t bytes, gr_type_id elem)
{
	struct gr_type type = {
		.name = name,
		.kind = kind,
		.size_bytes = bytes,
		.elem = elem,
		.key = GR_TYPE_NONE,
		.header = GR_TYPE_NONE,
	};

	assert_true(gr_type_vector_append(&types->types, type));
}

static void make_types(struct gr_types *types)
{
	static const struct gr_type_field fields[] = {
		{ "Next", NEXT * 8, T_NODE_PTR },
		{ "Leaf", LEAF * 8, T_LEAF_PTR },
		{ "Part", PART * 8, T_INT_PTR },
		{ "Any", ANY_TYPE * 8, T_ANY },
		{ "Nodes", NODES * 8, T_NODES },
		{ "Sudog", SUDOG * 8, T_SUDOG_PTR },
		{ "ID", ID * 8, T_INT },
	};
	const gr_type_id none = GR_TYPE_NONE;

	add_type(types, "int", GR_KIND_INT, 8, none);
	add_type(types, "*int", GR_KIND_PTR, 8, T_INT);
	add_type(types, "main.Leaf", GR_KIND_STRUCT, LEAF_BYTES, none);
	add_type(types, "*main.Leaf", GR_KIND_PTR, 8, T_LEAF);
	add_type(types, "runtime.sudog", GR_KIND_STRUCT, SUDOG_BYTES, none);
	add_type(types, "*runtime.sudog", GR_KIND_PTR, 8, T_SUDOG);
	add_type(types, "main.Node", GR_KIND_STRUCT, NODE_BYTES, none);
	add_type(types, "*main.Node", GR_KIND_PTR, 8, T_NODE);
	add_type(types, "[]main.Node", GR_KIND_SLICE, 24, T_NODE);
	add_type(types, "interface {}", GR_KIND_INTERFACE, 16, none);
	for (size_t i = 0; i < GR_ARRAY_SIZE(fields); i++)
		assert_true(gr_field_vector_append(&types->fields, fields[i]));
	types->types.data[T_NODE].nfields = GR_ARRAY_SIZE(fields);
	gr_type_set_role(types, T_SUDOG);
	assert_null(gr_type_ref_add(types, GR_REF_RUNTIME, LEAF_RECORD,
				    T_LEAF_PTR));
	assert_null(gr_type_ref_add(types, GR_REF_RUNTIME, NODE_RECORD,
				    T_NODE_PTR));
}

static void make_spans(struct world *w)
{
	static const struct shape shapes[NSPANS] = {
		{ HEAP, 1, NODE_BYTES, 102, 10, 0, 0, 0, 0 },
		{ HEAP + PAGE, 2, ELEMENTS * NODE_BYTES, 68, 20, 0, 0, 0, 0 },
		{ HEAP + 3 * PAGE, 1, LEAF_BYTES, 170, 31, 0, 0, 0, 0 },
		{ HEAP + 4 * PAGE, 1, SUDOG_BYTES, 85, 40, 0, 0, 0, 0 },
	};

	fake_add(&w->f->image, HEAP, NPAGES * PAGE);
	for (int i = 0; i < NSPANS; i++) {
		struct shape s = shapes[i];

		s.alloc_bits = BITS + i * 0x400;
		for (int j = 0; j < 0x40; j++)
			fake_set(&w->f->image, s.alloc_bits + j,
				 below(w, 3) ? 0xff : below(w, 256), 1);
		put_span(w->f, s);
	}
	w->heap = read_heap(w->f);
	w->heap->ptrmap = &made_up_maps;
	assert_null(gr_heap_map(w->heap));
	assert_true(w->heap->nobjs <= MAX_OBJECTS);
}

/* Nil, or the first byte of a slot of that span, which may be free. */
static uint64_t some_slot(struct world *w, int span)
{
	const struct gr_span *s = &w->heap->spans[span];

	return below(w, 3) ? gr_span_slot_addr(s, below(w, s->nelems)) : 0;
}

static void put_node(struct world *w, uint64_t addr, uint64_t *bits,
		     uint64_t bit)
{
	static const uint8_t pointers[] = { NEXT,     LEAF,  PART, ANY_TYPE,
					    ANY_DATA, NODES, SUDOG };
	bool is_node = below(w, 2);
	uint64_t part = some_slot(w, LEAF_SPAN);
	const uint64_t words[NODE_WORDS] = {
		[NEXT] = some_slot(w, NODE_SPAN),
		[LEAF] = some_slot(w, LEAF_SPAN),
		[PART] = part ? part + PART_OFF : 0,
		[ANY_TYPE] = is_node ? NODE_RECORD : LEAF_RECORD,
		[ANY_DATA] = some_slot(w, is_node ? NODE_SPAN : LEAF_SPAN),
		[NODES] = some_slot(w, ARRAY_SPAN),
		[NODES_LEN] = below(w, ELEMENTS + 1),
		[NODES_CAP] = ELEMENTS,
		[SUDOG] = some_slot(w, SUDOG_SPAN),
		// Looks like a pointer, but no map says so.
		[ID] = gr_heap_object_addr(w->heap, below(w, w->heap->nobjs)),
	};

	for (int i = 0; i < NODE_WORDS; i++)
		fake_set(&w->f->image, addr + i * 8, words[i], 8);
	for (size_t i = 0; i < GR_ARRAY_SIZE(pointers); i++)
		gr_bitmap_set(bits, bit + pointers[i]);
}

static void make_words(struct world *w)
{
	pointer_bits = gr_bitmap_alloc(HEAP_WORDS);
	assert_non_null(pointer_bits);
	for (int i = NODE_SPAN; i <= ARRAY_SPAN; i++) {
		const struct gr_span *s = &w->heap->spans[i];

		for (uint64_t addr = s->base_addr; addr < s->limit_addr;
		     addr += NODE_BYTES)
			put_node(w, addr, pointer_bits, (addr - HEAP) / 8);
	}
}

/* A variable of type main.Node: in the area, or put together from pieces. The
 * words of the area have names, so only the first tier may leave them. */
static void put_variable(struct world *w, uint64_t i, struct gr_root *root)
{
	uint64_t bits[2] = { 0 };

	root->addr = AREA + i * NODE_BYTES;
	root->bytes = NODE_BYTES;
	root->type = T_NODE;
	put_node(w, root->addr, bits, 0);
	// The type word of an interface leads nowhere.
	gr_bitmap_clear(bits, ANY_TYPE);
	if (root->tier > GR_TIER_USER || below(w, 2)) {
		root->bytes_at = w->area.host + i * NODE_BYTES;
		root->live = bits[0];
		return;
	}
	for (uint64_t word = 0; word < NODE_WORDS; word++)
		if (gr_bitmap_test(bits, word))
			gr_bitmap_set(w->live, i * NODE_WORDS + word);
}

/* Variables, pointers to nodes, and pointers to sudogs that nobody knows the
 * type of; in any order of tiers. */
static void make_roots(struct world *w)
{
	w->area = (struct gr_area){
		.start = AREA,
		.end = AREA + NROOTS * NODE_BYTES,
		.host = fake_add(&w->f->image, AREA, NROOTS * NODE_BYTES),
		.live = w->live,
	};
	w->roots.areas.areas = &w->area;
	w->roots.areas.count = 1;
	for (uint64_t i = 0; i < NROOTS; i++) {
		uint64_t form = below(w, 3);
		struct gr_root root = {
			.name = gr_arena_internf(&w->arena, "main.v%u",
						 (unsigned int)i),
			.kind = GR_ROOT_GLOBAL,
			.tier = GR_TIER_USER + below(w, GR_TIER_RUNTIME),
			.form = form ? GR_ROOT_VALUE : GR_ROOT_REGION,
			.goroutine = UINT32_MAX,
			.type = form == 1 ? T_NODE : GR_TYPE_NONE,
			.addr = some_slot(w,
					  form == 1 ? NODE_SPAN : SUDOG_SPAN),
		};

		if (root.form == GR_ROOT_REGION)
			put_variable(w, i, &root);
		assert_true(gr_root_list_append(&w->roots.list, root));
	}
}

static void world_init(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	w->seed = seed;
	w->f = setup();
	w->f->rt.arena = &w->arena;
	make_types(w->f->types);
	make_spans(w);
	make_words(w);
	make_roots(w);
}

static void world_deinit(struct world *w)
{
	gr_root_list_deinit(&w->roots.list);
	gr_arena_deinit(&w->arena);
	free(pointer_bits);
	teardown(w->f);
}

// ------------------------------------------------------------ naive walker

/* A path of names, from the root on. */
struct path {
	const char *text;
	uint32_t depth;
};

struct naive {
	struct world *w;
	uint32_t max_depth;
	bool is_first; /* roots one after another, depth first */
	int tier;
	bool is_reached[MAX_OBJECTS], is_kept[MAX_OBJECTS];
	const char *path[MAX_OBJECTS]; /* where it is billed, cut */
	gr_type_id type[MAX_OBJECTS];
	struct naive_visit {
		gr_obj obj;
		struct path path;
	} queue[MAX_OBJECTS], kept[MAX_OBJECTS];
	size_t head, tail, nkept;
};

static uint64_t naive_bytes(const struct naive *n, gr_obj obj)
{
	return gr_heap_span_of(n->w->heap, obj)->elem_bytes;
}

/* The path below @p path, or that path itself where the limit is. */
static struct path naive_below(struct naive *n, struct path path,
			       const char *name)
{
	if (path.depth + 1 >= n->max_depth)
		return path;
	return (struct path){
		gr_arena_internf(&n->w->arena, "%s/%s", path.text, name),
		path.depth + 1,
	};
}

static void naive_visit(struct naive *n, struct path path, uint64_t addr,
			gr_type_id type)
{
	gr_obj obj = naive_object(n->w->heap, addr);
	struct naive_visit visit = { obj, path };

	if (obj == GR_OBJ_NONE || !gr_heap_is_allocated(n->w->heap, obj))
		return;
	if (type == T_SUDOG && n->tier < GR_TIER_RUNTIME) {
		if (!n->is_kept[obj])
			n->kept[n->nkept++] = visit;
		n->is_kept[obj] = true;
		return;
	}
	// Neither a part nor a type without pointers, in memory that may have
	// some, tells the type of the whole.
	if (n->type[obj] == GR_TYPE_NONE && type != T_INT && type != T_SUDOG)
		n->type[obj] = type;
	if (n->is_reached[obj])
		return;
	n->is_reached[obj] = true;
	n->path[obj] = path.text;
	if (type == T_NODE || type == T_NODES)
		n->queue[n->tail++] = visit;
}

static void naive_node(struct naive *n, struct path path, uint64_t addr)
{
	uint64_t words[NODE_WORDS];

	memcpy(words, fake_find(&n->w->f->image, addr, NODE_BYTES), NODE_BYTES);
#define FOLLOW(name, word, type) \
	if (words[word])         \
	naive_visit(n, naive_below(n, path, name), words[word], type)
	FOLLOW("Next. (*main.Node)", NEXT, T_NODE);
	FOLLOW("Leaf. (*main.Leaf)", LEAF, T_LEAF);
	FOLLOW("Part. (*int)", PART, T_INT);
	FOLLOW("Any. (interface {})", ANY_DATA,
	       words[ANY_TYPE] == NODE_RECORD ? T_NODE : T_LEAF);
	FOLLOW("Nodes. ([]main.Node)", NODES, T_NODES);
	FOLLOW("Sudog. (*runtime.sudog)", SUDOG, T_SUDOG);
#undef FOLLOW
}

static void naive_drain(struct naive *n)
{
	while (n->head < n->tail) {
		struct naive_visit v = n->is_first ? n->queue[--n->tail] :
						     n->queue[n->head++];
		uint64_t addr = gr_heap_object_addr(n->w->heap, v.obj);

		if (naive_bytes(n, v.obj) == NODE_BYTES) {
			naive_node(n, v.path, addr);
			continue;
		}
		for (unsigned int i = 0; i < ELEMENTS; i++) {
			char name[32];

			snprintf(name, sizeof(name), "[%u]. (main.Node)", i);
			naive_node(n, naive_below(n, v.path, name),
				   addr + i * NODE_BYTES);
		}
	}
}

static void naive_tier(struct naive *n)
{
	for (size_t i = 0; i < n->w->roots.list.size; i++) {
		const struct gr_root *root = &n->w->roots.list.data[i];
		struct path path = {
			gr_arena_internf(&n->w->arena, "%s", root->name), 0
		};

		if (root->tier != n->tier)
			continue;
		if (root->form == GR_ROOT_REGION)
			naive_node(n, path, root->addr);
		else
			naive_visit(n, path, root->addr, root->type);
		if (n->is_first)
			naive_drain(n);
	}
	naive_drain(n);
}

static struct naive *naive_walk(struct world *w,
				const struct gr_walk_options *options)
{
	struct naive *n = suite_alloc(sizeof(*n));

	n->w = w;
	n->max_depth = options->max_depth;
	n->is_first = options->attribution == GR_ATTRIBUTION_FIRST;
	for (int i = 0; i < MAX_OBJECTS; i++)
		n->type[i] = GR_TYPE_NONE;
	for (n->tier = GR_TIER_USER; n->tier <= GR_TIER_RUNTIME; n->tier++)
		naive_tier(n);
	for (size_t i = 0; i < n->nkept; i++)
		naive_visit(n, n->kept[i].path,
			    gr_heap_object_addr(w->heap, n->kept[i].obj),
			    GR_TYPE_NONE);
	return n;
}

// ------------------------------------------------------------------- checks

/* The path of a node, as the naive walker writes it; paths has those that are
 * known. */
static const char *node_path(struct world *w, const struct gr_tree *tree,
			     const char **paths, uint32_t node)
{
	const struct gr_node *at = &tree->nodes.data[node];

	if (!paths[node] && at->parent == GR_NODE_NONE)
		paths[node] = gr_arena_internf(&w->arena, "%s", at->name);
	else if (!paths[node])
		paths[node] = gr_arena_internf(
			&w->arena, "%s/%s",
			node_path(w, tree, paths, at->parent), at->name);
	return paths[node];
}

/* Each node has what the naive walker billed to that path, and no more. */
static void check_nodes(struct world *w, const struct gr_tree *tree,
			const struct naive *n)
{
	const char **paths = suite_alloc(tree->nodes.size * sizeof(*paths));
	uint64_t billed = 0, reached = 0;

	for (size_t i = 0; i < tree->nodes.size; i++) {
		const struct gr_node *node = &tree->nodes.data[i];
		const char *path = node_path(w, tree, paths, i);
		struct gr_total want = { 0 };

		for (gr_obj o = 0; o < w->heap->nobjs; o++)
			// Equal texts of an arena have one place.
			if (n->is_reached[o] && n->path[o] == path) {
				want.objects++;
				want.bytes += naive_bytes(n, o);
			}
		if (node->objects != want.objects)
			fail_msg("%s: %d objects, not %d", path,
				 (int)node->objects, (int)want.objects);
		assert_int_equal(node->bytes, want.bytes);
		billed += node->objects;
	}
	for (gr_obj o = 0; o < w->heap->nobjs; o++)
		reached += n->is_reached[o];
	assert_int_equal(billed, reached);
	free(paths);
}

static void check_types(struct world *w, const struct gr_marking *m,
			const struct naive *n)
{
	for (gr_type_id type = 0; type <= NTYPES; type++) {
		gr_type_id wanted = type < NTYPES ? type : GR_TYPE_NONE;
		struct gr_total want = { 0 }, got = m->untyped_total;

		if (type < NTYPES)
			got = type < m->type_totals.size ?
				      m->type_totals.data[type] :
				      want;
		for (gr_obj o = 0; o < w->heap->nobjs; o++)
			if (n->is_reached[o] && n->type[o] == wanted) {
				want.objects++;
				want.bytes += naive_bytes(n, o);
			}
		assert_int_equal(got.objects, want.objects);
		assert_int_equal(got.bytes, want.bytes);
	}
}

static void walk(struct world *w, const struct gr_walk_options *options,
		 struct gr_marking *ret)
{
	struct gr_ledger ledger = { 0 };
	struct gr_walk *walk;

	assert_null(gr_walk_create(w->heap, &w->f->sched, &w->roots, options,
				   &ledger, &walk));
	assert_null(gr_walk_tiers(walk, options));
	assert_null(gr_tree_finish(&walk->m.tree));
	*ret = walk->m;
	memset(&walk->m, 0, sizeof(walk->m));
	gr_walk_destroy(walk);
}

struct walk_case {
	const char *name;
	struct gr_walk_options options;
};

static const struct walk_case cases[] = {
	{ "nearest root", { .max_depth = NO_DEPTH, .max_nodes = 1 << 20 } },
	{ "first root",
	  { .max_depth = NO_DEPTH,
	    .max_nodes = 1 << 20,
	    .attribution = GR_ATTRIBUTION_FIRST } },
	{ "three levels of names", { .max_depth = 3, .max_nodes = 1 << 20 } },
};

TEST_ROWS(walk, cases, c)
{
	uint64_t reached = 0, kept = 0;

	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct world w;
		struct gr_marking m;

		world_init(&w, seed);
		struct naive *n = naive_walk(&w, &c->options);
		walk(&w, &c->options, &m);
		for (gr_obj i = 0; i < w.heap->nobjs; i++) {
			if (gr_marking_is_reached(&m, i) != n->is_reached[i])
				fail_msg("seed %d: object %u", (int)seed, i);
			reached += n->is_reached[i];
		}
		check_nodes(&w, &m.tree, n);
		check_types(&w, &m, n);
		kept += n->nkept;
		gr_marking_deinit(&m);
		free(n);
		world_deinit(&w);
	}
	// The worlds are not trivial.
	assert_true(reached > 30 * 100 && kept > 30);
}

GR_SUITE("typed walk")
