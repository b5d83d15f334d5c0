/* SPDX-License-Identifier: Apache-2.0 */
/**
 * c_threads: where the threads of a program with C code are: their registers,
 * those that a signal handler interrupted, and how far down their stacks are
 * in use. Source: runtime/runtime2.go (m, g).
 */
#ifndef GR_C_THREADS_H
#define GR_C_THREADS_H

#include "base/vector.h"
#include "goruntime/sched/goroutine.h"

/** A stack pointer of a thread: memory above it is in use. */
struct gr_stack_pointer {
	uint64_t sp;
	int32_t lwp;
	uint8_t rank; /**< The one of the lowest rank counts, of a thread. */
	uint8_t red_zone_bytes; /**< Below it, which are in use, too. */
};
GR_VECTOR(gr_stack_pointer_vector, struct gr_stack_pointer);

/** Registers of a thread, or those that a handler interrupted. */
struct gr_thread_registers {
	struct gr_regs regs;
	int32_t lwp;
};
GR_VECTOR(gr_thread_registers_vector, struct gr_thread_registers);

/** The struct pthread of a thread, behind its thread-local variables. */
struct gr_thread_base {
	uint64_t addr;
	int32_t lwp;
};
GR_VECTOR(gr_thread_base_vector, struct gr_thread_base);

/** Zero-initialised, there are none. */
struct gr_c_threads {
	struct gr_stack_pointer_vector pointers; /**< Sorted by sp. */
	struct gr_thread_registers_vector registers;
	struct gr_thread_base_vector bases; /**< By fs_base; sorted by address. */
};

/**
 * Collect them. What cannot be read of a thread is left out. @p ret needs
 * gr_c_threads_deinit() even if this fails.
 */
struct gr_error *gr_c_threads_read(const struct gr_sched *sched,
				   struct gr_c_threads *ret) GR_MUST_CHECK;
void gr_c_threads_deinit(struct gr_c_threads *threads);

#endif /* GR_C_THREADS_H */
