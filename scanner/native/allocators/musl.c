// SPDX-License-Identifier: Apache-2.0
#include "native/allocators/musl.h"

#include "native/motion.h"

#include "base/chain.h"
#include "base/cleanup.h"
#include "goruntime/sched/signal.h"
#include "inferior/elf.h"

enum {
	/* Slots that free() is not done with: at most one of a thread, also of
	 * the threads that a process had before a fork. */
	MOST_LEAVING = 64,
	MOST_THREADS = 1 << 22, /* the kernel's limit */
};

static void musl_deinit(struct gr_musl *m)
{
	gr_addr_vector_deinit(&m->areas);
	gr_musl_group_vector_deinit(&m->groups);
	gr_musl_place_vector_deinit(&m->nested);
	gr_blocks_deinit(&m->blocks);
}

/* Append the stack of a g, if it has one. The ranges are those of no arena; each
 * has a number of its own, so that none are joined. */
static struct gr_error *add_stack_of(struct gr_runtime *rt, uint64_t g,
				     struct gr_native_range_vector *ret)
{
	struct gr_native_range stack = { .arena = ret->size };
	struct gr_error *err = gr_image_read_u64(
		rt->image, g + rt->layout.g.stack_lo.off, &stack.start);

	if (!err)
		err = gr_image_read_u64(
			rt->image, g + rt->layout.g.stack_hi.off, &stack.end);
	return err || stack.start >= stack.end ?
		       err :
		       gr_runtime_append(rt, gr_native_range_vector, ret,
					 stack);
}

/* List the stacks of Go's signal handlers. */
static struct gr_error *list_signal_stacks(struct gr_runtime *rt,
					   struct gr_native_range_vector *ret)
{
	struct gr_chain chain = { .limit = MOST_THREADS };
	uint64_t at, gsignal;
	struct gr_error *err =
		gr_image_read_u64(rt->image, rt->layout.vars.allm, &at);

	while (!err && at && gr_chain_step(&chain, at)) {
		err = gr_image_read_u64(
			rt->image, at + rt->layout.m.gsignal.off, &gsignal);
		if (!err && gsignal)
			err = add_stack_of(rt, gsignal, ret);
		if (!err)
			err = gr_image_read_u64(
				rt->image, at + rt->layout.m.alllink.off, &at);
		if (!err)
			err = gr_runtime_step(rt, 16);
	}
	gr_error_catch(&err, GR_ERROR_FAULT);
	gr_error_catch(&err, GR_ERROR_NOT_SAVED);
	return err ? err : gr_native_sort_ranges(rt, ret);
}

/* May a thread be in malloc() or free(), or was it, before Go handles a signal?
 * The call that the handler makes is not what it interrupted. */
static struct gr_error *is_at_work(const struct gr_musl *m,
				   const struct gr_native_range_vector *stacks,
				   const struct gr_regs *regs, bool *ret)
{
	struct gr_runtime *rt = m->r->spec->rt;
	uint64_t sp = regs->value[rt->arch->sp];
	size_t i = gr_count_before(stacks->size, k, stacks->data[k].end <= sp);
	struct gr_error *err = gr_native_is_moving(rt, regs, m->r->native, ret);
	struct gr_regs before;
	bool is_found = false;

	if (err || *ret || i == stacks->size || sp < stacks->data[i].start)
		return err;
	err = gr_signal_interrupted(rt, stacks->data[i].start,
				    stacks->data[i].end, regs, &before,
				    &is_found);
	gr_error_catch(&err, GR_ERROR_NOT_SAVED);
	if (err || !is_found)
		return err;
	return gr_native_is_moving(rt, &before, m->r->native, ret);
}

/* Count the threads that may be in malloc() or free(). Those that wait there are
 * at no header. */
static struct gr_error *count_at_work(const struct gr_musl *m, size_t *ret)
{
	_cleanup_(gr_native_range_vector_deinit) struct gr_native_range_vector
		stacks = { 0 };
	struct gr_runtime *rt = m->r->spec->rt;
	size_t n;
	const struct gr_target_thread *threads =
		gr_image_threads(rt->image, &n);
	struct gr_error *err = list_signal_stacks(rt, &stacks);

	*ret = 0;
	for (size_t i = 0; !err && i < n; i++) {
		bool is_there = false;

		err = is_at_work(m, &stacks, &threads[i].regs, &is_there);
		*ret += is_there;
		if (!err)
			err = gr_runtime_step(rt, 16);
	}
	return err;
}

/* malloc() marks a slot before it writes the header of the block, and free()
 * ends the header before it marks the slot. Other slots without a header are
 * damaged. */
static struct gr_error *check_headers(struct gr_musl *m)
{
	struct gr_error *err = NULL;
	size_t nthreads, nat_work = 0;

	gr_image_threads(m->r->spec->rt->image, &nthreads);
	if (m->ncoming || m->nfresh)
		err = count_at_work(m, &nat_work);
	if (m->nfresh && nat_work)
		gr_arena_fail(
			gr_musl_arena(m),
			"a thread may be about to write the header of a block");
	if (m->ncoming > nat_work || m->nleaving > MOST_LEAVING + nthreads)
		gr_arena_fail(gr_musl_arena(m),
			      "headers of its blocks are damaged");
	return err;
}

static struct gr_error *read_arena(struct gr_musl *m)
{
	uint64_t overlapping = 0;
	struct gr_error *err = gr_reader_add_structure(
		m->r, m->addr, m->addr + sizeof(m->context));

	if (!err)
		err = gr_reader_add_arena(m->r, m->addr, "main");
	if (err)
		return err;
	if (!gr_view_copy(&m->quiet, m->addr, m->context, sizeof(m->context))) {
		gr_arena_miss(gr_musl_arena(m));
		return NULL;
	}
	err = gr_musl_read_groups(m);
	if (!err)
		err = gr_musl_read_slots(m);
	if (!err)
		err = check_headers(m);
	if (!err)
		err = gr_blocks_index(&m->blocks, m->r->spec->rt, &overlapping);
	if (overlapping)
		gr_arena_fail(gr_musl_arena(m), "its groups overlap");
	return err ? err : gr_reader_keep_blocks(m->r, &m->blocks, NULL);
}

static struct gr_error *read_one(struct gr_native_reader *r,
				 const struct gr_musl_hit *hit)
{
	_cleanup_(musl_deinit) struct gr_musl m = {
		.r = r,
		.view = r->view,
		.quiet = r->view,
		.addr = hit->addr,
		.arena = r->native->arenas.size,
	};
	const char *version;
	struct gr_error *err;

	m.view.is_recording = true;
	err = gr_musl_find_version(r, hit, &version);
	if (!err)
		err = read_arena(&m);
	return err ? err : gr_reader_add_allocator(r, "musl", version, m.arena);
}

/* Each file that has a libc has a malloc of its own. */
static struct gr_error *read_musl(struct gr_native_reader *r)
{
	struct gr_musl_hits hits;
	struct gr_error *err = gr_musl_find(r, &hits);

	if (!err && !hits.count)
		return gr_musl_find_old(r);
	for (size_t i = 0; !err && i < hits.count; i++)
		err = read_one(r, &hits.data[i]);
	return err;
}

const struct gr_allocator gr_allocator_musl = { "musl", read_musl };
