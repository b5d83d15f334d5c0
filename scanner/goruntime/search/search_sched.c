// SPDX-License-Identifier: Apache-2.0
/*
 * This file finds the scheduler's lists: runtime.allgs, allm, allp. Each
 * element points to a record that points back to it, or has its own number.
 * Source: runtime/runtime2.go, runtime/proc.go.
 */
#include "goruntime/search/search_internal.h"

#include "goruntime/layout/pclntab.h"

#include <string.h>

enum {
	MAX_LIST = 1 << 28,
	MAX_MS = 1 << 17,
	MAX_PS = 1 << 20,
	MAX_STACK_BYTES = 1 << 30,
	SAMPLES = 1024,	 /* even */
	MAX_PSTATUS = 4, /* _Pdead */
	MAX_GSTATUS = 15,
	/* How often a record of a process that runs is read again if it does
	 * not fit another one, which was read at another moment. */
	REREADS = 8,
};

struct slice {
	uint64_t ptr, len, cap;
};

static bool load_slice(const uint8_t *at, uint64_t avail, uint64_t max_len,
		       struct slice *ret)
{
	if (avail < sizeof(*ret))
		return false;
	memcpy(ret, at, sizeof(*ret));
	return gr_search_may_point(ret->ptr) && ret->len &&
	       ret->len <= ret->cap && ret->cap <= max_len;
}

static bool has_stack(const struct gr_layout *layout, const uint8_t *g)
{
	uint64_t lo = gr_field_uint(g, layout->g.stack_lo);
	uint64_t hi = gr_field_uint(g, layout->g.stack_hi);

	return lo && lo < hi && hi - lo <= MAX_STACK_BYTES &&
	       lo % GR_WORD_BYTES == 0 && hi % GR_WORD_BYTES == 0;
}

static bool is_dead(const struct gr_layout *layout, uint64_t status)
{
	return status == (uint64_t)layout->consts.gidle ||
	       status == (uint64_t)layout->consts.gdead ||
	       (layout->has.gdeadextra &&
		status == (uint64_t)layout->consts.gdeadextra);
}

/* Is there a g at @p addr? *@p is_live: it has a stack, and its goroutine
 * started in a known function. */
static struct gr_error *check_g(struct gr_search *s, uint64_t addr, bool *ret,
				bool *is_live)
{
	const struct gr_layout *layout = &s->rt->layout;
	uint8_t g[GR_SEARCH_MAX_RECORD];
	struct gr_func func;

	*ret = *is_live = false;
	if (!addr || addr % GR_WORD_BYTES || layout->g.size_bytes > sizeof(g))
		return NULL;
	struct gr_error *err =
		gr_image_read(s->rt->image, addr, g, layout->g.size_bytes);
	if (err)
		return err;
	uint64_t status = gr_field_uint(g, layout->g.atomicstatus) &
			  ~(uint64_t)layout->consts.gscan;
	uint64_t start = gr_field_uint(g, layout->g.startpc);
	if (status > MAX_GSTATUS ||
	    gr_field_uint(g, layout->g.m) % GR_WORD_BYTES)
		return NULL;
	*ret = is_dead(layout, status) ||
	       (has_stack(layout, g) && gr_field_uint(g, layout->g.goid));
	*is_live = *ret && !is_dead(layout, status) &&
		   gr_func_find(s->rt, start, &func) && func.entry == start;
	return NULL;
}

/* Which element is sample @p i of @p len elements? The samples are all elements
 * of a short list, and those at both ends of a long one. Returns false after
 * the last one. */
static bool sample(uint64_t len, uint64_t i, uint64_t *ret)
{
	*ret = i < SAMPLES / 2 || len <= SAMPLES ? i : len - SAMPLES + i;
	return i < SAMPLES && *ret < len;
}

/* Check the goroutines. If there are many, check the first and last ones. */
static struct gr_error *check_gs(struct gr_search *s, const struct slice *gs,
				 bool *ret)
{
	uint64_t live = 0, at;

	*ret = false;
	for (uint64_t i = 0; sample(gs->len, i, &at); i++) {
		uint64_t g;
		bool is_g, is_live;
		struct gr_error *err = gr_search_pay(s);
		if (!err)
			err = gr_image_read_u64(s->rt->image, gs->ptr + at * 8,
						&g);
		if (!err)
			err = check_g(s, g, &is_g, &is_live);
		if (err)
			return err;
		// An append stores the length before the last element.
		if (!is_g && (g || at + 1 < gs->len))
			return NULL;
		live += is_live;
	}
	*ret = live > 0;
	return NULL;
}

/* The slice that was found. All other matches must be the beginning of it. */
struct found {
	struct gr_error *(*check)(struct gr_search *s, const struct slice *v,
				  bool *ret);
	uint64_t max_len;
	uint64_t addr;
	struct slice slice;
	size_t count;
};

/*
 * While the collector marks, it keeps the earlier allgs: a part of the same
 * array, or of the smaller one before. The elements of allgs stay in place.
 */
static struct gr_error *is_beginning(struct gr_search *s, const struct slice *a,
				     const struct slice *of, bool *ret)
{
	struct gr_error *err = NULL;
	uint64_t x = 0, y = 0, at;

	*ret = a->ptr == of->ptr;
	// Bounded by the samples of sample().
	for (uint64_t i = 0; !*ret && sample(a->len, i, &at); i++) {
		err = gr_image_read_u64(s->rt->image, a->ptr + at * 8, &x);
		if (!err)
			err = gr_image_read_u64(s->rt->image, of->ptr + at * 8,
						&y);
		if (err || x != y)
			return err;
	}
	*ret = true;
	return NULL;
}

static struct gr_error *visit_slice(struct gr_search *s, void *ctx,
				    uint64_t addr, const uint8_t *at,
				    uint64_t avail)
{
	struct found *found = ctx;
	struct slice slice;
	struct gr_error *err;
	bool is_it, is_longer, is_same;

	// Both lists are arrays that the runtime makes on its heap. The page
	// allocator's ranges of addresses are not: the first address of one
	// may be that of a g.
	if (!load_slice(at, avail, found->max_len, &slice) ||
	    !gr_search_is_array(s, slice.ptr, slice.len))
		return NULL;
	err = found->check(s, &slice, &is_it);
	if (err || !is_it)
		return err;
	is_longer = slice.len > found->slice.len;
	if (found->count) {
		err = is_longer ?
			      is_beginning(s, &found->slice, &slice, &is_same) :
			      is_beginning(s, &slice, &found->slice, &is_same);
		if (err)
			return err;
		found->count += !is_same;
	} else {
		found->count = 1;
	}
	if (is_longer) {
		found->slice = slice;
		found->addr = addr;
	}
	return NULL;
}

/* Find a slice, or check the one that a symbol names. */
static struct gr_error *find_slice(struct gr_search *s, struct found *found,
				   const char *what, uint64_t *var)
{
	struct gr_error *err;
	struct slice slice;

	if (*var) {
		err = gr_image_read(s->rt->image, *var, &slice, sizeof(slice));
		if (!err)
			err = visit_slice(s, found, *var,
					  (const uint8_t *)&slice,
					  sizeof(slice));
	} else {
		err = gr_search_words(s, GR_SEARCH_POINTERS, visit_slice,
				      found);
	}
	if (err)
		return err;
	if (found->count != 1)
		return gr_search_failed(what, found->count);
	*var = found->addr;
	return NULL;
}

/*
 * The stack of a g0 is the thread's. An m that waits for a C thread has none
 * yet. The lower bound of the first thread's stack may make no sense: the C
 * library reads it from /proc/self/maps. If a service has no /proc, the runtime
 * goes on with a small number (runtime/cgo: _cgo_set_stacklo; mstart0).
 */
static bool may_be_g0(const struct gr_layout *layout, const uint8_t *g)
{
	uint64_t lo = gr_field_uint(g, layout->g.stack_lo);
	uint64_t hi = gr_field_uint(g, layout->g.stack_hi);

	return !hi || (lo < hi && hi % GR_WORD_BYTES == 0);
}

/* Does the m at @p addr have a g0 that leads back? Then go to its next. */
static struct gr_error *step_m(struct gr_search *s, uint64_t *addr, bool *ret)
{
	const struct gr_layout *layout = &s->rt->layout;
	struct gr_image *image = s->rt->image;
	uint8_t g[GR_SEARCH_MAX_RECORD];
	uint64_t g0, next;
	struct gr_error *err;

	*ret = false;
	if (!gr_search_may_point(*addr) || layout->g.size_bytes > sizeof(g))
		return NULL;
	err = gr_image_read_u64(image, *addr + layout->m.g0.off, &g0);
	if (err || !gr_search_may_point(g0))
		return err;
	err = gr_image_read(image, g0, g, layout->g.size_bytes);
	if (err || gr_field_uint(g, layout->g.m) != *addr ||
	    !may_be_g0(layout, g))
		return err;
	err = gr_image_read_u64(image, *addr + layout->m.alllink.off, &next);
	*addr = next;
	*ret = !err;
	return err;
}

static struct gr_error *visit_m(struct gr_search *s, void *ctx, uint64_t addr,
				const uint8_t *at, uint64_t avail)
{
	struct gr_search_lists *lists = ctx;
	struct gr_search_list list = { .addr = addr, .first = gr_load_u64(at) };
	uint64_t m = list.first;
	struct gr_error *err = NULL;

	(void)avail;
	for (; m && list.len < MAX_MS; list.len++) {
		bool is_m;
		err = list.len ? gr_search_pay(s) : NULL;
		if (!err)
			err = step_m(s, &m, &is_m);
		if (err || !is_m)
			return err;
	}
	if (m)
		return NULL;
	return gr_search_lists_append(lists, list) ? NULL : &gr_enomem;
}

struct gr_error *gr_search_find_ms(struct gr_search *s)
{
	uint64_t *var = &s->rt->layout.vars.allm;
	struct gr_search_lists lists = { 0 };
	const struct gr_search_list *best = NULL;
	struct gr_error *err;
	uint64_t first;

	if (*var) {
		err = gr_image_read_u64(s->rt->image, *var, &first);
		if (!err)
			err = visit_m(s, &lists, *var, (const uint8_t *)&first,
				      sizeof(first));
	} else {
		err = gr_search_words(s, GR_SEARCH_POINTERS, visit_m, &lists);
	}
	if (!err)
		err = gr_search_choose_list(s, &lists,
					    s->rt->layout.m.alllink.off, &best);
	if (!err && !best)
		err = gr_search_failed("the list of threads (runtime.allm)",
				       lists.size);
	if (!err)
		*var = best->addr;
	gr_search_lists_deinit(&lists);
	return err;
}

/* Does the word at @p addr lead to a span of class @p class, or to the span
 * that means "none"? */
static struct gr_error *check_cached(struct gr_search *s, uint64_t addr,
				     uint32_t class, bool *ret)
{
	const struct gr_layout *layout = &s->rt->layout;
	uint8_t record[GR_SEARCH_MAX_RECORD];
	uint64_t span;
	struct gr_error *err = gr_image_read_u64(s->rt->image, addr, &span);

	*ret = false;
	if (!err)
		err = gr_search_read_mspan(s, span, record, ret);
	if (*ret && gr_field_uint(record, layout->mspan.start_addr))
		*ret = gr_field_uint(record, layout->mspan.spanclass) == class;
	return err;
}

/*
 * mcache.alloc has one span of each class. A program that runs takes another
 * span many times a second, and the old one may be of another class soon. So a
 * word that does not fit its span is read again, with the span.
 */
static struct gr_error *check_mcache(struct gr_search *s, uint64_t addr,
				     bool *ret)
{
	struct gr_field alloc = s->rt->layout.mcache.alloc;
	unsigned int rereads = s->rt->is_running ? REREADS : 0;
	struct gr_error *err = NULL;

	*ret = addr && addr % GR_WORD_BYTES == 0;
	for (uint32_t i = 0; *ret && i < alloc.bytes / GR_WORD_BYTES; i++) {
		uint64_t at = addr + alloc.off + i * GR_WORD_BYTES;

		err = check_cached(s, at, i, ret);
		for (unsigned int j = 0; !err && !*ret && j < rereads; j++) {
			gr_image_forget(s->rt->image);
			err = gr_search_pay(s);
			if (!err)
				err = check_cached(s, at, i, ret);
		}
		if (err) {
			*ret = false;
			return err;
		}
	}
	return NULL;
}

static struct gr_error *check_ps(struct gr_search *s, const struct slice *ps,
				 bool *ret)
{
	const struct gr_layout *layout = &s->rt->layout;
	struct gr_image *image = s->rt->image;
	bool is_p = true;

	*ret = false;
	for (uint64_t i = 0; i < ps->len && is_p; i++) {
		uint64_t p, id, status, mcache;
		struct gr_error *err = gr_search_pay(s);
		if (!err)
			err = gr_image_read_u64(image, ps->ptr + i * 8, &p);
		if (!err && !gr_search_may_point(p))
			return NULL;
		if (!err)
			err = gr_image_read_uint(image, p + layout->p.id.off,
						 layout->p.id.bytes, &id);
		if (!err)
			err = gr_image_read_uint(image,
						 p + layout->p.status.off,
						 layout->p.status.bytes,
						 &status);
		if (!err)
			err = gr_image_read_u64(image, p + layout->p.mcache.off,
						&mcache);
		if (!err && (id != i || status > MAX_PSTATUS))
			return NULL;
		if (!err)
			err = check_mcache(s, mcache, &is_p);
		if (err)
			return err;
	}
	*ret = is_p;
	return NULL;
}

struct gr_error *gr_search_find_gs(struct gr_search *s)
{
	struct found gs = { .check = check_gs, .max_len = MAX_LIST };

	return find_slice(s, &gs, "the list of goroutines (runtime.allgs)",
			  &s->rt->layout.vars.allgs);
}

struct gr_error *gr_search_find_ps(struct gr_search *s)
{
	struct found ps = { .check = check_ps, .max_len = MAX_PS };

	return find_slice(s, &ps, "the list of processors (runtime.allp)",
			  &s->rt->layout.vars.allp);
}
