// SPDX-License-Identifier: Apache-2.0
/* bytes: bounds of views, LEB128 numbers, strings. */
#include "base/bytes.h"

#include "suite.h"

/* A view of exactly these bytes, so that a sanitizer sees what is past it. */
static struct gr_bytes exact(const void *data, size_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);

	assert_non_null(copy);
	memcpy(copy, data, bytes);
	return (struct gr_bytes){ copy, bytes };
}

static void release(struct gr_bytes b)
{
	free((void *)(uintptr_t)b.data);
}

// ------------------------------------------------------------------ bounds

struct bounds_case {
	const char *name;
	uint64_t size, off, bytes;
	bool is_inside;
};

static const struct bounds_case bounds_cases[] = {
	{ "all of it", 8, 0, 8, true },
	{ "a part", 8, 2, 4, true },
	{ "the last byte", 8, 7, 1, true },
	{ "nothing at the start", 8, 0, 0, true },
	{ "nothing at the end", 8, 8, 0, true },
	{ "nothing of nothing", 0, 0, 0, true },
	{ "a byte of nothing", 0, 0, 1, false },
	{ "one byte past the end", 8, 0, 9, false },
	{ "across the end", 8, 7, 2, false },
	{ "from the end on", 8, 8, 1, false },
	{ "nothing past the end", 8, 9, 0, false },
	{ "an offset that wraps", 8, UINT64_MAX, 1, false },
	{ "a length that wraps", 8, 1, UINT64_MAX, false },
	{ "both wrap to the inside", 8, UINT64_MAX - 1, 4, false },
	{ "the largest of both", 8, UINT64_MAX, UINT64_MAX, false },
};

TEST_ROWS(bounds, bounds_cases, c)
{
	static const char text[] = "abcdefgh";
	struct gr_bytes b = exact(text, c->size);
	struct gr_bytes slice = gr_bytes_slice(b, c->off, c->bytes);
	uint8_t buf[8] = { 0 };

	assert_int_equal(gr_bytes_has(b, c->off, c->bytes), c->is_inside);
	if (c->is_inside) {
		assert_true(gr_bytes_get(b, c->off, buf, c->bytes));
		assert_memory_equal(buf, text + c->off, c->bytes);
		assert_int_equal(slice.size, c->bytes);
		assert_ptr_equal(slice.data, b.data + c->off);
	} else {
		assert_false(gr_bytes_get(b, c->off, buf, c->bytes));
		assert_int_equal(slice.size, 0);
		assert_null(slice.data);
	}
	release(b);
}

// ----------------------------------------------------------------- numbers

struct number_case {
	const char *name;
	uint8_t bytes[12];
	uint8_t nbytes;
	bool is_good;
	uint64_t want;
	uint8_t want_off;
};

#define U(x) UINT64_C(x)

static const struct number_case unsigned_cases[] = {
	{ "0", { 0 }, 1, true, 0, 1 },
	{ "127 is one byte", { 0x7f }, 1, true, 127, 1 },
	{ "128 is two bytes", { 0x80, 0x01 }, 2, true, 128, 2 },
	{ "624485", { 0xe5, 0x8e, 0x26 }, 3, true, 624485, 3 },
	{ "0 in three bytes", { 0x80, 0x80, 0x00 }, 3, true, 0, 3 },
	{ "what follows is left alone", { 5, 0xff, 0xff }, 3, true, 5, 1 },
	{ "the largest number",
	  { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 },
	  10,
	  true,
	  UINT64_MAX,
	  10 },
	{ "only the highest bit",
	  { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01 },
	  10,
	  true,
	  U(1) << 63,
	  10 },
	{ "nothing there", { 0 }, 0, false, 0, 0 },
	{ "cut off after one byte", { 0x80 }, 1, false, 0, 0 },
	{ "cut off after nine bytes",
	  { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
	  9,
	  false,
	  0,
	  0 },
	{ "eleven bytes are too many",
	  { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00 },
	  11,
	  false,
	  0,
	  0 },
};

TEST_ROWS(unsigned, unsigned_cases, c)
{
	struct gr_bytes b = exact(c->bytes, c->nbytes);
	uint64_t off = 0, value;

	assert_int_equal(gr_bytes_uvarint(b, &off, &value), c->is_good);
	if (c->is_good) {
		assert_true(value == c->want);
		assert_int_equal(off, c->want_off);
	}
	assert_true(off <= b.size);
	release(b);
}

TEST(number_past_the_end)
{
	static const uint8_t bytes[] = { 1, 2 };
	struct gr_bytes b = { bytes, sizeof(bytes) };
	uint64_t value, offs[] = { 2, 3, UINT64_MAX };

	for (size_t i = 0; i < GR_ARRAY_SIZE(offs); i++) {
		uint64_t off = offs[i];

		assert_false(gr_bytes_uvarint(b, &off, &value));
	}
}

static uint8_t encode(uint64_t value, uint8_t *ret)
{
	uint8_t n = 0;

	for (; value >= 0x80; value >>= 7)
		ret[n++] = (uint8_t)value | 0x80;
	ret[n++] = (uint8_t)value;
	return n;
}

TEST(random_numbers)
{
	uint64_t seed = 1;

	for (int i = 0; i < 5000; i++) {
		uint64_t want = suite_random(&seed) >> (i % 64), value, off = 0;
		uint8_t bytes[10];
		struct gr_bytes b = { bytes, encode(want, bytes) };

		assert_true(gr_bytes_uvarint(b, &off, &value));
		assert_true(value == want);
		assert_int_equal(off, b.size);
	}
}

// ------------------------------------------------------------ loads, texts

TEST(loads)
{
	static const uint8_t bytes[] = { 0xee, 1, 2, 3, 4, 5, 6, 7, 0x88 };

	// From an odd address: alignment must not matter.
	assert_int_equal(gr_load_u16(bytes + 1), 0x0201);
	assert_int_equal(gr_load_u32(bytes + 1), 0x04030201);
	assert_true(gr_load_u64(bytes + 1) == U(0x8807060504030201));
	assert_int_equal(gr_load_uint(bytes, 1), 0xee);
	assert_int_equal(gr_load_uint(bytes + 1, 2), 0x0201);
	assert_int_equal(gr_load_uint(bytes + 1, 4), 0x04030201);
	assert_true(gr_load_uint(bytes + 1, 8) == U(0x8807060504030201));
}

TEST(load_of_other_widths)
{
	static const unsigned int widths[] = { 0, 3, 5, 6, 7, 9, 16, 1 << 30 };
	const uint64_t ones = UINT64_MAX;

	for (size_t i = 0; i < GR_ARRAY_SIZE(widths); i++)
		assert_int_equal(gr_load_uint(&ones, widths[i]), 0);
}

TEST(string)
{
	struct gr_bytes b = exact("one\0two\0\0open", 13);

	assert_string_equal(gr_bytes_string(b, 0), "one");
	assert_string_equal(gr_bytes_string(b, 1), "ne");
	assert_string_equal(gr_bytes_string(b, 3), "");
	assert_string_equal(gr_bytes_string(b, 4), "two");
	assert_string_equal(gr_bytes_string(b, 8), "");
	assert_null(gr_bytes_string(b, 9));
	assert_null(gr_bytes_string(b, 12));
	assert_null(gr_bytes_string(b, 13));
	assert_null(gr_bytes_string(b, UINT64_MAX));
	release(b);
	assert_null(gr_bytes_string((struct gr_bytes){ NULL, 0 }, 0));
}

GR_SUITE("bytes")
