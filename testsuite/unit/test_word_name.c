// SPDX-License-Identifier: Apache-2.0
/* Names of words of objects, over memory that makes sense or does not. */
#include "mark/parents.h"
#include "path_fixture.h"
#include "suite.h"
#include "naming/word_name.h"

/* Objects that the tests put together: each size class has a page. */
#define HEAP UINT64_C(0xc000000000)
#define RECORDS UINT64_C(0x400000)

static const uint32_t classes[] = { 8,	16,  24,  32,  48,  64,
				    80, 112, 144, 288, 4096 };

enum {
	NCLASSES = GR_ARRAY_SIZE(classes),
	NSPANS = NCLASSES + 1, /* and one without pointers */
	PLAIN = NCLASSES,
	T_PLAIN_MAP = NTYPES, /* map[int8]uint64 */
	T_CHAN,		      /* chan *Node */
	T_TRIE,		      /* HashTrieMap[string, *Node] */
	T_TRIE_SLICE,
	T_FUNC,
	NALL,
	DATA = GR_LABEL_FLAGS - GR_LABEL_BEGIN,
};

struct heap_fixture {
	struct path_fixture *f;
	struct gr_chunk chunk;
	struct gr_chunk *chunks[1];
	struct gr_span spans[NSPANS];
	struct gr_module module;
	uint8_t *memory; /* of the heap */
};

static void add_span(struct heap_fixture *h, unsigned int i, uint32_t bytes,
		     gr_obj first)
{
	h->spans[i] = (struct gr_span){
		.base_addr = HEAP + (uint64_t)i * GR_HEAP_PAGE_BYTES,
		.elem_bytes = bytes,
		.nelems = GR_HEAP_PAGE_BYTES / bytes,
		.magic = UINT32_MAX / bytes + 1,
		.first_obj = first,
		.is_noscan = i == PLAIN,
		.host = h->memory + (size_t)i * GR_HEAP_PAGE_BYTES,
		.fresh = UINT32_MAX,
	};
	h->spans[i].limit_addr =
		h->spans[i].base_addr + (uint64_t)h->spans[i].nelems * bytes;
	h->chunk.more[i].span = i + 1;
}

static void set_runtime(struct heap_fixture *h)
{
	struct gr_layout *layout = &h->f->program.rt.layout;

	path_set_layout(layout, true);
	layout->hchan.size_bytes = 96;
	layout->hchan.qcount = (struct gr_field){ 0, 8 };
	layout->hchan.dataqsiz = (struct gr_field){ 8, 8 };
	layout->hchan.buf = (struct gr_field){ 16, 8 };
	layout->hchan.elemtype = (struct gr_field){ 32, 8 };
	layout->hchan.recvx = (struct gr_field){ 48, 8 };
	layout->hchan.recvq_first = (struct gr_field){ 56, 8 };
	layout->hchan.sendq_first = (struct gr_field){ 72, 8 };
	h->module.types = RECORDS;
	h->module.etypes = RECORDS + 0x1000;
	h->f->program.rt.modules = &h->module;
	h->f->program.rt.nmodules = 1;
}

static void use_buckets(struct heap_fixture *h)
{
	struct gr_layout *layout = &h->f->program.rt.layout;

	set_runtime(h);
	memset(&layout->swiss_map, 0, sizeof(layout->swiss_map));
	layout->hmap.size_bytes = 48;
	layout->hmap.flags = (struct gr_field){ 8, 1 };
	layout->hmap.b = (struct gr_field){ 9, 1 };
	layout->hmap.buckets = (struct gr_field){ 16, 8 };
	layout->hmap.oldbuckets = (struct gr_field){ 24, 8 };
	layout->hmap.extra = (struct gr_field){ 40, 8 };
	layout->mapextra.size_bytes = 24;
	layout->mapextra.overflow = (struct gr_field){ 0, 8 };
	layout->mapextra.oldoverflow = (struct gr_field){ 8, 8 };
	layout->mapextra.next_overflow = (struct gr_field){ 16, 8 };
}

static struct heap_fixture *start(void)
{
	struct heap_fixture *h = suite_alloc(sizeof(*h));
	gr_obj first = 0;

	h->f = path_fixture_create();
	h->memory = fake_add(&h->f->image, HEAP,
			     (uint64_t)NSPANS * GR_HEAP_PAGE_BYTES);
	for (unsigned int i = 0; i < NSPANS; i++) {
		add_span(h, i, i < NCLASSES ? classes[i] : 144, first);
		first += h->spans[i].nelems;
	}
	h->chunks[0] = &h->chunk;
	h->f->heap = (struct gr_heap){
		.rt = &h->f->program.rt,
		.types = h->f->program.types,
		.spans = h->spans,
		.nspans = NSPANS,
		.nobjs = first,
		.first_chunk = HEAP >> GR_ARENA_SHIFT,
		.nchunks = 1,
		.chunks = h->chunks,
	};
	path_add_type(h->f, "map[int8]uint64", GR_KIND_MAP, 8, T_UINT64,
		      T_INT8);
	path_add_type(h->f, "chan *Node", GR_KIND_CHAN, 8, T_NODE_PTR,
		      GR_TYPE_NONE);
	path_add_type(h->f, "trie", GR_KIND_STRUCT, 8, T_NODE_PTR, T_STRING);
	path_add_type(h->f, "[]trie", GR_KIND_SLICE, 24, T_TRIE, GR_TYPE_NONE);
	path_add_type(h->f, "func()", GR_KIND_FUNC, 8, GR_TYPE_NONE,
		      GR_TYPE_NONE);
	struct gr_type *trie = &h->f->program.types->types.data[T_TRIE];
	trie->role = GR_ROLE_HASH_TRIE;
	trie->nfields = 1;
	set_runtime(h);
	return h;
}

static void stop(struct heap_fixture *h)
{
	path_fixture_destroy(h->f);
	free(h);
}

#define FIXTURE struct heap_fixture *h, start, stop

/* The address of object @p i of a size class. */
static uint64_t object(const struct heap_fixture *h, uint32_t bytes, uint32_t i)
{
	unsigned int class = 0;

	while (classes[class] != bytes)
		class ++;
	return h->spans[class].base_addr + (uint64_t)i * bytes;
}

static gr_obj number(struct heap_fixture *h, uint64_t addr)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(&h->f->heap, addr, &span);

	assert_int_not_equal(obj, GR_OBJ_NONE);
	return obj;
}

static void set(struct heap_fixture *h, uint64_t addr, uint64_t value)
{
	fake_set(&h->f->image, addr, value, 8);
}

static void expect_held(struct heap_fixture *h, uint64_t holder, uint64_t addr,
			uint32_t label, uint64_t off, const char *want,
			enum gr_word_kind kind)
{
	struct gr_word_name name;

	assert_null(gr_word_find_held_name(
		&h->f->stop, holder ? number(h, holder) : GR_OBJ_NONE,
		number(h, addr), label, off, &name));
	assert_string_equal(name.text, want);
	assert_int_equal(name.kind, kind);
}

static void expect(struct heap_fixture *h, uint64_t addr, uint32_t label,
		   uint64_t off, const char *want, enum gr_word_kind kind)
{
	expect_held(h, 0, addr, label, off, want, kind);
}

/* ------------------------------------------------------- values and slices */

TEST_F(values)
{
	uint64_t addr = object(h, 288, 3);

	expect(h, addr, T_NODE, 40, ".byLevel", GR_WORD_FIELD);
	expect(h, addr, T_NODE, 64, ".any", GR_WORD_FIELD);
	expect(h, addr, T_NODE, 128, "+0x80", GR_WORD_NAMELESS);
	expect(h, addr, T_NODE | GR_LABEL_BEGIN, 96, ".rows[1]", GR_WORD_FIELD);
	expect(h, addr, T_SLICE | DATA, 128 + 16, "[1].list", GR_WORD_FIELD);
	expect(h, addr, T_NODE | DATA, 128 + 16, "[1].list", GR_WORD_FIELD);
	// There is room for two values of 128 bytes.
	expect(h, addr, T_SLICE | DATA, 256, "+0x100", GR_WORD_NAMELESS);
	expect(h, addr, T_STRING | DATA, 8, "+0x8", GR_WORD_NAMELESS);
	expect(h, addr, T_FUNC | DATA, 8, "+0x8", GR_WORD_NAMELESS);
	expect(h, addr, GR_TYPE_NONE, 8, "+0x8", GR_WORD_NAMELESS);
	expect(h, addr, NALL, 8, "+0x8", GR_WORD_NAMELESS);
	expect(h, addr, T_NODE_PTR, 0, "", GR_WORD_FIELD);
}

TEST_F(root_words)
{
	struct gr_root root = { .type = T_NODE,
				.form = GR_ROOT_REGION,
				.bytes = NODE_BYTES };
	struct gr_word_name name;

	assert_null(gr_word_find_root_name(&h->f->heap, &root, 96, &name));
	assert_string_equal(name.text, ".rows[1]");
	assert_int_equal(name.type, T_NODE_PTR);
	root.form = GR_ROOT_VALUE;
	assert_null(gr_word_find_root_name(&h->f->heap, &root, 0, &name));
	assert_string_equal(name.text, "");
	assert_int_equal(name.kind, GR_WORD_POINTER);
	assert_int_equal(name.type, T_NODE);
	root = (struct gr_root){ .type = GR_TYPE_NONE, .bytes = 16 };
	assert_null(gr_word_find_root_name(&h->f->heap, &root, 8, &name));
	assert_string_equal(name.text, "+0x8");
}

/* -------------------------------------------------------------------- maps */

/* A group of map[int8]*Node: a control word, slots of 16 bytes. */
static void put_group(struct heap_fixture *h, uint64_t addr, unsigned int slot,
		      uint8_t key)
{
	uint64_t control = UINT64_C(0x8080808080808080);

	set(h, addr, control ^ UINT64_C(0x80) << slot * 8);
	fake_set(&h->f->image, addr + 8 + slot * 16, key, 1);
}

TEST_F(swiss_map)
{
	uint64_t header = object(h, 48, 1), dir = object(h, 16, 5);
	uint64_t table = object(h, 32, 2), groups = object(h, 288, 0);
	const uint32_t label = T_BY_LEVEL | DATA;

	set(h, header + 16, dir);
	set(h, header + 24, 2);
	set(h, dir, table);
	set(h, dir + 8, table);
	set(h, table + 16, groups);
	set(h, table + 24, 1);
	put_group(h, groups + 136, 3, 0xfe);
	expect(h, header, label, 16, "$dir", GR_WORD_PIECE);
	expect(h, header, label, 24, "+0x18", GR_WORD_NAMELESS);
	expect(h, dir, label, 8, "$tables[1]", GR_WORD_PIECE);
	expect(h, table, label, 16, "$groups", GR_WORD_PIECE);
	expect(h, table, label, 0, "+0x0", GR_WORD_NAMELESS);
	expect(h, groups, label, 136 + 8 + 3 * 16 + 8, "[-2]", GR_WORD_FIELD);
	expect(h, groups, label, 136 + 8 + 4 * 16 + 8, "$mapval",
	       GR_WORD_FIELD);
	expect(h, groups, label, 136 + 8 + 3 * 16, "$mapkey", GR_WORD_FIELD);
	expect(h, groups, label, 136 + 9, "+0x91", GR_WORD_NAMELESS);
	expect(h, groups, label, 136, "+0x88", GR_WORD_NAMELESS);
	expect(h, groups, label, 272, "+0x110", GR_WORD_NAMELESS);
	expect(h, groups, label, 1 << 20, "+0x100000", GR_WORD_NAMELESS);
	// A small map has no table.
	set(h, header + 16, object(h, 144, 0));
	set(h, header + 24, 0);
	expect(h, header, label, 16, "$groups", GR_WORD_PIECE);
}

TEST_F(bucket_map)
{
	uint64_t hmap = object(h, 48, 1), buckets = object(h, 288, 0);
	uint64_t extra = object(h, 24, 1);
	const uint32_t label = T_BY_LEVEL | DATA;

	use_buckets(h);
	// A bucket of map[int8]*Node has 8 + 8 + 64 + 8 bytes.
	set(h, hmap + 8, 1 << 8);
	set(h, hmap + 16, buckets);
	set(h, hmap + 24, object(h, 112, 0));
	set(h, hmap + 40, extra);
	set(h, extra + 16, buckets + 2 * 88);
	fake_set(&h->f->image, buckets + 88 + 2, 77, 1);
	fake_set(&h->f->image, buckets + 88 + 8 + 2, 5, 1);
	fake_set(&h->f->image, buckets + 88 + 3, 4, 1); // evacuated
	expect(h, hmap, label, 16, "$buckets", GR_WORD_PIECE);
	expect(h, hmap, label, 24, "$oldbuckets", GR_WORD_PIECE);
	expect(h, hmap, label, 40, "$extra", GR_WORD_PIECE);
	expect(h, extra, label, 16, "$nextoverflow", GR_WORD_PIECE);
	expect(h, buckets, label, 88 + 16 + 2 * 8, "[5]", GR_WORD_FIELD);
	expect(h, buckets, label, 88 + 16 + 3 * 8, "$mapval", GR_WORD_FIELD);
	expect(h, buckets, label, 88 + 80, "$overflow", GR_WORD_PIECE);
}

/* Overflow buckets without pointers are kept alive by lists. */
TEST_F(overflow_lists)
{
	uint64_t hmap = object(h, 48, 1), extra = object(h, 24, 1);
	uint64_t header = object(h, 24, 2), list = object(h, 64, 0);
	uint64_t buckets = h->spans[PLAIN].base_addr;
	const uint32_t label = T_PLAIN_MAP | DATA;

	use_buckets(h);
	set(h, hmap + 16, buckets);
	set(h, hmap + 40, extra);
	set(h, extra, header);
	set(h, extra + 8, header);
	set(h, header, list);
	set(h, header + 8, 3);
	set(h, header + 16, 8);
	set(h, list + 16, buckets + 144);
	expect(h, hmap, label, 16, "$buckets", GR_WORD_PIECE);
	expect(h, extra, label, 0, "$overflow", GR_WORD_PIECE);
	expect(h, extra, label, 8, "$oldoverflow", GR_WORD_PIECE);
	expect(h, header, label, 0, "$overflow", GR_WORD_PIECE);
	expect(h, list, label, 16, "$overflow[2]", GR_WORD_PIECE);
	expect(h, buckets, label, 80, "$overflow", GR_WORD_PIECE);
}

/* Keys whose bytes are not in memory, or more than are shown. */
TEST_F(string_keys)
{
	uint64_t entry = object(h, 48, 0);
	const uint32_t label = T_TRIE | DATA;
	char want[128] = "[\"";

	fake_set(&h->f->image, entry, 1, 1);
	set(h, entry + 16, MEMORY);
	set(h, entry + 24, 2);
	fake_set(&h->f->image, MEMORY, 'a' | '"' << 8, 2);
	expect(h, entry, label, 32, "[\"a\\\"\"]", GR_WORD_FIELD);
	set(h, entry + 24, 0);
	expect(h, entry, label, 32, "[\"\"]", GR_WORD_FIELD);
	set(h, entry + 16, 0x123);
	expect(h, entry, label, 32, "[\"\"]", GR_WORD_FIELD);
	set(h, entry + 24, 3);
	expect(h, entry, label, 32, "$mapval", GR_WORD_FIELD);
	set(h, entry + 24, UINT64_MAX);
	expect(h, entry, label, 32, "$mapval", GR_WORD_FIELD);
	set(h, entry + 16, MEMORY + 0x100);
	memset(fake_find(&h->f->image, MEMORY + 0x100, 128), 'x', 128);
	memset(want + 2, 'x', 64);
	memcpy(want + 66, "...\"]", sizeof("...\"]"));
	expect(h, entry, label, 32, want, GR_WORD_FIELD);
}

/* -------------------------------------------------------- channels, tries */

TEST_F(channel)
{
	uint64_t chan = object(h, 112, 1), ring = object(h, 64, 3);
	const uint32_t label = T_CHAN | DATA;

	set(h, chan, 3);
	set(h, chan + 8, 8);
	set(h, chan + 16, ring);
	set(h, chan + 32, RECORDS + 64);
	set(h, chan + 48, 6);
	expect(h, chan, label, 16, "$buf", GR_WORD_PIECE);
	expect(h, chan, label, 64, "$recvq", GR_WORD_PIECE);
	expect(h, chan, label, 72, "$sendq", GR_WORD_PIECE);
	expect(h, chan, label, 0, "+0x0", GR_WORD_NAMELESS);
	expect(h, ring, label, 48, "$buf[6]", GR_WORD_FIELD);
	expect_held(h, chan, ring, label, 48, "[0]", GR_WORD_FIELD);
	expect_held(h, chan, ring, label, 0, "[2]", GR_WORD_FIELD);
	expect_held(h, chan, ring, label, 8, "$buf[1]", GR_WORD_FIELD);
	// Another holder, and numbers that make no sense, tell nothing.
	expect_held(h, ring, ring, label, 48, "$buf[6]", GR_WORD_FIELD);
	set(h, chan + 48, 8);
	expect_held(h, chan, ring, label, 48, "$buf[6]", GR_WORD_FIELD);
	expect(h, chan, label, 16, "$buf[2]", GR_WORD_FIELD);
}

TEST_F(trie)
{
	uint64_t node = object(h, 288, 2), entry = object(h, 48, 0);
	const uint32_t label = T_TRIE | DATA;

	expect(h, node, label, 16, "$parent", GR_WORD_PIECE);
	expect(h, node, label, 24 + 15 * 8, "$children[15]", GR_WORD_PIECE);
	expect(h, node, label, 24 + 16 * 8, "+0x98", GR_WORD_NAMELESS);
	fake_set(&h->f->image, entry, 1, 1);
	expect(h, entry, label, 0, "+0x0", GR_WORD_NAMELESS);
	expect(h, entry, label, 8, "$overflow", GR_WORD_PIECE);
	expect(h, entry, label, 16, "$mapkey", GR_WORD_FIELD);
	expect(h, entry, label, 40, "[\"\"]+0x8", GR_WORD_NAMELESS);
	// Elements of a slice of tries are values, not nodes.
	expect(h, node, T_TRIE_SLICE | DATA, 0, "[0].next", GR_WORD_FIELD);
}

/* -------------------------------------------------------------------- junk */

static uint64_t junk(struct heap_fixture *h, uint64_t *seed)
{
	uint64_t value = suite_random(seed);

	switch (value % 6) {
	case 0:
		return value >> 8;
	case 1:
		return value >> 8 & 0xff;
	case 2:
		return RECORDS + (value >> 8 & 0x1fff);
	case 3:
		return UINT64_MAX - (value >> 8 & 3);
	default:
		return h->spans[value / 6 % NSPANS].base_addr +
		       (value >> 16) % GR_HEAP_PAGE_BYTES / 8 * 8;
	}
}

static void name_all(struct heap_fixture *h, uint64_t *seed)
{
	static const uint32_t flags[] = { 0, DATA, DATA, GR_LABEL_BEGIN,
					  GR_LABEL_FLAGS };
	struct gr_word_name name, again;

	for (unsigned int i = 0; i < 4000; i++) {
		uint32_t label = suite_random(seed) % (NALL + 1);
		uint64_t off = suite_random(seed) % 700;
		gr_obj obj = suite_random(seed) % h->f->heap.nobjs;
		gr_obj holder = suite_random(seed) % h->f->heap.nobjs;

		label |= flags[suite_random(seed) % GR_ARRAY_SIZE(flags)];
		off = off == 699 ? UINT64_MAX - 7 : off;
		memset(&name, 0xaa, sizeof(name));
		memset(&again, 0x55, sizeof(again));
		assert_null(gr_word_find_held_name(&h->f->stop, holder, obj,
						   label, off, &name));
		assert_null(gr_word_find_held_name(&h->f->stop, holder, obj,
						   label, off, &again));
		assert_non_null(memchr(name.text, 0, sizeof(name.text)));
		assert_string_equal(name.text, again.text);
		assert_int_equal(name.kind, again.kind);
		assert_int_equal(name.type, again.type);
		assert_int_equal(name.off_bytes, again.off_bytes);
		assert_true(name.type == GR_TYPE_NONE ||
			    name.type < gr_types_count(h->f->program.types));
	}
}

TEST_F(junk)
{
	uint64_t seed = 29;

	for (unsigned int round = 0; round < 20; round++) {
		for (uint64_t i = 0; i < NSPANS * GR_HEAP_PAGE_BYTES; i += 8)
			set(h, HEAP + i, junk(h, &seed));
		set_runtime(h);
		name_all(h, &seed);
		use_buckets(h);
		name_all(h, &seed);
	}
}

/* Whether a map holds pointers, with a key of very many parts. */
TEST_F(key_of_many_parts)
{
	struct gr_types *types = h->f->program.types;
	uint64_t list = object(h, 64, 0);
	gr_type_id key = T_UINT64;

	for (unsigned int level = 0; level < 40; level++) {
		struct gr_type type = { .name = "wide",
					.kind = GR_KIND_STRUCT,
					.size_bytes = 8,
					.first_field = types->fields.size,
					.nfields = 100 };
		struct gr_type_field field = { "f", 0, key };
		for (unsigned int i = 0; i < type.nfields; i++)
			assert_true(
				gr_field_vector_append(&types->fields, field));
		key = types->types.size;
		assert_true(gr_type_vector_append(&types->types, type));
	}
	path_add_type(h->f, "map[wide]uint64", GR_KIND_MAP, 8, T_UINT64, key);
	use_buckets(h);
	expect(h, list, (types->types.size - 1) | DATA, 8, "+0x8",
	       GR_WORD_NAMELESS);
	assert_true(h->f->npolls < 10);
}

GR_SUITE("word name")
