// SPDX-License-Identifier: Apache-2.0
#include "goruntime/pclntab.h"

#include "base/cleanup.h"

enum {
	FTAB_ENTRY_BYTES = 8,
};

static uint32_t ftab_entryoff(const struct gr_module *module, uint64_t i)
{
	return gr_load_u32(module->ftab + i * FTAB_ENTRY_BYTES);
}

/* The last function that starts at or before off. The final entry of ftab
 * only tells where the last function ends. */
static bool ftab_search(const struct gr_module *module, uint64_t off,
			uint64_t *ret)
{
	if (module->nftab < 2 || off > UINT32_MAX)
		return false;
	uint64_t low = 0, high = module->nftab - 1;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		if (ftab_entryoff(module, middle) <= off)
			low = middle;
		else
			high = middle;
	}
	*ret = low;
	return ftab_entryoff(module, low) <= off &&
	       off < ftab_entryoff(module, low + 1);
}

static bool func_parse(const struct gr_layout *layout,
		       const struct gr_module *module, uint32_t funcoff,
		       struct gr_func *ret)
{
	struct gr_bytes table = module->pclntable;
	if (funcoff >= table.size)
		return false;
	ret->module = module;
	ret->record = gr_bytes_slice(table, funcoff, table.size - funcoff);
	if (!gr_bytes_has(ret->record, 0, layout->func.size_bytes))
		return false;
	const uint8_t *p = ret->record.data;
	ret->args_bytes = gr_field_uint(p, layout->func.args);
	ret->deferreturn = gr_field_uint(p, layout->func.deferreturn);
	ret->pcsp = gr_field_uint(p, layout->func.pcsp);
	ret->pcfile = gr_field_uint(p, layout->func.pcfile);
	ret->pcln = gr_field_uint(p, layout->func.pcln);
	ret->npcdata = gr_field_uint(p, layout->func.npcdata);
	ret->cuoffset = gr_field_uint(p, layout->func.cuoffset);
	ret->func_id = gr_field_uint(p, layout->func.func_id);
	ret->flag = gr_field_uint(p, layout->func.flag);
	ret->nfuncdata = gr_field_uint(p, layout->func.nfuncdata);
	ret->name = gr_bytes_string(module->funcnametab,
				    gr_field_uint(p, layout->func.nameoff));
	if (!ret->name)
		ret->name = "?";
	return true;
}

bool gr_func_find(const struct gr_runtime *rt, uint64_t pc, struct gr_func *ret)
{
	uint64_t i;

	const struct gr_module *module = gr_runtime_module_at(rt, pc);
	if (!module || pc < module->text ||
	    !ftab_search(module, pc - module->text, &i))
		return false;
	ret->entry = module->text + ftab_entryoff(module, i);
	ret->end = module->text + ftab_entryoff(module, i + 1);
	uint32_t funcoff = gr_load_u32(module->ftab + i * FTAB_ENTRY_BYTES + 4);
	return func_parse(&rt->layout, module, funcoff, ret);
}

/* One step of a pc-value table (runtime.step). False at the table's end and,
 * with *damaged set, where it makes no sense. */
static bool pcvalue_step(struct gr_bytes tab, uint64_t *off, bool is_first,
			 int32_t *value, uint64_t *pc_delta, bool *damaged)
{
	uint64_t delta;

	*damaged = true;
	if (!gr_bytes_uvarint(tab, off, &delta) || delta > UINT32_MAX)
		return false;
	if (!delta && !is_first) {
		*damaged = false;
		return false;
	}
	uint32_t zigzag = delta;
	*value = (int32_t)((uint32_t)*value + (-(zigzag & 1) ^ (zigzag >> 1)));
	if (!gr_bytes_uvarint(tab, off, pc_delta) || *pc_delta > UINT32_MAX)
		return false;
	*damaged = false;
	return true;
}

int32_t gr_func_pcvalue(const struct gr_func *func, uint32_t off, uint64_t pc,
			bool *ok)
{
	const struct gr_module *module = func->module;
	uint64_t cursor = off, at = func->entry, delta;
	int32_t value = -1;
	bool damaged = false;

	if (ok)
		*ok = false;
	if (!off)
		return -1;
	/* Each real step covers an instruction; more steps are damage. */
	for (uint64_t left = func->end - func->entry + 1; left; left--) {
		if (!pcvalue_step(module->pctab, &cursor, at == func->entry,
				  &value, &delta, &damaged))
			return -1;
		at += delta * module->pc_quantum;
		if (pc < at) {
			if (ok)
				*ok = true;
			return value;
		}
	}
	return -1;
}

int32_t gr_func_spdelta(const struct gr_func *func, uint64_t pc, bool *ok)
{
	bool found;

	int32_t delta = gr_func_pcvalue(func, func->pcsp, pc, &found);
	*ok = found && delta >= 0 && delta % GR_WORD_BYTES == 0;
	return delta;
}

int32_t gr_func_pcdata(const struct gr_runtime *rt, const struct gr_func *func,
		       uint32_t table, uint64_t pc)
{
	uint32_t off;

	if (table >= func->npcdata ||
	    !gr_bytes_get(func->record,
			  rt->layout.func.size_bytes + UINT64_C(4) * table,
			  &off, sizeof(off)))
		return -1;
	return gr_func_pcvalue(func, off, pc, NULL);
}

uint64_t gr_func_funcdata(const struct gr_runtime *rt,
			  const struct gr_func *func, uint32_t which)
{
	uint32_t off;

	uint64_t slot = UINT64_C(4) * func->npcdata + UINT64_C(4) * which;
	if (which >= func->nfuncdata || !func->module->gofunc ||
	    !gr_bytes_get(func->record, rt->layout.func.size_bytes + slot, &off,
			  sizeof(off)))
		return 0;
	return off == UINT32_MAX ? 0 : func->module->gofunc + off;
}

bool gr_func_line(const struct gr_func *func, uint64_t pc, const char **file,
		  uint32_t *line)
{
	const struct gr_module *module = func->module;
	bool has_file, has_line;
	uint32_t off;

	int32_t fileno = gr_func_pcvalue(func, func->pcfile, pc, &has_file);
	int32_t number = gr_func_pcvalue(func, func->pcln, pc, &has_line);
	if (!has_file || !has_line || fileno < 0 || number < 0)
		return false;
	uint64_t index = (uint64_t)func->cuoffset + (uint32_t)fileno;
	if (!gr_bytes_get(module->cutab, index * 4, &off, sizeof(off)) ||
	    off == UINT32_MAX)
		return false;
	*file = gr_bytes_string(module->filetab, off);
	*line = number;
	return *file != NULL;
}
