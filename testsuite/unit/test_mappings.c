// SPDX-License-Identifier: Apache-2.0
/* gr_mappings_find() against a look at each mapping, for lists as no kernel writes
 * them. */
#include "inferior/mappings.h"

#include <stdio.h>

#include "suite.h"

#include <elf.h>

enum { MOST = 300, ADDRESSES = 2000 };

struct mappings_case {
	const char *name;
	size_t count;
	uint32_t space, most_bytes; /* of addresses, of a mapping */
	bool is_descending;
};

static const struct mappings_case cases[] = {
	{ "none", 0, 1000, 10, false },
	{ "one", 1, 1000, 500, false },
	{ "apart, mostly", 20, 1 << 20, 100, false },
	{ "many that overlap", MOST, 1000, 300, false },
	{ "of one address", MOST, 3, 1000, false },
	{ "the last one first", MOST, 1 << 20, 5000, true },
};

static uint32_t draw(uint32_t *seed, uint32_t most)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % most;
}

static void fill(const struct mappings_case *c, struct gr_mappings *ret)
{
	uint32_t seed = 5;

	for (size_t i = 0; i < c->count; i++) {
		uint64_t start = c->is_descending ?
					 c->space - i * (c->space / MOST) :
					 draw(&seed, c->space);
		uint64_t end = start + 1 + draw(&seed, c->most_bytes);

		assert_null(gr_mappings_add(
			ret, (struct gr_mapping){ .start = start,
						  .end = end,
						  .file_off = i }));
	}
	assert_null(gr_mappings_sort(ret, NULL, NULL));
	assert_int_equal(ret->list.size, c->count);
}

/* The end of the mapping that ends last, of all that hold @p addr; 0: none. */
static uint64_t end_at(const struct gr_mappings *mappings, uint64_t addr)
{
	uint64_t end = 0;

	for (size_t i = 0; i < mappings->list.size; i++) {
		const struct gr_mapping *m = &mappings->list.data[i];

		if (m->start <= addr && addr < m->end && m->end > end)
			end = m->end;
	}
	return end;
}

TEST_ROWS(finds, cases, c)
{
	struct gr_mappings mappings = { 0 };
	uint32_t seed = 6;

	fill(c, &mappings);
	for (size_t i = 0; i < ADDRESSES; i++) {
		uint64_t addr = draw(&seed, c->space + c->most_bytes + 10);
		const struct gr_mapping *found =
			gr_mappings_find(&mappings, addr);

		assert_int_equal(found ? found->end : 0,
				 end_at(&mappings, addr));
		if (found)
			assert_true(found->start <= addr);
	}
	gr_mappings_deinit(&mappings);
}

TEST(order)
{
	struct gr_mappings mappings = { 0 };

	fill(&cases[4], &mappings);
	for (size_t i = 1; i < mappings.list.size; i++) {
		const struct gr_mapping *m = &mappings.list.data[i];

		assert_true(m[-1].start < m->start ||
			    (m[-1].start == m->start &&
			     m[-1].file_off < m->file_off));
	}
	gr_mappings_deinit(&mappings);
}

static bool may_have_c(const struct gr_mapping *list, size_t n)
{
	struct gr_mappings mappings = { 0 };

	for (size_t i = 0; i < n; i++)
		assert_null(gr_mappings_add(&mappings, list[i]));
	bool ret = gr_mappings_may_have_c(&mappings);
	gr_mappings_deinit(&mappings);
	return ret;
}

TEST(c_memory)
{
	const struct gr_mapping code = { 1 << 12, 2 << 12, .path = "/exe",
					 .flags = PF_R | PF_X };
	const struct gr_mapping other = { 2 << 12, 3 << 12, .path = "/lib",
					  .flags = PF_R | PF_X };
	const struct gr_mapping text = { 2 << 12, 3 << 12, .path = "/text",
					 .flags = PF_R };
	const struct gr_mapping heap = { 3 << 12, 4 << 12, .path = "[heap]",
					 .flags = PF_R | PF_W };
	const struct gr_mapping plain = { 4 << 12, 5 << 12,
					  .flags = PF_R | PF_W };

	assert_false(may_have_c(NULL, 0));
	assert_false(may_have_c((struct gr_mapping[]){ code, text, plain }, 3));
	assert_true(may_have_c((struct gr_mapping[]){ code, other }, 2));
	assert_true(may_have_c((struct gr_mapping[]){ code, heap }, 2));
	// The names of files are not known.
	assert_true(may_have_c((struct gr_mapping[]){ plain }, 1));
}

GR_SUITE("mappings")
