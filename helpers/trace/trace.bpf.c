// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The programs that goref-trace loads into the kernel: faults of one process,
 * its mappings, and the samples of its Go runtime, each with the registers and
 * the top of the stack. What they write is in event.h.
 */
#include <asm/unistd.h>

#include "helpers/trace/copy.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The advice of madvise(2) by which the pages of a range go at once. */
enum { ADVICE_DONTNEED = 4, ADVICE_REMOVE = 9, ADVICE_DONTNEED_LOCKED = 24 };

enum {
	MEASURE_EACH = 64,   /* of the cheap events */
	LONGEST_NS = 100000, /* of an event: above it, something came between */
	REMAP_FIXED = 2,     /* MREMAP_FIXED */
};

/* The last event of a thread with its stack. */
struct slot {
	__u64 ref, rip, rsp, rbp, hash, address;
	__u64 last_unmapped; /* found for the call of the moment */
	__u64 caller;	     /* see caller_of() */
	__u32 tid, left, hashed;
	/* The goroutine that waits for the call; 0 bytes: there is none. */
	__u32 resume_hashed;
	__u64 sched_at, resume_sp, resume_hash;
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
	__type(value, struct slot);
} slots SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gr_event_counts);
} counts SEC(".maps");

__u64 cheap_ns = 200; /* of a repeat or brief event, as measured */

// ----------------------------------------------------------------- the budget

INLINE void charge(struct moment *m, __u64 ns)
{
	m->counts->ns += ns;
	pay(ns);
}

/* One cheap event in many is measured; all are charged the mean. */
INLINE void charge_cheap(struct moment *m)
{
	if (m->counts->events % MEASURE_EACH == 0) {
		__u64 took = bpf_ktime_get_ns() - m->began_ns + m->probe_ns;
		if (took < LONGEST_NS)
			cheap_ns = (cheap_ns * 7 + took) / 8;
	}
	charge(m, cheap_ns);
}

// ------------------------------------------------------------------- the ring

INLINE long put(struct moment *m, void *event, __u64 bytes)
{
	long err = bpf_ringbuf_output(&ring, event, bytes, BPF_RB_NO_WAKEUP);

	if (err)
		m->counts->ring_full++;
	return err;
}

/* Is little room left for stacks? Then it is kept for events without them. */
INLINE bool is_ring_filling(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >
	       config.ring_bytes / 4 * 3;
}

INLINE void put_head(struct moment *m, enum gr_event_kind kind, __u64 ref)
{
	struct gr_event_head head = {
		.kind = kind,
		.flags = m->flags,
		.tid = m->tid,
		.address = m->address,
		.bytes = m->bytes,
		.ref = ref,
	};

	put(m, &head, sizeof(head));
	charge_cheap(m);
}

// ----------------------------------------------------------------- the events

INLINE struct gr_event *own_scratch(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&scratch, &cpu);
}

INLINE struct slot *slot_of(__u32 tid)
{
	__u32 index = tid % GR_EVENT_SLOTS;

	return bpf_map_lookup_elem(&slots, &index);
}

/* May it be the same call of the same thread that goes on through its memory? */
INLINE bool may_repeat(const struct moment *m, const struct slot *s)
{
	return m->flags <= GR_EVENT_IN_KERNEL && s->tid == m->tid && s->left &&
	       s->rip == m->regs->ip && s->rsp == m->regs->sp &&
	       s->rbp == m->regs->bp && m->address > s->address &&
	       m->address - s->address <= GR_EVENT_AHEAD_MAX;
}

/* Is it still the same call of the goroutine? */
INLINE bool is_resume_equal(struct moment *m, struct gr_event *e,
			    const struct slot *s)
{
	__u32 bytes = s->resume_hashed;

	if (!bytes)
		return true;
	if (!read_user(m, e->data, 8, s->sched_at) ||
	    *(__u64 *)e->data != s->resume_sp || bytes > HASHED_BYTES)
		return false;
	return read_user(m, e->data, bytes, s->resume_sp) &&
	       hash_of(e->data, bytes) == s->resume_hash;
}

/*
 * Where a frame is larger than what is compared, the return address behind the
 * frame pointer tells its callers apart. 0: the frame is not so large, or rbp is
 * no frame pointer.
 */
INLINE __u64 caller_of(struct moment *m)
{
	__u64 bytes = m->regs->bp - m->regs->sp, word = 0;

	if (bytes >= HASHED_BYTES - 8 && bytes <= FRAME_MAX)
		read_user(m, &word, sizeof(word), m->regs->bp + 8);
	return word;
}

INLINE bool is_repeat(struct moment *m, struct gr_event *e,
		      const struct slot *s)
{
	__u32 bytes = s->hashed;

	return may_repeat(m, s) && bytes && bytes <= HASHED_BYTES &&
	       read_user(m, e->data, bytes, m->regs->sp) &&
	       hash_of(e->data, bytes) == s->hash &&
	       caller_of(m) == s->caller && is_resume_equal(m, e, s);
}

/* Keep what tells the goroutine's call. False if its stack was not copied. */
INLINE bool keep_resume(const struct gr_event *e, struct slot *s)
{
	__u32 at = e->bytes[0], bytes = e->bytes[1];

	s->resume_hashed = 0;
	if (!e->resume_pc)
		return true;
	if (e->start[1] != e->resume_sp || bytes < HASHED_STEP ||
	    at > GR_EVENT_CHUNK_MAX)
		return false;
	if (bytes > HASHED_BYTES)
		bytes = HASHED_BYTES;
	s->sched_at = e->sched_at;
	s->resume_sp = e->resume_sp;
	s->resume_hashed = bytes & ~(__u32)(HASHED_STEP - 1);
	s->resume_hash = hash_of(&e->data[at], s->resume_hashed);
	return true;
}

/* Keep what a repeat of this event would have in common with it. */
INLINE void keep(struct moment *m, struct gr_event *e, struct slot *s)
{
	bool is_whole = e->start[0] == m->regs->sp - RED_ZONE &&
			e->bytes[0] >= RED_ZONE + HASHED_STEP;
	__u32 bytes = is_whole ? e->bytes[0] - RED_ZONE : 0;

	if (bytes > HASHED_BYTES)
		bytes = HASHED_BYTES;
	s->tid = m->tid;
	s->rip = m->regs->ip;
	s->rsp = m->regs->sp;
	s->rbp = m->regs->bp;
	s->hashed = bytes & ~(__u32)(HASHED_STEP - 1);
	s->hash = hash_of(&e->data[RED_ZONE], s->hashed);
	s->address = m->address;
	s->caller = caller_of(m);
	s->left = keep_resume(e, s) && is_whole ? GR_EVENT_REPEATS : 0;
}

INLINE void put_full(struct moment *m, struct gr_event *e, struct slot *s)
{
	e->head.kind = GR_EVENT_FULL;
	e->head.flags = m->flags;
	e->head.tid = m->tid;
	e->head.address = m->address;
	e->head.bytes = m->bytes;
	e->head.ref = (__u64)m->tid << 32 | (__u32)(s->ref + 1);
	e->resume_pc = e->resume_sp = e->resume_bp = e->goid = e->labels = 0;
	e->time_ns = m->began_ns;
	__u32 bytes = copy_thread(m, e);
	if (bytes > ALL_CHUNKS)
		return;
	s->left = 0;
	s->ref = e->head.ref;
	if (!put(m, e, offsetof(struct gr_event, data) + bytes))
		keep(m, e, s);
	__u64 took = bpf_ktime_get_ns() - m->began_ns;
	charge(m, (took < LONGEST_NS ? took : LONGEST_NS) + m->probe_ns);
}

/*
 * One event, as complete as the budget permits. Where the debt is too large, none
 * is recorded, and the reader takes the probes away for a while.
 */
NOINLINE void put_event(struct moment *m)
{
	struct gr_event *e = own_scratch();
	struct slot *s = slot_of(m->tid);

	if (!e || !s)
		return;
	m->counts->events++;
	bool is_limited = config.budget_ppm != 0;
	m->began_ns = bpf_ktime_get_ns();
	if (is_limited)
		refill(m->began_ns);
	if (is_limited && account_ns < -2 * (__s64)config.debt_ns) {
		m->counts->over_budget++;
		charge(m, bpf_ktime_get_ns() - m->began_ns + m->probe_ns);
		return;
	}
	if (is_repeat(m, e, s)) {
		s->left--;
		s->address = m->address;
		put_head(m, GR_EVENT_REPEAT, s->ref);
		return;
	}
	bool may_cost = gr_budget_permits_stack(&config, account_ns,
						bpf_get_prandom_u32() & 0xffff);
	if (!may_cost && (m->flags & GR_EVENT_SAMPLE)) {
		m->counts->over_budget++; // without a stack, it says nothing
		charge(m, m->probe_ns);
		return;
	}
	if (is_ring_filling())
		m->flags |= GR_EVENT_NO_STACK | GR_EVENT_FILLING;
	else if (!may_cost)
		m->flags |= GR_EVENT_NO_STACK;
	if (m->flags & GR_EVENT_NO_STACK) {
		put_head(m, GR_EVENT_BRIEF, 0);
		return;
	}
	put_full(m, e, s);
}

/*
 * Begin an event of the process; false for other processes. A program that
 * copies memory may itself fault: such a fault, which maps no page, is left
 * out. end_moment() has to follow.
 */
INLINE bool begin_moment(struct moment *m)
{
	struct bpf_pidns_info id = { 0 };
	__u32 zero = 0;

	if (!is_target(&id))
		return false;
	m->counts = bpf_map_lookup_elem(&counts, &zero);
	if (!m->counts)
		return false;
	if (m->counts->is_busy) {
		if (m->counts->is_busy != id.pid)
			m->counts->nested++;
		return false;
	}
	m->counts->is_busy = id.pid;
	m->tid = id.pid;
	m->regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	m->flags = 0;
	m->address = m->bytes = 0;
	m->probe_ns = config.fault_ns;
	m->began_ns = 0;
	return true;
}

INLINE void end_moment(struct moment *m)
{
	m->counts->is_busy = 0;
}

// --------------------------------------------------------------------- faults

INLINE int on_fault(__u64 address, __u32 flags)
{
	struct moment m;

	if (address >= user_end || !begin_moment(&m))
		return 0;
	m.address = address & ~(__u64)(PAGE - 1);
	m.bytes = PAGE;
	m.flags = flags;
	put_event(&m);
	end_moment(&m);
	return 0;
}

SEC("raw_tp/page_fault_user")
int fault_user(struct bpf_raw_tracepoint_args *ctx)
{
	return on_fault(ctx->args[0], 0);
}

SEC("raw_tp/page_fault_kernel")
int fault_kernel(struct bpf_raw_tracepoint_args *ctx)
{
	return on_fault(ctx->args[0], GR_EVENT_IN_KERNEL);
}

// ------------------------------------------------------------------- mappings

INLINE __u64 up_to_page(__u64 n)
{
	return (n + PAGE - 1) & ~(__u64)(PAGE - 1);
}

NOINLINE void put_range(struct moment *m, __u32 flag, __u64 from, __u64 to)
{
	if (from >= to || to > user_end)
		return;
	m->address = from;
	m->bytes = to - from;
	m->flags = flag;
	if (flag == GR_EVENT_MAPPED) {
		put_event(m);
		return;
	}
	m->counts->events++;
	put_head(m, GR_EVENT_BRIEF, 0);
}

/*
 * The kernel has found room for a mapping. For memory that may have huge pages
 * it asks for a huge page more, and takes the aligned part.
 */
SEC("raw_tp/vm_unmapped_area")
int unmapped_area(struct bpf_raw_tracepoint_args *ctx)
{
	struct vm_unmapped_area_info *info = (void *)ctx->args[1];
	__u64 from = ctx->args[0], bytes;
	struct moment m;

	if (from >= user_end || !begin_moment(&m))
		return 0;
	bytes = BPF_CORE_READ(info, length);
	__u64 asked = up_to_page(m.regs->si);
	__u64 more = bytes - asked;
	if (m.regs->orig_ax == __NR_mmap && more && bytes > asked &&
	    !(more & (more - 1))) {
		__u64 skipped = -from & (more - 1);
		from += skipped ? skipped : more;
		bytes = asked;
	}
	struct slot *s = slot_of(m.tid);
	if (s)
		s->last_unmapped = from;
	put_range(&m, GR_EVENT_MAPPED, from, from + bytes);
	end_moment(&m);
	return 0;
}

INLINE void put_break(struct moment *m, struct mm_struct *mm)
{
	__u64 now = up_to_page(BPF_CORE_READ(mm, brk));
	__u64 then = up_to_page(m->regs->di);

	if (then > now)
		put_range(m, GR_EVENT_MAPPED, now, then);
	else if (m->regs->di)
		put_range(m, GR_EVENT_GIVEN_BACK, then, now);
}

/* Does the thread give the pages of a range back, with madvise? */
INLINE bool is_discarding(const struct moment *m)
{
	__u64 advice = m->regs->dx;

	return m->regs->orig_ax == __NR_madvise &&
	       (advice == ADVICE_DONTNEED || advice == ADVICE_REMOVE ||
		advice == ADVICE_DONTNEED_LOCKED);
}

/* A call has the lock of the process's mappings, and is about to change them, or
 * its pages. Nothing else can be known here: mmap and mremap may yet choose a
 * place. Since Linux 6.16, madvise mostly locks the one mapping instead. */
SEC("raw_tp/mmap_lock_acquire_returned")
int lock_acquired(struct bpf_raw_tracepoint_args *ctx)
{
	struct mm_struct *mm = (void *)ctx->args[0];
	bool is_write = ctx->args[1] & 1;
	struct moment m;

	if (!begin_moment(&m))
		return 0;
	struct slot *s = slot_of(m.tid);
	if (s && is_write)
		s->last_unmapped = 0;
	__u64 end = m.regs->di + up_to_page(m.regs->si);
	if ((is_write && m.regs->orig_ax == __NR_munmap) ||
	    (!is_write && is_discarding(&m)))
		put_range(&m, GR_EVENT_GIVEN_BACK, m.regs->di, end);
	else if (is_write && m.regs->orig_ax == __NR_brk)
		put_break(&m, mm);
	end_moment(&m);
	return 0;
}

INLINE void put_remap(struct moment *m, bool is_moved)
{
	__u64 old = m->regs->di, old_end = old + up_to_page(m->regs->si);
	__u64 bytes = up_to_page(m->regs->dx);

	if (m->regs->r10 & REMAP_FIXED) {
		is_moved = true;
		put_range(m, GR_EVENT_MAPPED, m->regs->r8, m->regs->r8 + bytes);
	}
	if (is_moved)
		put_range(m, GR_EVENT_GIVEN_BACK, old, old_end);
	else if (old + bytes < old_end)
		put_range(m, GR_EVENT_GIVEN_BACK, old + bytes, old_end);
	else
		put_range(m, GR_EVENT_MAPPED, old_end, old + bytes);
}

/* The call has made its changes. Where no room was looked for, the mapping is
 * where the caller wished it. */
SEC("raw_tp/mmap_lock_released")
int lock_released(struct bpf_raw_tracepoint_args *ctx)
{
	bool is_write = ctx->args[1] & 1;
	struct moment m;

	if (!is_write || !begin_moment(&m))
		return 0;
	struct slot *s = slot_of(m.tid);
	bool was_found = s && s->last_unmapped;
	__u64 end = m.regs->di + up_to_page(m.regs->si);
	if (m.regs->orig_ax == __NR_mmap && m.regs->di && !was_found)
		put_range(&m, GR_EVENT_MAPPED, m.regs->di, end);
	else if (m.regs->orig_ax == __NR_mremap)
		put_remap(&m, was_found);
	end_moment(&m);
	return 0;
}

// ----------------------------------------------------------------- the sample

SEC("uprobe")
int sample(void *ctx)
{
	struct moment m;

	if (!begin_moment(&m))
		return 0;
	struct gr_event *e = own_scratch();
	if (e) {
		set_registers(e->regs, m.regs);
		m.address = e->regs[config.pointer_register & 15];
		m.bytes = e->regs[config.size_register & 15];
		m.flags = GR_EVENT_SAMPLE;
		m.probe_ns = config.trap_ns;
		put_event(&m);
	}
	end_moment(&m);
	return 0;
}

/* The test of the filter of probes (sampler.c): how often a thread was seen. */
__u64 tests_seen = 0;

SEC("uprobe")
int test_filter(void *ctx)
{
	__sync_fetch_and_add(&tests_seen, 1);
	return 0;
}

// ------------------------------------------------------------ another program

/* How many there were. The ring may be full. */
__u32 programs_begun = 0;

SEC("raw_tp/sched_process_exec")
int began_program(struct bpf_raw_tracepoint_args *ctx)
{
	struct bpf_pidns_info id = { 0 };
	struct moment m;

	if (is_target(&id))
		__sync_fetch_and_add(&programs_begun, 1);
	if (!begin_moment(&m))
		return 0;
	put_head(&m, GR_EVENT_EXEC, 0);
	end_moment(&m);
	return 0;
}
