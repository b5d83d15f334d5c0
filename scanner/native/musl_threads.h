/* SPDX-License-Identifier: Apache-2.0 */
/**
 * musl_threads: the memory of threads of musl. It is one mapping: a guard, the
 * stack, the thread's variables and its struct pthread
 * (internal/pthread_impl.h), which tells where these are.
 */
#ifndef GR_MUSL_THREADS_H
#define GR_MUSL_THREADS_H

#include "native/view.h"

/** The memory [start, end) of a thread, without the guard. */
struct gr_musl_thread {
	uint64_t start, end;
};

/**
 * Is the struct pthread of such a thread at @p addr? It proves itself: its first
 * word is its address, and it and its stack fill one mapping. The first thread
 * has no mapping, nor has one whose stack the program has given.
 */
bool gr_musl_thread_at(struct gr_view *view, uint64_t addr,
		       struct gr_musl_thread *ret);

#endif /* GR_MUSL_THREADS_H */
