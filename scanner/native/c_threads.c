// SPDX-License-Identifier: Apache-2.0
#include "native/c_threads.h"

#include "base/sort.h"
#include "goruntime/sched/signal.h"

enum { RANK_THREAD, RANK_INTERRUPTED, RANK_G0 };

/** The words of an m that tell about its thread. */
struct machine {
	uint64_t procid, g0, gsignal, curg;
};

void gr_c_threads_deinit(struct gr_c_threads *threads)
{
	gr_stack_pointer_vector_deinit(&threads->pointers);
	gr_thread_registers_vector_deinit(&threads->registers);
	gr_thread_base_vector_deinit(&threads->bases);
}

static struct gr_error *add_pointer(const struct gr_sched *sched,
				    struct gr_c_threads *t, uint64_t sp,
				    int32_t lwp, uint8_t rank)
{
	// Go saves a stack pointer where it calls a function.
	const struct gr_stack_pointer pointer = {
		.sp = sp,
		.lwp = lwp,
		.rank = rank,
		.red_zone_bytes =
			rank == RANK_G0 ? 0 : sched->rt->arch->red_zone_bytes,
	};

	return sp ? gr_runtime_append(sched->rt, gr_stack_pointer_vector,
				      &t->pointers, pointer) :
		    NULL;
}

static struct gr_error *add_registers(const struct gr_sched *sched,
				      struct gr_c_threads *t,
				      const struct gr_regs *regs, int32_t lwp)
{
	const struct gr_thread_registers thread = { *regs, lwp };

	return gr_runtime_append(sched->rt, gr_thread_registers_vector,
				 &t->registers, thread);
}

static struct gr_error *read_machine(const struct gr_sched *sched, uint64_t m,
				     struct machine *ret)
{
	const struct gr_layout *layout = &sched->rt->layout;
	struct gr_image *image = sched->rt->image;
	struct gr_error *err =
		gr_image_read_u64(image, m + layout->m.g0.off, &ret->g0);

	if (!err)
		err = gr_image_read_u64(image, m + layout->m.gsignal.off,
					&ret->gsignal);
	if (!err)
		err = gr_image_read_u64(image, m + layout->m.curg.off,
					&ret->curg);
	if (!err)
		err = gr_image_read_u64(image, m + layout->m.procid.off,
					&ret->procid);
	return err;
}

static int compare_threads(const void *a, const void *b)
{
	const struct gr_thread_registers *x = a, *y = b;

	return x->lwp < y->lwp ? -1 : x->lwp > y->lwp;
}

/* The registers of the thread, if it is there: the first @p nthreads, those of
 * the threads themselves, are sorted. */
static const struct gr_regs *registers_of(const struct gr_c_threads *t,
					  size_t nthreads, uint64_t lwp)
{
	const struct gr_thread_registers *list = t->registers.data;
	size_t n = gr_count_before(
		nthreads, i, list[i].lwp < 0 || (uint64_t)list[i].lwp < lwp);

	return n < nthreads && (uint64_t)list[n].lwp == lwp ? &list[n].regs :
							      NULL;
}

/* The stack of a g. */
static struct gr_error *read_stack(const struct gr_sched *sched, uint64_t g,
				   uint64_t *lo, uint64_t *hi)
{
	const struct gr_layout *layout = &sched->rt->layout;
	struct gr_error *err = gr_image_read_u64(
		sched->rt->image, g + layout->g.stack_lo.off, lo);

	return err ? err :
		     gr_image_read_u64(sched->rt->image,
				       g + layout->g.stack_hi.off, hi);
}

/* Add what a handler interrupted, if the thread is in one; *@p sp is then its
 * stack pointer. */
static struct gr_error *add_interrupted(const struct gr_sched *sched,
					const struct machine *m,
					const struct gr_regs *regs,
					struct gr_c_threads *t, uint64_t *sp)
{
	struct gr_regs before;
	bool is_found = false;
	uint64_t lo, hi;

	if (!m->gsignal)
		return NULL;
	struct gr_error *err = read_stack(sched, m->gsignal, &lo, &hi);
	if (!err)
		err = gr_signal_interrupted(sched->rt, lo, hi, regs, &before,
					    &is_found);
	if (err || !is_found)
		return err;
	*sp = before.value[sched->rt->arch->sp];
	err = add_pointer(sched, t, *sp, m->procid, RANK_INTERRUPTED);
	return err ? err : add_registers(sched, t, &before, m->procid);
}

/* Add how far down the stack of a thread is in use while it runs Go code: @p
 * thread_sp, if it is known, is then on the stack of its goroutine. In C code, a
 * thread uses more of it, and may have left it for a stack of its own. */
static struct gr_error *add_g0(const struct gr_sched *sched,
			       const struct machine *m, uint64_t thread_sp,
			       struct gr_c_threads *t)
{
	uint64_t sp, lo = 0, hi = 0;
	struct gr_error *err = NULL;

	if (!m->g0)
		return NULL;
	if (thread_sp && m->curg)
		err = read_stack(sched, m->curg, &lo, &hi);
	if (err || (thread_sp && (thread_sp < lo || thread_sp >= hi)))
		return err;
	err = gr_image_read_u64(sched->rt->image,
				m->g0 + sched->rt->layout.g.sched_sp.off, &sp);
	return err ? err : add_pointer(sched, t, sp, m->procid, RANK_G0);
}

/* Add what the m knows of its thread. */
static struct gr_error *add_machine(const struct gr_sched *sched, uint64_t addr,
				    size_t nthreads, struct gr_c_threads *t)
{
	struct machine m;
	struct gr_error *err = read_machine(sched, addr, &m);

	if (err)
		return err;
	const struct gr_regs *regs = registers_of(t, nthreads, m.procid);
	uint64_t sp = regs ? regs->value[sched->rt->arch->sp] : 0;

	if (regs)
		err = add_interrupted(sched, &m, regs, t, &sp);
	return err ? err : add_g0(sched, &m, sp, t);
}

static struct gr_error *add_machines(const struct gr_sched *sched,
				     size_t nthreads, struct gr_c_threads *t)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < sched->nms; i++) {
		err = add_machine(sched, sched->ms[i], nthreads, t);
		gr_error_catch(&err, GR_ERROR_FAULT);
		gr_error_catch(&err, GR_ERROR_NOT_SAVED);
		if (!err)
			err = gr_runtime_step(sched->rt, 16);
	}
	return err;
}

static int compare_pointers(const void *a, const void *b)
{
	const struct gr_stack_pointer *x = a, *y = b;

	return x->sp < y->sp ? -1 : x->sp > y->sp;
}

static int compare_bases(const void *a, const void *b)
{
	const struct gr_thread_base *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static struct gr_error *sort(const struct gr_runtime *rt,
			     struct gr_c_threads *t)
{
	struct gr_error *err = gr_sort(t->pointers.data, t->pointers.size,
				       sizeof(*t->pointers.data),
				       compare_pointers, rt->poll,
				       rt->poll_ctx);

	return err ? err :
		     gr_sort(t->bases.data, t->bases.size,
			     sizeof(*t->bases.data), compare_bases, rt->poll,
			     rt->poll_ctx);
}

struct gr_error *gr_c_threads_read(const struct gr_sched *sched,
				   struct gr_c_threads *ret)
{
	size_t n;
	const struct gr_target_thread *threads =
		gr_image_threads(sched->rt->image, &n);
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++) {
		const struct gr_regs *regs = &threads[i].regs;
		const struct gr_thread_base base = { regs->fs_base,
						     threads[i].lwp };

		err = add_registers(sched, ret, regs, threads[i].lwp);
		if (!err)
			err = add_pointer(sched, ret,
					  regs->value[sched->rt->arch->sp],
					  threads[i].lwp, RANK_THREAD);
		if (!err && regs->fs_base)
			err = gr_runtime_append(sched->rt,
						gr_thread_base_vector,
						&ret->bases, base);
		if (!err)
			err = gr_runtime_step(sched->rt, 1);
	}
	if (!err)
		err = gr_sort(ret->registers.data, n,
			      sizeof(*ret->registers.data), compare_threads,
			      sched->rt->poll, sched->rt->poll_ctx);
	if (!err)
		err = add_machines(sched, n, ret);
	return err ? err : sort(sched->rt, ret);
}
