/* SPDX-License-Identifier: Apache-2.0 */
/** thread_call: the system call that a thread is in, by its registers. */
#ifndef GR_THREAD_CALL_H
#define GR_THREAD_CALL_H

#include "base/error.h"
#include "goruntime/layout/layout.h"
#include "inferior/arch.h"

struct gr_runtime;

struct gr_thread_call {
	bool is_known;
	uint64_t number;
};

/** Find the system call of the M at @p m, whose thread has the registers
 * @p thread. */
struct gr_error *gr_thread_call_find(struct gr_runtime *rt, uint64_t m,
				     const struct gr_regs *thread,
				     struct gr_thread_call *ret) GR_MUST_CHECK;

/** Read a field of a record; 0 if there is no such field or record, or if it
 * cannot be read. */
struct gr_error *gr_runtime_read_field(struct gr_runtime *rt, uint64_t record,
				       struct gr_field field,
				       uint64_t *ret) GR_MUST_CHECK;

#endif /* GR_THREAD_CALL_H */
