// SPDX-License-Identifier: Apache-2.0
/*
 * sync.oldPools and sync.allPools, the library's lists of all pools: they lead
 * into whatever has a pool in it, so they must not pass for its owner
 * (roots.c). What names them is the code that moves one to the other, which
 * has a name. Source: sync/pool.go, poolCleanup.
 */
#include "goruntime/search_internal.h"

#include "goruntime/code.h"
#include "goruntime/pclntab.h"
#include "goruntime/symbols.h"

#include <string.h>

enum { MAX_CODE_BYTES = 4096, SLICE_BYTES = 24 };

static bool find_function(const struct gr_runtime *rt, const char *name,
			  struct gr_func *ret)
{
	const struct gr_module *m = &rt->modules[0];

	for (uint64_t i = 0; i + 1 < m->nftab; i++)
		if (gr_func_find(rt, m->text + gr_load_u32(m->ftab + i * 8),
				 ret) &&
		    !strcmp(ret->name, name))
			return true;
	return false;
}

/* Is @p addr a pointer of the module's bss, and the word after it none? */
static bool is_slice(const struct gr_module *m, uint64_t addr)
{
	uint64_t word = (addr - m->bss) / GR_WORD_BYTES;

	return addr >= m->bss && addr < m->ebss && !(addr % GR_WORD_BYTES) &&
	       m->bss_mask && word + 1 < m->bss_mask_bits &&
	       m->bss_mask[word / 8] >> word % 8 & 1 &&
	       !(m->bss_mask[(word + 1) / 8] >> (word + 1) % 8 & 1);
}

/* The slices that the code loads, in the order of the first time. */
static size_t find_slices(const struct gr_module *m, const uint8_t *code,
			  uint64_t entry, uint64_t bytes,
			  uint64_t ret[static 2])
{
	size_t count = 0;

	for (uint64_t i = 0; i + GR_RIP_BYTES <= bytes; i++) {
		uint64_t addr =
			gr_code_rip_target(code + i, entry + i, GR_OP_LOAD);

		if (!addr || !is_slice(m, addr) || (count && addr == ret[0]) ||
		    (count > 1 && addr == ret[1]))
			continue;
		if (count < 2)
			ret[count] = addr;
		count++;
	}
	return count;
}

struct gr_error *gr_search_find_pools(struct gr_search *s)
{
	static const char *const names[] = { "sync.oldPools", "sync.allPools" };
	uint8_t code[MAX_CODE_BYTES];
	struct gr_error *err = NULL;
	uint64_t slices[2];
	struct gr_func func;

	if (!find_function(s->rt, "sync.poolCleanup", &func) ||
	    func.end - func.entry > sizeof(code))
		return NULL;
	err = gr_image_read(s->rt->image, func.entry, code,
			    func.end - func.entry);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	if (find_slices(func.module, code, func.entry, func.end - func.entry,
			slices) != 2 ||
	    gr_symbols_at(s->rt, slices[0]) || gr_symbols_at(s->rt, slices[1]))
		return NULL;
	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(names); i++)
		err = gr_symbols_add(s->rt, (struct gr_symbol){
						    .name = names[i],
						    .addr = slices[i],
						    .bytes = SLICE_BYTES,
					    });
	return err;
}
