// SPDX-License-Identifier: Apache-2.0
#include "dwarf/internal.h"

// This file reads the variables of one function from its DIEs, on request.

enum {
	LOCALS_MAX = 4096,     // variables of one function at one pc
	INLINED_MAX = 1024,    // inlined calls that cover one pc
	NAMES_A_STEP = 4,      // compared with the name of a part
	ORIGIN_MAX = 4,	       // abstract origins of abstract origins
	ENTRIES_MAX = 1 << 16, // entries of one location list
};

// An inlined call that covers the pc, or the function itself.
struct scope {
	uint64_t die_off;
	const char *function;
	const char *file;
	uint32_t depth; // of calls, 0 for the function itself
};
GR_VECTOR(scope_vector, struct scope);
GR_VECTOR(local_vector, struct gr_dwarf_local);

// One question for locals.
struct query {
	struct gr_dwarf *dwarf;
	uint64_t pc;
	bool with_lost; // also variables without a location
	struct gr_location_piece frame_base;
	struct local_vector locals;
	// Breadth first, so that the innermost call comes last.
	struct scope_vector scopes;
	struct scope scope; // the one being read
};

static void query_deinit(struct query *query)
{
	local_vector_deinit(&query->locals);
	scope_vector_deinit(&query->scopes);
}

static bool read_op(struct gr_dwarf *dwarf, Dwarf_Die handle,
		    Dwarf_Locdesc_c entry, Dwarf_Unsigned i,
		    struct gr_location_op *ret)
{
	Dwarf_Unsigned operand1, operand2, operand3, branch;
	Dwarf_Error err = NULL;
	Dwarf_Small atom;
	Dwarf_Addr addr;

	int rc = dwarf_get_location_op_value_c(entry, i, &atom, &operand1,
					       &operand2, &operand3, &branch,
					       &err);
	if (gr_die_check(dwarf->dbg, rc, &err) != DW_DLV_OK)
		return false;
	if (atom == DW_OP_addrx) {
		rc = dwarf_debug_addr_index_to_addr(handle, operand1, &addr,
						    &err);
		if (gr_die_check(dwarf->dbg, rc, &err) != DW_DLV_OK)
			return false;
		atom = DW_OP_addr;
		operand1 = addr;
	}
	*ret = (struct gr_location_op){ atom, operand1, operand2 };
	return true;
}

static struct gr_location unknown_location(void)
{
	return (struct gr_location){
		.npieces = 1,
		.pieces = { { .kind = GR_LOCATION_UNKNOWN } },
	};
}

static struct gr_location
read_expression(struct gr_dwarf *dwarf, Dwarf_Die handle, Dwarf_Locdesc_c entry,
		Dwarf_Unsigned nops, struct gr_location_piece frame_base)
{
	struct gr_location_op ops[GR_LOCATION_OPS_MAX];

	if (nops > GR_LOCATION_OPS_MAX)
		return unknown_location();
	for (Dwarf_Unsigned i = 0; i < nops; i++)
		if (!read_op(dwarf, handle, entry, i, &ops[i]))
			return unknown_location();
	return gr_location_decode(ops, nops, frame_base);
}

// libdwarf gives DWARF 4 list entries the codes of DWARF 5.
static bool entry_covers(Dwarf_Small source, Dwarf_Small entry, uint64_t low,
			 uint64_t high, uint64_t pc)
{
	if (source == DW_LKIND_expression)
		return true;
	switch (entry) {
	case DW_LLE_startx_endx:
	case DW_LLE_startx_length:
	case DW_LLE_offset_pair:
	case DW_LLE_start_end:
	case DW_LLE_start_length:
		return low <= pc && pc < high;
	default:
		return false;
	}
}

static struct gr_location search_list(struct gr_dwarf *dwarf, Dwarf_Die handle,
				      Dwarf_Loc_Head_c head,
				      Dwarf_Unsigned count, uint64_t pc,
				      struct gr_location_piece frame_base)
{
	Dwarf_Unsigned raw_low, raw_high, nops, expression_off, entry_off;
	Dwarf_Small entry_kind, source;
	Dwarf_Locdesc_c entry = NULL;
	Dwarf_Bool no_addr = 0;
	Dwarf_Error err = NULL;
	Dwarf_Addr low, high;

	for (Dwarf_Unsigned i = 0; i < count && i < ENTRIES_MAX; i++) {
		int rc = dwarf_get_locdesc_entry_d(
			head, i, &entry_kind, &raw_low, &raw_high, &no_addr,
			&low, &high, &nops, &entry, &source, &expression_off,
			&entry_off, &err);
		if (gr_die_check(dwarf->dbg, rc, &err) != DW_DLV_OK)
			break;
		if (!no_addr && entry_covers(source, entry_kind, low, high, pc))
			return read_expression(dwarf, handle, entry, nops,
					       frame_base);
	}
	return (struct gr_location){ 0 };
}

// libdwarf 20210528 runs off the end of a torn list of DWARF 5.
static bool is_sound_list(struct gr_dwarf *dwarf, Dwarf_Die handle,
			  Dwarf_Attribute attr)
{
	Dwarf_Half version = 0, offset_bytes, form;
	Dwarf_Error err = NULL;
	uint64_t off;

	if (gr_die_check(dwarf->dbg, dwarf_whatform(attr, &form, &err), &err))
		return false;
	if (form != DW_FORM_sec_offset ||
	    dwarf_get_version_of_die(handle, &version, &offset_bytes) ||
	    version < 5)
		return true;
	return gr_ranges_off(dwarf, attr, form, &off) &&
	       gr_lists_has_locations(&dwarf->lists, off);
}

static struct gr_location read_location(struct gr_dwarf *dwarf,
					Dwarf_Die handle, uint16_t number,
					uint64_t pc,
					struct gr_location_piece frame_base)
{
	_cleanup_attribute_ Dwarf_Attribute attr = NULL;
	struct gr_location location = { 0 };
	Dwarf_Loc_Head_c head = NULL;
	Dwarf_Unsigned count = 0;
	Dwarf_Error err = NULL;

	attr = gr_die_attribute(dwarf->dbg, handle, number);
	if (!attr || !is_sound_list(dwarf, handle, attr))
		return location;
	int rc = dwarf_get_loclist_c(attr, &head, &count, &err);
	if (gr_die_check(dwarf->dbg, rc, &err) != DW_DLV_OK)
		return location;
	gr_dwarf_count(dwarf, count);
	location = search_list(dwarf, handle, head, count, pc, frame_base);
	dwarf_dealloc_loc_head_c(head);
	return location;
}

struct gr_location gr_location_read(struct gr_dwarf *dwarf, Dwarf_Die handle,
				    uint64_t pc,
				    struct gr_location_piece frame_base)
{
	return read_location(dwarf, handle, DW_AT_location, pc, frame_base);
}

// Go's frame base is always the CFA; clang's may be a register.
static struct gr_location_piece read_frame_base(struct gr_dwarf *dwarf,
						Dwarf_Die function, uint64_t pc)
{
	struct gr_location_piece unknown = { .kind = GR_LOCATION_UNKNOWN };
	struct gr_location location =
		read_location(dwarf, function, DW_AT_frame_base, pc, unknown);

	if (location.npieces != 1 || location.is_indirect)
		return unknown;
	if (location.pieces[0].kind == GR_LOCATION_REGISTER)
		location.pieces[0].kind = GR_LOCATION_REG_OFFSET;
	return location.pieces[0];
}

// An inlined or outlined copy inherits missing attributes from its origin.
static struct gr_error *read_with_origin(struct gr_dwarf *dwarf,
					 Dwarf_Die handle, struct gr_die *ret)
{
	struct gr_die origin;
	struct gr_error *err;

	err = gr_dwarf_read_die(dwarf, handle, ret);
	uint64_t off = err ? GR_DIE_NO_OFF : ret->origin_off;
	for (int i = 0; i < ORIGIN_MAX && off != GR_DIE_NO_OFF; i++) {
		_cleanup_die_ Dwarf_Die die = gr_die_at(dwarf->dbg, off);
		if (!die)
			break;
		err = gr_dwarf_read_die(dwarf, die, &origin);
		if (err)
			return err;
		if (!ret->name)
			ret->name = origin.name;
		if (ret->type_off == GR_DIE_NO_OFF)
			ret->type_off = origin.type_off;
		if (!ret->decl_line)
			ret->decl_line = origin.decl_line;
		if (!ret->closure_off)
			ret->closure_off = origin.closure_off;
		if (origin.is_result)
			ret->is_result = true;
		off = origin.origin_off;
	}
	return err;
}

// `x` at *(CFA + n) is the same as `&x`, of type *T, at CFA + n, if the
// program has that type.
static struct gr_error *make_direct(struct gr_dwarf *dwarf,
				    struct gr_location *location,
				    struct gr_dwarf_local *local)
{
	uint32_t pointer = GR_DWARF_NONE;
	char *name = NULL;

	if (local->type != GR_DWARF_NONE) {
		if (asprintf(&name, "*%s",
			     dwarf->types.data[local->type].name) < 0)
			return &gr_enomem;
		pointer = gr_dwarf_find_type(dwarf, name);
		free(name);
	}
	if (pointer == GR_DWARF_NONE) {
		location->pieces[0].kind = GR_LOCATION_UNKNOWN;
		return NULL;
	}
	local->type = pointer;
	local->name = gr_arena_internf(&dwarf->arena, "&%s", local->name);
	return local->name ? NULL : &gr_enomem;
}

static uint64_t type_size(const struct gr_dwarf *dwarf, uint32_t type)
{
	return type == GR_DWARF_NONE ? 0 : dwarf->types.data[type].size_bytes;
}

static struct gr_error *add_local(struct query *query, Dwarf_Die handle)
{
	struct gr_dwarf *dwarf = query->dwarf;
	struct gr_location location;
	struct gr_error *err;
	struct gr_die die;

	location =
		gr_location_read(dwarf, handle, query->pc, query->frame_base);
	if ((!gr_location_is_present(&location) && !query->with_lost) ||
	    query->locals.size >= LOCALS_MAX)
		return NULL;
	err = read_with_origin(dwarf, handle, &die);
	if (err || !die.name)
		return err;
	struct gr_dwarf_local local = {
		.name = gr_dwarf_clean_name(dwarf, die.name),
		.function = query->scope.function,
		.depth = query->scope.depth,
		.type = gr_dwarf_type_at(dwarf, die.type_off),
		.is_param = die.tag == DW_TAG_formal_parameter,
		.closure_off = die.closure_off < UINT32_MAX ?
				       (uint32_t)die.closure_off :
				       0,
		.file = query->scope.file,
		.line = die.decl_line < UINT32_MAX ? (uint32_t)die.decl_line :
						     0,
	};
	if (!local.name)
		return &gr_enomem;
	gr_location_fit(&location, type_size(dwarf, local.type));
	if (!gr_location_is_present(&location)) {
		if (!query->with_lost)
			return NULL;
		location.npieces = 0;
	} else if (location.is_indirect) {
		err = make_direct(dwarf, &location, &local);
		if (err)
			return err;
	}
	local.npieces = location.npieces;
	memcpy(local.pieces, location.pieces, sizeof(local.pieces));
	return local_vector_append(&query->locals, local) ? NULL : &gr_enomem;
}

static struct gr_error *covers(struct query *query, Dwarf_Die handle,
			       const struct gr_die *die, bool *ret)
{
	struct gr_pc_range_vector ranges = { 0 };
	struct gr_error *err;

	*ret = false;
	err = gr_ranges_read(query->dwarf, handle, die, &ranges);
	for (size_t i = 0; i < ranges.size; i++)
		if (ranges.data[i].low <= query->pc &&
		    query->pc < ranges.data[i].high)
			*ret = true;
	gr_pc_range_vector_deinit(&ranges);
	return err;
}

static struct gr_error *add_inlined(struct query *query, Dwarf_Die handle,
				    const struct gr_die *die)
{
	struct gr_dwarf *dwarf = query->dwarf;
	struct scope scope = { .die_off = die->off,
			       .depth = query->scope.depth + 1 };
	_cleanup_die_ Dwarf_Die origin = NULL;
	struct gr_die origin_die;
	struct gr_error *err;
	bool is_covered;

	err = covers(query, handle, die, &is_covered);
	if (err || !is_covered || query->scopes.size >= INLINED_MAX)
		return err;
	origin = gr_die_at(dwarf->dbg, die->origin_off);
	if (origin) {
		err = read_with_origin(dwarf, origin, &origin_die);
		if (err)
			return err;
		scope.file =
			gr_dwarf_file_name(dwarf, origin, origin_die.decl_file);
		if (origin_die.name)
			scope.function =
				gr_dwarf_clean_name(dwarf, origin_die.name);
	}
	if (!scope.function)
		scope.function = query->scope.function;
	return scope_vector_append(&query->scopes, scope) ? NULL : &gr_enomem;
}

static struct gr_error *visit_scope(struct query *query, Dwarf_Die parent,
				    unsigned int depth);

// A block without a range of its own is assumed to cover its parent's range.
static struct gr_error *visit_block(struct query *query, Dwarf_Die handle,
				    unsigned int depth)
{
	bool is_covered = true;
	struct gr_error *err;
	struct gr_die die;

	err = gr_dwarf_read_die(query->dwarf, handle, &die);
	if (!err && (die.has_low || die.has_ranges))
		err = covers(query, handle, &die, &is_covered);
	if (err || !is_covered)
		return err;
	return visit_scope(query, handle, depth + 1);
}

static struct gr_error *visit_local(struct query *query, Dwarf_Die handle,
				    unsigned int depth)
{
	struct gr_error *err;
	struct gr_die die;

	switch (gr_die_tag(query->dwarf->dbg, handle)) {
	case DW_TAG_formal_parameter:
	case DW_TAG_variable:
		return add_local(query, handle);
	case DW_TAG_lexical_block:
		return visit_block(query, handle, depth);
	case DW_TAG_inlined_subroutine:
		err = gr_dwarf_read_die(query->dwarf, handle, &die);
		return err ? err : add_inlined(query, handle, &die);
	default:
		return NULL;
	}
}

/* Recursion: 2^22 steps a question; 64 levels. */
static struct gr_error *visit_scope(struct query *query, Dwarf_Die parent,
				    unsigned int depth)
{
	_cleanup_die_iter_ struct gr_die_iter iter = { 0 };
	struct gr_error *err;

	if (depth > GR_DIE_DEPTH_MAX)
		return NULL;
	err = gr_die_iter_init(&iter, query->dwarf->dbg, parent);
	while (!err && iter.handle && !gr_dwarf_is_answered(query->dwarf)) {
		err = visit_local(query, iter.handle, depth);
		if (!err)
			err = gr_dwarf_next(query->dwarf, &iter);
	}
	return err;
}

static bool has_empty_piece(const struct gr_dwarf_local *local)
{
	for (uint32_t i = 0; i < local->npieces; i++)
		if (local->pieces[i].kind == GR_LOCATION_NONE)
			return true;
	return !local->npieces;
}

// Is @part a part (`x.ptr`) of @whole (`x`), all of which has a location?
static bool is_part_of(const struct gr_dwarf_local *part,
		       const struct gr_dwarf_local *whole)
{
	const char *p = part->name, *w = whole->name;

	if (!w || !*w || part->function != whole->function)
		return false;
	while (*w && *p == *w)
		p++, w++;
	return !*w && *p == '.' && !has_empty_piece(whole);
}

// Remove the parts of variables of one scope: locals [first, size).
static struct gr_error *drop_parts(struct query *query, size_t first)
{
	struct local_vector *locals = &query->locals;
	size_t kept = first, n = locals->size;

	for (size_t i = first; i < n; i++) {
		struct gr_error *err;
		bool is_part = false;
		// ".dict" is not a part of a variable.
		if (!*locals->data[i].name ||
		    !strchr(locals->data[i].name + 1, '.'))
			continue;
		err = gr_dwarf_step(query->dwarf,
				    1 + (n - first) / NAMES_A_STEP);
		if (err)
			return err;
		for (size_t j = first; j < n && !is_part; j++)
			is_part =
				is_part_of(&locals->data[i], &locals->data[j]);
		if (is_part)
			locals->data[i].name = NULL;
	}
	for (size_t i = first; i < n; i++)
		if (locals->data[i].name)
			locals->data[kept++] = locals->data[i];
	locals->size = kept;
	return NULL;
}

static struct gr_error *run_query(struct query *query)
{
	struct gr_error *err;

	for (size_t i = 0; i < query->scopes.size; i++) {
		size_t first = query->locals.size;
		query->scope = query->scopes.data[i];
		_cleanup_die_ Dwarf_Die die =
			gr_die_at(query->dwarf->dbg, query->scope.die_off);
		if (!die)
			continue;
		err = visit_scope(query, die, 0);
		// Variables that were read before the damage are valid.
		if (err && !gr_error_catch(&err, GR_ERROR_FORMAT))
			return err;
		err = drop_parts(query, first);
		if (err)
			return err;
	}
	return NULL;
}

// Copy an earlier answer; the caller frees the copy with free().
static struct gr_error *copy_locals(const struct gr_dwarf *dwarf,
				    const struct gr_answer *answer,
				    struct gr_dwarf_local **ret, size_t *count)
{
	size_t bytes = answer->count * sizeof(**ret);

	*ret = malloc(bytes + 1);
	if (!*ret)
		return &gr_enomem;
	if (bytes)
		memcpy(*ret, dwarf->answers.locals.data + answer->first, bytes);
	*count = answer->count;
	return NULL;
}

static struct gr_error *decode_locals(struct gr_dwarf *dwarf, uint32_t function,
				      uint64_t pc, bool with_lost,
				      struct gr_dwarf_local **ret,
				      size_t *count)
{
	_cleanup_(query_deinit) struct query query = {
		.dwarf = dwarf,
		.pc = pc,
		.with_lost = with_lost,
	};
	_cleanup_die_ Dwarf_Die handle = NULL;
	struct gr_error *err;
	struct gr_die die;

	err = gr_dwarf_function_die(dwarf, function, &handle);
	if (err || !handle)
		return err;
	const struct gr_dwarf_function *row = &dwarf->functions.data[function];
	err = gr_dwarf_read_die(dwarf, handle, &die);
	if (err)
		return gr_error_catch(&err, GR_ERROR_FORMAT) ? NULL : err;
	query.frame_base = read_frame_base(dwarf, handle, pc);
	struct scope scope = {
		.die_off = row->die_off,
		.function = row->name,
		.file = gr_dwarf_file_name(dwarf, handle, die.decl_file),
	};
	if (!scope_vector_append(&query.scopes, scope))
		return &gr_enomem;
	err = run_query(&query);
	if (err)
		return err;
	*count = query.locals.size;
	*ret = steal_ptr(query.locals.data);
	return NULL;
}

static struct gr_error *ask_locals(struct gr_dwarf *dwarf,
				   enum gr_question question, uint32_t function,
				   uint64_t pc, struct gr_dwarf_local **ret,
				   size_t *count)
{
	const struct gr_answer *answer;
	struct gr_error *err;

	*ret = NULL;
	*count = 0;
	if (function >= dwarf->functions.size)
		return NULL;
	answer = gr_answers_find(&dwarf->answers, question, function, pc);
	if (answer)
		return copy_locals(dwarf, answer, ret, count);
	err = decode_locals(dwarf, function, pc, question == GR_ASK_ALL_LOCALS,
			    ret, count);
	if (!err && (dwarf->is_cached || dwarf->is_kept))
		gr_answers_add(&dwarf->answers, question, function, pc, *ret,
			       *count);
	return err;
}

struct gr_error *gr_dwarf_locals(struct gr_dwarf *dwarf, uint32_t function,
				 uint64_t pc, struct gr_dwarf_local **ret,
				 size_t *count)
{
	return ask_locals(dwarf, GR_ASK_LOCALS, function, pc, ret, count);
}

struct gr_error *gr_dwarf_all_locals(struct gr_dwarf *dwarf, uint32_t function,
				     uint64_t pc, struct gr_dwarf_local **ret,
				     size_t *count)
{
	return ask_locals(dwarf, GR_ASK_ALL_LOCALS, function, pc, ret, count);
}
