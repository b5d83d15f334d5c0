// SPDX-License-Identifier: Apache-2.0
#include "dwarf/internal.h"

// This file makes the table of types from type DIEs. Go's linker writes a
// named type as a structure (or pointer, ...) and a typedef of the same name.
// It writes maps, channels and interfaces as typedefs of the runtime's types
// that implement them.

enum {
	CHAIN_MAX = 64,		// typedefs of typedefs
	ARRAY_DEPTH_MAX = 8,	// arrays of arrays without a size of their own
	FULL_NAME_BYTES = 1024, // of the scopes around a name
};

static uint8_t scalar_kind(const struct gr_die *die)
{
	unsigned int log2_bytes = die->size_bytes == 1 ? 0 :
				  die->size_bytes == 2 ? 1 :
				  die->size_bytes == 4 ? 2 :
							 3;

	if (die->tag == DW_TAG_enumeration_type)
		return (uint8_t)(GR_KIND_INT + 1 + log2_bytes);
	if (die->tag != DW_TAG_base_type)
		return GR_KIND_INVALID;
	switch (die->encoding) {
	case DW_ATE_boolean:
		return GR_KIND_BOOL;
	case DW_ATE_float:
		return die->size_bytes == 4 ? 13 : 14;
	case DW_ATE_complex_float:
		return die->size_bytes == 8 ? 15 : GR_KIND_COMPLEX128;
	case DW_ATE_address:
		return GR_KIND_UINTPTR;
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		return (uint8_t)(8 + log2_bytes);
	default:
		return (uint8_t)(GR_KIND_INT + 1 + log2_bytes);
	}
}

// C types and some types of Go's linker have no DW_AT_go_kind.
static uint8_t default_kind(const struct gr_die *die,
			    enum gr_raw_class raw_class)
{
	switch (raw_class) {
	case GR_RAW_POINTER:
		return die->type_off == GR_DIE_NO_OFF ? GR_KIND_UNSAFE_POINTER :
							GR_KIND_PTR;
	case GR_RAW_STRUCT:
		return GR_KIND_STRUCT;
	case GR_RAW_ARRAY:
		return GR_KIND_ARRAY;
	case GR_RAW_FUNC:
		return GR_KIND_FUNC;
	case GR_RAW_SCALAR:
		return scalar_kind(die);
	case GR_RAW_TYPEDEF:
	case GR_RAW_QUALIFIER:
		break;
	}
	return GR_KIND_INVALID;
}

const char *gr_dwarf_full_name(struct gr_die_walk *walk,
			       const struct gr_die *die)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	const char *name =
		gr_dwarf_clean_name(dwarf, die->name ? die->name : "");
	const char *before = "", *link = "";

	if (!name || !*name)
		return name;
	if (walk->is_cpp && walk->scope && die->tag != DW_TAG_base_type) {
		before = walk->scope;
		link = "::";
	} else if (walk->is_c) {
		before = die->tag == DW_TAG_structure_type   ? "struct " :
			 die->tag == DW_TAG_union_type	     ? "union " :
			 die->tag == DW_TAG_enumeration_type ? "enum " :
							       "";
	}
	if (!*before)
		return name;
	gr_dwarf_count(dwarf, 1);
	return gr_arena_internf(&dwarf->arena, "%.*s%s%s", FULL_NAME_BYTES,
				before, link, name);
}

static struct gr_error *add_field(struct gr_die_walk *walk, Dwarf_Die handle,
				  struct gr_dwarf_type *type)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	struct gr_error *err;
	struct gr_die die;

	err = gr_dwarf_read_die(dwarf, handle, &die);
	// The bits of a word, and what no object of a class has.
	if (err || die.is_bit_field || die.is_external || die.is_declaration ||
	    type->nfields == GR_DWARF_FIELDS_MAX)
		return err;
	struct gr_dwarf_field field = {
		.name = gr_dwarf_clean_name(dwarf, die.name ? die.name : ""),
		.off_bytes = die.member_off,
		.type = GR_DWARF_NONE,
		.is_embedded = die.is_embedded,
	};
	if (!field.name ||
	    !gr_dwarf_field_vector_append(&dwarf->fields, field) ||
	    !gr_dwarf_off_vector_append(&walk->field_types, die.type_off))
		return &gr_enomem;
	type->nfields++;
	return NULL;
}

// In C, x[2][3] is one array type with several subranges.
static struct gr_error *add_subrange(struct gr_die_walk *walk, Dwarf_Die handle,
				     struct gr_dwarf_type *type)
{
	uint64_t count = 0;
	struct gr_error *err;
	struct gr_die die;

	err = gr_dwarf_read_die(walk->dwarf, handle, &die);
	if (err)
		return err;
	if (die.has_count)
		count = die.count;
	else if (die.has_bound)
		count = die.bound + 1; // C: -1, unsigned, for x[0]
	if (__builtin_mul_overflow(type->count, count, &type->count))
		type->count = 0;
	return NULL;
}

static struct gr_error *add_members(struct gr_die_walk *walk, Dwarf_Die handle,
				    uint16_t wanted_tag,
				    struct gr_dwarf_type *type)
{
	_cleanup_die_iter_ struct gr_die_iter iter = { 0 };
	Dwarf_Debug dbg = walk->dwarf->dbg;
	struct gr_error *err;

	err = gr_die_iter_init(&iter, dbg, handle);
	while (!err && iter.handle) {
		if (gr_die_tag(dbg, iter.handle) == wanted_tag)
			err = wanted_tag == DW_TAG_member ?
				      add_field(walk, iter.handle, type) :
				      add_subrange(walk, iter.handle, type);
		if (!err)
			err = gr_dwarf_step(walk->dwarf, 1);
		if (!err)
			err = gr_die_iter_next(&iter);
	}
	return err;
}

static uint64_t default_size(const struct gr_die *die,
			     enum gr_raw_class raw_class)
{
	if (die->has_size)
		return die->size_bytes;
	return raw_class == GR_RAW_POINTER || raw_class == GR_RAW_FUNC ?
		       GR_WORD_BYTES :
		       0;
}

struct gr_error *gr_dwarf_add_type(struct gr_die_walk *walk, Dwarf_Die handle,
				   const struct gr_die *die,
				   enum gr_raw_class raw_class)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	struct gr_error *err = NULL;
	struct gr_dwarf_type type = {
		.name = gr_dwarf_full_name(walk, die),
		.die_off = die->off,
		.size_bytes = default_size(die, raw_class),
		.runtime_type = die->runtime_type,
		.kind = die->kind ? die->kind : default_kind(die, raw_class),
		.dict_index = die->has_dict_index &&
					      die->dict_index < UINT16_MAX ?
				      (uint16_t)(die->dict_index + 1) :
				      0,
		.elem = GR_DWARF_NONE,
		.key = GR_DWARF_NONE,
		.header = GR_DWARF_NONE,
		.count = raw_class == GR_RAW_ARRAY,
		.first_field = (uint32_t)dwarf->fields.size,
	};
	struct gr_raw_type raw = {
		.type_off = die->type_off,
		.key_off = die->key_off,
		.elem_off = die->elem_off,
		.raw_class = (uint8_t)raw_class,
		.is_go = walk->is_go,
		.is_cpp = walk->is_cpp,
	};

	if (!type.name)
		return &gr_enomem;
	if (raw_class == GR_RAW_STRUCT)
		err = add_members(walk, handle, DW_TAG_member, &type);
	else if (raw_class == GR_RAW_ARRAY)
		err = add_members(walk, handle, DW_TAG_subrange_type, &type);
	// The readable part of a torn type is kept, so that the two tables stay
	// parallel.
	if (err && err->code != GR_ERROR_FORMAT)
		return err;
	if (!gr_dwarf_type_vector_append(&dwarf->types, type) ||
	    !gr_raw_type_vector_append(&walk->types, raw)) {
		gr_error_destroy(err);
		return &gr_enomem;
	}
	return err;
}

// Index of the type DIE at exactly @off.
static uint32_t find_die(const struct gr_dwarf *dwarf, uint64_t off)
{
	const struct gr_dwarf_type *types = dwarf->types.data;
	size_t i =
		gr_count_before(dwarf->types.size, j, types[j].die_off < off);

	if (i == dwarf->types.size || types[i].die_off != off)
		return GR_DWARF_NONE;
	return (uint32_t)i;
}

uint32_t gr_dwarf_type_at(const struct gr_dwarf *dwarf, uint64_t off)
{
	uint32_t i = find_die(dwarf, off);
	return i == GR_DWARF_NONE ? i : dwarf->canonical[i];
}

// The next type of a chain: the type that a typedef or qualifier names.
static uint32_t chain_next(const struct gr_die_walk *walk, uint32_t i)
{
	const struct gr_raw_type *raw = &walk->types.data[i];

	if (raw->raw_class != GR_RAW_TYPEDEF &&
	    raw->raw_class != GR_RAW_QUALIFIER)
		return GR_DWARF_NONE;
	return find_die(walk->dwarf, raw->type_off);
}

// Does a typedef lead to a struct of C or C++ that has a name of its own?
static bool names_struct(const struct gr_die_walk *walk, uint32_t i)
{
	for (unsigned int steps = 0; steps < CHAIN_MAX; steps++) {
		uint32_t next = chain_next(walk, i);

		if (next == GR_DWARF_NONE)
			break;
		i = next;
	}
	return walk->types.data[i].raw_class == GR_RAW_STRUCT &&
	       !walk->types.data[i].is_go && *walk->dwarf->types.data[i].name;
}

static uint32_t canonical_of(const struct gr_die_walk *walk, uint32_t i)
{
	const struct gr_dwarf_type *types = walk->dwarf->types.data;

	for (unsigned int steps = 0; steps < CHAIN_MAX; steps++) {
		uint32_t next = chain_next(walk, i);
		if (next == GR_DWARF_NONE || types[i].dict_index)
			break;
		if (walk->types.data[i].raw_class != GR_RAW_QUALIFIER &&
		    strcmp(types[i].name, types[next].name) != 0 &&
		    !names_struct(walk, i))
			break;
		i = next;
	}
	return i;
}

static void resolve_slice(struct gr_die_walk *walk, uint32_t i)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	struct gr_dwarf_type *type = &dwarf->types.data[i];

	// The first field is a pointer to the elements.
	if (type->kind != GR_KIND_SLICE || type->elem != GR_DWARF_NONE ||
	    type->nfields == 0)
		return;
	uint32_t pointer = dwarf->fields.data[type->first_field].type;
	if (pointer != GR_DWARF_NONE)
		type->elem = dwarf->types.data[pointer].elem;
}

static void resolve_own(struct gr_die_walk *walk, uint32_t i)
{
	struct gr_dwarf_type *type = &walk->dwarf->types.data[i];
	const struct gr_raw_type *raw = &walk->types.data[i];

	if (raw->key_off != GR_DIE_NO_OFF)
		type->key = gr_dwarf_type_at(walk->dwarf, raw->key_off);
	if (raw->elem_off != GR_DIE_NO_OFF)
		type->elem = gr_dwarf_type_at(walk->dwarf, raw->elem_off);
	else if (raw->raw_class == GR_RAW_POINTER ||
		 raw->raw_class == GR_RAW_ARRAY)
		type->elem = gr_dwarf_type_at(walk->dwarf, raw->type_off);
}

// Copy the structure from the type at the end of a chain.
static void inherit_structure(struct gr_die_walk *walk,
			      struct gr_dwarf_type *type, uint32_t end)
{
	const struct gr_dwarf_type *from = &walk->dwarf->types.data[end];
	const struct gr_dwarf_field *fields = walk->dwarf->fields.data;
	uint8_t raw_class = walk->types.data[end].raw_class;

	type->size_bytes = from->size_bytes;
	type->count = from->count;
	type->first_field = from->first_field;
	type->nfields = from->nfields;
	if (type->kind == GR_KIND_INVALID)
		type->kind = from->kind;
	if (type->kind == GR_KIND_MAP || type->kind == GR_KIND_CHAN) {
		if (raw_class == GR_RAW_POINTER)
			type->header = from->elem;
		return;
	}
	if (type->kind == GR_KIND_INTERFACE && raw_class == GR_RAW_STRUCT)
		type->is_interface_with_methods =
			from->nfields > 0 &&
			strcmp(fields[from->first_field].name, "tab") == 0;
	if (type->elem == GR_DWARF_NONE)
		type->elem = from->elem;
	if (type->key == GR_DWARF_NONE)
		type->key = from->key;
}

static void resolve_chain(struct gr_die_walk *walk, uint32_t i)
{
	struct gr_dwarf_type *types = walk->dwarf->types.data;
	struct gr_dwarf_type *type = &types[i];
	uint32_t j = i, next;

	if (walk->types.data[i].raw_class > GR_RAW_QUALIFIER)
		return;
	for (unsigned int steps = 0; steps < CHAIN_MAX; steps++) {
		next = chain_next(walk, j);
		if (next == GR_DWARF_NONE)
			break;
		j = next;
		if (!type->runtime_type &&
		    strcmp(type->name, types[j].name) == 0)
			type->runtime_type = types[j].runtime_type;
		if (chain_next(walk, j) == GR_DWARF_NONE)
			break;
		if (type->kind == GR_KIND_INVALID)
			type->kind = types[j].kind;
		if (type->elem == GR_DWARF_NONE)
			type->elem = types[j].elem;
		if (type->key == GR_DWARF_NONE)
			type->key = types[j].key;
	}
	if (walk->types.data[j].raw_class > GR_RAW_QUALIFIER)
		inherit_structure(walk, type, j);
}

// C arrays have no size of their own.
// Recursion: one element a level; ARRAY_DEPTH_MAX levels.
static uint64_t array_size(const struct gr_dwarf *dwarf, uint32_t i,
			   unsigned int depth)
{
	const struct gr_dwarf_type *type = &dwarf->types.data[i];
	uint64_t bytes;

	if (type->kind != GR_KIND_ARRAY || type->size_bytes)
		return type->size_bytes;
	if (type->elem == GR_DWARF_NONE || depth > ARRAY_DEPTH_MAX ||
	    __builtin_mul_overflow(array_size(dwarf, type->elem, depth + 1),
				   type->count, &bytes))
		return 0;
	return bytes;
}

// C types without a name get a short one, at most one step long.
static const char *make_name(struct gr_die_walk *walk, uint32_t i)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	struct gr_dwarf_type *type = &dwarf->types.data[i];
	const char *elem = "";

	if (type->elem != GR_DWARF_NONE)
		elem = dwarf->types.data[type->elem].name;
	switch (type->kind) {
	case GR_KIND_UNSAFE_POINTER:
		return "*void";
	case GR_KIND_PTR:
		return gr_arena_internf(&dwarf->arena, "*%.200s", elem);
	case GR_KIND_ARRAY:
		return gr_arena_internf(&dwarf->arena, "[%llu]%.200s",
					(unsigned long long)type->count, elem);
	case GR_KIND_FUNC:
		return "func";
	case GR_KIND_STRUCT:
		return "struct";
	default:
		return "void";
	}
}

// Name a type. Types that its name has, and that may come later in the file,
// get their names before it.
static struct gr_error *name_with_elements(struct gr_die_walk *walk, uint32_t i)
{
	struct gr_dwarf_type *types = walk->dwarf->types.data;
	uint32_t chain[CHAIN_MAX];
	unsigned int n = 0;

	while (n < CHAIN_MAX && i != GR_DWARF_NONE && !*types[i].name) {
		bool has_element = types[i].kind == GR_KIND_PTR ||
				   types[i].kind == GR_KIND_ARRAY;

		chain[n++] = i;
		i = has_element ? types[i].elem : GR_DWARF_NONE;
	}
	while (n--) {
		types[chain[n]].name = make_name(walk, chain[n]);
		if (!types[chain[n]].name)
			return &gr_enomem;
	}
	return NULL;
}

static struct gr_error *name_unnamed(struct gr_die_walk *walk)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < dwarf->types.size; i++) {
		err = gr_dwarf_step(dwarf, 1);
		if (!err)
			err = name_with_elements(walk, i);
	}
	return err;
}

static struct gr_error *resolve_users(struct gr_die_walk *walk)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < dwarf->fields.size; i++) {
		dwarf->fields.data[i].type =
			gr_dwarf_type_at(dwarf, walk->field_types.data[i]);
		err = gr_dwarf_step(dwarf, 1);
	}
	for (size_t i = 0; !err && i < dwarf->variables.size; i++) {
		dwarf->variables.data[i].type =
			gr_dwarf_type_at(dwarf, walk->variable_types.data[i]);
		err = gr_dwarf_step(dwarf, 1);
	}
	for (size_t i = 0; !err && i < dwarf->constants.size; i++) {
		dwarf->constants.data[i].type =
			gr_dwarf_type_at(dwarf, walk->constant_types.data[i]);
		err = gr_dwarf_step(dwarf, 1);
	}
	return err;
}

static void resolve_canonical(struct gr_die_walk *walk, uint32_t i)
{
	walk->dwarf->canonical[i] = canonical_of(walk, i);
}

static void resolve_size(struct gr_die_walk *walk, uint32_t i)
{
	walk->dwarf->types.data[i].size_bytes = array_size(walk->dwarf, i, 0);
}

static struct gr_error *each_type(struct gr_die_walk *walk,
				  void (*resolve)(struct gr_die_walk *walk,
						  uint32_t i))
{
	struct gr_dwarf *dwarf = walk->dwarf;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < dwarf->types.size; i++) {
		resolve(walk, i);
		err = gr_dwarf_step(dwarf, 1);
	}
	return err;
}

struct gr_error *gr_dwarf_resolve_types(struct gr_die_walk *walk)
{
	struct gr_dwarf *dwarf = walk->dwarf;
	struct gr_error *err;

	dwarf->canonical =
		malloc((dwarf->types.size + 1) * sizeof(*dwarf->canonical));
	if (!dwarf->canonical)
		return &gr_enomem;
	err = each_type(walk, resolve_canonical);
	if (!err)
		err = resolve_users(walk);
	if (!err)
		err = each_type(walk, resolve_own);
	if (!err)
		err = each_type(walk, resolve_slice);
	if (!err)
		err = each_type(walk, resolve_chain);
	if (!err)
		err = each_type(walk, resolve_size);
	return err ? err : name_unnamed(walk);
}
