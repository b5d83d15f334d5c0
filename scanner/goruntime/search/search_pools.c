// SPDX-License-Identifier: Apache-2.0
/*
 * This file finds sync.oldPools and sync.allPools, the library's lists of all
 * pools. The lists point into every object that has a pool in it, so that they
 * must not count as the owner of such an object (roots/roots.c). The code of
 * sync.poolCleanup, which has a name, moves one list to the other and refers
 * to both. Source: sync/pool.go, poolCleanup.
 */
#include "goruntime/search/search_internal.h"

#include "goruntime/layout/code.h"
#include "goruntime/layout/names.h"
#include "goruntime/layout/pclntab.h"
#include "goruntime/layout/symbols.h"

enum { MAX_CODE_BYTES = 4096, SLICE_BYTES = 24 };

/* Is the word at @p addr a pointer in the module's bss, and the next not? */
static bool is_slice(const struct gr_module *m, uint64_t addr)
{
	uint64_t word = (addr - m->bss) / GR_WORD_BYTES;

	return addr >= m->bss && addr < m->ebss && !(addr % GR_WORD_BYTES) &&
	       m->bss_mask && word + 1 < m->bss_mask_bits &&
	       m->bss_mask[word / 8] >> word % 8 & 1 &&
	       !(m->bss_mask[(word + 1) / 8] >> (word + 1) % 8 & 1);
}

/* Find the slices that the code loads, in the order of their first load. */
static size_t find_slices(const struct gr_module *m, const uint8_t *code,
			  uint64_t entry, uint64_t bytes,
			  uint64_t ret[static 2])
{
	size_t count = 0;

	// Bounded by MAX_CODE_BYTES, which its caller reads.
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
	const char *const names[] = { gr_name_of(GR_NAME_OLD_POOLS),
				      gr_name_of(GR_NAME_ALL_POOLS) };
	uint8_t code[MAX_CODE_BYTES];
	uint64_t slices[2];
	struct gr_func func;
	bool is_found;
	struct gr_error *err = gr_func_find_named(
		s->rt, gr_name_of(GR_NAME_POOL_CLEANUP), &func, &is_found);

	if (err || !is_found || func.end - func.entry > sizeof(code))
		return err;
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
