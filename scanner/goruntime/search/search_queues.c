// SPDX-License-Identifier: Apache-2.0
/*
 * This file finds queued finalizers and cleanups: runtime.allfin and
 * runtime.gcCleanups. They are lists of blocks outside the heap, and the
 * blocks have functions in them. A list with only empty blocks looks like any
 * other memory. It is not found, and the scan does not need it.
 * Source: runtime/mfinal.go, runtime/mcleanup.go.
 */
#include "goruntime/search/search_internal.h"

#include "goruntime/layout/pclntab.h"

#include <string.h>

enum { MAX_BLOCKS = 1 << 20 };

/* Is there a funcval at @p addr? A funcval begins with a function's entry. */
static struct gr_error *check_funcval(struct gr_search *s, uint64_t addr,
				      bool *ret)
{
	struct gr_func func;
	uint64_t entry;
	struct gr_error *err;

	*ret = false;
	if (!addr || addr % GR_WORD_BYTES)
		return NULL;
	err = gr_image_read_u64(s->rt->image, addr, &entry);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	*ret = !err && gr_func_find(s->rt, entry, &func) && func.entry == entry;
	return err;
}

/* The layout of the blocks of a queue. */
struct queue {
	uint64_t block_bytes;
	struct gr_field link, count, entries;
	uint64_t entry_bytes;
	struct gr_error *(*check_entry)(struct gr_search *s,
					const uint8_t *entry, bool *ret);
	struct gr_search_lists lists;
};

static bool is_type_or_none(struct gr_search *s, uint64_t addr)
{
	for (size_t i = 0; addr && i < s->rt->nmodules; i++)
		if (addr >= s->rt->modules[i].types &&
		    addr < s->rt->modules[i].etypes)
			return true;
	return !addr;
}

/* An entry has a function, its argument, the argument's type and the object's.
 * A cleanup (Go 1.24 queues them here) has the function alone
 * (runtime/mheap.go: freeSpecial). */
static struct gr_error *check_finalizer(struct gr_search *s,
					const uint8_t *entry, bool *ret)
{
	const typeof(s->rt->layout.finalizer) *f = &s->rt->layout.finalizer;
	uint64_t fint = gr_field_word(entry, f->fint);
	uint64_t ot = gr_field_word(entry, f->ot);

	*ret = !fint == !ot && is_type_or_none(s, fint) &&
	       is_type_or_none(s, ot) && !fint == !gr_field_word(entry, f->arg);
	return *ret ? check_funcval(s, gr_field_word(entry, f->fn), ret) : NULL;
}

/* An entry has a function, or a function that calls it, the function and its
 * argument. */
static struct gr_error *check_cleanup(struct gr_search *s, const uint8_t *entry,
				      bool *ret)
{
	const typeof(s->rt->layout.cleanup_fn) *f = &s->rt->layout.cleanup_fn;
	struct gr_error *err;

	if (!f->size_bytes)
		return check_funcval(s, gr_load_u64(entry), ret);
	err = check_funcval(s, gr_field_word(entry, f->call), ret);
	return *ret ? check_funcval(s, gr_field_word(entry, f->fn), ret) : err;
}

/* Blocks are from the system, never from the heap or the program's file. */
static bool is_from_system(struct gr_search *s, uint64_t addr)
{
	for (size_t i = 0; i < s->elf->phnum; i++) {
		Elf64_Phdr segment = gr_elf_program_header(s->elf, i);

		if (segment.p_type == PT_LOAD &&
		    addr - segment.p_vaddr - s->bias < segment.p_memsz)
			return false;
	}
	return !gr_search_is_heap(s, addr);
}

/* Is there a block at *@p addr? If so, count its entries and go to the next. */
static struct gr_error *step_block(struct gr_search *s, const struct queue *q,
				   uint64_t *addr, uint64_t *entries, bool *ret)
{
	uint8_t block[GR_SEARCH_MAX_RECORD];
	struct gr_error *err;

	*ret = false;
	if (!gr_search_may_point(*addr))
		return NULL;
	// For most memory, the head is enough to see that it is not a block.
	err = gr_image_read(s->rt->image, *addr, block, q->entries.off);
	if (err)
		return err;
	uint64_t count = gr_field_uint(block, q->count) & UINT32_MAX;
	uint64_t next = gr_field_word(block, q->link);
	if (count > q->entries.bytes / q->entry_bytes || next % GR_WORD_BYTES)
		return NULL;
	*ret = is_from_system(s, *addr);
	if (*ret && count)
		err = gr_image_read(s->rt->image, *addr, block, q->block_bytes);
	// Bounded by the entries of one block.
	for (uint64_t i = 0; !err && *ret && i < count; i++) {
		const uint8_t *entry =
			block + q->entries.off + i * q->entry_bytes;

		// The runtime clears an entry that has run before it frees the
		// block.
		if (!gr_load_u64(entry))
			continue;
		err = q->check_entry(s, entry, ret);
		(*entries)++;
	}
	*addr = next;
	return err;
}

static struct gr_error *visit(struct gr_search *s, void *ctx, uint64_t addr,
			      const uint8_t *at, uint64_t avail)
{
	struct queue *q = ctx;
	struct gr_search_list list = { .addr = addr, .first = gr_load_u64(at) };
	uint64_t next = list.first, entries = 0;

	(void)avail;
	for (; next && list.len < MAX_BLOCKS; list.len++) {
		bool is_block;
		struct gr_error *err = list.len ? gr_search_pay(s) : NULL;
		if (!err)
			err = step_block(s, q, &next, &entries, &is_block);
		if (err || !is_block)
			return err;
	}
	if (next || !entries)
		return NULL;
	return gr_search_lists_append(&q->lists, list) ? NULL : &gr_enomem;
}

/* Store the addresses of all words that are equal to that of @p best: a search
 * cannot tell them apart. Those that are too many are left out. */
static void store_equal(const struct gr_search_lists *lists,
			const struct gr_search_list *best, uint64_t **ret,
			size_t nret)
{
	size_t n = 0;

	for (size_t i = 0; i < lists->size && n < nret; i++)
		if (lists->data[i].first == best->first)
			*ret[n++] = lists->data[i].addr;
}

/* Find the queue's first word, and words that are equal to it now. The @p nret
 * places of @p ret stay as they are if nothing is queued. */
static struct gr_error *find_queue(struct gr_search *s, struct queue *q,
				   const char *what, uint64_t **ret,
				   size_t nret)
{
	const struct gr_search_list *best = NULL;
	struct gr_error *err = NULL;

	if (q->block_bytes && q->block_bytes <= GR_SEARCH_MAX_RECORD &&
	    q->entry_bytes && q->entries.off < q->block_bytes &&
	    q->link.off + q->link.bytes <= q->entries.off &&
	    q->count.off + q->count.bytes <= q->entries.off)
		err = gr_search_words(s, GR_SEARCH_ALL, visit, q);
	if (!err && q->lists.size)
		err = gr_search_choose_list(s, &q->lists, q->link.off, &best);
	if (!err && q->lists.size && !best)
		err = gr_search_failed(what, q->lists.size);
	if (best)
		store_equal(&q->lists, best, ret, nret);
	gr_search_lists_deinit(&q->lists);
	return err;
}

struct gr_error *gr_search_find_queues(struct gr_search *s)
{
	struct gr_layout *l = &s->rt->layout;
	struct queue finalizers = {
		.block_bytes = l->finblock.size_bytes,
		.link = l->finblock.alllink,
		.count = l->finblock.cnt,
		.entries = l->finblock.fin,
		.entry_bytes = l->finalizer.size_bytes,
		.check_entry = check_finalizer,
	};
	struct queue cleanups = {
		.block_bytes = l->cleanup_block.size_bytes,
		.link = l->cleanup_block.alllink,
		.count = l->cleanup_block.n,
		.entries = l->cleanup_block.cleanups,
		.entry_bytes = l->cleanup_fn.size_bytes ?
				       l->cleanup_fn.size_bytes :
				       GR_WORD_BYTES,
		.check_entry = check_cleanup,
	};
	struct gr_error *err = NULL;
	// finq and finc point into the list of allfin, often to its first block.
	uint64_t *allfin[] = { &l->vars.allfin, &l->vars.finq, &l->vars.finc };
	uint64_t head = 0, *all[] = { &head };

	if (!l->vars.allfin)
		err = find_queue(s, &finalizers,
				 "the queue of finalizers (runtime.allfin)",
				 allfin, GR_ARRAY_SIZE(allfin));
	if (err || l->vars.gc_cleanups || !l->cleanup_queue.size_bytes)
		return err;
	err = find_queue(s, &cleanups,
			 "the queue of cleanups (runtime.gcCleanups)", all,
			 GR_ARRAY_SIZE(all));
	if (!err && head)
		l->vars.gc_cleanups = head - l->cleanup_queue.all.off;
	return err;
}
