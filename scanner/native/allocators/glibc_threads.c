// SPDX-License-Identifier: Apache-2.0
/*
 * Threads by their memory, with those that the process no longer has. A child of
 * fork() has one thread, and a copy of all memory: the stacks of the other
 * threads stay, with what glibc keeps of each thread at their ends (nptl: struct
 * pthread, to which fs_base points). It begins with two pointers to itself.
 */
#include "native/allocators/glibc.h"

#include "inferior/elf.h"

#include <elf.h>

enum {
	TCB_ALIGN = 64,
	TCB_SELF = 16,
	MAX_THREADS = 1 << 20,
};

/* Is there a thread at @p addr? The words that say so are recorded. */
static bool is_thread(struct gr_view *view, uint64_t addr)
{
	return gr_view_has(view, addr + TCB_SELF, addr) &&
	       gr_view_has(view, addr, addr);
}

/* Search [start, end), which has no memory of arenas. */
static struct gr_error *search(struct gr_glibc *g, uint64_t start, uint64_t end,
			       struct gr_addr_vector *ret)
{
	struct gr_view *view = &g->r->view;
	struct gr_error *err = NULL;
	struct gr_range piece;

	for (; !err && start < end && gr_view_part(view, start, end, &piece);
	     start = piece.end) {
		const uint64_t bytes = piece.end - piece.start;

		// The address behind the last word is 0; an offset does not wrap.
		for (uint64_t off = -piece.start % TCB_ALIGN;
		     !err && off < bytes && ret->size < MAX_THREADS;
		     off += TCB_ALIGN) {
			const uint64_t at = piece.start + off;

			if (gr_load_u64(piece.host + off) != at || !at ||
			    !is_thread(view, at))
				continue;
			err = gr_runtime_append(view->rt, gr_addr_vector, ret,
						at);
			if (!err)
				err = gr_runtime_step(view->rt, 64);
		}
		if (!err)
			err = gr_runtime_step(view->rt, bytes / TCB_ALIGN + 1);
	}
	return err;
}

/* Search a mapping between the regions of arenas, which are sorted. */
static struct gr_error *search_mapping(struct gr_glibc *g,
				       const struct gr_mapping *m,
				       struct gr_addr_vector *ret)
{
	const struct gr_glibc_region_vector *list = &g->regions;
	size_t n =
		gr_count_before(list->size, i, list->data[i].end <= m->start);
	uint64_t at = m->start;
	struct gr_error *err = NULL;

	for (; !err && n < list->size && list->data[n].start < m->end; n++) {
		if (at < list->data[n].start)
			err = search(g, at, list->data[n].start, ret);
		at = list->data[n].end;
	}
	return !err && at < m->end ? search(g, at, m->end, ret) : err;
}

struct gr_error *gr_glibc_find_threads(struct gr_glibc *g,
				       struct gr_addr_vector *ret)
{
	const struct gr_native_spec *spec = g->r->spec;
	const struct gr_mapping_vector *list = &spec->residency->mappings.list;
	struct gr_error *err = NULL;
	uint64_t end = 0;

	for (size_t i = 0; !err && i < list->size; i++) {
		struct gr_mapping m = list->data[i];

		if (gr_mapping_is_anonymous(&m) && (m.flags & PF_W) &&
		    gr_mapping_begin_at(&m, &end) &&
		    !gr_reader_meets_go(g->r, m.start, m.end))
			err = search_mapping(g, &m, ret);
		if (!err)
			err = gr_runtime_step(spec->rt, 1);
	}
	return err;
}
