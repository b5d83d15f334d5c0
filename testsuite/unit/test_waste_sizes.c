// SPDX-License-Identifier: Apache-2.0
/* Sizes that checks of goref waste compare: stacks, arrays of pools; and the
 * names by which libraries are known. */
#include "waste/checks/check_pools.h"
#include "waste/checks/check_stacks.h"
#include "waste/checks/known_libraries.h"

#include "suite.h"

TEST(smallest_stack_leaves_the_guard)
{
	// newstack() doubles a stack as soon as sp < stack.lo + stackGuard.
	assert_int_equal(gr_smallest_stack(0, 928), 2048);
	assert_int_equal(gr_smallest_stack(1120, 928), 2048);
	assert_int_equal(gr_smallest_stack(1121, 928), 4096);
	assert_int_equal(gr_smallest_stack(100000, 928), 131072);
	assert_int_equal(gr_smallest_stack(1120, 1856), 4096);
}

TEST(smallest_stack_ends_with_any_number)
{
	uint64_t most = gr_smallest_stack(UINT64_MAX / 2 + 1, 928);

	assert_true(most >= UINT64_C(1) << 63);
}

TEST(collections_halve_while_less_than_a_quarter_is_used)
{
	// 800 bytes more than the frames count as used (stackNosplit).
	assert_int_equal(gr_shrunk_stack(131072, 1000, 928), 4096);
	assert_int_equal(gr_shrunk_stack(32768, 7391, 928), 16384);
	assert_int_equal(gr_shrunk_stack(32768, 7392, 928), 32768);
	assert_int_equal(gr_shrunk_stack(2048, 0, 928), 2048);
	assert_int_equal(gr_shrunk_stack(4096, 223, 928), 2048);
	assert_int_equal(gr_shrunk_stack(4096, 224, 928), 4096);
}

TEST(outliers_are_large_and_far_from_the_median)
{
	assert_int_equal(gr_median_index(1), 0);
	assert_int_equal(gr_median_index(2), 0);
	assert_int_equal(gr_median_index(3), 1);
	assert_int_equal(gr_median_index(4), 1);
	assert_false(gr_is_outlier(65536, 0));
	assert_true(gr_is_outlier(65537, 0));
	assert_false(gr_is_outlier(8 * 16384, 16384));
	assert_true(gr_is_outlier(8 * 16384 + 1, 16384));
	assert_false(gr_is_outlier(16384, 16));
}

/** The name of a type or a variable, and its row. */
struct row {
	const char *name;
	bool is_variable;
	const char *library; /* NULL: none */
};

static const struct row rows[] = {
	{ "regexp.Regexp", false, "regexp.Regexp" },
	{ "regexp.onePassProg", false, NULL },
	{ "regexp/syntax.Prog", false, NULL },
	{ "[]regexp.Regexp", false, NULL },
	{ "time.Location", false, "time.Location" },
	{ "time.Locations", false, NULL },
	{ "time.localLoc", true, NULL },
	{ "expvar.Map", false, "expvar" },
	{ "expvars.Map", false, NULL },
	{ "reflect.ptrMap", true, "reflect" },
	{ "reflect.rtype", false, NULL },
	{ "regexp.matchPool", true, NULL },
	{ "go.opentelemetry.io/otel/sdk/metric.MeterProvider", false,
	  "go.opentelemetry.io/otel/sdk" },
	{ "go.opentelemetry.io/otel/sdk/metric/internal.Sum[int64]", false,
	  "go.opentelemetry.io/otel/sdk" },
	{ "github.com/prometheus/client_model/go.Metric", false,
	  "github.com/prometheus/client_golang/prometheus" },
	{ "github.com/prometheus/client_golang/prometheus.defaultRegistry",
	  true, "github.com/prometheus/client_golang/prometheus" },
	{ "main.T", false, NULL },
	{ "", false, NULL },
	{ "(type not known)", false, NULL },
};

TEST_ROWS(libraries, rows, row)
{
	size_t found = row->is_variable ? gr_library_of_variable(row->name) :
					  gr_library_of_type(row->name);

	if (!row->library) {
		assert_int_equal(found, SIZE_MAX);
		return;
	}
	assert_true(found < gr_nknown_libraries);
	assert_string_equal(gr_known_libraries[found].name, row->library);
}

GR_SUITE("sizes and names of waste")
