// SPDX-License-Identifier: Apache-2.0
#include "growth/usdt_notes.h"

#include "base/cleanup.h"
#include "suite.h"

/** A section .note.stapsdt: the probes that it has, as texts. */
struct row {
	const char *name;
	uint8_t bytes[160];
	size_t size;
	const char *probes;
};

#define HEADER(owner, desc, type) owner, 0, 0, 0, desc, 0, 0, 0, type, 0, 0, 0
#define STAPSDT 's', 't', 'a', 'p', 's', 'd', 't', 0
#define ADDRS                                                           \
	0x10, 0x20, 0, 0, 0, 0, 0, 0, /**/ 0, 0, 0, 0, 0, 0, 0, 0, /**/ \
		0, 0, 0, 0, 0, 0, 0, 0
#define P_N_ARGS 'p', 0, 'n', 0, '8', '@', 0, 0
#define PROBE HEADER(8, 32, 3), STAPSDT, ADDRS, P_N_ARGS
#define NOTES(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })

static const struct row rows[] = {
	{ "none", { 0 }, 0, "" },
	{ "one", NOTES(PROBE), "p:n@2010 " },
	{ "two", NOTES(PROBE, PROBE), "p:n@2010 p:n@2010 " },
	{ "no_arguments",
	  NOTES(HEADER(8, 28, 3), STAPSDT, ADDRS, 'p', 0, 'n', 0),
	  "p:n@2010 " },
	{ "no_names", NOTES(HEADER(8, 26, 3), STAPSDT, ADDRS, 0, 0, 0, 0),
	  ":@2010 " },
	{ "of_another_owner",
	  NOTES(HEADER(8, 32, 3), 's', 't', 'a', 'p', 's', 'd', 'u', 0, ADDRS,
		P_N_ARGS, PROBE),
	  "- p:n@2010 " },
	{ "of_another_type",
	  NOTES(HEADER(8, 32, 4), STAPSDT, ADDRS, P_N_ARGS, PROBE),
	  "- p:n@2010 " },
	{ "without_addresses", NOTES(HEADER(8, 4, 3), STAPSDT, 'p', 0, 'n', 0),
	  "- " },
	{ "without_a_name",
	  NOTES(HEADER(8, 26, 3), STAPSDT, ADDRS, 'p', 0, 0xff, 0xff, PROBE),
	  "- p:n@2010 " },
	{ "the_provider_does_not_end",
	  NOTES(HEADER(8, 28, 3), STAPSDT, ADDRS, 'p', 'p', 'p', 'p', PROBE),
	  "- p:n@2010 " },
	{ "the_name_does_not_end",
	  NOTES(HEADER(8, 28, 3), STAPSDT, ADDRS, 'p', 0, 'n', 'n', PROBE),
	  "- p:n@2010 " },
	{ "cut_off", NOTES(PROBE, HEADER(8, 64, 3), STAPSDT, ADDRS, P_N_ARGS),
	  "p:n@2010 " },
	{ "sizes_of_4_GiB",
	  NOTES(255, 255, 255, 255, 255, 255, 255, 255, 3, 0, 0, 0, STAPSDT),
	  "" },
};

TEST_ROWS(notes, rows, row)
{
	struct gr_usdt_note note = { NULL, NULL, 0 };
	char text[200] = "";
	size_t used = 0;
	bool is_probe;

	// Reads beyond the section are found by the sanitizer.
	_cleanup_free_ uint8_t *exact = malloc(row->size + 1);
	memcpy(exact, row->bytes, row->size);
	struct gr_bytes notes = { exact, row->size };
	for (uint64_t off = 0; gr_usdt_next(notes, &off, &note, &is_probe);)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 is_probe ? "%s:%s@%x " : "- ",
					 note.provider, note.name,
					 (unsigned int)note.addr);
	assert_string_equal(text, row->probes);
}

GR_SUITE("notes of static probes")
