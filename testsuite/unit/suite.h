/* SPDX-License-Identifier: Apache-2.0 */
/**
 * suite: tests that need no list. `TEST(name) { ... }` defines a test and adds it
 * to those of the program; `GR_SUITE("bitmaps")` runs all, in the order of the
 * file. Each row of a table is a test of its own, under the row's name.
 */
#pragma once

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct suite_test {
	const char *name;
	CMUnitTestFunction run;
	CMFixtureFunction setup, teardown;
	const char *rows; /* each begins with a pointer to its name, or NULL */
	size_t nrows, row_bytes;
	struct suite_test *next;
};

/** The tests of this program. */
static struct suite {
	struct suite_test *first, **end;
	const void *row; /* of the test that runs, if setup has made a fixture */
} suite = { .end = &suite.first };

static inline void suite_add(struct suite_test *test)
{
	*suite.end = test;
	suite.end = &test->next;
}

#define SUITE_ADD(name_, ...)                                               \
	__attribute__((constructor)) static void suite_add_##name_(void)    \
	{                                                                   \
		static struct suite_test test = { .name = #name_,           \
						  .run = suite_run_##name_, \
						  __VA_ARGS__ };            \
		suite_add(&test);                                           \
	}

/** A test: `TEST(name) { ... }` is the function test_name(). */
#define TEST(name_)                                 \
	static void test_##name_(void);             \
	static void suite_run_##name_(void **state) \
	{                                           \
		(void)state;                        \
		test_##name_();                     \
	}                                           \
	SUITE_ADD(name_, .nrows = 0)                \
	static void test_##name_(void)

/* Setup and teardown of one test, for cmocka. */
#define SUITE_ENDS(name_, setup_, teardown_)            \
	static int suite_setup_##name_(void **state)    \
	{                                               \
		suite.row = *state;                     \
		*state = setup_();                      \
		return 0;                               \
	}                                               \
	static int suite_teardown_##name_(void **state) \
	{                                               \
		teardown_(*state);                      \
		return 0;                               \
	}

/** A test between @p setup_ and @p teardown_; it gets what setup returns. */
#define TEST_WITH(name_, declared_, setup_, teardown_) \
	static void test_##name_(declared_);           \
	static void suite_run_##name_(void **state)    \
	{                                              \
		test_##name_(*state);                  \
	}                                              \
	SUITE_ENDS(name_, setup_, teardown_)           \
	SUITE_ADD(name_, .setup = suite_setup_##name_, \
		  .teardown = suite_teardown_##name_)  \
	static void test_##name_(declared_ __attribute__((unused)))

/** A test with what the file calls FIXTURE: `struct x *x, create, destroy`. */
#define TEST_F(name_) SUITE_EXPAND(TEST_WITH, name_, FIXTURE)
#define SUITE_EXPAND(macro, ...) macro(__VA_ARGS__)

/**
 * A test for each row of a table. The first member of a row is its name; a row
 * without one is left out.
 */
#define TEST_ROWS(name_, table_, row_)                           \
	static void test_##name_(const typeof(*(table_)) *row_); \
	static void suite_run_##name_(void **state)              \
	{                                                        \
		test_##name_(*state);                            \
	}                                                        \
	SUITE_ADD(name_, .rows = (const char *)(table_),         \
		  .nrows = GR_ARRAY_SIZE(table_),                \
		  .row_bytes = sizeof(*(table_)))                \
	static void test_##name_(const typeof(*(table_)) *row_)

/** A test with FIXTURE for each row of a table. */
#define TEST_F_ROWS(name_, table_, row_) \
	SUITE_EXPAND(TEST_ROWS_WITH, name_, table_, row_, FIXTURE)
#define TEST_ROWS_WITH(name_, table_, row_, declared_, setup_, teardown_)   \
	static void test_##name_(declared_, const typeof(*(table_)) *row_); \
	static void suite_run_##name_(void **state)                         \
	{                                                                   \
		test_##name_(*state, suite.row);                            \
	}                                                                   \
	SUITE_ENDS(name_, setup_, teardown_)                                \
	SUITE_ADD(name_, .setup = suite_setup_##name_,                      \
		  .teardown = suite_teardown_##name_,                       \
		  .rows = (const char *)(table_),                           \
		  .nrows = GR_ARRAY_SIZE(table_),                           \
		  .row_bytes = sizeof(*(table_)))                           \
	static void test_##name_(declared_ __attribute__((unused)),         \
				 const typeof(*(table_)) *row_)

/* One test of cmocka; @p row is NULL or one of @p test's. */
static inline struct CMUnitTest suite_test_of(const struct suite_test *test,
					      const char *row)
{
	char *name = NULL;

	if (row && asprintf(&name, "%s: %s", test->name,
			    *(const char *const *)(const void *)row) < 0)
		abort();
	return (struct CMUnitTest){
		.name = row ? name : test->name,
		.test_func = test->run,
		.setup_func = test->setup,
		.teardown_func = test->teardown,
		.initial_state = (void *)(uintptr_t)row,
	};
}

/** Run all tests. @return Number of tests that failed. */
static inline int suite_run(const char *group, CMFixtureFunction setup,
			    CMFixtureFunction teardown)
{
	size_t ntests = 0, max_tests = 0;

	for (const struct suite_test *t = suite.first; t; t = t->next)
		max_tests += t->rows ? t->nrows : 1;
	struct CMUnitTest *tests = calloc(max_tests, sizeof(*tests));
	if (!tests)
		abort();
	for (const struct suite_test *t = suite.first; t; t = t->next) {
		if (!t->rows)
			tests[ntests++] = suite_test_of(t, NULL);
		for (size_t i = 0; i < t->nrows; i++) {
			const char *row = t->rows + i * t->row_bytes;
			if (*(const char *const *)(const void *)row)
				tests[ntests++] = suite_test_of(t, row);
		}
	}
	int failed =
		_cmocka_run_group_tests(group, tests, ntests, setup, teardown);
	for (size_t i = 0; i < ntests; i++)
		if (tests[i].initial_state)
			free((char *)(uintptr_t)tests[i].name);
	free(tests);
	return failed;
}

/** Run all tests of the file, between a setup and a teardown of all. */
#define GR_SUITE_WITH(group, setup, teardown)             \
	int main(void)                                    \
	{                                                 \
		return suite_run(group, setup, teardown); \
	}
#define GR_SUITE(group) GR_SUITE_WITH(group, NULL, NULL)

/** Zeroed memory; the program ends without any. */
static inline void *suite_alloc(size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p)
		abort();
	return p;
}

/** A poll that never refuses. */
static inline struct gr_error *suite_poll(void *ctx)
{
	(void)ctx;
	return NULL;
}

/** A poll that refuses when *@p left, a uint64_t, has come to zero; NULL: always. */
static inline struct gr_error *suite_refuse(void *left)
{
	uint64_t *count = left;

	if (!count || !*count)
		return gr_error_format(GR_ERROR_INTERRUPTED, "interrupted");
	--*count;
	return NULL;
}

/** A small generator of numbers that are the same in every run (xorshift). */
static inline uint64_t suite_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}
