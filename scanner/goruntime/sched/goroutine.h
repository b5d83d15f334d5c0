/* SPDX-License-Identifier: Apache-2.0 */
/**
 * goroutine: all goroutines, their frames, and the words of their stacks that
 * the collector treats as pointers. Source: runtime/runtime2.go (g),
 * runtime/traceback.go, runtime/stkframe.go, runtime/mgcmark.go
 * (scanstack, scanframeworker), runtime/mgcstack.go.
 */
#ifndef GR_GOROUTINE_H
#define GR_GOROUTINE_H

#include "goruntime/layout/pclntab.h"
#include "goruntime/layout/runtime.h"

/** One physical frame (runtime.stkframe). Addresses are in the target. */
struct gr_frame {
	const struct gr_func *func; /**< In the arena; shared by frames. */
	uint64_t pc; /**< Current pc, or the return address of the call. */
	uint64_t continpc; /**< Liveness pc (stkframe.continpc); 0: dead. */
	uint64_t sp, fp;   /**< [sp, fp); fp is the caller's sp, DWARF's CFA. */
	uint64_t varp, argp;
	bool is_conservative; /**< Scanned word by word. */
	bool is_innermost;
	/**
	 * pc is an interrupted or not yet executed instruction, not a return
	 * address. Tables are searched at pc, not at pc - 1.
	 */
	bool is_exact_pc;
	/**
	 * The function was preempted between two calls. The preceding frame
	 * in the array, that of runtime.asyncPreempt, holds its registers.
	 */
	bool is_preempted;
	/**
	 * Row of the stack maps at continpc. GR_MAP_INDEX_UNKNOWN: the row
	 * must be looked up.
	 */
	int32_t map_index;
};

enum { GR_MAP_INDEX_UNKNOWN = INT32_MIN };

/** An instruction of the call that the frame is in: its pc, or for a return
 * address the byte before it. */
static inline uint64_t gr_frame_call_pc(const struct gr_frame *frame)
{
	return frame->is_exact_pc || frame->pc == frame->func->entry ?
		       frame->pc :
		       frame->pc - 1;
}

enum gr_value_kind {
	GR_VALUE_REGISTER, /**< Register of a running or preempted g. */
	GR_VALUE_DEFER,	   /**< A deferred function or a _defer record. */
	GR_VALUE_PANIC,	   /**< A _panic record: always on the stack. */
	GR_VALUE_CTXT,	   /**< sched.ctxt, the saved closure register. */
};

/**
 * A root that is a value, not a word of the stack. The value points into the
 * heap or into the goroutine's own stack. A conservative value may be no
 * pointer at all.
 */
struct gr_value_root {
	uint64_t value;
	const char *name_suffix; /**< "$rax", "$defer", "$ctxt"; static. */
	uint8_t kind;		 /**< enum gr_value_kind */
	bool conservative;
	uint32_t frame; /**< Index in frames of its owner. */
};

struct gr_label_set;

/** One g that may hold memory. Dead and idle goroutines are left out. */
struct gr_goroutine {
	uint64_t addr; /**< Address of the runtime.g. */
	uint64_t goid;
	uint32_t status;	  /**< Without the scan bit. */
	int32_t locked_thread_id; /**< LockOSThread(): its thread, or 0. */
	/** "running", "waiting", "syscall" ...; static, one text per state. */
	const char *state;
	const char *wait_reason; /**< "chan receive", or "" */
	uint64_t stack_lo, stack_hi;
	uint64_t gopc, startpc;
	uint64_t creator_id; /**< 0: not known. */
	/** The goroutine belongs to the runtime (isSystemGoroutine). */
	bool is_system;
	/**
	 * Not a goroutine, but the system stack of a thread that has a P. The
	 * stack may hold objects that the thread is allocating, starting or
	 * finalizing. The whole stack is scanned conservatively.
	 */
	bool is_g0;
	/** The collector has stopped it to scan its stack (runtime._Gscan). */
	bool is_held;
	/** A thread may be copying its stack; see copied.h. */
	bool is_copied;
	/** Registers of the thread that runs the goroutine, or NULL. */
	const struct gr_regs *regs;
	/** Live words of the stack: [innermost sp, stack_hi). */
	struct gr_area stack;
	/**
	 * Frames, innermost first. If the stack is very deep, is_cut is true
	 * and the outermost frames are missing here. The live words are
	 * complete in any case.
	 */
	struct gr_frame *frames;
	size_t nframes;
	bool is_cut;
	/** Roots besides the stack: registers, deferred functions, ctxt. */
	struct gr_value_root *values;
	size_t nvalues;
	uint64_t ctxt; /**< sched.ctxt; one of the values if not 0. */
	/**
	 * Unwinding starts here. sp is 0 if the place is not known; the whole
	 * stack is conservative then.
	 */
	uint64_t pc, sp;
	/**
	 * The link register at pc. 0: the return address is on the stack, as
	 * it always is on architectures without a link register.
	 */
	uint64_t lr;
	/**
	 * [unknown_start, stack_hi) was not unwound. The range is empty if
	 * unwinding reached the outermost frame.
	 */
	uint64_t unknown_start;
	uint64_t defer_addr, panic_addr; /**< First records, or 0. */
	uint64_t waiting_addr;		 /**< First sudog, or 0. */
	uint64_t param;	      /**< g.param: what its waker left for it, or 0. */
	uint64_t waitsince;   /**< g.waitsince, see moments.h; or 0. */
	uint64_t xregs_addr;  /**< Saved vector registers, or 0. */
	uint64_t labels_addr; /**< g.labels, or 0. */
	/** Labels of the profiler (labels.h); NULL if it has none. */
	const struct gr_label_set *labels;
};

struct gr_waits;

/** A g that a thread runs (m.curg). */
struct gr_running {
	uint64_t g;
	int32_t thread_id; /**< 0: not known. */
	int64_t m_id;	   /**< m.id; -1: not known. */
};

/**
 * The scheduler's goroutines, threads and Ps. The owner sets the runtime, the
 * limit, and before gr_goroutines_mark_live() what an address of the heap is.
 * gr_goroutines_read() fills in the rest.
 */
struct gr_sched {
	struct gr_runtime *rt;
	/** Bytes of the target that can be read, a limit for all lists; 0: not
	 * known. */
	uint64_t readable_bytes;
	/** Slots of the heap, a limit for records of the runtime in it; 0 until
	 * the heap is read. */
	uint64_t heap_slots;
	/** The program's clock (nanotime) at the stop; 0: not known. */
	uint64_t clock_ns;
	/** True for an address in a span in use. NULL: not known. */
	bool (*is_heap)(const void *ctx, uint64_t addr);
	const void *is_heap_ctx;
	struct gr_goroutine *goroutines; /**< In the order of allgs. */
	size_t ngoroutines;
	/** Addresses of all m (allm list) and p (allp). */
	uint64_t *ms;
	size_t nms;
	struct gr_running *running; /**< Sorted by g. */
	size_t nrunning;
	uint64_t *ps;
	size_t nps;
	/** Waits of goroutines (waits.h). NULL: not read yet. */
	struct gr_waits *waits;
};

/** Name to print instead of a function where a stack has no frame. */
static inline const char *gr_goroutine_no_frame(const struct gr_goroutine *g)
{
	return g->is_g0 ? "runtime.g0" : "runtime.unknown";
}

/**
 * Bound a thread's stack from below. If a program with C code has no /proc, the
 * lower bound of the first thread's makes no sense
 * (search/search_sched.c: may_be_g0()).
 */
static inline void gr_goroutine_bound_g0(struct gr_goroutine *g,
					 uint64_t max_bytes)
{
	if (g->stack_lo < g->stack_hi && g->stack_hi - g->stack_lo > max_bytes)
		g->stack_lo = g->stack_hi - max_bytes;
}

/**
 * Enumerate allgs, allm and allp into @p sched. Find every goroutine's
 * innermost frame (from sched, syscall, thread registers or the interrupted
 * signal context) and plan the stacks' memory. The image is lazy.
 */
struct gr_error *gr_goroutines_read(struct gr_sched *sched) GR_MUST_CHECK;

/** The thread that runs the g at @p addr; or NULL. */
const struct gr_running *gr_sched_running(const struct gr_sched *sched,
					  uint64_t addr);

/**
 * Unwind every goroutine. The image may be sealed. Frames that cannot be
 * unwound are gaps. This needs nothing of the heap.
 */
struct gr_error *gr_goroutines_unwind(struct gr_sched *sched) GR_MUST_CHECK;

/**
 * Collect the values of all goroutines, which are unwound, and compute the live
 * words of their stacks. The image may be sealed. What could not be unwound is
 * scanned conservatively, so that no live word is lost.
 */
struct gr_error *gr_goroutines_mark_live(struct gr_sched *sched) GR_MUST_CHECK;

/** Totals over a sample of the stacks, for an estimate. */
struct gr_stack_sample {
	uint64_t bytes;	 /**< Bytes in use that were read. */
	uint64_t frames; /**< Frames in these bytes. */
};

/**
 * Count frames in the stacks of a few goroutines, which are read one by one.
 * Stacks that cannot be read are left out. The image is lazy, and the program
 * may be running.
 */
struct gr_error *
gr_goroutines_sample(const struct gr_sched *sched,
		     struct gr_stack_sample *ret) GR_MUST_CHECK;

/**
 * Collect the values of @p g: registers if it runs, saved vector registers,
 * defers, panics and ctxt. The frames of @p g must be known. @p defers_left
 * is the number of records that all goroutines together may still have.
 */
struct gr_error *
gr_goroutine_collect_values(const struct gr_sched *sched,
			    struct gr_goroutine *g,
			    uint64_t *defers_left) GR_MUST_CHECK;

/** Free the goroutines, everything they own, and the lists of addresses. */
void gr_goroutines_deinit(struct gr_sched *sched);

/**
 * Mark the live stack words of one goroutine. These are the words in the
 * precise maps of locals and arguments, the words of conservative frames, and
 * the stack objects that live words, defers, panics and registers reach
 * transitively (runtime/mgcstack.go).
 */
struct gr_error *gr_stack_mark_live(struct gr_runtime *rt,
				    struct gr_goroutine *g) GR_MUST_CHECK;

#endif /* GR_GOROUTINE_H */
