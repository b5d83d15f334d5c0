/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/**
 * event: what the BPF programs of goref-trace and their reader share. The
 * programs write events into a ring; the reader writes the configuration.
 */
#ifndef GR_TRACE_EVENT_H
#define GR_TRACE_EVENT_H

#include <linux/types.h>

enum {
	GR_EVENT_REGS = 17, /**< by DWARF number; the last is rip */
	GR_EVENT_CHUNKS = 3,
	GR_EVENT_CHUNK_MAX = 32768, /**< bytes of one copied part */
	GR_EVENT_PAGE = 4096,
	GR_EVENT_PART = 512,	    /**< bytes of a g or m that are looked at */
	GR_EVENT_SLOTS = 16384,	    /**< threads whose last event is known */
	GR_EVENT_REPEATS = 63,	    /**< events for one copy of a stack */
	GR_EVENT_AHEAD_MAX = 65536, /**< bytes from one repeat to the next */
	GR_EVENT_MAX_CPUS = 4096,
};

/** The sweepgen of a sample that has no labels, or could not be read. */
#define GR_EVENT_NO_SWEEPGEN (~(__u64)0)

enum gr_event_kind {
	GR_EVENT_FULL,	 /**< struct gr_event */
	GR_EVENT_REPEAT, /**< a head; the stack is that of the event `ref' */
	GR_EVENT_BRIEF,	 /**< a head; there is no stack */
	GR_EVENT_EXEC,	 /**< a head; the process began another program */
};

enum gr_event_flag {
	GR_EVENT_IN_KERNEL = 1, /**< the fault was taken in kernel mode */
	GR_EVENT_MAPPED = 2,	/**< a mapping was made */
	GR_EVENT_GIVEN_BACK = 4,
	GR_EVENT_NO_STACK = 8, /**< over the budget, or see below */
	GR_EVENT_SAMPLE = 16,  /**< a sample of the Go runtime */
	GR_EVENT_FILLING = 32, /**< no stack, as the ring is almost full */
};

/** The head of every event. */
struct gr_event_head {
	__u16 kind;  /**< enum gr_event_kind */
	__u16 flags; /**< enum gr_event_flag */
	__u32 tid;   /**< in the pid namespace of the process */
	__u64 address, bytes;
	/** The number of a full event, or of that which a repeat refers to: the
	 * thread in the upper half, a counter in the lower one. */
	__u64 ref;
};

/** An event with registers and stacks, up to the end of the data. */
struct gr_event {
	struct gr_event_head head;
	__u64 regs[GR_EVENT_REGS];
	__u64 resume_pc, resume_sp, resume_bp; /**< curg.sched, or 0 */
	__u64 goid, labels, time_ns;
	__u64 sweepgen; /**< or GR_EVENT_NO_SWEEPGEN */
	/** The chunks: from rsp, from curg.sched.sp, and from rbp, if that lies
	 * beyond the first one, as in a large frame. */
	__u64 start[GR_EVENT_CHUNKS];
	__u32 bytes[GR_EVENT_CHUNKS], unused;
	__u8 data[GR_EVENT_CHUNKS * GR_EVENT_CHUNK_MAX + GR_EVENT_PAGE];
	/** For the programs alone; the ring has what is before it. */
	__u8 g[GR_EVENT_PART], m[GR_EVENT_PART];
	__u8 unused_part[GR_EVENT_PART]; /* the verifier sees m end here */
	__u64 next, sched_at;		 /**< of curg.sched.sp */
	__u32 done;
};

/** Offsets in the runtime's structs g and m. */
struct gr_event_offsets {
	__u32 g_m, g_stack_lo, g_stack_hi;
	__u32 g_sched_sp, g_sched_pc, g_sched_bp;
	__u32 g_goid, g_labels;
	__u32 m_g0, m_curg;
};

/** Written by the reader; it may change while the programs run. */
struct gr_event_config {
	__u64 ns_dev, ns_ino; /**< the pid namespace of the process */
	__u32 tgid;	      /**< its number there */
	__u32 has_offsets;
	__s64 tls_g; /**< g is at fs_base + tls_g; 0: not known */
	struct gr_event_offsets offsets;
	__u64 sweepgen_address;		       /**< 0: not known */
	__u32 pointer_register, size_register; /**< of a sample, by DWARF */
	__u64 budget_ppm; /**< time for events, of one processor; 0: no limit */
	__u64 bank_ns;	  /**< budget that may be saved up */
	/** The debt in which no event has a stack any more. Up to twice this,
	 * events are recorded. */
	__u64 debt_ns;
	__u64 ring_bytes;
	__u64 fault_ns, trap_ns; /**< what a probe costs beside its program */
};

/** Counted on each processor. */
struct gr_event_counts {
	__u64 events, ns;
	__u64 ring_full, over_budget, no_stack, nested;
	/** Faults of the program for kernel faults itself, at the end of a
	 * stack. The kernel counts them as runs that it left out. */
	__u64 own_faults;
	__u32 is_busy; /**< the thread whose event is being made */
	__u32 unused;
};

/**
 * By how much an account of processor time grows in some time: by its share, up
 * to what may be banked.
 */
static inline __s64 gr_budget_growth(const struct gr_event_config *config,
				     __s64 account_ns, __u64 passed_ns)
{
	const __u64 second = 1000000000;
	__s64 most = (__s64)config->bank_ns - account_ns;

	// The product of more seconds could overflow. No debt is so large.
	if (passed_ns > 1000 * second)
		passed_ns = 1000 * second;
	__s64 more = (__s64)(passed_ns * config->budget_ppm / 1000000);
	return more < most ? more : most;
}

/**
 * May an event have a stack? In debt, chance decides: the larger the debt, the
 * rarer is a stack. So those that have one are a fair sample among the events at
 * one debt, and neither the first faults of each burst nor each second one.
 *
 * @param random 16 random bits.
 */
static inline int gr_budget_permits_stack(const struct gr_event_config *config,
					  __s64 account_ns, __u32 random)
{
	if (!config->budget_ppm || account_ns >= 0)
		return 1;
	__u64 debt_ns = -(__u64)account_ns;
	return debt_ns < config->debt_ns &&
	       random * config->debt_ns >= debt_ns << 16;
}

#endif /* GR_TRACE_EVENT_H */
