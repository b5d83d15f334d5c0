// SPDX-License-Identifier: Apache-2.0
#include "growth/alloc_names.h"

#include "suite.h"

#include <string.h>

/** A symbol: what it is. */
struct row {
	const char *name;
	const char *prefix;
	const char *kind; /* NULL: no function of an allocator */
	enum gr_alloc_family family;
};

static const struct row rows[] = {
	{ "malloc", "", "malloc", GR_ALLOC_OF_C },
	{ "malloc@@GLIBC_2.2.5", "", "malloc", GR_ALLOC_OF_C },
	{ "cfree@GLIBC_2.2.5", "", "free", GR_ALLOC_OF_C },
	{ "calloc", "", "calloc", GR_ALLOC_OF_C },
	{ "realloc", "", "realloc", GR_ALLOC_OF_C },
	{ "reallocarray", "", "reallocarray", GR_ALLOC_OF_C },
	{ "posix_memalign", "", "posix_memalign", GR_ALLOC_OF_C },
	{ "memalign", "", "aligned", GR_ALLOC_OF_C },
	{ "aligned_alloc", "", "aligned", GR_ALLOC_OF_C },
	{ "pvalloc", "", "malloc", GR_ALLOC_OF_C },
	{ "rallocx", "", "realloc", GR_ALLOC_OF_C },
	{ "sdallocx", "", "free", GR_ALLOC_OF_C },
	{ "_Znwm", "", "new", GR_ALLOC_OF_CXX },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", "", "new", GR_ALLOC_OF_CXX },
	{ "_ZdaPvmSt11align_val_t", "", "free", GR_ALLOC_OF_CXX },
	{ "_ZdlPvRKSt9nothrow_t", "", "free", GR_ALLOC_OF_CXX },
	{ "je_mallocx", "", "malloc", GR_ALLOC_OF_JEMALLOC },
	{ "tc_newarray_aligned_nothrow", "", "new", GR_ALLOC_OF_TCMALLOC },
	{ "tc_deletearray_sized", "", "free", GR_ALLOC_OF_TCMALLOC },
	{ "mi_malloc_aligned", "", "malloc", GR_ALLOC_OF_MIMALLOC },
	{ "mi_calloc", "", "calloc", GR_ALLOC_OF_MIMALLOC },
	{ "mi_aligned_recalloc", "", "reallocarray", GR_ALLOC_OF_MIMALLOC },
	{ "mmap64", "", "mmap", GR_ALLOC_OF_MAPPINGS },
	{ "munmap", "", "munmap", GR_ALLOC_OF_MAPPINGS },
	{ "my_malloc", "my_", "malloc", GR_ALLOC_OF_PREFIX },
	{ "my_sdallocx@@V1", "my_", "free", GR_ALLOC_OF_PREFIX },
	{ "je_free", "je_", "free", GR_ALLOC_OF_JEMALLOC },
	{ "free", "my_", "free", GR_ALLOC_OF_C },
	{ "my_malloc", "", NULL, 0 },
	{ "my_malloc", "your_", NULL, 0 },
	{ "my_", "my_", NULL, 0 },
	{ "my_mmap", "my_", NULL, 0 },
	{ "my_tc_malloc", "my_", NULL, 0 },
	{ "my__Znwm", "my_", NULL, 0 },
	{ "mallocs", "", NULL, 0 },
	{ "mallo", "", NULL, 0 },
	{ "xallocx", "", NULL, 0 },
	{ "malloc_usable_size", "", NULL, 0 },
	{ "_ZdlPvS_", "", NULL, 0 },
	{ "", "", NULL, 0 },
	{ "@@V1", "", NULL, 0 },
};

TEST_ROWS(symbol, rows, row)
{
	enum gr_alloc_family family;
	const struct gr_alloc_name *name =
		gr_alloc_name_find(row->name, row->prefix, &family);

	if (!row->kind) {
		assert_null(name);
		return;
	}
	assert_non_null(name);
	assert_string_equal(gr_alloc_kind_name(name->kind), row->kind);
	assert_int_equal(family, row->family);
}

/* Each name of the table is found, and is there once. */
TEST(all_names)
{
	for (size_t i = 0; i < gr_nalloc_names; i++) {
		enum gr_alloc_family family;

		assert_ptr_equal(gr_alloc_name_find(gr_alloc_names[i].text, "",
						    &family),
				 &gr_alloc_names[i]);
		assert_int_equal(family, gr_alloc_names[i].family);
	}
}

/* A family tells an allocator by a function of each kind. */
TEST(families_are_complete)
{
	for (int family = 0; family < GR_ALLOC_NFAMILIES; family++) {
		bool allocates = false, frees = false;

		for (size_t i = 0; i < gr_nalloc_names; i++) {
			if (gr_alloc_names[i].family != family)
				continue;
			allocates |= gr_alloc_names[i].kind == GR_ALLOC_MALLOC;
			frees |= gr_alloc_names[i].kind == GR_ALLOC_FREE;
		}
		bool has_malloc = family != GR_ALLOC_OF_CXX &&
				  family != GR_ALLOC_OF_MAPPINGS &&
				  family != GR_ALLOC_OF_PREFIX;
		assert_int_equal(allocates, has_malloc);
		assert_int_equal(frees,
				 has_malloc || family == GR_ALLOC_OF_CXX);
	}
}

TEST(symbols_with_a_version)
{
	assert_true(gr_alloc_symbol_is("free", "free"));
	assert_true(gr_alloc_symbol_is("free@GLIBC_2.2.5", "free"));
	assert_false(gr_alloc_symbol_is("free_sized", "free"));
	assert_false(gr_alloc_symbol_is("fre", "free"));
}

GR_SUITE("names of functions of allocators")
