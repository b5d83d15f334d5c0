// SPDX-License-Identifier: Apache-2.0
#include "dwarf/die.h"

#include <inttypes.h>

// No DIE has more attributes. An attribute may take no bytes of the DIE, so
// that the file's size does not limit their number.
enum { ATTRIBUTES_MAX = 256 };

int gr_die_check(Dwarf_Debug dbg, int rc, Dwarf_Error *err)
{
	if (rc == DW_DLV_ERROR && *err)
		dwarf_dealloc_error(dbg, *err);
	*err = NULL;
	return rc;
}

static struct gr_error *die_damaged(uint64_t off)
{
	return gr_error_format(GR_ERROR_FORMAT,
			       "debug information is damaged at offset "
			       "0x%" PRIx64,
			       off);
}

static Dwarf_Half attr_form(Dwarf_Debug dbg, Dwarf_Attribute attr)
{
	Dwarf_Error err = NULL;
	Dwarf_Half form;

	if (gr_die_check(dbg, dwarf_whatform(attr, &form, &err), &err))
		return 0;
	return form;
}

/* The number of a whole abbreviation, which dwarf_formudata() refuses. */
static bool read_implicit(Dwarf_Debug dbg, Dwarf_Attribute attr, uint64_t *ret)
{
	Dwarf_Error err = NULL;
	Dwarf_Signed value;

	if (gr_die_check(dbg, dwarf_formsdata(attr, &value, &err), &err) ||
	    value < 0)
		return false;
	*ret = value;
	return true;
}

static bool read_udata(Dwarf_Debug dbg, Dwarf_Attribute attr, uint64_t *ret)
{
	Dwarf_Error err = NULL;
	Dwarf_Unsigned value;

	if (attr_form(dbg, attr) == DW_FORM_implicit_const)
		return read_implicit(dbg, attr, ret);
	if (gr_die_check(dbg, dwarf_formudata(attr, &value, &err), &err))
		return false;
	*ret = value;
	return true;
}

static bool read_addr(Dwarf_Debug dbg, Dwarf_Attribute attr, uint64_t *ret)
{
	Dwarf_Error err = NULL;
	Dwarf_Addr value;

	if (gr_die_check(dbg, dwarf_formaddr(attr, &value, &err), &err))
		return false;
	*ret = value;
	return true;
}

static uint64_t read_ref(Dwarf_Debug dbg, Dwarf_Attribute attr)
{
	Dwarf_Error err = NULL;
	Dwarf_Off value;

	if (gr_die_check(dbg, gr_compat_formref(attr, &value, &err), &err))
		return GR_DIE_NO_OFF;
	return value;
}

/* NULL also if the string is too long for a name. */
static const char *read_string(Dwarf_Debug dbg, Dwarf_Attribute attr)
{
	Dwarf_Error err = NULL;
	char *value;

	if (gr_die_check(dbg, dwarf_formstring(attr, &value, &err), &err) ||
	    gr_name_is_too_long(value))
		return NULL;
	return value;
}

static bool read_flag(Dwarf_Debug dbg, Dwarf_Attribute attr)
{
	Dwarf_Error err = NULL;
	Dwarf_Bool value;

	if (gr_die_check(dbg, dwarf_formflag(attr, &value, &err), &err))
		return false;
	return value != 0;
}

// Go writes DW_FORM_sdata and DW_FORM_udata; C compilers write any form that
// fits.
static bool read_const(Dwarf_Debug dbg, Dwarf_Attribute attr, int64_t *ret)
{
	Dwarf_Half form = attr_form(dbg, attr);
	Dwarf_Error err = NULL;
	Dwarf_Signed value;
	uint64_t uvalue;

	if (form != DW_FORM_sdata && form != DW_FORM_implicit_const) {
		if (!read_udata(dbg, attr, &uvalue))
			return false;
		*ret = (int64_t)uvalue;
		return true;
	}
	if (gr_die_check(dbg, dwarf_formsdata(attr, &value, &err), &err))
		return false;
	*ret = value;
	return true;
}

// Since DWARF 4, the end may be a distance from the start. Attributes may be
// in any order, so that gr_die_read() adds the distance at the end.
static void read_high(Dwarf_Debug dbg, Dwarf_Attribute attr, struct gr_die *die,
		      bool *is_distance)
{
	switch (attr_form(dbg, attr)) {
	case DW_FORM_addr:
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
		die->has_pc = read_addr(dbg, attr, &die->high);
		break;
	default:
		die->has_pc = read_udata(dbg, attr, &die->high);
		*is_distance = true;
	}
}

// Read an attribute that gives the place of code or data.
static bool read_place(Dwarf_Debug dbg, Dwarf_Attribute attr, Dwarf_Half number,
		       struct gr_die *die, bool *is_distance)
{
	switch (number) {
	case DW_AT_low_pc:
		die->has_low = read_addr(dbg, attr, &die->low);
		return true;
	case DW_AT_high_pc:
		read_high(dbg, attr, die, is_distance);
		return true;
	case DW_AT_ranges:
		die->has_ranges = true;
		return true;
	case DW_AT_location:
		die->has_location = true;
		return true;
	default:
		return false;
	}
}

static bool read_go(Dwarf_Debug dbg, Dwarf_Attribute attr, Dwarf_Half number,
		    struct gr_die *die)
{
	uint64_t value = 0;

	switch (number) {
	case GR_AT_GO_KIND:
		if (read_udata(dbg, attr, &value) && value < 32)
			die->kind = (uint8_t)value;
		return true;
	case GR_AT_GO_KEY:
		die->key_off = read_ref(dbg, attr);
		return true;
	case GR_AT_GO_ELEM:
		die->elem_off = read_ref(dbg, attr);
		return true;
	case GR_AT_GO_EMBEDDED_FIELD:
		die->is_embedded = read_flag(dbg, attr);
		return true;
	case GR_AT_GO_RUNTIME_TYPE:
		read_addr(dbg, attr, &die->runtime_type);
		return true;
	case GR_AT_GO_DICT_INDEX:
		die->has_dict_index = read_udata(dbg, attr, &die->dict_index);
		return true;
	case GR_AT_GO_CLOSURE_OFFSET:
		read_udata(dbg, attr, &die->closure_off);
		return true;
	default:
		return false;
	}
}

static bool read_reference(Dwarf_Debug dbg, Dwarf_Attribute attr,
			   Dwarf_Half number, struct gr_die *die)
{
	switch (number) {
	case DW_AT_name:
		die->name = read_string(dbg, attr);
		return true;
	case DW_AT_producer:
		die->producer = read_string(dbg, attr);
		return true;
	case DW_AT_type:
		die->type_off = read_ref(dbg, attr);
		return true;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		die->origin_off = read_ref(dbg, attr);
		return true;
	default:
		return false;
	}
}

static void read_number(Dwarf_Debug dbg, Dwarf_Attribute attr,
			Dwarf_Half number, struct gr_die *die)
{
	uint64_t value = 0;

	switch (number) {
	case DW_AT_byte_size:
		die->has_size = read_udata(dbg, attr, &die->size_bytes);
		break;
	case DW_AT_data_member_location:
		read_udata(dbg, attr, &die->member_off);
		break;
	case DW_AT_count:
		die->has_count = read_udata(dbg, attr, &die->count);
		break;
	case DW_AT_upper_bound:
		die->has_bound = read_udata(dbg, attr, &die->bound);
		break;
	case DW_AT_const_value:
		die->has_const = read_const(dbg, attr, &die->const_value);
		break;
	case DW_AT_encoding:
		if (read_udata(dbg, attr, &value))
			die->encoding = (uint8_t)value;
		break;
	case DW_AT_decl_file:
		read_udata(dbg, attr, &die->decl_file);
		break;
	case DW_AT_decl_line:
		read_udata(dbg, attr, &die->decl_line);
		break;
	case DW_AT_language:
		read_udata(dbg, attr, &die->language);
		break;
	case DW_AT_variable_parameter:
		die->is_result = read_flag(dbg, attr);
		break;
	case DW_AT_bit_size:
		die->is_bit_field = true;
		break;
	case DW_AT_external:
		die->is_external = read_flag(dbg, attr);
		break;
	case DW_AT_declaration:
		die->is_declaration = read_flag(dbg, attr);
		break;
	default:
		break;
	}
}

static void read_attribute(Dwarf_Debug dbg, Dwarf_Attribute attr,
			   struct gr_die *die, bool *is_distance)
{
	Dwarf_Error err = NULL;
	Dwarf_Half number;

	if (gr_die_check(dbg, dwarf_whatattr(attr, &number, &err), &err))
		return;
	if (read_reference(dbg, attr, number, die) ||
	    read_place(dbg, attr, number, die, is_distance) ||
	    read_go(dbg, attr, number, die))
		return;
	read_number(dbg, attr, number, die);
}

struct gr_error *gr_die_read(Dwarf_Debug dbg, Dwarf_Die handle,
			     struct gr_die *ret)
{
	Dwarf_Attribute *attrs = NULL;
	Dwarf_Error err = NULL;
	Dwarf_Signed count = 0;
	bool is_distance = false;
	Dwarf_Off off = 0;

	memset(ret, 0, sizeof(*ret));
	ret->type_off = ret->origin_off = GR_DIE_NO_OFF;
	ret->key_off = ret->elem_off = GR_DIE_NO_OFF;
	if (gr_die_check(dbg, dwarf_dieoffset(handle, &off, &err), &err))
		return die_damaged(0);
	ret->off = off;
	ret->tag = gr_die_tag(dbg, handle);
	int rc = gr_die_check(dbg, dwarf_attrlist(handle, &attrs, &count, &err),
			      &err);
	if (rc == DW_DLV_NO_ENTRY)
		return NULL;
	if (rc != DW_DLV_OK)
		return die_damaged(off);
	// Bounded by what libdwarf has read of one DIE.
	for (Dwarf_Signed i = 0; i < count; i++) {
		if (i < ATTRIBUTES_MAX)
			read_attribute(dbg, attrs[i], ret, &is_distance);
		dwarf_dealloc_attribute(attrs[i]);
	}
	dwarf_dealloc(dbg, attrs, DW_DLA_LIST);
	ret->nattrs = count < UINT16_MAX ? (uint16_t)count : UINT16_MAX;
	if (is_distance &&
	    __builtin_add_overflow(ret->low, ret->high, &ret->high))
		ret->has_pc = false;
	if (!ret->has_low || ret->high <= ret->low)
		ret->has_pc = false;
	return NULL;
}

uint16_t gr_die_tag(Dwarf_Debug dbg, Dwarf_Die handle)
{
	Dwarf_Error err = NULL;
	Dwarf_Half tag;

	if (gr_die_check(dbg, dwarf_tag(handle, &tag, &err), &err))
		return 0;
	return tag;
}

Dwarf_Die gr_die_at(Dwarf_Debug dbg, uint64_t off)
{
	Dwarf_Error err = NULL;
	Dwarf_Die die = NULL;

	if (off == GR_DIE_NO_OFF)
		return NULL;
	if (gr_die_check(dbg, dwarf_offdie_b(dbg, off, 1, &die, &err), &err))
		return NULL;
	return die;
}

Dwarf_Attribute gr_die_attribute(Dwarf_Debug dbg, Dwarf_Die handle,
				 uint16_t number)
{
	Dwarf_Attribute attr = NULL;
	Dwarf_Error err = NULL;

	if (gr_die_check(dbg, dwarf_attr(handle, number, &attr, &err), &err))
		return NULL;
	return attr;
}

// Take over @next. libdwarf follows DW_AT_sibling, which could point back.
static struct gr_error *iter_set(struct gr_die_iter *iter, Dwarf_Die next)
{
	Dwarf_Error err = NULL;
	uint64_t before = iter->off;
	Dwarf_Off off = 0;

	gr_die_iter_deinit(iter);
	iter->handle = next;
	int rc = gr_die_check(iter->dbg, dwarf_dieoffset(next, &off, &err),
			      &err);
	if (rc != DW_DLV_OK || off <= before)
		return die_damaged(before);
	iter->off = off;
	return NULL;
}

struct gr_error *gr_die_iter_init(struct gr_die_iter *iter, Dwarf_Debug dbg,
				  Dwarf_Die parent)
{
	Dwarf_Error err = NULL;
	Dwarf_Die next = NULL;
	Dwarf_Off off = 0;

	memset(iter, 0, sizeof(*iter));
	iter->dbg = dbg;
	if (gr_die_check(dbg, dwarf_dieoffset(parent, &off, &err), &err))
		return die_damaged(0);
	iter->off = off;
	int rc = gr_die_check(dbg, dwarf_child(parent, &next, &err), &err);
	if (rc == DW_DLV_NO_ENTRY)
		return NULL;
	return rc == DW_DLV_OK ? iter_set(iter, next) : die_damaged(off);
}

struct gr_error *gr_die_iter_next(struct gr_die_iter *iter)
{
	Dwarf_Error err = NULL;
	Dwarf_Die next = NULL;

	int rc = gr_die_check(iter->dbg,
			      dwarf_siblingof_b(iter->dbg, iter->handle, 1,
						&next, &err),
			      &err);
	if (rc == DW_DLV_OK)
		return iter_set(iter, next);
	uint64_t off = iter->off;
	gr_die_iter_deinit(iter);
	return rc == DW_DLV_NO_ENTRY ? NULL : die_damaged(off);
}

void gr_die_iter_deinit(struct gr_die_iter *iter)
{
	if (iter->handle)
		dwarf_dealloc_die(iter->handle);
	iter->handle = NULL;
}
