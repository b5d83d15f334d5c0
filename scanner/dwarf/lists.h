/* SPDX-License-Identifier: Apache-2.0 */
/**
 * lists: checks whether the location and range lists of DWARF 5 are intact.
 * This part knows ELF sections and the layout of the lists, but not their
 * meaning.
 *
 * libdwarf 20210528 reads past the end of a torn list and frees twice after a
 * torn header; 0.11 does neither. Both bugs would crash our process, so that
 * the lists are checked first. Compressed sections need no check: zlib's
 * checksum detects a torn one.
 */
#ifndef GR_DWARF_LISTS_H
#define GR_DWARF_LISTS_H

#include "base/base.h"
#include "base/bytes.h"

/** A mapped part of a file; all members are 0 if there is none. */
struct gr_mapped_section {
	void *map;
	size_t map_bytes;
	struct gr_bytes bytes;
};

struct gr_lists {
	/** .debug_loclists and .debug_rnglists, unless compressed. */
	struct gr_mapped_section locations, ranges;
};

/** Map the sections of the ELF file @p fd; false if a header is torn. */
bool gr_lists_init(struct gr_lists *lists, int fd) GR_MUST_CHECK;
void gr_lists_deinit(struct gr_lists *lists);

/** False if the list at @p off does not end inside its section. */
bool gr_lists_has_locations(const struct gr_lists *lists, uint64_t off);
bool gr_lists_has_ranges(const struct gr_lists *lists, uint64_t off);

/** The same for bytes. An empty view is an unknown section: true. */
bool gr_locations_end_inside(struct gr_bytes section, uint64_t off);
bool gr_ranges_end_inside(struct gr_bytes section, uint64_t off);
/** True if the unit headers in a section fit into it and fit each other. */
bool gr_list_headers_fit(struct gr_bytes section);

#endif /* GR_DWARF_LISTS_H */
