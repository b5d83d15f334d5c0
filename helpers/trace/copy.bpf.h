/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/**
 * copy: how the BPF programs copy registers and stacks. A read of user memory
 * costs about 100 ns, whatever its size: few large ones are made.
 */
#ifndef GR_TRACE_COPY_BPF_H
#define GR_TRACE_COPY_BPF_H

#include "helpers/trace/target.bpf.h"

/* Read what was just written. The verifier then knows nothing of the value, and
 * does not look at what follows again for each way to it. */
#define FORGET(variable) (*(volatile __typeof__(variable) *)&(variable))

/* Parts of the kernel's structs, found by its BTF. */
struct thread_struct {
	unsigned long fsbase;
} RELOCATED;
struct mm_struct {
	unsigned long brk, start_stack;
} RELOCATED;
struct task_struct {
	struct thread_struct thread;
	struct mm_struct *mm;
} RELOCATED;
struct vm_unmapped_area_info {
	unsigned long length;
} RELOCATED;
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di, orig_ax, ip, sp;
} RELOCATED;

enum {
	PAGE = 4096,
	RED_ZONE = 128,
	EMPTY_PAGES = 18, /* that are looked at, where a stack begins */
	ALL_CHUNKS = GR_EVENT_CHUNKS * GR_EVENT_CHUNK_MAX,
	FRAME_POINTERS = 32,  /* that are followed through a chunk */
	FRAME_MAX = 64 << 20, /* bytes of a large frame */
	STEPS = GR_EVENT_CHUNK_MAX / PAGE + 1,
	HASHED_BYTES = 1024, /* of the top of a stack, if it has so many */
	HASHED_STEP = 32,    /* bytes */
};
static const __u64 user_end = 1ULL << 47;

/* The state that the functions of one event share. */
struct moment {
	struct pt_regs *regs; /* of user mode */
	struct gr_event_counts *counts;
	__u64 began_ns, address, bytes, probe_ns;
	__u32 tid, flags;
};

/* Where the stacks end: that of the thread, and that of its goroutine. */
struct ends {
	__u64 thread, goroutine;
};

INLINE bool read_user(struct moment *m, void *to, __u32 bytes, __u64 from)
{
	if (!bpf_probe_read_user(to, bytes, (void *)from))
		return true;
	m->counts->own_faults += m->flags & GR_EVENT_IN_KERNEL;
	return false;
}

/*
 * Copy the stack from @p *from to @p to, to @p at in the data, page by page. If
 * nothing is there, as where a stack is about to grow, it is from the first page
 * that is there. Return the number of bytes.
 */
INLINE __u32 copy_stack(struct moment *m, struct gr_event *e, __u32 at,
			__u64 *from, __u64 to)
{
	e->next = *from;
	e->done = 0;
	for (int i = 0; i < STEPS + EMPTY_PAGES; i++) {
		__u64 next = FORGET(e->next);
		__u32 done = FORGET(e->done), where = at + done;
		__u64 step = PAGE - (next & (PAGE - 1));
		if (next >= to || done > GR_EVENT_CHUNK_MAX - PAGE)
			break;
		if (step > to - next)
			step = to - next;
		if (where > ALL_CHUNKS || step > PAGE || !step)
			break;
		e->next = next + step;
		if (read_user(m, &e->data[where], step, next))
			e->done = done + step;
		else if (done)
			break;
		else
			*from = next + step;
	}
	return FORGET(e->done);
}

INLINE __u64 word_at(const __u8 *data, __u32 offset)
{
	return *(__u64 *)&data[offset & (GR_EVENT_PART - 8)];
}

/* Read the struct at @p from, as far as we look at it. Its end may be in a page
 * that nobody has written to yet, where it is zero. */
INLINE bool read_part(struct moment *m, __u8 *to, __u64 from)
{
	__u64 here = PAGE - (from & (PAGE - 1));

	if (here >= GR_EVENT_PART)
		return read_user(m, to, GR_EVENT_PART, from);
	here &= GR_EVENT_PART - 1;
	if (!read_user(m, to, here, from))
		return false;
	read_user(m, to + here, GR_EVENT_PART - here, from + here);
	return true;
}

/*
 * The labels of the goroutine, and the number of the last collection. The thread
 * is not at a point at which the runtime may stop it, so both are of one moment.
 */
INLINE void add_labels(struct moment *m, struct gr_event *e)
{
	__u32 sweepgen;

	e->labels = word_at(e->g, config.offsets.g_labels);
	if (e->labels && config.sweepgen_address &&
	    read_user(m, &sweepgen, sizeof(sweepgen), config.sweepgen_address))
		e->sweepgen = sweepgen;
}

/* Fill the goroutine's part: where it goes on if the thread is on g0. */
INLINE void add_goroutine(struct moment *m, struct gr_event *e,
			  struct ends *ends)
{
	const struct gr_event_offsets *o = &config.offsets;
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 rsp = e->regs[7], g = 0;

	e->sweepgen = GR_EVENT_NO_SWEEPGEN;
	if (config.tls_g)
		read_user(m, &g, sizeof(g), task->thread.fsbase + config.tls_g);
	else if (m->flags & GR_EVENT_SAMPLE)
		g = e->regs[14];
	if (!g || !config.has_offsets || !read_part(m, e->g, g) ||
	    !read_part(m, e->m, word_at(e->g, o->g_m)))
		return;
	__u64 end = word_at(e->g, o->g_stack_hi), ours = word_at(e->g, o->g_m);
	// Where Go has no C, fs_base leads into the m. Otherwise, g0 runs on a
	// stack of C, of which the runtime may not know the end.
	bool is_of_c = g == word_at(e->m, o->m_g0) &&
		       task->thread.fsbase - ours >= GR_EVENT_PART;
	if (rsp >= word_at(e->g, o->g_stack_lo) && rsp < end && !is_of_c)
		ends->thread = end;
	__u64 curg = word_at(e->m, o->m_curg);
	bool is_other = curg && curg != g;
	if (is_other && !read_part(m, e->g, curg))
		return;
	if (is_other && g == word_at(e->m, o->m_g0)) {
		e->resume_pc = word_at(e->g, o->g_sched_pc);
		e->resume_sp = word_at(e->g, o->g_sched_sp);
		e->resume_bp = word_at(e->g, o->g_sched_bp);
		e->sched_at = curg + o->g_sched_sp;
		ends->goroutine = word_at(e->g, o->g_stack_hi);
	}
	if (curg && (m->flags & GR_EVENT_SAMPLE)) {
		e->goid = o->g_goid ? word_at(e->g, o->g_goid) : 0;
		if (o->g_labels)
			add_labels(m, e);
	}
}

INLINE void set_registers(__u64 *to, const struct pt_regs *r)
{
	to[0] = r->ax, to[1] = r->dx, to[2] = r->cx, to[3] = r->bx;
	to[4] = r->si, to[5] = r->di, to[6] = r->bp, to[7] = r->sp;
	to[8] = r->r8, to[9] = r->r9, to[10] = r->r10, to[11] = r->r11;
	to[12] = r->r12, to[13] = r->r13, to[14] = r->r14, to[15] = r->r15;
	to[16] = r->ip;
}

/*
 * Follow the frame pointers to the first one behind the chunk from rsp: where a
 * frame is larger than the chunk, or not all of it has memory, the caller is
 * there. Functions without frame pointers lead elsewhere. Return the end of what
 * to copy there.
 */
INLINE __u64 find_large_frame(struct gr_event *e, __u32 bytes, __u64 end)
{
	const __u64 sp = e->regs[7];
	const __u64 last = bytes > 8 ? e->start[0] + bytes - 8 : sp;

	e->next = e->regs[6];
	for (int i = 0; i < FRAME_POINTERS; i++) {
		__u64 bp = FORGET(e->next), at = bp - e->start[0];
		if (bp < sp || bp > last || bytes <= 8)
			break;
		e->next = *(__u64 *)&e->data[at & (GR_EVENT_CHUNK_MAX - 8)];
		if (e->next <= bp)
			return 0;
	}
	__u64 bp = FORGET(e->next);
	e->start[2] = bp - RED_ZONE;
	return bp > last && bp - last <= FRAME_MAX ? end : 0;
}

/* Fill in the registers and the stacks. Return the bytes of all chunks. */
INLINE __u32 copy_thread(struct moment *m, struct gr_event *e)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = task->mm;
	struct ends ends = { user_end, 0 };

	set_registers(e->regs, m->regs);
	// Arguments and environment lie behind the stack of the first thread.
	if (mm && e->regs[7] < mm->start_stack)
		ends.thread = mm->start_stack + RED_ZONE;
	// The stack of another thread lies below its own variables.
	if (e->regs[7] < task->thread.fsbase &&
	    ends.thread > task->thread.fsbase)
		ends.thread = task->thread.fsbase;
	add_goroutine(m, e, &ends);
	// Below rsp lies what a function has popped before it returned.
	e->start[0] = e->regs[7] - RED_ZONE;
	e->start[1] = e->resume_sp;
	e->bytes[0] = copy_stack(m, e, 0, &e->start[0], ends.thread);
	__u32 bytes = FORGET(e->bytes[0]);
	if (bytes > GR_EVENT_CHUNK_MAX)
		return 0;
	e->bytes[1] = copy_stack(m, e, bytes, &e->start[1], ends.goroutine);
	__u64 end = find_large_frame(e, bytes, ends.thread);
	bytes += FORGET(e->bytes[1]);
	if (bytes > 2 * GR_EVENT_CHUNK_MAX)
		return 0;
	e->bytes[2] = copy_stack(m, e, bytes, &e->start[2], end);
	bytes += FORGET(e->bytes[2]);
	if (!bytes)
		m->counts->no_stack++;
	return bytes;
}

/* Four products at a time: each takes longer than a step of the loop. */
INLINE __u64 hash_of(const __u8 *data, __u32 bytes)
{
	const __u64 factor = 0x9e3779b97f4a7c15ULL;
	__u64 a = bytes, b = 1, c = 2, d = 3;

	for (__u32 at = 0; at < HASHED_BYTES; at += HASHED_STEP) {
		const __u64 *words = (const __u64 *)&data[at];
		if (at >= bytes)
			break;
		a = (a ^ words[0]) * factor;
		b = (b ^ words[1]) * factor;
		c = (c ^ words[2]) * factor;
		d = (d ^ words[3]) * factor;
	}
	a = ((a ^ b >> 31) * factor ^ c ^ c >> 29) * factor ^ d;
	return a ^ a >> 32;
}

#endif /* GR_TRACE_COPY_BPF_H */
