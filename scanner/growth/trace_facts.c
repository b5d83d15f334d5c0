// SPDX-License-Identifier: Apache-2.0
#include "growth/trace_facts.h"

#include "base/cleanup.h"
#include "goruntime/layout/names.h"
#include "goruntime/layout/pclntab.h"
#include "goruntime/sched/buckets.h"
#include "growth/probe_point.h"
#include "inferior/elf.h"
#include "growth/tls_g.h"
#include "scan/enter.h"
#include "scan/stop.h"

enum {
	MAX_TABLE_BYTES = 1 << 30,
	MAX_PROBED_BYTES = 1 << 14, /* of a function's code */
};

void gr_trace_facts_deinit(struct gr_trace_facts *facts)
{
	free(facts->modules);
	*facts = (struct gr_trace_facts){ 0 };
}

static void fill_offsets(const struct gr_layout *layout,
			 struct gr_trace_facts *facts)
{
	const typeof(layout->g) *g = &layout->g;
	const struct {
		const char *name;
		struct gr_field field;
	} rows[GR_TRACE_NOFFSETS] = {
		{ "g_m", g->m },
		{ "g_stack_lo", g->stack_lo },
		{ "g_stack_hi", g->stack_hi },
		{ "g_sched_sp", g->sched_sp },
		{ "g_sched_pc", g->sched_pc },
		{ "g_sched_bp", g->sched_bp },
		{ "g_goid", g->goid },
		{ "g_labels", g->labels },
		{ "m_g0", layout->m.g0 },
		{ "m_curg", layout->m.curg },
	};

	for (size_t i = 0; i < GR_TRACE_NOFFSETS; i++)
		if (gr_field_is_present(rows[i].field))
			facts->offsets[facts->noffsets++] =
				(struct gr_trace_offset){ rows[i].name,
							  rows[i].field.off };
}

/* Read where a table of a module is. */
static struct gr_error *read_table(struct gr_runtime *rt,
				   const struct gr_module *module,
				   struct gr_field field, uint64_t *addr,
				   uint64_t *count)
{
	struct gr_go_slice slice;
	struct gr_error *err = gr_runtime_read_slice(
		rt, module->addr + field.off, MAX_TABLE_BYTES, &slice);

	*addr = err ? 0 : slice.addr;
	*count = err ? 0 : slice.len;
	return err;
}

static struct gr_error *fill_modules(struct gr_runtime *rt,
				     struct gr_trace_facts *facts)
{
	const typeof(rt->layout.moduledata) *md = &rt->layout.moduledata;
	struct gr_error *err = NULL;

	facts->modules = calloc(rt->nmodules + 1, sizeof(*facts->modules));
	if (!facts->modules)
		return &gr_enomem;
	for (size_t i = 0; !err && i < rt->nmodules; i++) {
		const struct gr_module *module = &rt->modules[i];
		struct gr_trace_module *to = &facts->modules[i];

		to->text = to->text_start = module->text;
		to->etext = module->etext;
		err = read_table(rt, module, md->pclntable, &to->pclntable_addr,
				 &to->pclntable_bytes);
		if (!err)
			err = read_table(rt, module, md->pctab, &to->pctab_addr,
					 &to->pctab_bytes);
		if (!err)
			err = read_table(rt, module, md->ftab, &to->ftab_addr,
					 &to->ftab_count);
	}
	facts->nmodules = rt->nmodules;
	return err;
}

/* Which registers have the arguments: those of (pointer, size), or since the
 * runtime's m comes first, of (mp, pointer, size). */
static bool find_registers(const struct gr_func *func,
			   struct gr_trace_probe *probe)
{
	bool has_m = func->args_bytes == 3 * GR_WORD_BYTES;

	if (!has_m && func->args_bytes != 2 * GR_WORD_BYTES)
		return false;
	probe->pointer_register = has_m ? GR_REG_RBX : GR_REG_RAX;
	probe->size_register = has_m ? GR_REG_RCX : GR_REG_RBX;
	return true;
}

static struct gr_error *find_probe(struct gr_runtime *rt,
				   struct gr_trace_facts *facts)
{
	struct gr_trace_probe *probe = &facts->probe;
	_cleanup_free_ uint8_t *code = NULL;
	enum gr_probe_place place;
	struct gr_func func;
	bool found;
	struct gr_error *err = gr_func_find_named(
		rt, gr_name_of(GR_NAME_SAMPLES_MEMORY), &func, &found);

	if (err || !found || rt->arch->machine != EM_X86_64 ||
	    !find_registers(&func, probe))
		return err;
	size_t bytes = func.end - func.entry < MAX_PROBED_BYTES ?
			       func.end - func.entry :
			       MAX_PROBED_BYTES;
	code = malloc(bytes + 1);
	if (!code)
		return &gr_enomem;
	err = gr_image_read(rt->image, func.entry, code, bytes);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	const uint8_t kept[] = { probe->pointer_register,
				 probe->size_register };
	const struct gr_probe_needs needs = { kept, 2, .is_go = true };
	err = gr_probe_point_find(code, bytes, func.entry, &needs, &probe->addr,
				  &place, &facts->has_probe);
	probe->place = gr_probe_place_name(place);
	return err;
}

static struct gr_error *read_profiling(struct gr_runtime *rt,
				       struct gr_trace_facts *facts)
{
	const typeof(rt->layout.vars) *vars = &rt->layout.vars;
	struct gr_memory_sampling sampling;
	struct gr_error *err = NULL;

	facts->profiling = "unknown";
	facts->profile_rate = INT64_MIN;
	if (!vars->mem_profile_rate && !vars->disable_mem_profiling)
		return NULL;
	err = gr_memory_sampling_read(rt, &sampling);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	if (vars->mem_profile_rate)
		facts->profile_rate = sampling.rate;
	if (sampling.is_disabled)
		facts->profiling = "removed";
	else if (vars->mem_profile_rate)
		facts->profiling = sampling.rate ? "on" : "off";
	return NULL;
}

static struct gr_error *answer(struct gr_runtime *rt,
			       struct gr_trace_facts *facts)
{
	struct gr_error *err;

	fill_offsets(&rt->layout, facts);
	facts->sweepgen_addr =
		rt->layout.vars.mheap + rt->layout.mheap.sweepgen.off;
	err = gr_tls_g_find(rt, &facts->tls_g);
	if (!err)
		err = fill_modules(rt, facts);
	if (!err)
		err = find_probe(rt, facts);
	return err ? err : read_profiling(rt, facts);
}

struct gr_error *gr_scan_trace_facts(struct gr_scan *scan,
				     struct gr_trace_facts *ret)
{
	struct gr_sigbus_guard guard;
	struct gr_stop *stop;
	struct gr_error *err = gr_scan_enter_running(scan, &guard, &stop);

	*ret = (struct gr_trace_facts){ .tls_g = INT64_MIN };
	if (!err)
		err = answer(&stop->program->rt, ret);
	return gr_sigbus_guard_end(&guard, err);
}
