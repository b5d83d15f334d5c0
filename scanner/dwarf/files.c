// SPDX-License-Identifier: Apache-2.0
#include "dwarf/internal.h"

// This file reads the names of source files.

static const char *unit_file(struct gr_dwarf *dwarf, Dwarf_Die unit,
			     uint64_t number)
{
	Dwarf_Half version = 0, offset_bytes;
	const char *name = NULL;
	Dwarf_Signed count = 0;
	Dwarf_Error err = NULL;
	char **files = NULL;

	int rc = dwarf_srcfiles(unit, &files, &count, &err);
	if (gr_die_check(dwarf->dbg, rc, &err) != DW_DLV_OK)
		return NULL;
	// DWARF up to version 4 numbers files from 1.
	if (dwarf_get_version_of_die(unit, &version, &offset_bytes) ==
		    DW_DLV_OK &&
	    version < 5)
		number--;
	gr_dwarf_count(dwarf, (uint64_t)count);
	for (Dwarf_Signed i = 0; i < count; i++) {
		if ((uint64_t)i == number && !gr_name_is_too_long(files[i]))
			name = gr_arena_intern(&dwarf->arena, files[i],
					       strlen(files[i]));
		dwarf_dealloc(dwarf->dbg, files[i], DW_DLA_STRING);
	}
	dwarf_dealloc(dwarf->dbg, files, DW_DLA_LIST);
	return name;
}

const char *gr_dwarf_file_name(struct gr_dwarf *dwarf, Dwarf_Die handle,
			       uint64_t number)
{
	_cleanup_die_ Dwarf_Die unit = NULL;
	Dwarf_Error err = NULL;
	Dwarf_Off off;

	if (number == 0)
		return NULL;
	int rc = dwarf_CU_dieoffset_given_die(handle, &off, &err);
	if (gr_die_check(dwarf->dbg, rc, &err) != DW_DLV_OK)
		return NULL;
	struct gr_dwarf_file *entry =
		&dwarf->files[(off * 31 + number) % GR_ARRAY_SIZE(dwarf->files)];
	if (entry->unit_off == off && entry->number == number)
		return entry->name;
	unit = gr_die_at(dwarf->dbg, off);
	if (!unit)
		return NULL;
	entry->name = unit_file(dwarf, unit, number);
	entry->unit_off = off;
	entry->number = number;
	return entry->name;
}
