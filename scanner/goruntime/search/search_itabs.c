// SPDX-License-Identifier: Apache-2.0
/*
 * This file finds runtime.itabTable, a pointer to a hash table. The table is
 * at most three quarters full and has the count of its itabs. Source:
 * runtime/iface.go.
 */
#include "goruntime/search/search_internal.h"

#include "goruntime/types/itabs.h"

enum { ADDRS_A_READ = 512 }; /* itabInitSize: no table is smaller */

struct found {
	uint64_t addr;
	size_t count;
};

/* An itab begins with the type of the interface, always a compiled type. */
static struct gr_error *check_itab(struct gr_search *s, uint64_t addr,
				   bool *ret)
{
	const struct gr_module *m = s->rt->modules;
	uint64_t type;
	struct gr_error *err = gr_search_pay(s);

	*ret = false;
	if (err || !gr_search_may_point(addr))
		return err;
	err = gr_image_read_u64(s->rt->image, addr, &type);
	for (size_t i = 0; !err && !*ret && i < s->rt->nmodules; i++)
		*ret = type >= m[i].types && type < m[i].etypes;
	return err;
}

/* Check all entries. The table may have more entries than its count, because
 * an entry is stored before it is counted. Empty entries are also paid for. */
static struct gr_error *check_entries(struct gr_search *s, uint64_t entries,
				      uint64_t size, uint64_t count, bool *ret)
{
	uint64_t addrs[ADDRS_A_READ], seen = 0;
	struct gr_error *err = NULL;

	*ret = true;
	for (uint64_t i = 0; !err && *ret && i < size; i += ADDRS_A_READ) {
		err = gr_search_pay(s);
		if (!err)
			err = gr_image_read(s->rt->image,
					    entries + i * GR_WORD_BYTES, addrs,
					    sizeof(addrs));
		for (size_t j = 0; !err && *ret && j < ADDRS_A_READ; j++) {
			if (!addrs[j])
				continue;
			err = check_itab(s, addrs[j], ret);
			seen++;
		}
	}
	*ret = *ret && seen >= count;
	return err;
}

static struct gr_error *visit(struct gr_search *s, void *ctx, uint64_t addr,
			      const uint8_t *at, uint64_t avail)
{
	const typeof(s->rt->layout.itab_table) *f = &s->rt->layout.itab_table;
	uint64_t table = gr_load_u64(at), size, count;
	uint8_t head[GR_SEARCH_LOOK_AHEAD];
	struct found *found = ctx;
	struct gr_error *err;
	bool is_it;

	(void)avail;
	if (!gr_search_may_point(table))
		return NULL;
	err = gr_image_read(s->rt->image, table, head, f->entries.off);
	if (err)
		return err;
	size = gr_field_uint(head, f->size);
	count = gr_field_uint(head, f->count);
	if (size < ADDRS_A_READ || size > GR_ITABS_MAX || size & (size - 1) ||
	    !count || count > size / 4 * 3 + 1)
		return NULL;
	err = check_entries(s, table + f->entries.off, size, count, &is_it);
	if (err || !is_it)
		return err;
	found->addr = addr;
	found->count++;
	return NULL;
}

struct gr_error *gr_search_find_itabs(struct gr_search *s)
{
	const typeof(s->rt->layout.itab_table) *f = &s->rt->layout.itab_table;
	uint64_t *var = &s->rt->layout.vars.itab_table;
	struct found found = { 0 };
	struct gr_error *err;

	if (*var || !f->size_bytes || f->entries.off > GR_SEARCH_LOOK_AHEAD ||
	    f->size.off + f->size.bytes > f->entries.off ||
	    f->count.off + f->count.bytes > f->entries.off)
		return NULL;
	err = gr_search_words(s, GR_SEARCH_POINTERS, visit, &found);
	if (err)
		return err;
	if (found.count != 1)
		return gr_search_failed("runtime.itabTable", found.count);
	*var = found.addr;
	return NULL;
}
