// SPDX-License-Identifier: Apache-2.0
/* Reasons for which goref-trace is not permitted, and places of its probes. */
#include "helpers/trace/rights.h"

#include <unistd.h>

#include "helpers/trace/sampler.h"
#include "suite.h"

#define BIT(n) (UINT64_C(1) << (n))

enum { SYS_PTRACE = 19, SYS_ADMIN = 21, PERFMON = 38, BPF = 39 };

TEST(capabilities_are_those_in_effect)
{
	uint64_t found = 0;

	assert_true(gr_rights_capabilities("Name:\tCapEff\n"
					   "CapPrm:\t000001ffffffffff\n"
					   "CapEff:\t000000c000000000\n"
					   "CapBnd:\t0000000000000000\n",
					   &found));
	assert_int_equal(found, BIT(PERFMON) | BIT(BPF));
	assert_false(gr_rights_capabilities("Name:\tcat\n", &found));
	assert_false(gr_rights_capabilities("Name:\tcat\nCapEff:\n", &found));
}

TEST(missing_capabilities_are_named)
{
	assert_true(!gr_rights_missing(BIT(SYS_ADMIN)));
	assert_true(!gr_rights_missing(BIT(PERFMON) | BIT(BPF)));
	assert_string_equal(gr_rights_missing(BIT(BPF)), "CAP_PERFMON");
	assert_string_equal(gr_rights_missing(BIT(PERFMON)), "CAP_BPF");
	assert_string_equal(gr_rights_missing(0),
			    "root, or CAP_BPF with CAP_PERFMON");
}

TEST(what_is_missing_to_read)
{
	assert_string_equal(gr_rights_to_read(0, true),
			    "CAP_SYS_PTRACE is missing");
	assert_string_equal(gr_rights_to_read(BIT(BPF), false),
			    "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH are "
			    "missing");
	assert_string_equal(gr_rights_to_read(BIT(SYS_PTRACE), false),
			    "CAP_DAC_READ_SEARCH is missing");
	assert_string_equal(gr_rights_to_read(BIT(SYS_PTRACE), true),
			    "a user namespace or a security module refuses it");
}

TEST(only_confidentiality_locks)
{
	assert_true(gr_rights_is_locked("none integrity [confidentiality]\n"));
	assert_false(gr_rights_is_locked("none [integrity] confidentiality\n"));
	assert_false(gr_rights_is_locked(""));
}

TEST(maps_are_parsed)
{
	struct gr_sampler_map map;

	assert_true(
		gr_sampler_parse_map("00400000-004bd000 r-xp 00001000 fe:01 "
				     "1234    /bin/with space\n",
				     &map));
	assert_int_equal(map.start, 0x400000);
	assert_int_equal(map.end, 0x4bd000);
	assert_int_equal(map.offset, 0x1000);
	assert_int_equal(map.inode, 1234);
	assert_true(map.is_code);
	assert_true(gr_sampler_parse_map("7f0000000000-7f0000001000 rw-p "
					 "00000000 00:00 0 \n",
					 &map));
	assert_false(map.is_code);
	assert_int_equal(map.inode, 0);
	assert_false(gr_sampler_parse_map("7f00-7f00 rw-p 0 00:00 0\n", &map));
	assert_false(gr_sampler_parse_map("Size: 4 kB\n", &map));
}

TEST(code_of_ours_is_found_in_our_file)
{
	struct gr_sampler_place place;

	assert_null(
		gr_sampler_find(getpid(), (uintptr_t)gr_sampler_find, &place));
	assert_non_null(strstr(place.path, "/exe"));
	assert_true(place.offset > 0);
	struct gr_error *err =
		gr_sampler_find(getpid(), (uintptr_t)&place, &place);
	assert_non_null(err);
	gr_error_destroy(err);
}

GR_SUITE("rights of goref-trace")
