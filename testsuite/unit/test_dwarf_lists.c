// SPDX-License-Identifier: Apache-2.0
#include "dwarf/lists.h"

#include "suite.h"

// Torn lists of DWARF 5 must be seen before libdwarf reads them.

enum what { LOCATIONS, RANGES, HEADERS };

struct list_case {
	const char *name;
	enum what what;
	uint8_t bytes[40];
	uint64_t nbytes, off;
	bool is_sound;
};

#define HEADER(length) length, 0, 0, 0, 5, 0, 8, 0, 0, 0, 0, 0

static const struct list_case cases[] = {
	{ "locations: offset pair, then the end",
	  LOCATIONS,
	  { 4, 0x10, 0x20, 1, 0x50, 0 },
	  6,
	  0,
	  true },
	{ "locations: base by index, then a pair",
	  LOCATIONS,
	  { 1, 0x80, 1, 4, 0, 8, 2, 0x91, 0x78, 0 },
	  10,
	  0,
	  true },
	{ "locations: a list in the middle",
	  LOCATIONS,
	  { 9, 9, 4, 0x10, 0x20, 0, 0 },
	  7,
	  2,
	  true },
	{ "locations: no end",
	  LOCATIONS,
	  { 4, 0x10, 0x20, 1, 0x50 },
	  5,
	  0,
	  false },
	{ "locations: an expression longer than the section",
	  LOCATIONS,
	  { 4, 0x10, 0x20, 0x7f, 0x50, 0 },
	  6,
	  0,
	  false },
	{ "locations: an expression of 2^63 bytes",
	  LOCATIONS,
	  { 4, 1, 2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1,
	    0 },
	  14,
	  0,
	  false },
	{ "locations: an unknown code", LOCATIONS, { 9, 0 }, 2, 0, false },
	{ "locations: half an address",
	  LOCATIONS,
	  { 6, 1, 2, 3, 0 },
	  5,
	  0,
	  false },
	{ "locations: begins at the end", LOCATIONS, { 0 }, 1, 1, false },
	{ "locations: begins far behind the end",
	  LOCATIONS,
	  { 0 },
	  1,
	  UINT64_MAX,
	  false },
	{ "locations: no section is not our business",
	  LOCATIONS,
	  { 0 },
	  0,
	  5,
	  true },
	{ "ranges: start and length",
	  RANGES,
	  { 7, 0, 0x10, 0, 0, 0, 0, 0, 0, 8, 0 },
	  11,
	  0,
	  true },
	{ "ranges: no end", RANGES, { 4, 1, 2 }, 3, 0, false },
	{ "headers: one unit", HEADERS, { HEADER(8) }, 12, 0, true },
	{ "headers: two units", HEADERS, { HEADER(8), HEADER(8) }, 24, 0, true },
	{ "headers: none", HEADERS, { 0 }, 0, 0, true },
	{ "headers: longer than the section",
	  HEADERS,
	  { HEADER(9) },
	  12,
	  0,
	  false },
	{ "headers: shorter than itself", HEADERS, { HEADER(7) }, 12, 0, false },
	{ "headers: version 4", HEADERS, { 8, 0, 0, 0, 4, 0, 8 }, 12, 0, false },
	{ "headers: addresses of 4 bytes",
	  HEADERS,
	  { 8, 0, 0, 0, 5, 0, 4 },
	  12,
	  0,
	  false },
	{ "headers: more offsets than bytes",
	  HEADERS,
	  { 8, 0, 0, 0, 5, 0, 8, 0, 1 },
	  12,
	  0,
	  false },
	{ "headers: half of a length",
	  HEADERS,
	  { HEADER(8), 8, 0 },
	  14,
	  0,
	  false },
};

TEST_ROWS(list, cases, row)
{
	// An allocation of its own, so that the sanitizer sees its end.
	uint8_t *copy = malloc(row->nbytes + 1);
	struct gr_bytes bytes = { copy + 1, row->nbytes };

	assert_non_null(copy);
	memcpy(copy + 1, row->bytes, row->nbytes);
	bool is_sound = row->what == LOCATIONS ?
				gr_locations_end_inside(bytes, row->off) :
			row->what == RANGES ?
				gr_ranges_end_inside(bytes, row->off) :
				gr_list_headers_fit(bytes);
	free(copy);
	assert_int_equal(is_sound, row->is_sound);
}

GR_SUITE("dwarf lists")
