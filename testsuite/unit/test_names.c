// SPDX-License-Identifier: Apache-2.0
/* names: what the names of functions, types and packages mean. */
#include "goruntime/layout/names.h"

#include "suite.h"

struct meaning_case {
	const char *name, *text;
	enum gr_name_trait trait;
	bool has;
};

static const struct meaning_case meaning_cases[] = {
	{ "a function by its whole name", "runtime.mcall", GR_NAME_LEAVES_STACK,
	  true },
	{ "a longer name is another function", "runtime.mcallers",
	  GR_NAME_LEAVES_STACK, false },
	{ "a name has the meaning of its row only", "runtime.mcall",
	  GR_NAME_ALLOCATES, false },
	{ "a variant of a function", "runtime.mallocgcSmallNoscan",
	  GR_NAME_ALLOCATES, true },
	{ "an instance of a generic type", "sync/atomic.Pointer[main.T]",
	  GR_NAME_ATOMIC_POINTER, true },
	{ "another package's type of that name", "main.Pointer[main.T]",
	  GR_NAME_ATOMIC_POINTER, false },
	{ "the older spelling of a package", "internal/weak.Pointer[int]",
	  GR_NAME_WEAK_POINTER, true },
	{ "no name", "", GR_NAME_LEAVES_STACK, false },
};

TEST_ROWS(meaning, meaning_cases, c)
{
	assert_int_equal(gr_name_has(c->text, c->trait), c->has);
}

struct package_case {
	const char *name, *text;
	bool is_in_runtime, is_internal, is_runtime_frame;
};

static const struct package_case package_cases[] = {
	{ "runtime", "runtime.gopark", true, true, true },
	{ "internal/runtime", "internal/runtime/maps.(*Map).Put", false, true,
	  true },
	{ "runtime/internal", "runtime/internal/sys.X", false, true, false },
	{ "another internal package", "internal/poll.(*FD).Read", false, true,
	  false },
	{ "runtime/debug is the library's", "runtime/debug.Stack", false, false,
	  false },
	{ "a user's package", "runtimes.New", false, false, false },
};

TEST_ROWS(package, package_cases, c)
{
	assert_int_equal(gr_name_is_in_runtime(c->text), c->is_in_runtime);
	assert_int_equal(gr_name_is_internal(c->text), c->is_internal);
	assert_int_equal(gr_name_is_runtime_frame(c->text),
			 c->is_runtime_frame);
}

/* Each trait has rows, one after another, so that "newest first" is a rule
 * about neighbours; and no name stands twice. */
TEST(table)
{
	bool is_done[GR_NAME_NTRAITS] = { false };
	size_t ntraits = 0;

	for (size_t i = 0; i < gr_nnames; i++) {
		bool is_new = !i || gr_names[i].trait != gr_names[i - 1].trait;

		assert_false(is_new && is_done[gr_names[i].trait]);
		is_done[gr_names[i].trait] = true;
		ntraits += is_new;
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(gr_names[i].text,
						gr_names[j].text);
	}
	assert_int_equal(ntraits, GR_NAME_NTRAITS);
}

TEST(newest)
{
	assert_string_equal(gr_name_of(GR_NAME_WEAK_POINTER), "weak.Pointer[");
	assert_string_equal(gr_name_of(GR_NAME_OLD_POOLS), "sync.oldPools");
}

GR_SUITE("names")
