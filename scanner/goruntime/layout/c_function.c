// SPDX-License-Identifier: Apache-2.0
#include "goruntime/layout/c_function.h"

#include "goruntime/layout/symbols.h"
#include "inferior/elf.h"

enum { MAX_KEPT = 1 << 10 };

/* The function of one table that has the address: of several, the one that
 * begins last; the first name of those. */
static struct gr_error *search(struct gr_runtime *rt, const struct gr_elf *elf,
			       bool is_dynamic, uint64_t addr,
			       struct gr_elf_symbol *ret)
{
	struct gr_elf_symbols at = { .is_dynamic = is_dynamic };
	struct gr_elf_symbol symbol;

	while (gr_elf_next_symbol(elf, &at, &symbol)) {
		struct gr_error *err = gr_runtime_step_name(rt, symbol.name);

		if (err)
			return err;
		if (symbol.type == STT_FUNC && addr >= symbol.addr &&
		    addr - symbol.addr < symbol.bytes &&
		    (!ret->name || symbol.addr > ret->addr))
			*ret = symbol;
	}
	return NULL;
}

/* A saved file has no other symbols of C. */
static struct gr_error *keep(struct gr_runtime *rt, struct gr_symbol symbol)
{
	for (size_t i = 0; i < rt->nc_functions; i++)
		if (rt->c_functions[i].addr == symbol.addr)
			return NULL;
	if (rt->nc_functions == MAX_KEPT)
		return NULL;
	struct gr_symbol *grown = realloc(
		rt->c_functions, (rt->nc_functions + 1) * sizeof(*grown));
	if (!grown)
		return &gr_enomem;
	grown[rt->nc_functions++] = symbol;
	rt->c_functions = grown;
	return NULL;
}

struct gr_error *gr_c_function_find(struct gr_runtime *rt, uint64_t pc,
				    struct gr_c_function *ret)
{
	struct gr_elf_symbol symbol = { .name = NULL };

	*ret = (struct gr_c_function){ gr_image_module_at(rt->image, pc), "" };
	if (ret->module == SIZE_MAX)
		return NULL;
	const struct gr_elf *elf = gr_image_elf(rt->image, ret->module);
	uint64_t bias = gr_image_bias(rt->image, ret->module);
	if (!elf)
		return NULL;
	struct gr_error *err = search(rt, elf, false, pc - bias, &symbol);
	if (!err && !symbol.name)
		err = search(rt, elf, true, pc - bias, &symbol);
	if (err || !symbol.name)
		return err;
	ret->name =
		gr_arena_intern(rt->arena, symbol.name, strlen(symbol.name));
	const struct gr_symbol kept = { ret->name, symbol.addr + bias,
					symbol.bytes };
	return ret->name ? keep(rt, kept) : &gr_enomem;
}
