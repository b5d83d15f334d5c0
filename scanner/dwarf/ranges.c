// SPDX-License-Identifier: Apache-2.0
#include "dwarf/internal.h"

// This file reads DW_AT_ranges of DWARF 3 and 4 (.debug_ranges) and of DWARF 5
// (.debug_rnglists).

// No function has so many ranges. Ranges beyond the limit are left out.
enum { RANGES_MAX = 4096 };

static bool append(struct gr_pc_range_vector *ret, uint64_t low, uint64_t high)
{
	if (high <= low || ret->size >= RANGES_MAX)
		return true;
	return gr_pc_range_vector_append(ret,
					 (struct gr_pc_range){ low, high });
}

// DWARF 4 ranges are relative to the unit's low_pc, unless an entry sets
// another base.
static uint64_t unit_low(struct gr_dwarf *dwarf, Dwarf_Die handle)
{
	_cleanup_die_ Dwarf_Die unit = NULL;
	Dwarf_Error err = NULL;
	Dwarf_Off off;
	Dwarf_Addr low = 0;

	int rc = dwarf_CU_dieoffset_given_die(handle, &off, &err);
	if (gr_die_check(dwarf->dbg, rc, &err) != DW_DLV_OK)
		return 0;
	unit = gr_die_at(dwarf->dbg, off);
	if (!unit)
		return 0;
	rc = dwarf_lowpc(unit, &low, &err);
	return gr_die_check(dwarf->dbg, rc, &err) == DW_DLV_OK ? low : 0;
}

static bool read_ranges4(struct gr_dwarf *dwarf, Dwarf_Die handle, uint64_t off,
			 struct gr_pc_range_vector *ret)
{
	Dwarf_Ranges *ranges = NULL;
	Dwarf_Signed count = 0;
	Dwarf_Unsigned bytes;
	Dwarf_Off real_off;
	Dwarf_Error err = NULL;
	bool ok = true;

	int rc = dwarf_get_ranges_b(dwarf->dbg, off, handle, &real_off, &ranges,
				    &count, &bytes, &err);
	if (gr_die_check(dwarf->dbg, rc, &err) != DW_DLV_OK)
		return true;
	gr_dwarf_count(dwarf, (uint64_t)count);
	uint64_t base = unit_low(dwarf, handle);
	for (Dwarf_Signed i = 0; ok && i < count; i++) {
		if (ranges[i].dwr_type == DW_RANGES_END)
			break;
		if (ranges[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
			base = ranges[i].dwr_addr2;
		else
			ok = append(ret, base + ranges[i].dwr_addr1,
				    base + ranges[i].dwr_addr2);
	}
	dwarf_dealloc_ranges(dwarf->dbg, ranges, count);
	return ok;
}

static bool is_range(unsigned int entry)
{
	return entry == DW_RLE_startx_endx || entry == DW_RLE_startx_length ||
	       entry == DW_RLE_offset_pair || entry == DW_RLE_start_end ||
	       entry == DW_RLE_start_length;
}

static bool read_ranges5(struct gr_dwarf *dwarf, Dwarf_Attribute attr,
			 Dwarf_Half form, uint64_t off,
			 struct gr_pc_range_vector *ret)
{
	Dwarf_Unsigned count = 0, raw1, raw2, low, high, set_off;
	Dwarf_Rnglists_Head head = NULL;
	unsigned int entry_bytes, entry;
	Dwarf_Bool no_addr;
	Dwarf_Error err = NULL;
	bool ok = true;

	int rc = dwarf_rnglists_get_rle_head(attr, form, off, &head, &count,
					     &set_off, &err);
	if (gr_die_check(dwarf->dbg, rc, &err) != DW_DLV_OK)
		return true;
	gr_dwarf_count(dwarf, count);
	for (Dwarf_Unsigned i = 0; ok && i < count; i++) {
		rc = dwarf_get_rnglists_entry_fields_a(head, i, &entry_bytes,
						       &entry, &raw1, &raw2,
						       &no_addr, &low, &high,
						       &err);
		if (gr_die_check(dwarf->dbg, rc, &err) != DW_DLV_OK ||
		    entry == DW_RLE_end_of_list)
			break;
		if (is_range(entry) && !no_addr)
			ok = append(ret, low, high);
	}
	dwarf_dealloc_rnglists_head(head);
	return ok;
}

// The offset or, for DW_FORM_rnglistx, the index that the attribute holds.
bool gr_ranges_off(struct gr_dwarf *dwarf, Dwarf_Attribute attr,
		   Dwarf_Half form, uint64_t *ret)
{
	Dwarf_Unsigned value = 0;
	Dwarf_Error err = NULL;
	Dwarf_Off off = 0;
	int rc;

	if (form == DW_FORM_rnglistx || form == DW_FORM_data4 ||
	    form == DW_FORM_data8 || form == DW_FORM_udata) {
		rc = dwarf_formudata(attr, &value, &err);
		*ret = value;
	} else {
		rc = gr_compat_formref(attr, &off, &err);
		*ret = off;
	}
	return gr_die_check(dwarf->dbg, rc, &err) == DW_DLV_OK;
}

struct gr_error *gr_ranges_read(struct gr_dwarf *dwarf, Dwarf_Die handle,
				const struct gr_die *die,
				struct gr_pc_range_vector *ret)
{
	_cleanup_attribute_ Dwarf_Attribute attr = NULL;
	Dwarf_Half version = 0, offset_bytes, form;
	Dwarf_Error err = NULL;
	uint64_t off;

	if (die->has_pc)
		return append(ret, die->low, die->high) ? NULL : &gr_enomem;
	if (!die->has_ranges)
		return NULL;
	attr = gr_die_attribute(dwarf->dbg, handle, DW_AT_ranges);
	if (!attr ||
	    gr_die_check(dwarf->dbg, dwarf_whatform(attr, &form, &err), &err) ||
	    dwarf_get_version_of_die(handle, &version, &offset_bytes) ||
	    !gr_ranges_off(dwarf, attr, form, &off))
		return NULL;
	if (version >= 5 && form == DW_FORM_sec_offset &&
	    !gr_lists_has_ranges(&dwarf->lists, off))
		return NULL;
	bool ok = version >= 5 ? read_ranges5(dwarf, attr, form, off, ret) :
				 read_ranges4(dwarf, handle, off, ret);
	return ok ? NULL : &gr_enomem;
}
