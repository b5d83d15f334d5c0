// SPDX-License-Identifier: Apache-2.0
#include "goruntime/layout/symbols.h"

#include "base/sort.h"
#include "base/vector.h"

#include <stdlib.h>
#include <string.h>

GR_VECTOR(symbol_vector, struct gr_symbol);

static int compare(const void *a, const void *b)
{
	const struct gr_symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	// The order by name makes the choice between two names stable.
	return strcmp(x->name, y->name);
}

static struct gr_error *collect(struct gr_runtime *rt, const struct gr_elf *elf,
				uint64_t bias, struct symbol_vector *ret)
{
	struct gr_elf_symbols at = { .off = 0 };
	struct gr_elf_symbol symbol;

	while (gr_elf_next_symbol(elf, &at, &symbol)) {
		struct gr_symbol variable = {
			.addr = symbol.addr + bias,
			.bytes = symbol.bytes,
		};

		struct gr_error *err = gr_runtime_step_name(rt, symbol.name);
		if (err)
			return err;
		if (symbol.type != STT_OBJECT || !symbol.bytes)
			continue;
		variable.name = gr_arena_intern(rt->arena, symbol.name,
						strlen(symbol.name));
		if (!variable.name || !symbol_vector_append(ret, variable))
			return &gr_enomem;
	}
	return NULL;
}

struct gr_error *gr_symbols_read(struct gr_runtime *rt,
				 const struct gr_elf *elf, uint64_t bias)
{
	struct symbol_vector found = { 0 };
	struct gr_error *err = collect(rt, elf, bias, &found);

	if (!err)
		err = gr_sort(found.data, found.size, sizeof(*found.data),
			      compare, rt->poll, rt->poll_ctx);
	rt->symbols = found.data;
	rt->nsymbols = found.size;
	return err;
}

struct gr_error *gr_symbols_add(struct gr_runtime *rt, struct gr_symbol symbol)
{
	size_t n = rt->nsymbols;
	struct gr_symbol *grown =
		realloc(rt->symbols, (n + 1) * sizeof(*grown));

	if (!grown)
		return &gr_enomem;
	grown[n] = symbol;
	qsort(grown, n + 1, sizeof(*grown), compare);
	rt->symbols = grown;
	rt->nsymbols = n + 1;
	return NULL;
}

const struct gr_symbol *gr_symbols_at(const struct gr_runtime *rt,
				      uint64_t addr)
{
	size_t n =
		gr_count_before(rt->nsymbols, i, rt->symbols[i].addr <= addr);

	// The last symbol that begins at or before addr is enough, because
	// empty and nested symbols are rare.
	if (!n || addr - rt->symbols[n - 1].addr >= rt->symbols[n - 1].bytes)
		return NULL;
	return &rt->symbols[n - 1];
}
