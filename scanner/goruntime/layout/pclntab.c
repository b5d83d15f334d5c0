// SPDX-License-Identifier: Apache-2.0
#include "goruntime/layout/pclntab.h"

#include "base/cleanup.h"
#include "base/hash.h"

enum {
	FTAB_ENTRY_BYTES = 8,
	// Table steps that every look-up may take, in a table of hundreds of
	// calls; that one takes at most; of all beyond FREE_STEPS; and in the
	// time of a step of the runtime.
	FREE_STEPS = 256,
	MAX_LOOKUP_STEPS = 1 << 24,
	MAX_STEPS = 1 << 29,
	TABLE_STEPS_A_STEP = 16,
};

static uint32_t ftab_entryoff(const struct gr_module *module, uint64_t i)
{
	return gr_load_u32(module->ftab + i * FTAB_ENTRY_BYTES);
}

/* Find the last function that starts at or before off. The final entry of ftab
 * is only the end of the last function. */
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
	ret->name = gr_bytes_name(module->funcnametab,
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
	ret->lookups = rt->pc_lookups;
	uint32_t funcoff = gr_load_u32(module->ftab + i * FTAB_ENTRY_BYTES + 4);
	return func_parse(&rt->layout, module, funcoff, ret);
}

/* Make one step in a pc-value table (runtime.step). False at the table's end.
 * False with *damaged set if the table is invalid. */
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

void gr_pc_lookups_init(struct gr_pc_lookups *lookups, uint64_t *steps)
{
	memset(lookups, 0, sizeof(*lookups));
	lookups->steps = steps;
	lookups->left = MAX_STEPS;
}

/* Count the steps of a look-up. */
static void count_steps(struct gr_pc_lookups *lookups, uint64_t steps)
{
	uint64_t beyond = steps > FREE_STEPS ? steps - FREE_STEPS : 0;

	lookups->left -= beyond < lookups->left ? beyond : lookups->left;
	*lookups->steps += steps / TABLE_STEPS_A_STEP;
}

static int32_t look_up(const struct gr_func *func, uint32_t off, uint64_t pc,
		       bool *ok)
{
	const struct gr_module *module = func->module;
	uint64_t cursor = off, at = func->entry, delta, n = 0;
	/* Each real step covers an instruction; more steps are damage. */
	uint64_t most = func->end - func->entry + 1;
	int32_t value = -1;
	bool damaged = false;

	if (most > MAX_LOOKUP_STEPS)
		most = MAX_LOOKUP_STEPS;
	if (func->lookups && most > FREE_STEPS + func->lookups->left)
		most = FREE_STEPS + func->lookups->left;
	*ok = false;
	while (!*ok && n++ < most &&
	       pcvalue_step(module->pctab, &cursor, at == func->entry, &value,
			    &delta, &damaged)) {
		at += delta * module->pc_quantum;
		*ok = pc < at;
	}
	if (func->lookups)
		count_steps(func->lookups, n);
	return *ok ? value : -1;
}

int32_t gr_func_pcvalue(const struct gr_func *func, uint32_t off, uint64_t pc,
			bool *ok)
{
	struct gr_pc_value found = { .pc = pc, .off = off, .value = -1 };
	struct gr_pc_value *latest = NULL;

	if (off && func->lookups)
		latest =
			&func->lookups
				 ->latest[gr_hash_number(pc ^ (uint64_t)off
								      << 32) %
					  GR_ARRAY_SIZE(func->lookups->latest)];
	if (latest && latest->off == off && latest->pc == pc)
		found = *latest;
	else if (off)
		found.value = look_up(func, off, pc, &found.ok);
	if (latest)
		*latest = found;
	if (ok)
		*ok = found.ok;
	return found.value;
}

int32_t gr_func_spdelta(const struct gr_func *func, uint64_t pc, bool *ok)
{
	bool found;

	int32_t delta = gr_func_pcvalue(func, func->pcsp, pc, &found);
	*ok = found && delta >= 0 && delta % GR_WORD_BYTES == 0;
	return delta;
}

/* The offset in pctab of a PCDATA table; false if there is none. */
static bool find_pcdata(const struct gr_runtime *rt, const struct gr_func *func,
			uint32_t table, uint32_t *ret)
{
	return table < func->npcdata &&
	       gr_bytes_get(func->record,
			    rt->layout.func.size_bytes + UINT64_C(4) * table,
			    ret, sizeof(*ret));
}

int32_t gr_func_pcdata(const struct gr_runtime *rt, const struct gr_func *func,
		       uint32_t table, uint64_t pc)
{
	uint32_t off;

	return find_pcdata(rt, func, table, &off) ?
		       gr_func_pcvalue(func, off, pc, NULL) :
		       -1;
}

bool gr_func_next_run(const struct gr_runtime *rt, const struct gr_func *func,
		      uint32_t table, struct gr_pc_run *run)
{
	bool is_first = !run->end, damaged;
	uint64_t delta;
	uint32_t off;

	if (is_first) {
		if (!find_pcdata(rt, func, table, &off) || !off)
			return false;
		*run = (struct gr_pc_run){ 0, func->entry, -1, off };
	}
	run->start = run->end;
	if (run->start >= func->end ||
	    !pcvalue_step(func->module->pctab, &run->cursor, is_first,
			  &run->value, &delta, &damaged) ||
	    !delta)
		return false;
	run->end = run->start + delta * func->module->pc_quantum;
	return true;
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
	*file = gr_bytes_name(module->filetab, off);
	*line = number;
	return *file != NULL;
}

struct gr_error *gr_func_find_named(struct gr_runtime *rt, const char *name,
				    struct gr_func *func, bool *found)
{
	const struct gr_module *m = &rt->modules[0];
	struct gr_error *err = NULL;

	*found = false;
	for (uint64_t i = 0; !err && !*found && i + 1 < m->nftab; i++) {
		uint64_t pc = m->text + gr_load_u32(m->ftab + i * 8);

		*found = gr_func_find(rt, pc, func) &&
			 !strcmp(func->name, name);
		err = gr_runtime_step(rt, 1);
	}
	return err;
}
