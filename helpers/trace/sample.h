/* SPDX-License-Identifier: Apache-2.0 */
/** sample: what the BPF program copied of a thread at an event. */
#ifndef GR_TRACE_SAMPLE_H
#define GR_TRACE_SAMPLE_H

#include "base/base.h"
#include "inferior/arch.h"

enum {
	GR_MAX_FRAMES = 256,
	GR_RED_ZONE_BYTES = 128,
	GR_SAMPLE_CHUNKS = 3,
	/** Registers by DWARF number: GR_REG_RAX to GR_REG_RIP. */
	GR_SAMPLE_REGS = GR_REG_RIP + 1,
};

/** A copied part of the stack: target range [start, start + bytes). */
struct gr_sample_chunk {
	uint64_t start;
	const uint8_t *data;
	size_t bytes;
};

/**
 * The first chunk holds the stack from rsp on. It should begin GR_RED_ZONE_BYTES
 * earlier: where a function has popped registers but not returned, its call frame
 * information finds them there. Without them such a stack is not finished.
 */
struct gr_sample {
	uint64_t regs[GR_SAMPLE_REGS]; /**< By DWARF number. */
	/** At rsp; from curg.sched.sp; at rbp, if it lies beyond the first. */
	struct gr_sample_chunk chunks[GR_SAMPLE_CHUNKS];
	/** curg.sched of a thread on its system stack; pc 0: none. */
	uint64_t resume_pc, resume_sp, resume_bp;
};

#endif /* GR_TRACE_SAMPLE_H */
