/* SPDX-License-Identifier: Apache-2.0 */
/**
 * compat: one interface to the two families of libdwarf, 20210528 and 0.x. The
 * families share a SONAME and most names, but not the arguments. No other file
 * knows the difference.
 *
 * libdwarf calls abort() on an error if the caller gives no error pointer, so
 * that every call in this room gives one.
 */
#ifndef GR_DWARF_COMPAT_H
#define GR_DWARF_COMPAT_H

#include "base/base.h"

#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>

#ifdef DW_LIBDWARF_VERSION_MAJOR
#define GR_LIBDWARF_IS_OLD 0
#else
/** The header has version numbers since 0.1.0; it had dates before. */
#define GR_LIBDWARF_IS_OLD 1
#endif

#if GR_LIBDWARF_IS_OLD
#define dwarf_dealloc_loc_head_c dwarf_loc_head_c_dealloc
#define dwarf_dealloc_ranges dwarf_ranges_dealloc
#endif

static inline int gr_compat_init(int fd, Dwarf_Debug *ret, Dwarf_Error *err)
{
#if GR_LIBDWARF_IS_OLD
	return dwarf_init_b(fd, 0, DW_GROUPNUMBER_ANY, NULL, NULL, ret, err);
#else
	return dwarf_init_b(fd, DW_GROUPNUMBER_ANY, NULL, NULL, ret, err);
#endif
}

static inline void gr_compat_finish(Dwarf_Debug dbg)
{
#if GR_LIBDWARF_IS_OLD
	Dwarf_Error err = NULL;
	dwarf_finish(dbg, &err);
#else
	dwarf_finish(dbg);
#endif
}

/** The .debug_info offset that a reference attribute names. */
static inline int gr_compat_formref(Dwarf_Attribute attr, Dwarf_Off *ret,
				    Dwarf_Error *err)
{
#if GR_LIBDWARF_IS_OLD
	return dwarf_global_formref(attr, ret, err);
#else
	Dwarf_Bool is_info = 0;
	int rc = dwarf_global_formref_b(attr, ret, &is_info, err);
	return rc == DW_DLV_OK && !is_info ? DW_DLV_NO_ENTRY : rc;
#endif
}

#endif /* GR_DWARF_COMPAT_H */
