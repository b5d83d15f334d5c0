// SPDX-License-Identifier: Apache-2.0
/*
 * The tables of a library without what no variable needs. Each unit of a library
 * has the types of all headers that it includes, of which variables need few.
 * Classes of C++ stay: vtables lead to them by name.
 */
#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/sort.h"
#include "dwarf/internal.h"

/* Searches for definitions: of structs that others only declare, and so on. */
enum { MAX_ROUNDS = 16 };

GR_VECTOR(index_vector, uint32_t);
GR_VECTOR(name_vector, const char *);

struct pruner {
	struct gr_die_walk *walk;
	struct gr_dwarf *dwarf;
	uint64_t *kept, *kept_fields; /* a bit for each row */
	struct index_vector todo;
	struct name_vector declared; /* names of structs without a size */
	size_t nsorted;		     /* of them, when they were last sorted */
};

static void pruner_deinit(struct pruner *p)
{
	free(p->kept);
	free(p->kept_fields);
	index_vector_deinit(&p->todo);
	name_vector_deinit(&p->declared);
}

static bool keep(struct pruner *p, uint32_t i)
{
	if (i == GR_DWARF_NONE || gr_bitmap_test(p->kept, i))
		return true;
	gr_bitmap_set(p->kept, i);
	return index_vector_append(&p->todo, i);
}

/* Is it a struct with a name? All others are called `struct'. */
static bool is_struct(const struct gr_dwarf_type *type)
{
	return type->kind == GR_KIND_STRUCT && strcmp(type->name, "struct");
}

/* Keep what a type leads to. */
static struct gr_error *keep_parts(struct pruner *p, uint32_t i)
{
	const struct gr_dwarf_type *type = &p->dwarf->types.data[i];
	const struct gr_dwarf_field *fields = p->dwarf->fields.data;
	bool is_fine = keep(p, type->elem) && keep(p, type->key) &&
		       keep(p, type->header);

	for (uint32_t k = 0; is_fine && k < type->nfields; k++) {
		gr_bitmap_set(p->kept_fields, type->first_field + k);
		is_fine = keep(p, fields[type->first_field + k].type);
	}
	if (is_fine && is_struct(type) && !type->size_bytes)
		is_fine = name_vector_append(&p->declared, type->name);
	return is_fine ? gr_dwarf_step(p->dwarf, 1 + type->nfields) :
			 &gr_enomem;
}

/* Bounded by the types: each is done once. */
static struct gr_error *keep_all_parts(struct pruner *p)
{
	struct gr_error *err = NULL;

	while (!err && p->todo.size)
		err = keep_parts(p, p->todo.data[--p->todo.size]);
	return err;
}

/* May a value of the type have a pointer? Texts and numbers have none. */
static bool may_point(const struct gr_dwarf *dwarf, uint32_t i)
{
	for (unsigned int k = 0; i != GR_DWARF_NONE && k < MAX_ROUNDS; k++) {
		const struct gr_dwarf_type *type = &dwarf->types.data[i];

		if (type->kind == GR_KIND_PTR || type->kind == GR_KIND_STRUCT)
			return true;
		if (type->kind != GR_KIND_ARRAY)
			return false;
		i = type->elem;
	}
	return false;
}

/* Leave out the variables that lead nowhere. */
static struct gr_error *drop_variables(struct pruner *p)
{
	struct gr_dwarf_variable_vector *list = &p->dwarf->variables;
	struct gr_error *err = NULL;
	size_t n = 0;

	for (size_t i = 0; !err && i < list->size; i++) {
		if (may_point(p->dwarf, list->data[i].type))
			list->data[n++] = list->data[i];
		err = gr_dwarf_step(p->dwarf, 1);
	}
	if (!err)
		list->size = n;
	return err;
}

static struct gr_error *keep_roots(struct pruner *p)
{
	struct gr_dwarf *dwarf = p->dwarf;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < dwarf->variables.size; i++)
		err = keep(p, dwarf->variables.data[i].type) ?
			      gr_dwarf_step(dwarf, 1) :
			      &gr_enomem;
	for (uint32_t i = 0; !err && i < dwarf->types.size; i++) {
		const struct gr_dwarf_type *type = &dwarf->types.data[i];
		bool is_class = p->walk->types.data[i].is_cpp &&
				dwarf->canonical[i] == i && is_struct(type) &&
				type->size_bytes;

		err = !is_class || keep(p, i) ? gr_dwarf_step(dwarf, 1) :
						&gr_enomem;
	}
	return err ? err : keep_all_parts(p);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Keep the definitions of structs that kept ones only declare. */
static struct gr_error *keep_definitions(struct pruner *p)
{
	struct gr_dwarf *dwarf = p->dwarf;
	struct gr_error *err = gr_sort(p->declared.data, p->declared.size,
				       sizeof(*p->declared.data), compare_names,
				       dwarf->poll, dwarf->ctx);

	p->nsorted = p->declared.size;
	for (uint32_t i = 0; !err && i < dwarf->types.size; i++) {
		const struct gr_dwarf_type *type = &dwarf->types.data[i];

		err = gr_dwarf_step(dwarf, 1);
		if (!err && type->size_bytes && is_struct(type) &&
		    dwarf->canonical[i] == i && !gr_bitmap_test(p->kept, i) &&
		    bsearch(&type->name, p->declared.data, p->nsorted,
			    sizeof(*p->declared.data), compare_names) &&
		    !keep(p, i))
			err = &gr_enomem;
	}
	return err ? err : keep_all_parts(p);
}

// ----------------------------------------------------------------- compaction

/* The number of kept rows before each one. For free(); NULL: no memory. */
static uint32_t *count_kept(const uint64_t *kept, size_t n)
{
	uint32_t *before = malloc((n + 1) * sizeof(*before));
	uint32_t count = 0;

	for (size_t i = 0; before && i <= n; i++) {
		before[i] = count;
		count += i < n && gr_bitmap_test(kept, i);
	}
	return before;
}

static uint32_t moved(const uint32_t *before, uint32_t i)
{
	return i == GR_DWARF_NONE ? i : before[i];
}

static void move_types(struct pruner *p, const uint32_t *before,
		       const uint32_t *fields_before)
{
	struct gr_dwarf_type_vector *types = &p->dwarf->types;
	size_t n = 0;

	for (size_t i = 0; i < types->size; i++) {
		struct gr_dwarf_type type = types->data[i];

		if (!gr_bitmap_test(p->kept, i))
			continue;
		type.elem = moved(before, type.elem);
		type.key = moved(before, type.key);
		type.header = moved(before, type.header);
		type.first_field = fields_before[type.first_field];
		p->walk->types.data[n] = p->walk->types.data[i];
		p->dwarf->canonical[n] = n;
		types->data[n++] = type;
	}
	types->size = p->walk->types.size = n;
}

static void move_users(struct pruner *p, const uint32_t *before)
{
	struct gr_dwarf_field_vector *fields = &p->dwarf->fields;
	struct gr_dwarf_variable_vector *variables = &p->dwarf->variables;
	size_t n = 0;

	for (size_t i = 0; i < fields->size; i++)
		if (gr_bitmap_test(p->kept_fields, i)) {
			fields->data[n] = fields->data[i];
			fields->data[n].type =
				moved(before, fields->data[n].type);
			n++;
		}
	fields->size = n;
	for (size_t i = 0; i < variables->size; i++)
		variables->data[i].type =
			moved(before, variables->data[i].type);
}

static struct gr_error *compact(struct pruner *p)
{
	_cleanup_free_ uint32_t *types =
		count_kept(p->kept, p->dwarf->types.size);
	_cleanup_free_ uint32_t *fields =
		count_kept(p->kept_fields, p->dwarf->fields.size);

	if (!types || !fields)
		return &gr_enomem;
	move_types(p, types, fields);
	move_users(p, types);
	return NULL;
}

struct gr_error *gr_dwarf_prune(struct gr_die_walk *walk)
{
	_cleanup_(pruner_deinit) struct pruner p = {
		.walk = walk,
		.dwarf = walk->dwarf,
		.kept = gr_bitmap_alloc(walk->dwarf->types.size + 1),
		.kept_fields = gr_bitmap_alloc(walk->dwarf->fields.size + 1),
	};
	struct gr_error *err = p.kept && p.kept_fields ? drop_variables(&p) :
							 &gr_enomem;

	if (!err)
		err = keep_roots(&p);

	for (unsigned int i = 0; !err && i < MAX_ROUNDS; i++) {
		if (p.nsorted == p.declared.size)
			break;
		err = keep_definitions(&p);
	}
	return err ? err : compact(&p);
}
