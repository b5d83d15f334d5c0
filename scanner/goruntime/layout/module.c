// SPDX-License-Identifier: Apache-2.0
/* This file reads the list of moduledatas (runtime/symtab.go), their ranges
 * and tables. */
#include "goruntime/layout/runtime.h"

#include "base/cleanup.h"

#include <inttypes.h>

enum {
	MAX_MODULES = 1024,
	MAX_TABLE_BYTES = 1 << 30,
};

struct gr_error *gr_runtime_read_slice(struct gr_runtime *rt, uint64_t addr,
				       uint64_t max_len,
				       struct gr_go_slice *ret)
{
	struct gr_error *err;
	uint64_t header[3];

	err = gr_image_read(rt->image, addr, header, sizeof(header));
	if (err)
		return err;
	ret->addr = header[0];
	ret->len = header[1];
	ret->cap = header[2];
	if (ret->len > max_len || ret->cap < ret->len)
		return gr_error_format(GR_ERROR_FORMAT,
				       "slice at 0x%" PRIx64
				       " has absurd length %" PRIu64,
				       addr, ret->len);
	return NULL;
}

const struct gr_module *gr_runtime_module_at(const struct gr_runtime *rt,
					     uint64_t pc)
{
	for (size_t i = 0; i < rt->nmodules; i++)
		if (pc >= rt->modules[i].minpc && pc < rt->modules[i].maxpc)
			return &rt->modules[i];
	return NULL;
}

/* Map the bytes of a slice field of a moduledata record. */
static struct gr_error *map_table(struct gr_runtime *rt, const uint8_t *record,
				  struct gr_field field, uint64_t elem_bytes,
				  struct gr_bytes *ret)
{
	uint64_t addr = gr_load_u64(record + field.off);
	uint64_t len = gr_load_u64(record + field.off + 8);

	if (field.bytes < 16 || len > MAX_TABLE_BYTES / elem_bytes)
		return gr_error_format(GR_ERROR_FORMAT,
				       "moduledata has a table of absurd "
				       "length %" PRIu64,
				       len);
	ret->size = len * elem_bytes;
	if (!ret->size) {
		ret->data = NULL;
		return NULL;
	}
	return gr_image_map(rt->image, addr, ret->size, &ret->data);
}

static struct gr_error *map_tables(struct gr_runtime *rt, const uint8_t *record,
				   struct gr_module *module)
{
	const typeof(rt->layout.moduledata) *md = &rt->layout.moduledata;
	struct gr_error *err;
	struct gr_bytes ftab;
	uint64_t quantum;

	err = map_table(rt, record, md->funcnametab, 1, &module->funcnametab);
	if (!err)
		err = map_table(rt, record, md->cutab, 4, &module->cutab);
	if (!err)
		err = map_table(rt, record, md->filetab, 1, &module->filetab);
	if (!err)
		err = map_table(rt, record, md->pctab, 1, &module->pctab);
	if (!err)
		err = map_table(rt, record, md->pclntable, 1,
				&module->pclntable);
	if (!err)
		err = map_table(rt, record, md->ftab, 8, &ftab);
	if (!err)
		err = gr_image_read_uint(
			rt->image, gr_field_word(record, md->pc_header) + 6, 1,
			&quantum);
	if (err)
		return gr_error_prefix(err, "the function tables (pclntab): ");
	module->ftab = ftab.data;
	module->nftab = ftab.size / 8;
	module->pc_quantum = quantum;
	return NULL;
}

/* Map the pointer mask of data or bss, with one bit per word of [start, end).
 * A mask of another size (runtime.progToPointerMask) means that the range is
 * wrong. */
static struct gr_error *map_mask(struct gr_runtime *rt, const uint8_t *record,
				 struct gr_field field, uint64_t start,
				 uint64_t end, const uint8_t **ret,
				 uint64_t *ret_bits)
{
	const uint8_t *vector = record + field.off;
	uint64_t nbit = gr_field_uint(vector, rt->layout.bitvector.n);
	uint64_t addr = gr_field_word(vector, rt->layout.bitvector.bytedata);
	uint64_t words = start <= end ? (end - start) / GR_WORD_BYTES : 0;

	*ret = NULL;
	*ret_bits = nbit < words ? nbit : words;
	if (nbit != words)
		gr_gap_broken_list(rt->gaps, "the pointer mask of data or bss");
	if (!*ret_bits)
		return NULL;
	struct gr_error *err =
		gr_image_map(rt->image, addr, (*ret_bits + 7) / 8, ret);
	if (gr_error_catch(&err, GR_ERROR_FAULT)) {
		gr_gap_add(rt->gaps, GR_GAP_UNREADABLE_PAGES, 1);
		*ret_bits = 0;
	}
	return err;
}

static void read_ranges(const struct gr_layout *layout, const uint8_t *record,
			struct gr_module *module)
{
	const typeof(layout->moduledata) *md = &layout->moduledata;

	module->minpc = gr_field_uint(record, md->minpc);
	module->maxpc = gr_field_uint(record, md->maxpc);
	module->text = gr_field_uint(record, md->text);
	module->etext = gr_field_uint(record, md->etext);
	module->types = gr_field_uint(record, md->types);
	module->etypes = gr_field_uint(record, md->etypes);
	module->rodata = gr_field_uint(record, md->rodata);
	module->gofunc = gr_field_uint(record, md->gofunc);
	module->data = gr_field_uint(record, md->data);
	module->edata = gr_field_uint(record, md->edata);
	module->bss = gr_field_uint(record, md->bss);
	module->ebss = gr_field_uint(record, md->ebss);
	module->noptrdata = gr_field_uint(record, md->noptrdata);
	module->enoptrdata = gr_field_uint(record, md->enoptrdata);
	module->noptrbss = gr_field_uint(record, md->noptrbss);
	module->enoptrbss = gr_field_uint(record, md->enoptrbss);
}

/* Plan the memory of a module that later phases need, in case it is copied. */
static struct gr_error *plan_module(struct gr_runtime *rt,
				    const struct gr_module *module)
{
	const uint64_t ranges[][2] = {
		{ module->types, module->etypes },
		{ module->data, module->edata },
		{ module->bss, module->ebss },
		{ module->noptrdata, module->enoptrdata },
	};
	struct gr_error *err;

	for (size_t i = 0; i < GR_ARRAY_SIZE(ranges); i++) {
		if (ranges[i][1] <= ranges[i][0] ||
		    ranges[i][1] - ranges[i][0] > MAX_TABLE_BYTES)
			continue;
		err = gr_image_plan(rt->image, ranges[i][0], ranges[i][1]);
		if (err)
			return err;
	}
	return NULL;
}

static struct gr_error *read_module(struct gr_runtime *rt, uint64_t addr,
				    struct gr_module *module,
				    uint64_t *ret_next)
{
	const struct gr_layout *layout = &rt->layout;
	struct gr_error *err;
	_cleanup_free_ uint8_t *record = malloc(layout->moduledata.size_bytes);

	if (!record)
		return &gr_enomem;
	err = gr_image_read(rt->image, addr, record,
			    layout->moduledata.size_bytes);
	if (err)
		return gr_error_prefix(err, "the program's moduledata: ");
	memset(module, 0, sizeof(*module));
	module->addr = addr;
	read_ranges(layout, record, module);
	err = map_tables(rt, record, module);
	if (!err)
		err = map_mask(rt, record, layout->moduledata.gcdatamask,
			       module->data, module->edata, &module->data_mask,
			       &module->data_mask_bits);
	if (!err)
		err = map_mask(rt, record, layout->moduledata.gcbssmask,
			       module->bss, module->ebss, &module->bss_mask,
			       &module->bss_mask_bits);
	if (err)
		return err;
	*ret_next = gr_field_word(record, layout->moduledata.next);
	return plan_module(rt, module);
}

/* Is the module known? A list that returns to a known module is a loop. */
static bool is_known(const struct gr_runtime *rt, uint64_t addr)
{
	for (size_t i = 0; i < rt->nmodules; i++)
		if (rt->modules[i].addr == addr)
			return true;
	return false;
}

struct gr_error *gr_modules_read(struct gr_runtime *rt)
{
	struct gr_error *err;
	uint64_t addr = rt->layout.vars.firstmoduledata;

	// Bounded by MAX_MODULES.
	while (addr) {
		if (rt->nmodules == MAX_MODULES || is_known(rt, addr)) {
			gr_gap_broken_list(rt->gaps, "runtime.firstmoduledata");
			return NULL;
		}
		struct gr_module *grown = realloc(
			rt->modules, (rt->nmodules + 1) * sizeof(*grown));
		if (!grown)
			return &gr_enomem;
		rt->modules = grown;
		struct gr_module *module = &rt->modules[rt->nmodules];
		err = gr_runtime_step(rt, 1);
		if (!err)
			err = read_module(rt, addr, module, &addr);
		if (err && rt->nmodules &&
		    (gr_error_catch(&err, GR_ERROR_FAULT) ||
		     gr_error_catch(&err, GR_ERROR_FORMAT))) {
			gr_gap_broken_list(rt->gaps, "runtime.firstmoduledata");
			return NULL;
		}
		if (err)
			return err;
		rt->nmodules++;
	}
	return NULL;
}
