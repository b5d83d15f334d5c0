/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/**
 * kernel_event: what the BPF programs for the kernel's memory and their reader
 * share. The programs keep a table of outstanding allocations; the reader sums it
 * up.
 */
#ifndef GR_TRACE_KERNEL_EVENT_H
#define GR_TRACE_KERNEL_EVENT_H

#include <linux/types.h>

enum {
	GR_KERNEL_BLOCKS = 262144, /**< outstanding allocations */
	GR_KERNEL_STACKS = 16384,  /**< buckets for stacks */
	GR_KERNEL_FRAMES = 64,	   /**< of a stack */
	GR_KERNEL_FILTER = 65536,  /**< hashes of addresses */
	GR_KERNEL_OF_OTHERS = 256, /**< one in so many is measured */
};

/** The allocator. Pages beneath another one are not told apart here. */
enum gr_kernel_kind {
	GR_KERNEL_KMALLOC = 1,
	GR_KERNEL_SLAB,
	GR_KERNEL_PAGES,
	GR_KERNEL_PERCPU,
	GR_KERNEL_BENEATH, /**< pages of the other three */
	GR_KERNEL_KINDS,
};

/** An allocation. The key is its address, or that of its struct page. */
struct gr_kernel_block {
	__u64 bytes, time_ns;
	__u32 kind;  /**< enum gr_kernel_kind */
	__u32 stack; /**< bucket + 1; 0: none */
};

/** Where the tracepoints have their arguments, which differs by kernel. */
struct gr_kernel_layout {
	__u32 kmalloc_bytes; /**< 3 or 4 */
	__u32 cache_bytes;   /**< 3 or 4; 0: the size is in the cache */
	__u32 percpu_size;   /**< 2 or 3; the pointer is 4 behind */
	__u32 cpus;
};

/** Counted on each processor. events: allocations of the process, and their
 * ends; others: all that the programs looked at in vain. */
struct gr_kernel_counts {
	__u64 events, ns;
	__u64 others, others_ns;
	__u64 table_full, over_budget, no_stack, missed;
};

#endif /* GR_TRACE_KERNEL_EVENT_H */
