// SPDX-License-Identifier: Apache-2.0
#include "goruntime/types/itabs.h"

enum { ADDRS_A_READ = 512 };

/* Plan the part of an itab that is read: the types of interface and value. */
static struct gr_error *plan_itab(struct gr_runtime *rt, uint64_t addr)
{
	uint64_t bytes = rt->layout.itab.type.off + GR_WORD_BYTES;

	if (!addr || addr > UINT64_MAX - bytes)
		return NULL;
	return gr_image_plan(rt->image, addr, addr + bytes);
}

static struct gr_error *plan_entries(struct gr_runtime *rt, uint64_t entries,
				     uint64_t size)
{
	uint64_t addrs[ADDRS_A_READ];
	struct gr_error *err = NULL;

	for (uint64_t i = 0, n; !err && i < size; i += n) {
		n = size - i < ADDRS_A_READ ? size - i : ADDRS_A_READ;
		err = gr_runtime_step(rt, n);
		if (err)
			return err;
		err = gr_image_read(rt->image, entries + i * GR_WORD_BYTES,
				    addrs, n * GR_WORD_BYTES);
		for (uint64_t j = 0; !err && j < n; j++)
			err = plan_itab(rt, addrs[j]);
	}
	return err;
}

struct gr_error *gr_itabs_plan(struct gr_runtime *rt)
{
	const typeof(rt->layout.itab_table) *f = &rt->layout.itab_table;
	uint64_t var = rt->layout.vars.itab_table, table, size = 0;
	struct gr_error *err;

	if (!var || !f->size_bytes)
		return NULL;
	err = gr_image_read_u64(rt->image, var, &table);
	if (!err)
		err = gr_image_read_u64(rt->image, table + f->size.off, &size);
	if (!err && size <= GR_ITABS_MAX)
		err = plan_entries(rt, table + f->entries.off, size);
	// An interface with a missing itab later counts as an unknown type.
	gr_error_catch(&err, GR_ERROR_FAULT);
	return err;
}
