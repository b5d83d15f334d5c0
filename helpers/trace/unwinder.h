/* SPDX-License-Identifier: Apache-2.0 */
/**
 * unwinder: the callers of a thread, from its registers and a copy of its stack.
 * C frames go by call frame information, Go frames by the tables of the runtime;
 * from the system stack it goes on with the goroutine. A frame that nothing
 * describes ends the walk: none is guessed.
 */
#ifndef GR_TRACE_UNWINDER_H
#define GR_TRACE_UNWINDER_H

#include <sys/types.h>

#include "base/base.h"
#include "base/error.h"
#include "helpers/trace/go_frames.h"
#include "helpers/trace/modules.h"
#include "helpers/trace/sample.h"

struct gr_unwinder;

/** The frames of a sample, innermost first. */
struct gr_walked {
	/** Callers: the byte before the return address. */
	uint64_t pc[GR_MAX_FRAMES];
	size_t count;
	bool is_finished; /**< The outermost one is the start of the stack. */
	uint64_t generation; /**< gr_unwinder_generation() of these pcs. */
};

/**
 * Limit the memory of this process for ever. A damaged file may name a register of
 * any number, and libdw takes memory for all below it; then it gets none.
 */
void gr_unwinder_limit_memory(void);

struct gr_error *gr_unwinder_new(pid_t pid,
				 struct gr_unwinder **ret) GR_MUST_CHECK;
void gr_unwinder_destroy(struct gr_unwinder *u);

/**
 * Read the tables of a Go module. They are forgotten when the code at their
 * addresses is another one.
 */
struct gr_error *
gr_unwinder_add_go_module(struct gr_unwinder *u,
			  const struct gr_go_module *module) GR_MUST_CHECK;

/**
 * Mappings of code may have changed: read them before the next walk, at most ten
 * times a second. An unknown pc has the same effect.
 */
void gr_unwinder_forget_maps(struct gr_unwinder *u);

/**
 * Read the mappings as after gr_unwinder_forget_maps(), and open their files, so
 * that samples can be walked when the process has ended.
 */
void gr_unwinder_prepare(struct gr_unwinder *u);

/** Changes when an address may have got another meaning. */
uint64_t gr_unwinder_generation(const struct gr_unwinder *u);

void gr_unwinder_walk(struct gr_unwinder *u, const struct gr_sample *sample,
		      struct gr_walked *ret);

/** Find a pc in the files, for its name. */
bool gr_unwinder_find(struct gr_unwinder *u, uint64_t pc,
		      struct gr_code_place *ret);

/** Copy the name of the function at a place; empty if it is not known. */
void gr_unwinder_name(struct gr_unwinder *u, uint64_t pc,
		      const struct gr_code_place *place, char *name,
		      size_t name_bytes);

#endif /* GR_TRACE_UNWINDER_H */
