// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The programs that goref-trace loads into the kernel for the mode kernel: what
 * the kernel allocates while a thread of one process runs, by the stack of the
 * kernel, until anybody frees it. What they write is in kernel_event.h.
 *
 * Every process on the machine runs them. So they first look whether there is
 * something to do, by means that cost little.
 */
#include <asm/errno.h>

#include "helpers/trace/kernel_event.h"
#include "helpers/trace/target.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
	PAGE = 4096,
	GFP_MOVABLE = 8,    /* ___GFP_MOVABLE, the same in all kernels */
	MOST_BULK = 512,    /* blocks that one call frees */
	LONGEST_NS = 20000, /* of a measure: above it, something came between */
	/* As measured: the cost of an event beside the measured part of its
	 * program, less that of the measuring. */
	BESIDE_EVENT_NS = 170,
	BESIDE_OTHER_NS = 20,
};

struct kmem_cache {
	unsigned int size;
} RELOCATED;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GR_KERNEL_BLOCKS);
	__type(key, __u64);
	__type(value, struct gr_kernel_block);
} outstanding SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, GR_KERNEL_STACKS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, GR_KERNEL_FRAMES * sizeof(__u64));
} stacks SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gr_kernel_counts);
} counts SEC(".maps");

const volatile struct gr_kernel_layout layout = { 0 };

/* How many outstanding addresses have a hash: 0 for most, which needs no look
 * into the table, where the processor's caches do not help. */
__u32 filter[GR_KERNEL_FILTER] = { 0 };

/* The number of the process outside of all namespaces, once it was seen. */
__u32 known_tgid = 0;

typedef struct bpf_raw_tracepoint_args args_t;

/* An argument. Its offset has to stay a constant, which the verifier asks for. */
#define ARG(ctx, i) (*(volatile __u64 *)&(ctx)->args[i])

// ------------------------------------------------------------------- accounts

INLINE struct gr_kernel_counts *own_counts(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&counts, &zero);
}

/* When did an event begin that nothing follows from? 0: it is not measured. */
INLINE __u64 begin_other(const struct gr_kernel_counts *c)
{
	return c->others % GR_KERNEL_OF_OTHERS ? 0 : bpf_ktime_get_ns();
}

INLINE void end_other(struct gr_kernel_counts *c, __u64 began_ns)
{
	c->others++;
	if (!began_ns)
		return;
	__u64 took = bpf_ktime_get_ns() - began_ns + BESIDE_OTHER_NS;
	if (took < LONGEST_NS)
		c->others_ns += took * GR_KERNEL_OF_OTHERS;
}

INLINE void end_event(struct gr_kernel_counts *c, __u64 began_ns)
{
	__u64 took = bpf_ktime_get_ns() - began_ns + BESIDE_EVENT_NS;

	c->ns += took;
	pay(took);
}

INLINE bool is_own_thread(void)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct bpf_pidns_info id = { 0 };

	if (known_tgid)
		return known_tgid == tgid;
	if (!is_target(&id))
		return false;
	known_tgid = tgid;
	return true;
}

// ------------------------------------------------------------------ the table

INLINE __u32 *filter_of(__u64 address)
{
	return &filter[address * 0x9e3779b97f4a7c15ULL >> 48];
}

INLINE bool is_outstanding(__u64 address)
{
	return *(volatile __u32 *)filter_of(address) &&
	       bpf_map_lookup_elem(&outstanding, &address);
}

/* Add an allocation. If its address is there, its free was not seen. */
INLINE void add(struct gr_kernel_counts *c, __u64 address,
		const struct gr_kernel_block *block)
{
	__u32 *number = filter_of(address);

	__sync_fetch_and_add(number, 1);
	long err =
		bpf_map_update_elem(&outstanding, &address, block, BPF_NOEXIST);
	if (!err)
		return;
	__sync_fetch_and_add(number, -1);
	if (err == -EEXIST)
		err = bpf_map_update_elem(&outstanding, &address, block,
					  BPF_EXIST);
	if (err == -E2BIG)
		c->table_full++;
	else if (err)
		c->missed++;
}

INLINE void drop(struct gr_kernel_counts *c, __u64 address)
{
	long err = bpf_map_delete_elem(&outstanding, &address);

	if (!err)
		__sync_fetch_and_add(filter_of(address), -1);
	else if (err != -ENOENT)
		c->missed++;
}

// ---------------------------------------------------------------- allocations

/*
 * The stack of the moment. Where another one has its bucket, the same stack has
 * another hash without its first frames, which are ours.
 */
INLINE __u32 own_stack(void *ctx, struct gr_kernel_counts *c)
{
	long id = bpf_get_stackid(ctx, &stacks, 0);

	if (id < 0)
		id = bpf_get_stackid(ctx, &stacks, 1);
	if (id < 0)
		id = bpf_get_stackid(ctx, &stacks, 2);
	if (id >= 0)
		return id + 1;
	c->no_stack++;
	return 0;
}

INLINE bool may_go_on(struct gr_kernel_counts *c, __u64 now)
{
	c->events++;
	if (!config.budget_ppm)
		return true;
	refill(now);
	if (gr_budget_permits_stack(&config, account_ns,
				    bpf_get_prandom_u32() & 0xffff))
		return true;
	c->over_budget++;
	return false;
}

INLINE int on_made(void *ctx, __u32 kind, __u64 address, __u64 bytes)
{
	struct gr_kernel_counts *c = own_counts();

	if (!c || !address)
		return 0;
	__u64 began_ns = begin_other(c);
	bool is_own = is_own_thread();
	// It was freed without our knowledge, if it is allocated again.
	if (!is_own && is_outstanding(address))
		drop(c, address);
	if (!is_own) {
		end_other(c, began_ns);
		return 0;
	}
	began_ns = bpf_ktime_get_ns();
	if (!may_go_on(c, began_ns)) {
		drop(c, address);
		return 0;
	}
	struct gr_kernel_block block = {
		.bytes = bytes,
		.time_ns = began_ns,
		.kind = kind,
		.stack = own_stack(ctx, c),
	};
	add(c, address, &block);
	end_event(c, began_ns);
	return 0;
}

INLINE int on_kmalloc(args_t *ctx)
{
	__u64 third = ARG(ctx, 3), fourth = ARG(ctx, 4);

	return on_made(ctx, GR_KERNEL_KMALLOC, ARG(ctx, 1),
		       layout.kmalloc_bytes == 4 ? fourth : third);
}

INLINE int on_cache_alloc(args_t *ctx)
{
	__u64 third = ARG(ctx, 3), fourth = ARG(ctx, 4);
	__u64 bytes = layout.cache_bytes == 4 ? fourth : third;

	if (!layout.cache_bytes) {
		struct kmem_cache *cache = (void *)ARG(ctx, 2);
		bytes = BPF_CORE_READ(cache, size);
	}
	return on_made(ctx, GR_KERNEL_SLAB, ARG(ctx, 1), bytes);
}

SEC("raw_tp/kmalloc")
int made_kmalloc(args_t *ctx)
{
	return on_kmalloc(ctx);
}

SEC("raw_tp/kmalloc_node")
int made_kmalloc_node(args_t *ctx)
{
	return on_kmalloc(ctx);
}

SEC("raw_tp/kmem_cache_alloc")
int made_slab(args_t *ctx)
{
	return on_cache_alloc(ctx);
}

SEC("raw_tp/kmem_cache_alloc_node")
int made_slab_node(args_t *ctx)
{
	return on_cache_alloc(ctx);
}

/* Pages of processes and of files may move. rss explains them. */
SEC("raw_tp/mm_page_alloc")
int made_pages(args_t *ctx)
{
	if (ARG(ctx, 2) & GFP_MOVABLE)
		return 0;
	return on_made(ctx, GR_KERNEL_PAGES, ARG(ctx, 0),
		       (__u64)PAGE << (ARG(ctx, 1) & 31));
}

SEC("raw_tp/percpu_alloc_percpu")
int made_percpu(args_t *ctx)
{
	__u64 bytes, address;

	if (layout.percpu_size == 3) {
		bytes = ARG(ctx, 3);
		address = ARG(ctx, 7);
	} else {
		bytes = ARG(ctx, 2);
		address = ARG(ctx, 6);
		// Or else the compiler chooses an offset, and reads once.
		__asm__ volatile("%0 += 0" : "+r"(bytes));
	}
	return on_made(ctx, GR_KERNEL_PERCPU, address, bytes * layout.cpus);
}

// ---------------------------------------------------------------------- frees

INLINE int on_freed(__u64 address)
{
	struct gr_kernel_counts *c = own_counts();

	if (!c || !address)
		return 0;
	__u64 began_ns = begin_other(c);
	if (!is_outstanding(address)) {
		end_other(c, began_ns);
		return 0;
	}
	began_ns = bpf_ktime_get_ns();
	drop(c, address);
	c->events++;
	end_event(c, began_ns);
	return 0;
}

SEC("raw_tp/kfree")
int freed_kmalloc(args_t *ctx)
{
	return on_freed(ARG(ctx, 1));
}

SEC("raw_tp/kmem_cache_free")
int freed_slab(args_t *ctx)
{
	return on_freed(ARG(ctx, 1));
}

SEC("raw_tp/mm_page_free")
int freed_pages(args_t *ctx)
{
	return on_freed(ARG(ctx, 0));
}

SEC("raw_tp/mm_page_free_batched")
int freed_pages_batched(args_t *ctx)
{
	return on_freed(ARG(ctx, 0));
}

SEC("raw_tp/percpu_free_percpu")
int freed_percpu(args_t *ctx)
{
	return on_freed(ARG(ctx, 2));
}

/* kfree_rcu(): the memory goes when all readers have left, which no tracepoint
 * tells of: (head, pointer). */
SEC("fentry/kvfree_call_rcu")
int freed_later(__u64 *ctx)
{
	return on_freed(ctx[1]);
}

/* Many blocks at once, of which no tracepoint tells either: (cache, count,
 * array). */
SEC("fentry/kmem_cache_free_bulk")
int freed_many(__u64 *ctx)
{
	__u64 n = ctx[1], *blocks = (void *)ctx[2];
	struct gr_kernel_counts *c = own_counts();

	if (!c)
		return 0;
	for (int i = 0; i < MOST_BULK && i < n; i++) {
		__u64 address = 0;
		bpf_probe_read_kernel(&address, sizeof(address), &blocks[i]);
		on_freed(address);
	}
	if (n > MOST_BULK)
		c->missed += n - MOST_BULK;
	return 0;
}
