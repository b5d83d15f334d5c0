// SPDX-License-Identifier: Apache-2.0
#include "goruntime/layout/c_variable.h"

#include "base/sort.h"
#include "goruntime/layout/symbols.h"
#include "inferior/elf.h"

enum { MAX_KEPT = 1 << 14, MAX_MODULES = 1 << 12 };

void gr_c_variables_deinit(struct gr_c_variables *v)
{
	for (size_t i = 0; i < v->ntables; i++)
		free(v->tables[i].symbols);
	free(v->tables);
	free(v->kept);
	memset(v, 0, sizeof(*v));
}

static int compare(const void *a, const void *b)
{
	const struct gr_symbol *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Append the variables of one symbol table of the file. */
static struct gr_error *add_symbols(struct gr_runtime *rt,
				    const struct gr_elf *elf, bool is_dynamic,
				    struct gr_symbol_table *table)
{
	struct gr_elf_symbols at = { .is_dynamic = is_dynamic };
	struct gr_elf_symbol symbol;
	size_t capacity = table->count;
	struct gr_error *err = NULL;

	// Bounded by the symbols of the file.
	while (!err && gr_elf_next_symbol(elf, &at, &symbol)) {
		err = gr_runtime_step(rt, 1);
		if (err || symbol.type != STT_OBJECT || !symbol.bytes ||
		    !*symbol.name)
			continue;
		if (table->count == capacity &&
		    !gr_vector_grow((void **)&table->symbols, &capacity,
				    table->count + 1, sizeof(*table->symbols)))
			return &gr_enomem;
		table->symbols[table->count++] =
			(struct gr_symbol){ symbol.name, symbol.addr,
					    symbol.bytes };
	}
	return err;
}

static struct gr_error *fill_table(struct gr_runtime *rt, size_t module,
				   struct gr_symbol_table *table)
{
	const struct gr_elf *elf = gr_image_elf(rt->image, module);
	struct gr_error *err = NULL;

	if (elf)
		err = add_symbols(rt, elf, false, table);
	if (!err && elf && !table->count)
		err = add_symbols(rt, elf, true, table);
	if (!err)
		err = gr_sort(table->symbols, table->count,
			      sizeof(*table->symbols), compare, rt->poll,
			      rt->poll_ctx);
	table->is_filled = !err;
	if (!err)
		return NULL;
	// The next question that needs them begins anew.
	free(table->symbols);
	*table = (struct gr_symbol_table){ 0 };
	return err;
}

/* The symbols of a module, sorted. */
static struct gr_error *need_table(struct gr_runtime *rt, size_t module,
				   struct gr_symbol_table **ret)
{
	struct gr_c_variables *v = &rt->c_variables;
	size_t capacity = v->ntables;
	struct gr_error *err = NULL;

	if (module >= MAX_MODULES)
		return NULL;
	if (module >= v->ntables) {
		if (!gr_vector_grow((void **)&v->tables, &capacity, module + 1,
				    sizeof(*v->tables)))
			return &gr_enomem;
		memset(v->tables + v->ntables, 0,
		       (module + 1 - v->ntables) * sizeof(*v->tables));
		v->ntables = module + 1;
	}
	*ret = &v->tables[module];
	if (!(*ret)->is_filled)
		err = fill_table(rt, module, *ret);
	return err;
}

/* A saved file has no other symbols of C. */
static struct gr_error *keep(struct gr_runtime *rt, struct gr_symbol symbol)
{
	struct gr_c_variables *v = &rt->c_variables;
	size_t capacity = v->nkept;

	if (v->nkept &&
	    (v->nkept == MAX_KEPT || v->kept[v->nkept - 1].addr == symbol.addr))
		return NULL;
	if (!gr_vector_grow((void **)&v->kept, &capacity, v->nkept + 1,
			    sizeof(*v->kept)))
		return &gr_enomem;
	v->kept[v->nkept++] = symbol;
	return NULL;
}

static const char *file_name(const struct gr_runtime *rt, size_t module)
{
	const char *path = gr_image_module_name(rt->image, module);
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

struct gr_error *gr_c_symbol_find(struct gr_runtime *rt, size_t module,
				  uint64_t addr, struct gr_symbol *ret)
{
	struct gr_symbol_table *table = NULL;
	struct gr_error *err = NULL;

	*ret = (struct gr_symbol){ NULL, 0, 0 };
	if (module != SIZE_MAX)
		err = need_table(rt, module, &table);
	if (err || !table)
		return err;
	uint64_t bias = gr_image_bias(rt->image, module);
	size_t n = gr_count_before(table->count, i,
				   table->symbols[i].addr <= addr - bias);
	if (!n || addr - bias - table->symbols[n - 1].addr >=
			  table->symbols[n - 1].bytes)
		return NULL;
	*ret = table->symbols[n - 1];
	ret->addr += bias;
	return NULL;
}

struct gr_error *gr_c_variable_find(struct gr_runtime *rt, uint64_t addr,
				    struct gr_c_variable *ret)
{
	size_t module = gr_image_module_at(rt->image, addr);
	struct gr_symbol symbol;
	struct gr_error *err = gr_c_symbol_find(rt, module, addr, &symbol);

	*ret = (struct gr_c_variable){ NULL, symbol.addr, symbol.bytes };
	if (err || !symbol.name)
		return err;
	ret->name = module ?
			    gr_arena_internf(rt->arena, "%s in %s", symbol.name,
					     file_name(rt, module)) :
			    gr_arena_intern(rt->arena, symbol.name,
					    strlen(symbol.name));
	symbol.name =
		gr_arena_intern(rt->arena, symbol.name, strlen(symbol.name));
	return ret->name && symbol.name ? keep(rt, symbol) : &gr_enomem;
}
