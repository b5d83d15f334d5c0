// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The programs at the functions of C allocators: each allocation with its
 * address, its size and the stack of its caller. What they write is in
 * native_event.h.
 *
 * A probe costs its trap, whatever a program does. So they run only in windows,
 * and a call that is not recorded gets no second trap at its return, where the
 * kernel has sessions (Linux 6.13).
 */
#define __TARGET_ARCH_x86
#define __VMLINUX_H__ // the kernel's names of registers, for libbpf

#include "helpers/trace/copy.bpf.h"
#include "helpers/trace/native_event.h"

#include <bpf/usdt.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
	RECORD = 0, // of a session: the return is wanted, too
	SKIP = 1,
	CALL_NS_MAX = 100000000, // a call that is older never returned
	ERRORS = 4095,		 // results of mmap from -ERRORS on
};

/* The call of an allocator that a thread is in. */
struct call {
	__u64 rsp; /* at its entry; 0: it is in none */
	__u64 bytes, out, began_ns;
	__u32 tid, function, window, unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* the reader sets it */
} ring SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the number of processors */
	__type(key, __u32);
	__type(value, struct gr_event);
} scratch SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GR_EVENT_SLOTS);
	__type(key, __u32);
	__type(value, struct call);
} calls SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gr_native_counts);
} counts SEC(".maps");

struct gr_native_config native = { 0 };

extern bool bpf_session_is_return(void) __ksym __weak;
extern void bpf_preempt_disable(void) __ksym __weak; /* Linux 6.10 */
extern void bpf_preempt_enable(void) __ksym __weak;

// ------------------------------------------------------------------ the call

INLINE struct gr_native_counts *own_counts(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&counts, &zero);
}

INLINE bool is_ours(void)
{
	struct bpf_pidns_info id = { 0 };

	return native.is_alone || is_target(&id);
}

INLINE struct call *call_of(__u32 tid)
{
	__u32 index = tid % GR_EVENT_SLOTS;

	return bpf_map_lookup_elem(&calls, &index);
}

/* Is a window open? */
INLINE bool is_open_at(__u64 now_ns)
{
	return native.state == GR_NATIVE_OPEN &&
	       (!native.closes_ns || now_ns < native.closes_ns);
}

/* Is the thread in another call, of which this one is a part? A function may
 * jump to another one, which then has the same stack pointer. */
INLINE bool is_inner(const struct call *c, const struct pt_regs *regs,
		     __u32 function, __u32 tid, __u64 now_ns)
{
	return c->tid == tid && c->window >= native.first && c->rsp &&
	       (regs->sp < c->rsp ||
		(regs->sp == c->rsp && function != c->function)) &&
	       now_ns - c->began_ns < CALL_NS_MAX;
}

/* Multiply as calloc does. It fails if the product has no room in the address
 * space. */
INLINE __u64 product(__u64 a, __u64 b)
{
	__u64 more = a > b ? a : b, less = a > b ? b : a;

	return more >= user_end || (more >> 32 && less >> 15) ? ~(__u64)0 :
								more * less;
}

INLINE __u64 bytes_of(const struct pt_regs *regs, __u32 kind)
{
	switch (kind) {
	case GR_ALLOC_CALLOC:
		return product(regs->di, regs->si);
	case GR_ALLOC_REALLOCARRAY:
		return product(regs->si, regs->dx);
	case GR_ALLOC_REALLOC:
	case GR_ALLOC_ALIGNED:
	case GR_ALLOC_MMAP:
	case GR_ALLOC_MUNMAP:
		return regs->si;
	case GR_ALLOC_POSIX_MEMALIGN:
		return regs->dx;
	default:
		return regs->di;
	}
}

INLINE bool is_wanted(__u64 bytes, __u32 kind)
{
	if (kind == GR_ALLOC_NEW && bytes >= GR_NATIVE_MOST_NEW)
		return false;
	return bytes >= native.min_bytes && bytes <= native.max_bytes;
}

INLINE void put_free(struct gr_native_counts *n, __u64 address, __u64 bytes,
		     __u64 now_ns)
{
	struct bpf_pidns_info id = { 0 };
	struct gr_event_head head = {
		.kind = GR_NATIVE_FREE,
		.address = address,
		.bytes = bytes,
		.ref = now_ns,
	};

	n->frees++;
	if (is_target(&id))
		head.tid = id.pid;
	if (bpf_ringbuf_output(&ring, &head, sizeof(head), BPF_RB_NO_WAKEUP))
		n->lost_frees++;
}

/* The memory that a call of realloc gives back. If the call fails, which is
 * rare, this memory is not known any more. */
INLINE void put_old(struct gr_native_counts *n, const struct pt_regs *regs,
		    __u32 kind, __u64 now_ns)
{
	if ((kind == GR_ALLOC_REALLOC || kind == GR_ALLOC_REALLOCARRAY) &&
	    regs->di)
		put_free(n, regs->di, 0, now_ns);
}

/* function: its kind, and a number. */
INLINE int on_enter(const struct pt_regs *regs, __u32 function)
{
	struct gr_native_counts *n = own_counts();
	__u32 kind = function & GR_NATIVE_KIND;
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct call *c = call_of(tid);

	if (!n || !c || !is_ours())
		return SKIP;
	__u64 now_ns = bpf_ktime_get_ns();
	bool is_open = is_open_at(now_ns);
	if ((!is_open && native.state != GR_NATIVE_COUNTING) ||
	    is_inner(c, regs, function, tid, now_ns)) {
		n->skipped++;
		return SKIP;
	}
	__u64 bytes = bytes_of(regs, kind);
	if (is_open)
		put_old(n, regs, kind, now_ns);
	bool is_counted = is_wanted(bytes, kind);
	n->calls += is_counted;
	if (!is_counted || !is_open ||
	    (native.sample > 1 && bpf_get_prandom_u32() % native.sample)) {
		n->skipped++;
		return SKIP;
	}
	c->rsp = regs->sp;
	c->bytes = bytes;
	c->out = regs->di;
	c->began_ns = now_ns;
	c->tid = tid;
	c->function = function;
	c->window = native.window;
	return RECORD;
}

// ----------------------------------------------------------------- the return

/* The address that a call has returned; 0: it has failed. */
INLINE __u64 address_of(struct moment *m, const struct call *c)
{
	__u64 result = m->regs->ax, address = 0;
	__u32 kind = c->function & GR_NATIVE_KIND;

	if (kind == GR_ALLOC_POSIX_MEMALIGN) {
		if (!(__u32)result)
			read_user(m, &address, sizeof(address), c->out);
		return address;
	}
	return kind == GR_ALLOC_MMAP && result >= -(__u64)ERRORS ? 0 : result;
}

INLINE struct gr_event *own_scratch(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&scratch, &cpu);
}

/* Write the event with its stack. */
INLINE void put_event(struct moment *m, struct gr_event *e, __u16 kind,
		      __u16 flags, __u64 ref)
{
	e->head.kind = kind;
	e->head.flags = flags;
	e->head.tid = m->tid;
	e->head.address = m->address;
	e->head.bytes = m->bytes;
	e->head.ref = ref;
	e->resume_pc = e->resume_sp = e->resume_bp = e->goid = e->labels = 0;
	e->time_ns = m->began_ns;
	__u32 bytes = copy_thread(m, e);
	if (bytes > ALL_CHUNKS)
		return;
	if (kind == GR_NATIVE_ALLOC)
		e->regs[GR_EVENT_REGS - 1]--; // the call, not what follows
	m->counts->events++;
	if (bpf_ringbuf_output(&ring, e,
			       offsetof(struct gr_event, data) + bytes,
			       BPF_RB_NO_WAKEUP))
		m->counts->ring_full++;
	m->counts->ns += bpf_ktime_get_ns() - m->began_ns;
}

/* Without this, a thread may lose the processor to another one of ours in the
 * middle of an event, whose buffer both of them need. */
INLINE void keep_processor(void)
{
	if (bpf_preempt_disable)
		bpf_preempt_disable();
}

INLINE void leave_processor(void)
{
	if (bpf_preempt_disable)
		bpf_preempt_enable();
}

/* Begin an event; end_moment() has to follow if that was possible. */
INLINE bool begin_moment(struct moment *m, struct gr_native_counts *n)
{
	struct bpf_pidns_info id = { 0 };

	if (!is_target(&id))
		return false;
	keep_processor();
	if (__sync_lock_test_and_set(&n->events.is_busy, 1)) {
		n->lost++;
		leave_processor();
		return false;
	}
	m->counts = &n->events;
	m->regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	m->tid = id.pid;
	m->flags = GR_EVENT_SAMPLE; // the goroutine is asked for
	m->probe_ns = 0;
	m->began_ns = bpf_ktime_get_ns();
	return true;
}

INLINE void end_moment(struct gr_native_counts *n)
{
	n->events.is_busy = 0;
	leave_processor();
}

INLINE int on_leave(const struct pt_regs *regs)
{
	struct gr_native_counts *n = own_counts();
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct call *c = call_of(tid);
	struct moment m;

	if (!n || !c || c->tid != tid || !c->rsp ||
	    regs->sp != c->rsp + sizeof(__u64))
		return 0;
	c->rsp = 0;
	if (c->window < native.first || !begin_moment(&m, n))
		return 0;
	struct gr_event *e = own_scratch();
	m.address = address_of(&m, c);
	m.bytes = c->bytes;
	if (e && m.address)
		put_event(&m, e, GR_NATIVE_ALLOC, c->function & GR_NATIVE_KIND,
			  c->window);
	end_moment(n);
	return 0;
}

// --------------------------------------------------------------- the programs

/* Both, where the kernel has sessions. */
SEC("uprobe")
int session(struct pt_regs *ctx)
{
	if (bpf_session_is_return())
		return on_leave(ctx);
	return on_enter(ctx, (__u32)bpf_get_attach_cookie(ctx));
}

SEC("uprobe")
int enter(struct pt_regs *ctx)
{
	on_enter(ctx, (__u32)bpf_get_attach_cookie(ctx));
	return 0;
}

SEC("uretprobe")
int leave(struct pt_regs *ctx)
{
	return on_leave(ctx);
}

SEC("uprobe")
int give_back(struct pt_regs *ctx)
{
	struct gr_native_counts *n = own_counts();
	__u32 kind = bpf_get_attach_cookie(ctx) & GR_NATIVE_KIND;

	__u64 now_ns = bpf_ktime_get_ns();

	if (!n || !is_ours())
		return 0;
	if (!is_open_at(now_ns) || !ctx->di)
		n->skipped++;
	else
		put_free(n, ctx->di, kind == GR_ALLOC_MUNMAP ? ctx->si : 0,
			 now_ns);
	return 0;
}

/* otel_memory:alloc(ptr, size, weighted_bytes), at a nop of a library. */
SEC("usdt")
int sampled_alloc(struct pt_regs *ctx)
{
	struct gr_native_counts *n = own_counts();
	long address, bytes, weight;
	struct moment m;

	if (!n || !native.is_sampling || bpf_usdt_arg(ctx, 0, &address) ||
	    bpf_usdt_arg(ctx, 1, &bytes) || bpf_usdt_arg(ctx, 2, &weight) ||
	    !begin_moment(&m, n))
		return 0;
	struct gr_event *e = own_scratch();
	m.address = address;
	m.bytes = bytes;
	n->calls++;
	if (e && address)
		put_event(&m, e, GR_NATIVE_SAMPLE, GR_ALLOC_MALLOC, weight);
	end_moment(n);
	return 0;
}

/* otel_memory:free(ptr) */
SEC("usdt")
int sampled_free(struct pt_regs *ctx)
{
	struct gr_native_counts *n = own_counts();
	long address;

	if (n && native.is_sampling && is_ours() &&
	    !bpf_usdt_arg(ctx, 0, &address))
		put_free(n, address, 0, bpf_ktime_get_ns());
	return 0;
}
