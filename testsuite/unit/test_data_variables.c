// SPDX-License-Identifier: Apache-2.0
/* Which variable has an address, where variables lie in each other's memory. */
#include "retention/data_variables.h"

#include "suite.h"

enum {
	NROWS = 400,
	SPACE = 1000,
	ROUNDS = 50,
	MANY = 1000000, /* nested variables */
};

/* The nearest row before row @p i that has the byte at its start. */
static uint32_t naive_around(const struct gr_data_variable *rows, uint32_t i)
{
	for (uint32_t j = i; j-- > 0;)
		if (rows[j].end > rows[i].start)
			return j;
	return UINT32_MAX;
}

/* Rows that rise by their starts, each of which is in a few dozen others. */
static struct gr_data_variable_vector make_rows(unsigned int *seed)
{
	struct gr_data_variable_vector ret = { 0 };
	uint64_t start = 0;

	for (uint32_t i = 0; i < NROWS; i++) {
		struct gr_data_variable row = { .start = start };

		row.end = start + 1 + (uint64_t)rand_r(seed) % 80;
		assert_true(gr_data_variable_vector_append(&ret, row));
		ret.data[i].around = naive_around(ret.data, i);
		start += 1 + (uint64_t)rand_r(seed) % 4;
	}
	return ret;
}

/* The nearest of the first @p n rows that has the byte. */
static const struct gr_data_variable *
naive_find(const struct gr_data_variable_vector *list, size_t n, uint64_t addr)
{
	while (n-- > 0)
		if (list->data[n].start <= addr && addr < list->data[n].end)
			return &list->data[n];
	return NULL;
}

/* All rows that have a byte are found, the nearest first. */
TEST(against_naive)
{
	unsigned int seed = 1;

	for (int round = 0; round < ROUNDS; round++) {
		struct gr_data_variable_vector list = make_rows(&seed);

		for (uint64_t addr = 0; addr < SPACE; addr++) {
			const struct gr_data_variable *row =
				gr_data_variable_find(&list, addr);
			const struct gr_data_variable *want =
				naive_find(&list, list.size, addr);

			while (want) {
				assert_ptr_equal(row, want);
				row = gr_data_variable_around(&list, row, addr);
				want = naive_find(&list,
						  (size_t)(want - list.data),
						  addr);
			}
			assert_null(row);
		}
		gr_data_variable_vector_deinit(&list);
	}
}

/* A million variables of a damaged file, each of which ends within the one
 * before: only so many are looked at for an address in the outermost one. */
TEST(nested_without_end)
{
	struct gr_data_variable_vector list = { 0 };
	uint64_t addr = 2 * (uint64_t)MANY - GR_MAX_NESTED_VARIABLES;

	for (uint32_t i = 0; i < MANY; i++) {
		struct gr_data_variable row = {
			.start = i,
			.end = 2 * (uint64_t)MANY - i,
			.around = i ? i - 1 : UINT32_MAX,
		};

		assert_true(gr_data_variable_vector_append(&list, row));
	}
	assert_ptr_equal(gr_data_variable_find(&list, MANY),
			 &list.data[MANY - 1]);
	assert_null(gr_data_variable_find(&list, addr));
	list.size = 2 * GR_MAX_NESTED_VARIABLES;
	assert_null(gr_data_variable_find(&list, addr));
	list.size--;
	assert_ptr_equal(gr_data_variable_find(&list, addr),
			 &list.data[GR_MAX_NESTED_VARIABLES - 1]);
	gr_data_variable_vector_deinit(&list);
}

GR_SUITE("data variables")
