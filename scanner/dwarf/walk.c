// SPDX-License-Identifier: Apache-2.0
#include "dwarf/internal.h"

// This file has the one walk over all DIEs. The walk enters units, namespaces
// and, in languages other than Go, functions. References are resolved after
// the walk.

static struct gr_error *visit_children(struct gr_die_walk *walk,
				       Dwarf_Die parent, unsigned int depth);

// As binutils and gdb print it.
#define NAMELESS "(anonymous namespace)"

// DW_LANG_C89, C, C99, C11, C17; DW_LANG_C_plus_plus, _11, _14, _03, _17, _20.
static const uint64_t c_languages[] = { 0x01, 0x02, 0x0c, 0x1d, 0x2c };
static const uint64_t cpp_languages[] = { 0x04, 0x1a, 0x21, 0x19, 0x2a, 0x2b };

static bool is_among(uint64_t language, const uint64_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == language)
			return true;
	return false;
}

void gr_die_walk_deinit(struct gr_die_walk *walk)
{
	gr_raw_type_vector_deinit(&walk->types);
	gr_dwarf_off_vector_deinit(&walk->field_types);
	gr_dwarf_off_vector_deinit(&walk->variable_types);
	gr_dwarf_off_vector_deinit(&walk->constant_types);
	gr_dwarf_off_vector_deinit(&walk->function_origins);
}

// Account for a DIE. An attribute may take no bytes of the DIE, and names may
// be shared, so that a small file can have very much content. A file with more
// content for its size than a compiler makes is damaged.
static struct gr_error *walk_tick(struct gr_die_walk *walk)
{
	struct gr_dwarf *dwarf = walk->dwarf;

	if (dwarf->all_steps > dwarf->max_steps)
		return gr_error_format(GR_ERROR_FORMAT,
				       "the debug information repeats itself "
				       "too often");
	return gr_dwarf_step(dwarf, 1);
}

static bool type_class(uint16_t tag, enum gr_raw_class *ret)
{
	switch (tag) {
	case DW_TAG_typedef:
		*ret = GR_RAW_TYPEDEF;
		return true;
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_immutable_type:
	case DW_TAG_packed_type:
		*ret = GR_RAW_QUALIFIER;
		return true;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		*ret = GR_RAW_POINTER;
		return true;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		*ret = GR_RAW_STRUCT;
		return true;
	case DW_TAG_array_type:
		*ret = GR_RAW_ARRAY;
		return true;
	case DW_TAG_subroutine_type:
		*ret = GR_RAW_FUNC;
		return true;
	case DW_TAG_base_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_unspecified_type:
	case DW_TAG_ptr_to_member_type:
		*ret = GR_RAW_SCALAR;
		return true;
	default:
		return false;
	}
}

/* Visit what is inside a class or a namespace. */
static struct gr_error *visit_scope(struct gr_die_walk *walk, Dwarf_Die handle,
				    const struct gr_die *die,
				    unsigned int depth)
{
	const char *outer = walk->scope;

	if (walk->is_cpp && die->name)
		walk->scope = gr_dwarf_full_name(walk, die);
	else if (walk->is_cpp && die->tag == DW_TAG_namespace)
		walk->scope = outer ? gr_arena_internf(&walk->dwarf->arena,
						       "%.1024s::" NAMELESS,
						       outer) :
				      NAMELESS;
	if (outer && !walk->scope)
		return &gr_enomem;
	struct gr_error *err = visit_children(walk, handle, depth + 1);
	walk->scope = outer;
	return err;
}

static struct gr_error *visit_namespace(struct gr_die_walk *walk,
					Dwarf_Die handle, unsigned int depth)
{
	struct gr_die die;
	struct gr_error *err = gr_dwarf_read_die(walk->dwarf, handle, &die);

	return err ? err : visit_scope(walk, handle, &die, depth);
}

static struct gr_error *visit_type(struct gr_die_walk *walk, Dwarf_Die handle,
				   enum gr_raw_class raw_class,
				   unsigned int depth)
{
	struct gr_error *err;
	struct gr_die die;

	err = gr_dwarf_read_die(walk->dwarf, handle, &die);
	if (err)
		return err;
	err = gr_dwarf_add_type(walk, handle, &die, raw_class);
	if (err)
		return err;
	// C++ and Rust have types inside types; Go and C do not.
	if (raw_class == GR_RAW_STRUCT && !walk->is_go)
		return visit_scope(walk, handle, &die, depth);
	return NULL;
}

static struct gr_error *add_function(struct gr_die_walk *walk, Dwarf_Die handle,
				     const struct gr_die *die, const char *name)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	struct gr_pc_range_vector ranges = { 0 };
	struct gr_error *err;

	err = gr_ranges_read(dwarf, handle, die, &ranges);
	for (size_t i = 0; !err && i < ranges.size; i++) {
		struct gr_dwarf_function function = {
			.name = name,
			.low = ranges.data[i].low,
			.high = ranges.data[i].high,
			.die_off = die->off,
		};
		if (!gr_dwarf_function_vector_append(&dwarf->functions,
						     function) ||
		    !gr_dwarf_off_vector_append(&walk->function_origins,
						die->origin_off))
			err = &gr_enomem;
	}
	gr_pc_range_vector_deinit(&ranges);
	return err;
}

// A generic Go function begins with typedefs of its type parameters.
static struct gr_error *visit_type_parameters(struct gr_die_walk *walk,
					      Dwarf_Die function)
{
	_cleanup_die_iter_ struct gr_die_iter iter = { 0 };
	Dwarf_Debug dbg = walk->dwarf->dbg;
	struct gr_error *err;

	err = gr_die_iter_init(&iter, dbg, function);
	while (!err && iter.handle &&
	       gr_die_tag(dbg, iter.handle) == DW_TAG_typedef) {
		err = visit_type(walk, iter.handle, GR_RAW_TYPEDEF, 0);
		if (!err)
			err = walk_tick(walk);
		if (!err)
			err = gr_die_iter_next(&iter);
	}
	return err;
}

/* Visit what is inside a function. The types there have no scope: its name
 * alone does not tell the function. */
static struct gr_error *visit_body(struct gr_die_walk *walk, Dwarf_Die handle,
				   unsigned int depth)
{
	const char *outer = walk->scope;

	walk->scope = NULL;
	struct gr_error *err = visit_children(walk, handle, depth + 1);
	walk->scope = outer;
	return err;
}

static struct gr_error *visit_function(struct gr_die_walk *walk,
				       Dwarf_Die handle, unsigned int depth)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	const char *name = NULL;
	struct gr_error *err;
	struct gr_die die;

	err = gr_dwarf_read_die(dwarf, handle, &die);
	if (err)
		return err;
	if (die.name) {
		name = gr_dwarf_clean_name(dwarf, die.name);
		if (!name)
			return &gr_enomem;
	}
	if (walk->is_data_only)
		return visit_body(walk, handle, depth);
	if (die.has_pc || die.has_ranges) {
		err = add_function(walk, handle, &die, name);
		if (err)
			return err;
	} else if (name) {
		struct gr_dwarf_abstract abstract = { die.off, name };
		if (!gr_dwarf_abstract_vector_append(&dwarf->abstracts,
						     abstract))
			return &gr_enomem;
	}
	if (walk->is_go)
		return visit_type_parameters(walk, handle);
	return visit_body(walk, handle, depth);
}

// A variable that was declared before has its name and type there.
static struct gr_error *read_declared(struct gr_dwarf *dwarf,
				      struct gr_die *die)
{
	_cleanup_die_ Dwarf_Die handle = gr_die_at(dwarf->dbg, die->origin_off);
	struct gr_die declared;

	if (!handle)
		return NULL;
	struct gr_error *err = gr_dwarf_read_die(dwarf, handle, &declared);
	if (err)
		return err;
	die->name = declared.name;
	if (die->type_off == GR_DIE_NO_OFF)
		die->type_off = declared.type_off;
	return NULL;
}

// Add a variable if it has a fixed address. Locals have none: they have
// location lists, or blocks that refer to the frame. The walk meets such
// blocks only in languages other than Go.
static struct gr_error *visit_variable(struct gr_die_walk *walk,
				       Dwarf_Die handle)
{
	struct gr_location_piece no_frame = { 0 };
	struct gr_dwarf *dwarf = walk->dwarf;
	struct gr_location location;
	struct gr_error *err;
	struct gr_die die;

	err = gr_dwarf_read_die(dwarf, handle, &die);
	if (!err && die.has_location && !die.name && !walk->is_go)
		err = read_declared(dwarf, &die);
	if (err || !die.has_location || !die.name)
		return err;
	location = gr_location_read(dwarf, handle, UINT64_MAX, no_frame);
	if (location.npieces != 1 || location.is_indirect ||
	    location.pieces[0].kind != GR_LOCATION_ADDRESS)
		return NULL;
	struct gr_dwarf_variable variable = {
		.name = gr_dwarf_clean_name(dwarf, die.name),
		.addr = (uint64_t)location.pieces[0].offset,
		.type = GR_DWARF_NONE,
	};
	if (!variable.name ||
	    !gr_dwarf_variable_vector_append(&dwarf->variables, variable) ||
	    !gr_dwarf_off_vector_append(&walk->variable_types, die.type_off))
		return &gr_enomem;
	return NULL;
}

static struct gr_error *visit_constant(struct gr_die_walk *walk,
				       Dwarf_Die handle)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	struct gr_error *err;
	struct gr_die die;

	err = gr_dwarf_read_die(dwarf, handle, &die);
	if (err || !die.has_const || !die.name)
		return err;
	struct gr_dwarf_constant constant = {
		.name = gr_dwarf_clean_name(dwarf, die.name),
		.value = die.const_value,
	};
	if (!constant.name ||
	    !gr_dwarf_constant_vector_append(&dwarf->constants, constant) ||
	    !gr_dwarf_off_vector_append(&walk->constant_types, die.type_off))
		return &gr_enomem;
	return NULL;
}

/* Recursion: 4 steps a byte of the file + 2^22; 64 levels. */
static struct gr_error *visit_die(struct gr_die_walk *walk, Dwarf_Die handle,
				  unsigned int depth)
{
	uint16_t tag = gr_die_tag(walk->dwarf->dbg, handle);
	enum gr_raw_class raw_class;

	if (type_class(tag, &raw_class))
		return visit_type(walk, handle, raw_class, depth);
	switch (tag) {
	case DW_TAG_subprogram:
		return visit_function(walk, handle, depth);
	case DW_TAG_variable:
		return visit_variable(walk, handle);
	case DW_TAG_constant:
		return walk->is_data_only ? NULL : visit_constant(walk, handle);
	case DW_TAG_namespace:
		return visit_namespace(walk, handle, depth);
	case DW_TAG_module:
	case DW_TAG_lexical_block:
		return visit_children(walk, handle, depth + 1);
	default:
		return NULL;
	}
}

static struct gr_error *visit_children(struct gr_die_walk *walk,
				       Dwarf_Die parent, unsigned int depth)
{
	_cleanup_die_iter_ struct gr_die_iter iter = { 0 };
	struct gr_error *err;

	if (depth > GR_DIE_DEPTH_MAX)
		return NULL;
	err = gr_die_iter_init(&iter, walk->dwarf->dbg, parent);
	while (!err && iter.handle) {
		err = visit_die(walk, iter.handle, depth);
		if (!err)
			err = walk_tick(walk);
		if (!err)
			err = gr_die_iter_next(&iter);
	}
	return err;
}

static struct gr_error *visit_unit(struct gr_die_walk *walk)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	_cleanup_die_ Dwarf_Die handle = NULL;
	Dwarf_Error dwarf_err = NULL;
	struct gr_error *err;
	struct gr_die die;

	int rc = gr_die_check(dwarf->dbg,
			      dwarf_siblingof_b(dwarf->dbg, NULL, 1, &handle,
						&dwarf_err),
			      &dwarf_err);
	if (rc == DW_DLV_NO_ENTRY)
		return NULL;
	if (rc != DW_DLV_OK)
		return gr_error_format(GR_ERROR_FORMAT,
				       "a compile unit is damaged");
	err = gr_dwarf_read_die(dwarf, handle, &die);
	if (err)
		return err;
	walk->is_go = die.language == DW_LANG_Go;
	walk->is_c =
		is_among(die.language, c_languages, GR_ARRAY_SIZE(c_languages));
	walk->is_cpp = is_among(die.language, cpp_languages,
				GR_ARRAY_SIZE(cpp_languages));
	walk->scope = NULL;
	if (walk->is_go && die.producer &&
	    (!dwarf->producer || !strstr(dwarf->producer, "compile"))) {
		// The assembler's units have another producer.
		dwarf->producer = gr_dwarf_clean_name(dwarf, die.producer);
		if (!dwarf->producer)
			return &gr_enomem;
	}
	return visit_children(walk, handle, 1);
}

// Go to the next unit. Returns DW_DLV_OK, or another code if there is none.
static int next_unit(Dwarf_Debug dbg)
{
	Dwarf_Unsigned header_bytes, type_off, next_off;
	Dwarf_Half version, address_bytes, offset_bytes, extension, unit_type;
	Dwarf_Error err = NULL;
	Dwarf_Off abbrev_off;
	Dwarf_Sig8 signature;

	return gr_die_check(
		dbg,
		dwarf_next_cu_header_d(dbg, 1, &header_bytes, &version,
				       &abbrev_off, &address_bytes,
				       &offset_bytes, &extension, &signature,
				       &type_off, &next_off, &unit_type, &err),
		&err);
}

struct gr_error *gr_die_walk_run(struct gr_die_walk *walk)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	struct gr_error *err;
	int rc;

	// Bounded by max_steps: each unit takes steps.
	while ((rc = next_unit(dwarf->dbg)) == DW_DLV_OK) {
		err = visit_unit(walk);
		// The units after a torn one are still read.
		if (gr_error_catch(&err, GR_ERROR_FORMAT))
			dwarf->damaged_units++;
		if (dwarf->all_steps > dwarf->max_steps)
			return NULL;
		if (err)
			return err;
		if (dwarf->types.size > GR_DWARF_COUNT_MAX ||
		    dwarf->fields.size > GR_DWARF_COUNT_MAX ||
		    dwarf->functions.size > GR_DWARF_COUNT_MAX)
			return gr_error_format(GR_ERROR_LIMIT,
					       "too many types or functions "
					       "in the debug information");
	}
	if (rc == DW_DLV_ERROR)
		dwarf->damaged_units++;
	return NULL;
}
