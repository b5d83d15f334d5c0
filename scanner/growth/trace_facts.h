/* SPDX-License-Identifier: Apache-2.0 */
/**
 * trace_facts: what goref-trace needs to know of a program to unwind the stacks
 * of its goroutines, and to see the allocations that its runtime samples.
 */
#ifndef GR_TRACE_FACTS_H
#define GR_TRACE_FACTS_H

#include "base/base.h"
#include "base/error.h"

struct gr_scan;

/** The place of a field of runtime.g or runtime.m. */
struct gr_trace_offset {
	const char *name; /**< As of the helper's line `offset`. */
	uint32_t bytes;
};

/** The text of a Go module, and the tables that describe it. Addresses are
 * those at run time. */
struct gr_trace_module {
	uint64_t text, etext;
	uint64_t pclntable_addr, pclntable_bytes;
	uint64_t pctab_addr, pctab_bytes;
	uint64_t ftab_addr, ftab_count; /**< The last entry ends the others. */
	uint64_t text_start; /**< Entries of ftab are relative to it. */
};

/** Where the runtime's samples of allocations are seen. */
struct gr_trace_probe {
	uint64_t addr;
	const char *place; /**< "past_check", "at_check", "entry" */
	/** The registers that have the object and its size (enum gr_reg). */
	uint32_t pointer_register, size_register;
};

enum { GR_TRACE_NOFFSETS = 10 };

/** The answer. It belongs to the caller. */
struct gr_trace_facts {
	struct gr_trace_offset offsets[GR_TRACE_NOFFSETS];
	size_t noffsets;
	uint64_t sweepgen_addr; /**< The place of runtime.mheap_.sweepgen. */
	int64_t tls_g; /**< From fs_base to the g; INT64_MIN: not known. */
	struct gr_trace_module *modules;
	size_t nmodules;
	bool has_probe;
	struct gr_trace_probe probe;
	/** "on", "off" (its rate is 0), "removed" (the linker has done that), or
	 * "unknown". */
	const char *profiling;
	int64_t profile_rate; /**< Bytes a sample; INT64_MIN: not known. */
};

/** Read them of a process that runs. @p ret needs gr_trace_facts_deinit(). */
struct gr_error *gr_scan_trace_facts(struct gr_scan *scan,
				     struct gr_trace_facts *ret) GR_MUST_CHECK;
void gr_trace_facts_deinit(struct gr_trace_facts *facts);

#endif /* GR_TRACE_FACTS_H */
