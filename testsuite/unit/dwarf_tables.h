/* SPDX-License-Identifier: Apache-2.0 */
/**
 * dwarf_tables: small tables of debug information, made by hand, as a block
 * that a cache file has; and the use of all that such a block leads to. For
 * unit tests and a fuzzer.
 */
#pragma once

#include "dwarf/internal.h"

enum { TABLES_NTYPES = 3, TABLES_STAMP = GR_DWARF_TABLES_VERSION };

static inline void tables_must(bool is_so)
{
	if (!is_so)
		abort();
}

static inline void tables_add_answers(struct gr_dwarf *dwarf)
{
	// Static: the bytes between members are zeros, as in a block.
	static const struct gr_dwarf_local locals[2] = {
		{ .name = "x",
		  .function = "main.main",
		  .type = 0,
		  .is_param = true,
		  .npieces = 1,
		  .pieces = { { .kind = GR_LOCATION_CFA, .offset = -8 } },
		  .file = "main.go",
		  .line = 7 },
		{ .name = "&y", .function = "main.f", .type = GR_DWARF_NONE },
	};
	static const struct gr_dwarf_capture capture = { .name = "c",
							 .type = 2 };
	uint32_t type = 1;

	// Out of order, and one twice.
	gr_answers_add(&dwarf->answers, GR_ASK_FIRST_PARAM, 1, 0, &type, 0);
	gr_answers_add(&dwarf->answers, GR_ASK_CAPTURES, 1, 0, &capture, 1);
	gr_answers_add(&dwarf->answers, GR_ASK_LOCALS, 0, 0x1010, locals, 2);
	gr_answers_add(&dwarf->answers, GR_ASK_LOCALS, 0, 0x1004, locals, 0);
	gr_answers_add(&dwarf->answers, GR_ASK_ALL_LOCALS, 0, 0x1010, locals,
		       2);
	gr_answers_add(&dwarf->answers, GR_ASK_LOCALS, 0, 0x1010, locals, 2);
}

static inline void tables_add_indexes(struct gr_dwarf *dwarf)
{
	tables_must(gr_index_init(&dwarf->types_by_name, TABLES_NTYPES));
	tables_must(
		gr_index_init(&dwarf->types_by_runtime_type, TABLES_NTYPES));
	tables_must(gr_index_init(&dwarf->variables_by_name, 1));
	tables_must(gr_index_init(&dwarf->constants_by_name, 1));
	for (uint32_t i = 0; i < TABLES_NTYPES; i++) {
		gr_index_add_name(&dwarf->types_by_name,
				  GR_COLUMN(dwarf->types.data, name), i);
		gr_index_add_number(&dwarf->types_by_runtime_type,
				    GR_COLUMN(dwarf->types.data, runtime_type),
				    i);
	}
	gr_index_add_name(&dwarf->variables_by_name,
			  GR_COLUMN(dwarf->variables.data, name), 0);
	gr_index_add_name(&dwarf->constants_by_name,
			  GR_COLUMN(dwarf->constants.data, name), 0);
}

/** The tables say that they are of this file. */
static const struct gr_dwarf_key tables_key = {
	.build_id = "Ab_c/d-e",
	.file_bytes = 1234,
	.ctime_ns = 99,
};

/** No tables, but the key. */
static inline struct gr_dwarf *tables_create_empty(void)
{
	struct gr_dwarf *dwarf = calloc(1, sizeof(*dwarf));

	tables_must(dwarf);
	dwarf->fd = -1;
	dwarf->key = tables_key;
	dwarf->is_cached = true;
	return dwarf;
}

/** For gr_dwarf_destroy(). */
static inline struct gr_dwarf *tables_create(void)
{
	static const struct gr_dwarf_type types[TABLES_NTYPES] = {
		{ "int", 0x10, 8, 0x40, 2, false, 0, -1, -1, -1, 0, 0, 0 },
		{ "*main.Größe", 0x20, 8, 0x60, 22, false, 0, 2, -1, -1, 0, 0,
		  0 },
		{ "main.Größe", 0x30, 16, 0x80, 25, true, 3, -1, -1, -1, 0, 0,
		  2 },
	};
	static const struct gr_dwarf_field fields[] = {
		{ "int", 0, 0, 0 },
		{ "next", 8, 1, true },
	};
	static const struct gr_dwarf_variable variable = { "main.v", 0x5000,
							   1 };
	static const struct gr_dwarf_constant constant = { "k", -5,
							   GR_DWARF_NONE };
	struct gr_dwarf *dwarf = tables_create_empty();

	for (int i = 0; i < TABLES_NTYPES; i++)
		tables_must(
			gr_dwarf_type_vector_append(&dwarf->types, types[i]));
	for (size_t i = 0; i < GR_ARRAY_SIZE(fields); i++)
		gr_dwarf_field_vector_append(&dwarf->fields, fields[i]);
	gr_dwarf_variable_vector_append(&dwarf->variables, variable);
	gr_dwarf_function_vector_append(
		&dwarf->functions,
		(struct gr_dwarf_function){ "main.main", 0x1000, 0x1100, 7 });
	gr_dwarf_function_vector_append(
		&dwarf->functions,
		(struct gr_dwarf_function){ "main.f", 0x1100, 0x1200, 9 });
	gr_dwarf_constant_vector_append(&dwarf->constants, constant);
	dwarf->canonical = calloc(TABLES_NTYPES, sizeof(*dwarf->canonical));
	for (uint32_t i = 0; i < TABLES_NTYPES; i++)
		dwarf->canonical[i] = i;
	dwarf->producer = "Go cmd/compile go1.99";
	tables_add_indexes(dwarf);
	tables_add_answers(dwarf);
	return dwarf;
}

/** The block, for free(). */
static inline void *tables_pack(size_t *bytes)
{
	struct gr_dwarf *dwarf = tables_create();
	void *block = gr_store_pack(dwarf, TABLES_STAMP, bytes);

	tables_must(block);
	gr_dwarf_destroy(dwarf);
	return block;
}

/* Unpack a block whose poll does not refuse. */
static inline enum gr_stored tables_unpack(struct gr_dwarf *dwarf, void *block,
					   size_t bytes)
{
	enum gr_stored state;

	tables_must(
		!gr_store_unpack(dwarf, block, bytes, TABLES_STAMP, &state));
	return state;
}

/* Use the things that a saved answer is about. */
static inline bool tables_use_answer(struct gr_dwarf *dwarf,
				     const struct gr_answer *a, size_t *sum)
{
	struct gr_dwarf_capture *captures = NULL;
	struct gr_dwarf_local *locals = NULL;
	struct gr_error *err = NULL;
	size_t count = 0;

	if (a->function >= dwarf->functions.size)
		return true;
	if (a->question == GR_ASK_LOCALS)
		err = gr_dwarf_locals(dwarf, a->function, a->pc, &locals,
				      &count);
	else if (a->question == GR_ASK_ALL_LOCALS)
		err = gr_dwarf_all_locals(dwarf, a->function, a->pc, &locals,
					  &count);
	else if (a->question == GR_ASK_CAPTURES && !a->pc)
		err = gr_dwarf_captures(dwarf, a->function, &captures, &count);
	for (size_t i = 0; i < count; i++)
		*sum += locals ? strlen(locals[i].name) +
					 locals[i].pieces[0].kind :
				 strlen(captures[i].name);
	free(locals);
	free(captures);
	gr_error_destroy(err);
	return !err;
}

/** Look at all that the tables lead to; false if that needed the file. */
static inline bool tables_use(struct gr_dwarf *dwarf)
{
	const char *names[] = { "int", "main.Größe", "main.v", "k", "?" };
	size_t sum = 0, n;
	int64_t value;

	const struct gr_dwarf_type *types = gr_dwarf_types(dwarf, &n);
	for (size_t i = 0; i < n; i++) {
		const struct gr_dwarf_type *t = &types[i];
		sum += strlen(t->name) + t->is_interface_with_methods;
		sum += t->elem == GR_DWARF_NONE ? 0 : types[t->elem].kind;
		sum += t->key == GR_DWARF_NONE ? 0 : types[t->key].kind;
		sum += t->header == GR_DWARF_NONE ? 0 : types[t->header].kind;
		for (uint32_t j = 0; j < t->nfields; j++)
			sum += gr_dwarf_fields(dwarf)[t->first_field + j].type;
		uint32_t same = gr_dwarf_type_at(dwarf, t->die_off);
		sum += same == GR_DWARF_NONE ? 0 : types[same].kind;
	}
	const struct gr_dwarf_variable *variables =
		gr_dwarf_variables(dwarf, &n);
	for (size_t i = 0; i < n; i++)
		sum += strlen(variables[i].name);
	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++)
		sum += gr_dwarf_find_type(dwarf, names[i]) +
		       gr_dwarf_find_variable(dwarf, names[i]) +
		       gr_dwarf_find_constant(dwarf, names[i], &value) +
		       gr_dwarf_find_runtime_type(dwarf, i * 0x20);
	for (size_t i = 0; i < dwarf->answers.rows.size; i++)
		if (!tables_use_answer(dwarf, &dwarf->answers.rows.data[i],
				       &sum))
			return false;
	// Else nothing of it need be read.
	return sum != 1;
}
