/* SPDX-License-Identifier: Apache-2.0 */
/**
 * goroutine: all goroutines, their frames, and which words of their stacks
 * the collector would take for pointers. Source: runtime/runtime2.go (g),
 * runtime/traceback.go, runtime/stkframe.go, runtime/mgcmark.go
 * (scanstack, scanframeworker), runtime/mgcstack.go.
 */
#ifndef GR_GOROUTINE_H
#define GR_GOROUTINE_H

#include "goruntime/pclntab.h"
#include "goruntime/runtime.h"

/** One physical frame (runtime.stkframe). Addresses in the target. */
struct gr_frame {
	struct gr_func func;
	uint64_t pc;	   /**< Where it executes, or will after its callee. */
	uint64_t continpc; /**< Liveness pc (stkframe.continpc); 0: dead. */
	uint64_t sp, fp;   /**< [sp, fp); fp is the caller's sp, DWARF's CFA. */
	uint64_t varp, argp;
	bool is_conservative; /**< Scanned word by word. */
	bool is_innermost;
	/**
	 * pc is an instruction that was interrupted or not yet begun, not the
	 * return address of a call: look it up as it is, not at pc - 1.
	 */
	bool is_exact_pc;
	/**
	 * Preempted between two calls: the frame before this one, of
	 * runtime.asyncPreempt, holds its registers.
	 */
	bool is_preempted;
};

enum gr_value_kind {
	GR_VALUE_REGISTER, /**< Of a running or preempted goroutine. */
	GR_VALUE_DEFER,	   /**< A deferred function or a _defer record. */
	GR_VALUE_PANIC,	   /**< A _panic record: always on the stack. */
	GR_VALUE_CTXT,	   /**< sched.ctxt, the saved closure register. */
};

/**
 * A root that is a value, not a word of the stack. May point anywhere: into
 * the heap, into the goroutine's own stack, or nowhere if conservative.
 */
struct gr_value_root {
	uint64_t value;
	const char *name_suffix; /**< "$rax", "$defer", "$ctxt"; static. */
	uint8_t kind;		 /**< enum gr_value_kind */
	bool conservative;
	uint32_t frame; /**< Index in frames that it belongs to. */
};

/** One g that may hold memory. Dead and idle ones are left out. */
struct gr_goroutine {
	uint64_t addr; /**< Of the runtime.g. */
	uint64_t goid;
	uint32_t status;	 /**< Without the scan bit. */
	const char *state;	 /**< "running", "waiting", "syscall" ... */
	const char *wait_reason; /**< "chan receive", or "" */
	uint64_t stack_lo, stack_hi;
	uint64_t gopc, startpc;
	/** runtime.isSystemGoroutine: the runtime's own. */
	bool is_system;
	/**
	 * No goroutine but the system stack of a thread that works with a P:
	 * it may hold what is being allocated, started, finalized. All of it
	 * is taken conservatively.
	 */
	bool is_g0;
	/** Innermost registers are those of a thread (running on one). */
	bool has_regs;
	struct gr_regs regs;
	/** Live words of the stack: [innermost sp, stack_hi). */
	struct gr_area stack;
	/**
	 * Frames, innermost first. Of a very deep stack only the innermost
	 * ones (then is_cut): live words are complete all the same.
	 */
	struct gr_frame *frames;
	size_t nframes;
	bool is_cut;
	/** Registers, deferred functions, ctxt: roots besides the stack. */
	struct gr_value_root *values;
	size_t nvalues;
	uint64_t ctxt; /**< sched.ctxt; among the values if not 0. */
	/** Where unwinding starts; sp 0: not known, all is conservative. */
	uint64_t pc, sp;
	/** The link register there; 0: on the stack, as without such one. */
	uint64_t lr;
	bool is_syscall; /**< pc and sp are those of the system call. */
	/** [unknown_start, stack_hi) was not unwound; stack_hi if all was. */
	uint64_t unknown_start;
	uint64_t defer_addr, panic_addr; /**< First records, or 0. */
	uint64_t waiting_addr;		 /**< First sudog, or 0. */
	uint64_t xregs_addr;		 /**< Saved vector registers, or 0. */
};

/** What stands for the function where a stack has no frame. */
static inline const char *gr_goroutine_no_frame(const struct gr_goroutine *g)
{
	return g->is_g0 ? "runtime.g0" : "runtime.unknown";
}

/**
 * Enumerate allgs, allm, allp into @p rt; place every goroutine's innermost
 * frame (sched, syscall, thread registers, interrupted signal context) and
 * plan the stacks' memory. Lazy image.
 */
struct gr_error *gr_goroutines_read(struct gr_runtime *rt) GR_MUST_CHECK;

/**
 * Unwind every goroutine and compute its live words. Image may be sealed.
 * Frames that cannot be unwound are gaps; the rest of such a stack is then
 * scanned conservatively, so that nothing live is lost.
 */
struct gr_error *gr_goroutines_unwind(struct gr_runtime *rt) GR_MUST_CHECK;

/**
 * Registers of running goroutines, saved vector registers, defers, panics
 * and ctxt, as values of @p g. After its frames are known.
 */
struct gr_error *
gr_goroutine_collect_values(struct gr_runtime *rt,
			    struct gr_goroutine *g) GR_MUST_CHECK;

/** Free rt->goroutines, rt->ms and rt->ps with all they own. */
void gr_goroutines_deinit(struct gr_runtime *rt);

/**
 * Mark the stack words of one goroutine: precise maps of every frame, args,
 * conservative frames, then stack objects reached from live words, from
 * defers, panics and registers, transitively (runtime/mgcstack.go).
 */
struct gr_error *gr_stack_mark_live(struct gr_runtime *rt,
				    struct gr_goroutine *g) GR_MUST_CHECK;

#endif /* GR_GOROUTINE_H */
