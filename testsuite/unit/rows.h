/* SPDX-License-Identifier: Apache-2.0 */
/**
 * rows: one cmocka test for each row of a table, under the row's own name.
 */
#ifndef GR_UNIT_ROWS_H
#define GR_UNIT_ROWS_H

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/**
 * Run @p test once for each row of @p table, with the row as its state.
 *
 * Every row is a struct whose first member is `const char *name`.
 * @return Number of tests that failed.
 */
static inline int rows_run(const char *group, const void *table, size_t nrows,
			   size_t row_bytes, CMUnitTestFunction test)
{
	struct CMUnitTest *tests = calloc(nrows, sizeof(*tests));

	if (!tests)
		return 1;
	for (size_t i = 0; i < nrows; i++) {
		const char *const *row =
			(const void *)((const char *)table + i * row_bytes);

		tests[i] = (struct CMUnitTest){
			.name = *row,
			.test_func = test,
			.initial_state = (void *)(uintptr_t)row,
		};
	}
	int failed = _cmocka_run_group_tests(group, tests, nrows, NULL, NULL);
	free(tests);
	return failed;
}

#define ROWS_RUN(group, table, test) \
	rows_run(group, table, GR_ARRAY_SIZE(table), sizeof(*(table)), test)

/** A small generator of numbers that are the same in every run (xorshift). */
static inline uint64_t rows_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

#endif /* GR_UNIT_ROWS_H */
