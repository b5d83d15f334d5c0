// SPDX-License-Identifier: Apache-2.0
/*
 * This file finds runtime/cgo.handles, the table of cgo.Handle. The code of
 * runtime/cgo.NewHandle, which has a name, computes the address of this one
 * variable with pointers. Source: runtime/cgo/handle.go, NewHandle.
 */
#include "goruntime/search/search_internal.h"

#include "goruntime/layout/code.h"
#include "goruntime/layout/names.h"
#include "goruntime/layout/pclntab.h"
#include "goruntime/layout/symbols.h"

enum {
	MAX_CODE_BYTES = 4096,
	LOAD_BYTES = 8,	 /* of the longer instructions, those of arm64 */
	TABLE_BYTES = 32 /* the pointers of a sync.Map */
};

/* The variable of the module's bss to which the code refers; 0: there is none,
 * or there are several. */
static uint64_t find_table(const struct gr_search *s,
			   const struct gr_func *func, const uint8_t *code)
{
	const struct gr_module *m = func->module;
	bool is_arm64 = s->rt->arch == &gr_arch_arm64;
	uint64_t bytes = func->end - func->entry, found = 0;

	// Bounded by MAX_CODE_BYTES, which its caller reads.
	for (uint64_t i = 0; i + LOAD_BYTES <= bytes; i++) {
		uint64_t addr =
			is_arm64 ?
				gr_code_adrp_target(code + i, func->entry + i) :
				gr_code_rip_target(code + i, func->entry + i,
						   GR_OP_LEA);

		if (addr < m->bss || addr >= m->ebss || addr % GR_WORD_BYTES ||
		    addr == found)
			continue;
		if (found)
			return 0;
		found = addr;
	}
	return found;
}

struct gr_error *gr_search_find_handles(struct gr_search *s)
{
	uint8_t code[MAX_CODE_BYTES];
	struct gr_func func;
	bool is_found;
	struct gr_error *err = gr_func_find_named(
		s->rt, gr_name_of(GR_NAME_MAKES_HANDLE), &func, &is_found);

	if (err || !is_found || func.end - func.entry > sizeof(code))
		return err;
	err = gr_image_read(s->rt->image, func.entry, code,
			    func.end - func.entry);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	uint64_t table = find_table(s, &func, code);
	if (!table || gr_symbols_at(s->rt, table))
		return NULL;
	return gr_symbols_add(s->rt,
			      (struct gr_symbol){
				      .name = gr_name_of(GR_NAME_CGO_HANDLES),
				      .addr = table,
				      .bytes = TABLE_BYTES,
			      });
}
