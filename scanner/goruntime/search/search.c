// SPDX-License-Identifier: Apache-2.0
/*
 * This file runs the search. It finds candidate moduledatas, then tries every
 * known layout with each of them. Exactly one layout must fit, unless the one
 * that was found before still fits. Then it finds the variables.
 */
#include "goruntime/search/search.h"
#include "goruntime/search/search_internal.h"

#include "base/cleanup.h"
#include "goruntime/layout/known_layouts.h"
#include "goruntime/layout/names.h"
#include "goruntime/layout/symbols.h"

#include <stdio.h>
#include <string.h>

enum {
	CHUNK_BYTES = 1 << 16,
	PAGE_BYTES = 4096,
	MAX_MODULES = 64,
	/* How often something is searched in a program that runs: what a try
	 * compares is of different moments. */
	TRIES = 16,
};
/* The bytes that are searched of one range of data. The linker puts small
 * variables first; the rest are large arrays of the program. */
#define MAX_RANGE_BYTES (UINT64_C(1) << 28)
#define BUDGET (UINT64_C(1) << 23)

static void search_deinit(struct gr_search *s)
{
	gr_search_forget_modules(s->rt);
	gr_addr_vector_deinit(&s->moduledatas);
}

struct gr_error *gr_search_failed(const char *what, size_t found)
{
	return gr_error_format(GR_ERROR_LAYOUT, "%s %s",
			       found ? "more than one place could be" :
				       "nothing in the program's data is",
			       what);
}

struct gr_error *gr_search_pay(struct gr_search *s)
{
	if (!s->budget)
		return gr_error_format(GR_ERROR_LAYOUT,
				       "gave up: a runtime list is too long or "
				       "cyclic");
	s->budget--;
	return gr_runtime_step(s->rt, 1);
}

/* Visit the words of [addr, addr + bytes); `avail` bytes are in `at`. */
static struct gr_error *visit_chunk(struct gr_search *s, gr_search_visit *visit,
				    void *ctx, uint64_t addr, const uint8_t *at,
				    uint64_t bytes, uint64_t avail)
{
	struct gr_error *err = NULL;

	for (uint64_t off = 0; !err && off + GR_WORD_BYTES <= bytes;
	     off += GR_WORD_BYTES) {
		if (!gr_load_u64(at + off))
			continue;
		err = gr_runtime_step(s->rt, 1);
		if (err)
			return err;
		err = visit(s, ctx, addr + off, at + off, avail - off);
		gr_error_catch(&err, GR_ERROR_FAULT);
	}
	return err;
}

static struct gr_error *visit_range(struct gr_search *s, gr_search_visit *visit,
				    void *ctx, uint64_t start, uint64_t end)
{
	struct gr_image *image = s->rt->image;
	uint8_t chunk[CHUNK_BYTES + GR_SEARCH_LOOK_AHEAD];
	struct gr_error *err = NULL;
	uint64_t step = CHUNK_BYTES;

	for (uint64_t addr = start; !err && addr < end; addr += step) {
		uint64_t left = end - addr;
		uint64_t avail = left < sizeof(chunk) ? left : sizeof(chunk);

		step = CHUNK_BYTES;
		err = gr_image_read(image, addr, chunk, avail);
		if (gr_error_catch(&err, GR_ERROR_FAULT)) {
			// A part is unreadable: continue page by page.
			step = PAGE_BYTES - addr % PAGE_BYTES;
			avail = left < step ? left : step;
			err = gr_runtime_step(s->rt, GR_POLL_STEPS / 64);
			if (!err)
				err = gr_image_read(image, addr, chunk, avail);
			if (gr_error_catch(&err, GR_ERROR_FAULT))
				continue;
		}
		if (!err)
			err = gr_runtime_step(s->rt, GR_POLL_STEPS);
		if (!err)
			err = visit_chunk(s, visit, ctx, addr, chunk,
					  avail < step ? avail : step, avail);
	}
	return err;
}

struct gr_error *gr_search_words(struct gr_search *s,
				 enum gr_search_where where,
				 gr_search_visit *visit, void *ctx)
{
	// A program has one module, and each plugin has another one.
	for (size_t i = 0; i < s->rt->nmodules && i < MAX_MODULES; i++) {
		const struct gr_module *m = &s->rt->modules[i];
		const uint64_t ranges[][2] = {
			{ m->data, m->edata },
			{ m->bss, m->ebss },
			{ m->noptrdata, m->enoptrdata },
			{ m->noptrbss, m->enoptrbss },
		};
		size_t count = where == GR_SEARCH_POINTERS ? 2 : 4;

		for (size_t j = 0; j < count; j++) {
			uint64_t start = (ranges[j][0] + 7) & ~UINT64_C(7);
			uint64_t end = ranges[j][1];
			if (end > start + MAX_RANGE_BYTES)
				end = start + MAX_RANGE_BYTES;
			struct gr_error *err =
				visit_range(s, visit, ctx, start, end);
			if (err)
				return err;
		}
	}
	return NULL;
}

bool gr_search_is_data(const struct gr_search *s, uint64_t addr)
{
	for (size_t i = 0; i < s->rt->nmodules && i < MAX_MODULES; i++) {
		const struct gr_module *m = &s->rt->modules[i];

		if (addr % GR_WORD_BYTES == 0 &&
		    ((addr >= m->data && addr < m->edata) ||
		     (addr >= m->bss && addr < m->ebss) ||
		     (addr >= m->noptrdata && addr < m->enoptrdata) ||
		     (addr >= m->noptrbss && addr < m->enoptrbss)))
			return true;
	}
	return false;
}

/* Follow @p links links of a list. */
static struct gr_error *walk_list(struct gr_search *s, uint64_t addr,
				  uint32_t link, uint64_t links, uint64_t *ret)
{
	struct gr_error *err = NULL;

	for (; !err && links; links--) {
		err = gr_search_pay(s);
		if (!err)
			err = gr_image_read_u64(s->rt->image, addr + link,
						&addr);
	}
	*ret = addr;
	return err;
}

struct gr_error *gr_search_choose_list(struct gr_search *s,
				       const struct gr_search_lists *lists,
				       uint32_t link,
				       const struct gr_search_list **ret)
{
	const struct gr_search_list *best = NULL;

	*ret = NULL;
	for (size_t i = 0; i < lists->size; i++)
		if (!best || lists->data[i].len > best->len)
			best = &lists->data[i];
	for (size_t i = 0; i < lists->size; i++) {
		uint64_t at;
		struct gr_error *err = walk_list(s, best->first, link,
						 best->len - lists->data[i].len,
						 &at);
		if (err)
			return err;
		if (at != lists->data[i].first)
			return NULL;
	}
	*ret = best;
	return NULL;
}

/* Read the addresses of the runtime's variables from the symbol table. */
static struct gr_error *read_symbols(struct gr_search *s)
{
	struct gr_layout_variable row;
	struct gr_elf_symbols at = { .off = 0 };
	struct gr_elf_symbol symbol;

	gr_layout_init(&s->symbols);
	while (gr_elf_next_symbol(s->elf, &at, &symbol)) {
		size_t len = strlen(symbol.name);
		struct gr_error *err = gr_runtime_step_name(s->rt, symbol.name);

		if (err)
			return err;
		if (!gr_name_is_runtime_frame(symbol.name))
			continue;
		for (size_t i = 0; gr_layout_variable(&s->symbols, i, &row);
		     i++) {
			const char *found = strstr(row.names, symbol.name);
			if (found && (found == row.names || found[-1] == '|') &&
			    (!found[len] || found[len] == '|'))
				*row.addr = symbol.addr + s->bias;
		}
	}
	return NULL;
}

bool gr_search_is_misfit(const struct gr_error *err)
{
	return err &&
	       (err->code == GR_ERROR_LAYOUT || err->code == GR_ERROR_FAULT ||
		err->code == GR_ERROR_FORMAT);
}

/*
 * Call @p find, and again if what it has read of a program that runs does not fit
 * together: each try reads everything anew. The budget is one for all tries: a
 * list that is too long stays so.
 */
static struct gr_error *settle(struct gr_search *s, unsigned int tries,
			       struct gr_error *(*find)(struct gr_search *))
{
	struct gr_error *err = find(s);

	for (unsigned int i = 1;
	     i < tries && s->budget && gr_search_is_misfit(err); i++) {
		gr_error_destroy(err);
		gr_image_forget(s->rt->image);
		err = find(s);
	}
	return err;
}

/* Make all required checks for one layout and one candidate moduledata. */
static struct gr_error *try_layout(struct gr_search *s,
				   const struct gr_layout *layout,
				   uint64_t moduledata, unsigned int tries)
{
	struct gr_error *err;

	gr_search_forget_modules(s->rt);
	s->rt->layout = *layout;
	s->rt->layout.vars = s->symbols.vars;
	s->stage = 0;
	s->budget = BUDGET;
	err = gr_search_check_module(s, moduledata);
	if (err)
		return err;
	s->stage++;
	err = settle(s, tries, gr_search_find_mheap);
	if (err)
		return err;
	s->stage++;
	err = settle(s, tries, gr_search_find_gs);
	if (!err)
		err = settle(s, tries, gr_search_find_ms);
	if (!err)
		err = settle(s, tries, gr_search_find_ps);
	return err;
}

/* The outcome of the search: the layout that fits, and why others do not. */
struct outcome {
	struct gr_layout layout;
	struct gr_module *modules; /* by that layout */
	size_t nmodules;
	const char *name;
	struct gr_error *reason; /* of the layout with the highest stage */
	unsigned int stage;	 /* the highest stage reached */
};

static void outcome_deinit(struct outcome *o)
{
	free(o->modules);
	gr_error_destroy(o->reason);
}

/* The part of the runtime that try_layout() reads at each stage. */
static const char *const stages[] = { "the program's moduledata",
				      "the heap (runtime.mheap_)",
				      "threads and goroutines" };

/* Was the layout the cause of the error? If so, another layout may fit. */
static bool keep_reason(struct outcome *o, unsigned int stage,
			struct gr_error **err)
{
	if (!gr_search_is_misfit(*err))
		return false;
	if (!o->reason || stage > o->stage) {
		gr_error_destroy(o->reason);
		o->reason = steal_ptr(*err);
		if (o->reason->code == GR_ERROR_FAULT)
			o->reason = gr_error_prefix(o->reason,
						    "%s: ", stages[stage]);
		o->stage = stage;
	} else {
		gr_error_destroy(steal_ptr(*err));
	}
	return true;
}

/* Take what fits out of rt. */
static void keep_fitting(struct gr_search *s, const char *name,
			 struct outcome *o)
{
	o->name = name;
	o->layout = s->rt->layout;
	free(o->modules);
	o->modules = steal_ptr(s->rt->modules);
	o->nmodules = s->rt->nmodules;
	s->rt->nmodules = 0;
}

/* *@p is_out is true if this layout does not even fit the program's file. */
static struct gr_error *try_known(struct gr_search *s, size_t column,
				  unsigned int tries, struct outcome *o,
				  bool *is_out)
{
	struct gr_layout layout;
	struct gr_error *err = gr_known_layout_get(column, &layout);

	*is_out = true;
	for (size_t i = 0; !err && i < s->moduledatas.size; i++) {
		err = try_layout(s, &layout, s->moduledatas.data[i], tries);
		*is_out = *is_out && !s->stage;
		if (keep_reason(o, s->stage, &err) || err)
			continue;
		if (o->name &&
		    (!gr_layout_is_same(&o->layout, &layout) ||
		     o->layout.vars.firstmoduledata != s->moduledatas.data[i]))
			return gr_error_format(
				GR_ERROR_NO_DWARF,
				"there is no debug information, and the "
				"layouts of %s and %s both fit",
				o->name, gr_known_layout_names[column]);
		keep_fitting(s, gr_known_layout_names[column], o);
	}
	return err;
}

static struct gr_error *try_all(struct gr_search *s, unsigned int tries,
				struct outcome *o, bool *is_out)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < gr_nknown_layouts; i++)
		if (!is_out[i])
			err = try_known(s, i, tries, o, &is_out[i]);
	return err;
}

/* Try what is kept first, as one of the known layouts. */
static struct gr_error *try_kept(struct gr_search *s, bool *ret)
{
	struct gr_layout layout;
	struct gr_error *err = NULL;

	*ret = false;
	for (size_t i = 0; !err && s->kept.layout[0] && i < gr_nknown_layouts;
	     i++) {
		if (strcmp(gr_known_layout_names[i], s->kept.layout) != 0)
			continue;
		err = gr_known_layout_get(i, &layout);
		if (!err)
			err = try_layout(s, &layout,
					 s->kept.moduledata + s->bias,
					 s->rt->is_running ? TRIES : 1);
		*ret = !err;
		break;
	}
	// A running program may just have changed: keep the hint for its copy.
	if (gr_search_is_misfit(err) && !(s->rt->is_running && s->stage)) {
		gr_error_destroy(steal_ptr(err));
		memset(&s->kept, 0, sizeof(s->kept));
	}
	return err;
}

/* Try all layouts with all candidates. */
static struct gr_error *search_layout(struct gr_search *s)
{
	_cleanup_(outcome_deinit) struct outcome o = { .name = NULL };
	_cleanup_free_ bool *is_out = calloc(gr_nknown_layouts, 1);
	struct gr_error *err;

	if (!is_out)
		return &gr_enomem;
	err = gr_search_find_moduledatas(s);
	// First each layout once: one that does not fit would use up all tries.
	if (!err)
		err = try_all(s, 1, &o, is_out);
	if (!err && !o.name && o.stage && s->rt->is_running)
		err = try_all(s, TRIES, &o, is_out);
	if (err)
		return err;
	if (!o.name) {
		s->stage = o.stage;
		return gr_error_format(
			GR_ERROR_NO_DWARF,
			"there is no debug information, and no known layout "
			"of the Go runtime fits (%s)",
			o.reason ? o.reason->message : "none is known");
	}
	gr_search_forget_modules(s->rt);
	s->rt->layout = o.layout;
	s->rt->modules = steal_ptr(o.modules);
	s->rt->nmodules = o.nmodules;
	s->stage = GR_ARRAY_SIZE(stages);
	snprintf(s->kept.layout, sizeof(s->kept.layout), "%s", o.name);
	return NULL;
}

static struct gr_error *find_layout(struct gr_search *s)
{
	bool is_found;
	struct gr_error *err = try_kept(s, &is_found);

	return err || is_found ? err : search_layout(s);
}

/* Keep what was found, as addresses of the file. */
static void keep(struct gr_search *s, struct gr_search_kept *ret)
{
	const typeof(s->rt->layout.vars) *vars = &s->rt->layout.vars;

	*ret = s->kept;
	ret->moduledata = vars->firstmoduledata - s->bias;
	ret->mheap = vars->mheap - s->bias;
	ret->write_barrier =
		vars->write_barrier ? vars->write_barrier - s->bias : 0;
}

/* Was the program found, but not its heap or scheduler, which change? */
static void mark_unsettled(const struct gr_search *s, struct gr_error *err)
{
	if (err && s->rt->is_running && s->stage &&
	    (gr_search_is_misfit(err) || err->code == GR_ERROR_NO_DWARF))
		err->code = GR_ERROR_UNSETTLED;
}

struct gr_error *gr_search_layout(struct gr_runtime *rt,
				  const struct gr_elf *elf, uint64_t bias,
				  struct gr_search_kept *kept)
{
	_cleanup_(search_deinit) struct gr_search s = {
		.rt = rt,
		.elf = elf,
		.bias = bias,
		.kept = *kept,
	};
	struct gr_gaps *gaps = rt->gaps, ignored = { 0 };
	unsigned int tries = rt->is_running ? TRIES : 1;
	struct gr_error *err;

	// A layout that does not fit is no damage in the target.
	rt->gaps = &ignored;
	err = read_symbols(&s);
	if (!err)
		err = gr_symbols_read(rt, elf, bias);
	if (!err)
		err = find_layout(&s);
	if (!err)
		err = settle(&s, tries, gr_search_find_queues);
	if (!err) {
		err = settle(&s, tries, gr_search_find_itabs);
		// They are optional, and the last use of the budget.
		gr_error_catch(&err, GR_ERROR_LAYOUT);
	}
	if (!err)
		err = gr_search_find_others(&s);
	if (!err)
		err = gr_search_find_pools(&s);
	if (!err)
		err = gr_search_find_handles(&s);
	rt->gaps = gaps;
	if (!err)
		keep(&s, kept);
	mark_unsettled(&s, err);
	return err;
}
