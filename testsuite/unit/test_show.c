// SPDX-License-Identifier: Apache-2.0
/* Values as text, over memory that makes sense or does not. */
#define FAKE_HAS_MAPPINGS
#include "show/show.h"

#include "types_memory.h"

#define NOWHERE UINT64_C(0xdead0000)

enum { MEMORY_BYTES = 0x10000 };

enum {
	T_INT,
	T_STRING,
	T_FLOAT,
	T_SLICE,       /* []int */
	T_LOOP,	       /* type main.Loop []Loop */
	T_MAP,	       /* map[int]int */
	T_NODE,	       /* struct main.Node {Next *Node, N int} */
	T_NODE_PTR,    /* *main.Node */
	T_DEEP,	       /* ***main.Node: **Node */
	T_FAR,	       /* struct a/b.T */
	T_FAR_PTR_PTR, /* **a/b.T */
	T_ERROR,
	T_CHAN,
	T_TIME,
	T_ODD, /* an array of 2^40 elements without size */
	T_EMPTY,
	T_FLOAT32,
	T_COMPLEX,
	T_FAR_PTR,
	NTYPES,
};

struct fixture {
	struct types_memory m;
	struct gr_show_limits limits;
	char text[1 << 12];
};

bool gr_image_mapping(struct gr_image *image, uint64_t addr,
		      struct gr_mapping_info *ret)
{
	(void)image;
	ret->start = addr;
	return addr == NOWHERE;
}

static void add(struct fixture *f, gr_type_id id, const char *name,
		uint8_t kind, uint64_t bytes, gr_type_id elem)
{
	types_memory_add(&f->m, id,
			 (struct gr_type){ .name = name,
					   .kind = kind,
					   .size_bytes = bytes,
					   .elem = elem,
					   .key = GR_TYPE_NONE });
}

static void add_field(struct fixture *f, gr_type_id id, const char *name,
		      uint64_t off, gr_type_id type)
{
	types_memory_add_field(&f->m, id,
			       (struct gr_type_field){ name, off, type });
}

static void add_types(struct fixture *f)
{
	const gr_type_id none = GR_TYPE_NONE;

	add(f, T_INT, "int", GR_KIND_INT, 8, none);
	add(f, T_STRING, "string", GR_KIND_STRING, 16, none);
	add(f, T_FLOAT, "float64", 14, 8, none);
	add(f, T_SLICE, "[]int", GR_KIND_SLICE, 24, T_INT);
	add(f, T_LOOP, "main.Loop", GR_KIND_SLICE, 24, T_LOOP);
	add(f, T_MAP, "map[int]int", GR_KIND_MAP, 8, T_INT);
	f->m.types.types.data[T_MAP].key = T_INT;
	add(f, T_NODE, "main.Node", GR_KIND_STRUCT, 16, none);
	add_field(f, T_NODE, "Next", 0, T_NODE_PTR);
	add_field(f, T_NODE, "N", 8, T_INT);
	add(f, T_NODE_PTR, "*main.Node", GR_KIND_PTR, 8, T_NODE);
	add(f, T_DEEP, "**main.Node", GR_KIND_PTR, 8, T_NODE_PTR);
	add(f, T_FAR, "a/b.T", GR_KIND_STRUCT, 8, none);
	add_field(f, T_FAR, "P", 0, T_INT);
	add(f, T_FAR_PTR_PTR, "**a/b.T", GR_KIND_PTR, 8, T_FAR_PTR);
	add(f, T_ERROR, "error", GR_KIND_INTERFACE, 16, none);
	add(f, T_CHAN, "chan int", GR_KIND_CHAN, 8, T_INT);
	add(f, T_TIME, "time.Time", GR_KIND_STRUCT, 24, none);
	add_field(f, T_TIME, "wall", 0, T_INT);
	add_field(f, T_TIME, "ext", 8, T_INT);
	add(f, T_ODD, "[1099511627776]main.E", GR_KIND_ARRAY, 0, T_EMPTY);
	f->m.types.types.data[T_ODD].count = UINT64_C(1) << 40;
	add(f, T_EMPTY, "main.E", GR_KIND_STRUCT, 0, none);
	add(f, T_FLOAT32, "float32", 13, 4, none);
	add(f, T_COMPLEX, "complex128", GR_KIND_COMPLEX128, 16, none);
	add(f, T_FAR_PTR, "*a/b.T", GR_KIND_PTR, 8, T_FAR);
}

static struct fixture *start(void)
{
	struct fixture *f = suite_alloc(sizeof(*f));

	types_memory_init(&f->m, MEMORY_BYTES);
	f->limits = GR_SHOW_DEFAULTS;
	f->m.rt.layout.hchan.qcount = (struct gr_field){ 0, 8 };
	f->m.rt.layout.hchan.dataqsiz = (struct gr_field){ 8, 8 };
	f->m.rt.layout.hchan.buf = (struct gr_field){ 16, 8 };
	f->m.rt.layout.hchan.recvx = (struct gr_field){ 24, 8 };
	add_types(f);
	return f;
}

#define FIXTURE struct fixture *f, start, types_memory_stop

/* Put words at MEMORY + @p off. */
#define set(f, off, ...) fake_words(&(f)->m.image, MEMORY + (off), __VA_ARGS__)

/* The text of the value at MEMORY. */
static const char *show(struct fixture *f, gr_type_id type)
{
	struct gr_text text = gr_text_begin(f->text, sizeof(f->text));
	struct gr_shown value = { .type = type, .addr = MEMORY };

	assert_null(gr_show_value(&f->m.types, &f->limits, &value, &text));
	return f->text;
}

static void set_double(struct fixture *f, uint64_t off, double value)
{
	uint64_t word;

	memcpy(&word, &value, sizeof(word));
	set(f, off, word);
}

TEST_F(floats)
{
	static const struct {
		double value;
		const char *want;
	} rows[] = {
		{ 0, "0" },
		{ -0.5, "-0.5" },
		{ 0.1, "0.1" },
		{ 100, "100" },
		{ 1e21, "1000000000000000000000" },
		{ 1.5e-10, "0.00000000015" },
		{ 123456.789, "123456.789" },
		{ 1.7976931348623157e308, NULL },
		{ 5e-324, NULL },
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(rows); i++) {
		set_double(f, 0, rows[i].value);
		const char *text = show(f, T_FLOAT);
		if (rows[i].want)
			assert_string_equal(text, rows[i].want);
		assert_true(strtod(text, NULL) == rows[i].value);
	}
	float third = 1.0F / 3;
	uint32_t word;
	memcpy(&word, &third, sizeof(word));
	set(f, 0, word);
	assert_string_equal(show(f, T_FLOAT32), "0.33333334");
	set_double(f, 0, 1.5);
	set_double(f, 8, -2);
	assert_string_equal(show(f, T_COMPLEX), "(1.5 + -2i)");
}

TEST_F(strings)
{
	uint8_t *bytes = fake_find(&f->m.image, MEMORY + 0x100, 5);

	memcpy(bytes, "ab\"\n\xff", 5);
	set(f, 0, MEMORY + 0x100, 5);
	assert_string_equal(show(f, T_STRING), "\"ab\\\"\\n\\xff\"");
	f->limits.max_string = 2;
	assert_string_equal(show(f, T_STRING), "\"ab...+3 more\"");
	set(f, 8, UINT64_MAX);
	assert_string_equal(show(f, T_STRING),
			    "(unreadable invalid length: -1)");
	// A length that memory cannot have is not allocated.
	f->limits.max_string = UINT32_MAX;
	set(f, 8, INT64_MAX);
	assert_string_equal(show(f, T_STRING),
			    "(unreadable no memory at 0xc000000100)");
	set(f, 0, NOWHERE);
	assert_string_equal(show(f, T_STRING),
			    "(unreadable 0xdead0000 was not captured)");
	set(f, 8, 0);
	assert_string_equal(show(f, T_STRING), "\"\"");
}

TEST_F(slices)
{
	assert_string_equal(show(f, T_SLICE), "[]int len: 0, cap: 0, nil");
	set(f, 0, MEMORY + 0x100, 3, 4);
	set(f, 0x100, 7);
	assert_string_equal(show(f, T_SLICE), "[]int len: 3, cap: 4, [7,0,0]");
	f->limits.max_elements = 1;
	assert_string_equal(show(f, T_SLICE),
			    "[]int len: 3, cap: 4, [7,...+2 more]");
	f->limits.max_elements = 0;
	assert_string_equal(show(f, T_SLICE), "[]int len: 3, cap: 4, [...]");
	set(f, 16, 2);
	assert_string_equal(show(f, T_SLICE),
			    "(unreadable invalid slice: 0xc000000100 len: 3, "
			    "cap: 2)");
}

/* Nothing but the nesting and the length of the text ends it. */
TEST_F(slice_of_itself)
{
	set(f, 0, MEMORY, 2, 2, MEMORY, 2, 2);
	show(f, T_LOOP);
	assert_int_equal(strlen(f->text), sizeof(f->text) - 1);
	assert_non_null(strstr(f->text, "[[[["));
	f->limits.max_elements = 4;
	show(f, T_ODD);
	assert_string_equal(f->text, "[1099511627776]main.E "
				     "[{},{},{},{},...+1099511627772 more]");
}

TEST_F(pointers)
{
	assert_string_equal(show(f, T_NODE_PTR), "*main.Node nil");
	set(f, 0, MEMORY + 0x100);
	set(f, 0x100, MEMORY + 0x100, 5);
	assert_string_equal(show(f, T_NODE_PTR),
			    "*main.Node {Next: *main.Node {Next: "
			    "*(*main.Node)(0xc000000100), N: 5}, N: 5}");
	f->limits.max_depth = 0;
	assert_string_equal(show(f, T_NODE_PTR),
			    "*main.Node {Next: *(*main.Node)(0xc000000100), "
			    "N: 5}");
	set(f, 0, NOWHERE);
	assert_string_equal(show(f, T_NODE_PTR),
			    "*main.Node {Next: (unreadable 0xdead0000 was not "
			    "captured), N: (unreadable no memory at "
			    "0xdead0008)}");
}

TEST_F(registers)
{
	uint64_t words[2] = { 0, 9 };
	struct gr_text text = gr_text_begin(f->text, sizeof(f->text));
	struct gr_shown value = { .type = T_NODE,
				  .host = (const uint8_t *)words,
				  .host_bytes = 8 };

	assert_null(gr_show_value(&f->m.types, &f->limits, &value, &text));
	assert_string_equal(f->text, "main.Node {Next: *main.Node nil, N: "
				     "(unreadable part of a register)}");
	text = gr_text_begin(f->text, sizeof(f->text));
	value.host_bytes = 16;
	assert_null(gr_show_value(&f->m.types, &f->limits, &value, &text));
	assert_string_equal(f->text, "main.Node {Next: *main.Node nil, N: 9}");
}

TEST_F(time)
{
	assert_string_equal(show(f, T_TIME),
			    "time.Time(0001-01-01T00:00:00Z){wall: 0, ext: 0}");
	set(f, 8, 63844806896);
	assert_string_equal(show(f, T_TIME),
			    "time.Time(2024-02-29T12:34:56Z){wall: 0, ext: "
			    "63844806896}");
	set(f, 8, (uint64_t)-1);
	assert_string_equal(show(f, T_TIME),
			    "time.Time(0000-12-31T23:59:59Z){wall: 0, ext: "
			    "-1}");
	set(f, 8, INT64_MAX);
	assert_string_equal(show(f, T_TIME), "time.Time {wall: 0, ext: "
					     "9223372036854775807}");
}

/* A map with @p count entries at MEMORY, whose header is at + 0x100. */
static void set_map(struct fixture *f, uint64_t count)
{
	set(f, 0, MEMORY + 0x100);
	set(f, 0x100, count);
}

TEST_F(buckets)
{
	assert_string_equal(show(f, T_MAP), "map[int]int nil");
	set_map(f, 2);
	set(f, 0x110, MEMORY + 0x200);
	fake_set(&f->m.image, MEMORY + 0x200, 5, 1);
	fake_set(&f->m.image, MEMORY + 0x207, 9, 1);
	set(f, 0x208, 1);
	set(f, 0x208 + 7 * 8, 2);
	set(f, 0x248, 10);
	set(f, 0x248 + 7 * 8, 20);
	assert_string_equal(show(f, T_MAP), "map[int]int [1: 10, 2: 20, ]");
	f->limits.max_elements = 1;
	assert_string_equal(show(f, T_MAP), "map[int]int [1: 10, ,...+1 more]");
}

/* A missing value is named in its place. */
TEST_F(missing_buckets)
{
	set_map(f, 3);
	set(f, 0x110, MEMORY + 0x200);
	fake_set(&f->m.image, MEMORY + 0x200, 5, 1);
	set(f, 0x288, NOWHERE); // overflow
	assert_string_equal(show(f, T_MAP),
			    "map[int]int [0: 0, (unreadable 0xdead0000 was not "
			    "captured),...+2 more]");
	// Elements behind pointers, of which one leads nowhere.
	f->m.rt.layout.consts.map_max_elem = 4;
	fake_set(&f->m.image, MEMORY + 0x201, 5, 1);
	set(f, 0x248, NOWHERE, MEMORY + 0x208);
	assert_string_equal(show(f, T_MAP),
			    "map[int]int [0: (unreadable 0xdead0000 was not "
			    "captured), 0: 0, (unreadable 0xdead0000 was not "
			    "captured),...+1 more]");
	set(f, 0x110, 0x10);
	assert_string_equal(show(f, T_MAP),
			    "map[int]int [(unreadable no memory at 0x10)...]");
	set(f, 0, 0x20); // no header
	assert_string_equal(show(f, T_MAP), "(unreadable no memory at 0x20)");
}

TEST_F(missing_groups)
{
	map_layout_use_groups(&f->m.rt.layout);
	set_map(f, 2);
	set(f, 0x110, NOWHERE); // directory
	assert_string_equal(show(f, T_MAP),
			    "map[int]int [(unreadable 0xdead0000 was not "
			    "captured)...]");
	set(f, 0x118, 2);
	set(f, 0x110, MEMORY + 0x200);
	set(f, 0x200, MEMORY + 0x300); // table
	set(f, 0x208, 0x30);	       // no table
	set(f, 0x310, MEMORY + 0x400); // groups
	set(f, 0x400, UINT64_C(0x8080808080808005));
	assert_string_equal(show(f, T_MAP),
			    "map[int]int [0: 0, (unreadable no memory at 0x40)"
			    ",...+1 more]");
}

TEST_F(chain_of_itself)
{
	set_map(f, 1000);
	set(f, 0x110, MEMORY + 0x200);
	set(f, 0x288, MEMORY + 0x200); // overflow
	assert_string_equal(show(f, T_MAP), "map[int]int [...]");
}

TEST_F(empty_buckets)
{
	f->limits.max_elements = 1;
	set_map(f, 1000);
	fake_set(&f->m.image, MEMORY + 0x109, 48, 1);
	set(f, 0x110, MEMORY + 0x200);
	assert_string_equal(show(f, T_MAP), "map[int]int [...]");
	set(f, 0x118, MEMORY + 0x200); // growing: nothing is evacuated
	assert_non_null(strstr(show(f, T_MAP), "map[int]int ["));
}

TEST_F(groups)
{
	map_layout_use_groups(&f->m.rt.layout);
	set_map(f, 1);
	set(f, 0x110, MEMORY + 0x200);
	set(f, 0x200, UINT64_C(0x8080808080800580));
	set(f, 0x208 + 16, 3);
	set(f, 0x210 + 16, 30);
	assert_string_equal(show(f, T_MAP), "map[int]int [3: 30, ]");
}

TEST_F(empty_groups)
{
	map_layout_use_groups(&f->m.rt.layout);
	set_map(f, UINT64_MAX);
	set(f, 0x110, MEMORY + 0x200); // directory
	set(f, 0x118, 1);
	set(f, 0x200, MEMORY + 0x300); // table
	set(f, 0x310, MEMORY + 0x400); // groups
	set(f, 0x318, UINT64_MAX);     // mask
	for (uint64_t off = 0x400; off < MEMORY_BYTES; off += 8)
		set(f, off, UINT64_C(0x8080808080808080));
	assert_non_null(strstr(show(f, T_MAP), "map[int]int ["));
}

/* A directory that leads to one table all over is as long as its memory. */
TEST_F(same_tables)
{
	map_layout_use_groups(&f->m.rt.layout);
	set_map(f, 7);
	set(f, 0x110, MEMORY + 0x400, UINT64_MAX);
	set(f, 0x310, MEMORY + 0x400);
	for (uint64_t off = 0x400; off < MEMORY_BYTES; off += 8)
		set(f, off, MEMORY + 0x300);
	assert_non_null(strstr(show(f, T_MAP), "map[int]int ["));
}

TEST_F(map_of_itself)
{
	struct gr_type *map = &f->m.types.types.data[T_MAP];

	map->key = map->elem = T_MAP;
	set_map(f, 1);
	set(f, 0x110, MEMORY + 0x200);
	fake_set(&f->m.image, MEMORY + 0x200, 5, 1);
	set(f, 0x208, MEMORY + 0x100);
	set(f, 0x248, MEMORY + 0x100);
	assert_string_equal(show(f, T_MAP),
			    "map[int]int [[[...]: [...], ]: [[...]: [...], ], "
			    "]");
}

TEST_F(others)
{
	assert_string_equal(show(f, T_ERROR), "error nil");
	assert_string_equal(show(f, T_CHAN), "chan int nil");
	set(f, 0, MEMORY + 0x100);
	set(f, 0x100, 2, 4);
	set(f, 0x118, 4); // no element of the buffer
	assert_string_equal(show(f, T_CHAN), "chan int 2/4");
	set(f, 0x100, 5); // more than there is room for
	assert_string_equal(show(f, T_CHAN), "chan int 5/4");
	assert_string_equal(show(f, T_EMPTY), "main.E {}");
	set(f, 0, 0);
	assert_string_equal(show(f, T_DEEP), "**main.Node nil");
}

/* The elements that wait in a channel, around the end of its buffer. */
TEST_F(channel)
{
	set(f, 0, MEMORY + 0x100);
	set(f, 0x100, 3, 4, MEMORY + 0x200, 2);
	for (uint64_t i = 0; i < 4; i++)
		set(f, 0x200 + 8 * i, 10 + i);
	assert_string_equal(show(f, T_CHAN), "chan int 3/4 [12,13,10]");
	f->limits.max_elements = 2;
	assert_string_equal(show(f, T_CHAN), "chan int 3/4 [12,13,...+1 more]");
	f->limits.max_depth = 0;
	assert_string_equal(show(f, T_CHAN), "chan int 3/4");
	f->limits.max_depth = 1;
	set(f, 0x110, 0x10);
	assert_string_equal(show(f, T_CHAN),
			    "chan int 3/4 [(unreadable no memory at 0x20),"
			    "(unreadable no memory at 0x28),...+1 more]");
	// Numbers without any sense.
	set(f, 0x100, UINT64_MAX, UINT64_MAX);
	set(f, 0x118, UINT64_MAX - 1);
	f->limits.max_elements = 3;
	assert_non_null(strstr(show(f, T_CHAN), "...+18446744073709551612"));
}

/* A value takes no more than the caller's memory. */
TEST_F(cut)
{
	char small[16];
	struct gr_text text = gr_text_begin(small, sizeof(small));
	struct gr_shown value = { .type = T_SLICE, .addr = MEMORY };

	set(f, 0, MEMORY, INT64_MAX, INT64_MAX);
	f->limits.max_elements = UINT32_MAX;
	assert_null(gr_show_value(&f->m.types, &f->limits, &value, &text));
	assert_string_equal(small, "[]int len: 9...");
}

GR_SUITE("show")
