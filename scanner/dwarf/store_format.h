/* SPDX-License-Identifier: Apache-2.0 */
/**
 * store_format: the declared form of the rows in a block of store.c: where each
 * member lies, in bytes, and how large it is. Saved files have such blocks, and
 * are read by every goref that knows their GR_DWARF_TABLES_VERSION. If a member
 * moves, this file does not compile: raise the version, then change the place
 * here and add a row to test_dwarf_store.
 *
 * Only store.c includes this.
 */
#ifndef GR_STORE_FORMAT_H
#define GR_STORE_FORMAT_H

#include "dwarf/internal.h"

#define GR_STORED_CHANGED \
	"the form of saved tables changes: raise GR_DWARF_TABLES_VERSION"

#define GR_STORED_PLACE(type, member, off, bytes)                             \
	_Static_assert(offsetof(struct type, member) == (off) &&              \
			       sizeof(((struct type *)0)->member) == (bytes), \
		       GR_STORED_CHANGED)

#define GR_STORED_SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), GR_STORED_CHANGED)

GR_STORED_PLACE(gr_dwarf_type, name, 0, 8);
GR_STORED_PLACE(gr_dwarf_type, die_off, 8, 8);
GR_STORED_PLACE(gr_dwarf_type, size_bytes, 16, 8);
GR_STORED_PLACE(gr_dwarf_type, runtime_type, 24, 8);
GR_STORED_PLACE(gr_dwarf_type, kind, 32, 1);
GR_STORED_PLACE(gr_dwarf_type, is_interface_with_methods, 33, 1);
GR_STORED_PLACE(gr_dwarf_type, dict_index, 34, 2);
GR_STORED_PLACE(gr_dwarf_type, elem, 36, 4);
GR_STORED_PLACE(gr_dwarf_type, key, 40, 4);
GR_STORED_PLACE(gr_dwarf_type, header, 44, 4);
GR_STORED_PLACE(gr_dwarf_type, count, 48, 8);
GR_STORED_PLACE(gr_dwarf_type, first_field, 56, 4);
GR_STORED_PLACE(gr_dwarf_type, nfields, 60, 4);
GR_STORED_SIZE(gr_dwarf_type, 64);

GR_STORED_PLACE(gr_dwarf_field, name, 0, 8);
GR_STORED_PLACE(gr_dwarf_field, off_bytes, 8, 8);
GR_STORED_PLACE(gr_dwarf_field, type, 16, 4);
GR_STORED_PLACE(gr_dwarf_field, is_embedded, 20, 1);
GR_STORED_SIZE(gr_dwarf_field, 24);

GR_STORED_PLACE(gr_dwarf_variable, name, 0, 8);
GR_STORED_PLACE(gr_dwarf_variable, addr, 8, 8);
GR_STORED_PLACE(gr_dwarf_variable, type, 16, 4);
GR_STORED_SIZE(gr_dwarf_variable, 24);

GR_STORED_PLACE(gr_dwarf_function, name, 0, 8);
GR_STORED_PLACE(gr_dwarf_function, low, 8, 8);
GR_STORED_PLACE(gr_dwarf_function, high, 16, 8);
GR_STORED_PLACE(gr_dwarf_function, die_off, 24, 8);
GR_STORED_SIZE(gr_dwarf_function, 32);

GR_STORED_PLACE(gr_dwarf_constant, name, 0, 8);
GR_STORED_PLACE(gr_dwarf_constant, value, 8, 8);
GR_STORED_PLACE(gr_dwarf_constant, type, 16, 4);
GR_STORED_SIZE(gr_dwarf_constant, 24);

GR_STORED_PLACE(gr_location_piece, kind, 0, 4);
GR_STORED_PLACE(gr_location_piece, off_bytes, 4, 4);
GR_STORED_PLACE(gr_location_piece, size_bytes, 8, 4);
GR_STORED_PLACE(gr_location_piece, reg, 12, 2);
GR_STORED_PLACE(gr_location_piece, offset, 16, 8);
GR_STORED_SIZE(gr_location_piece, 24);

GR_STORED_PLACE(gr_dwarf_local, name, 0, 8);
GR_STORED_PLACE(gr_dwarf_local, function, 8, 8);
GR_STORED_PLACE(gr_dwarf_local, depth, 16, 4);
GR_STORED_PLACE(gr_dwarf_local, type, 20, 4);
GR_STORED_PLACE(gr_dwarf_local, is_param, 24, 1);
GR_STORED_PLACE(gr_dwarf_local, closure_off, 28, 4);
GR_STORED_PLACE(gr_dwarf_local, npieces, 32, 4);
GR_STORED_PLACE(gr_dwarf_local, pieces, 40, 16 * 24);
GR_STORED_PLACE(gr_dwarf_local, file, 424, 8);
GR_STORED_PLACE(gr_dwarf_local, line, 432, 4);
GR_STORED_SIZE(gr_dwarf_local, 440);

GR_STORED_PLACE(gr_dwarf_capture, name, 0, 8);
GR_STORED_PLACE(gr_dwarf_capture, off_bytes, 8, 8);
GR_STORED_PLACE(gr_dwarf_capture, type, 16, 4);
GR_STORED_PLACE(gr_dwarf_capture, by_reference, 20, 1);
GR_STORED_SIZE(gr_dwarf_capture, 24);

GR_STORED_PLACE(gr_answer, pc, 0, 8);
GR_STORED_PLACE(gr_answer, function, 8, 4);
GR_STORED_PLACE(gr_answer, question, 12, 4);
GR_STORED_PLACE(gr_answer, first, 16, 4);
GR_STORED_PLACE(gr_answer, count, 20, 4);
GR_STORED_SIZE(gr_answer, 24);

GR_STORED_PLACE(gr_dwarf_key, build_id, 0, 256);
GR_STORED_PLACE(gr_dwarf_key, file_bytes, 256, 8);
GR_STORED_PLACE(gr_dwarf_key, ctime_ns, 264, 8);
GR_STORED_SIZE(gr_dwarf_key, 272);

#endif /* GR_STORE_FORMAT_H */
