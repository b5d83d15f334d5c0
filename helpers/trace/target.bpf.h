/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/**
 * target: the process that the BPF programs look at, and the account of the
 * processor time that they may take of it.
 */
#ifndef GR_TRACE_TARGET_BPF_H
#define GR_TRACE_TARGET_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "helpers/trace/event.h"

#define RELOCATED __attribute__((preserve_access_index))
#define NOINLINE static __attribute__((__noinline__))
#define INLINE static inline __attribute__((__always_inline__))

enum { REFILL_NS = 1000000 };

struct gr_event_config config = { 0 };
__u64 refilled_ns = 0; /* when the account was last filled */
__s64 account_ns = 0;

/* Is it a thread of the process? Its numbers are those of its namespace. */
INLINE bool is_target(struct bpf_pidns_info *id)
{
	return !bpf_get_ns_current_pid_tgid(config.ns_dev, config.ns_ino, id,
					    sizeof(*id)) &&
	       id->tgid == config.tgid;
}

INLINE void refill(__u64 now)
{
	__u64 last = refilled_ns;
	__u64 passed = now - last;

	if ((__s64)passed < REFILL_NS ||
	    __sync_val_compare_and_swap(&refilled_ns, last, now) != last)
		return;
	__s64 more = gr_budget_growth(&config, account_ns, passed);
	__sync_fetch_and_add(&account_ns, more);
}

INLINE void pay(__u64 ns)
{
	if (config.budget_ppm)
		__sync_fetch_and_add(&account_ns, -(__s64)ns);
}

#endif /* GR_TRACE_TARGET_BPF_H */
