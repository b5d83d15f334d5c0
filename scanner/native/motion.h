/* SPDX-License-Identifier: Apache-2.0 */
/**
 * motion: was a thread in the code of an allocator when the program was
 * stopped? Its structures may then be in the middle of a change, which explains
 * that they contradict each other.
 */
#ifndef GR_NATIVE_MOTION_H
#define GR_NATIVE_MOTION_H

#include "native/c_threads.h"
#include "native/native.h"

/** Is a thread in the code of an allocator, or of no file that is known, or does
 * it change mappings, or wait for a lock in such code? It may have a block in hand
 * then without a pointer to it: it has the address of its header. So may one that
 * did not stop. */
struct gr_error *gr_native_is_at_work(struct gr_runtime *rt,
				      const struct gr_regs *regs,
				      const struct gr_native *native,
				      bool *ret) GR_MUST_CHECK;

/** gr_native_is_at_work(), but a thread that waits for a lock changes nothing,
 * nor does one in code of no file. */
struct gr_error *gr_native_is_moving(struct gr_runtime *rt,
				     const struct gr_regs *regs,
				     const struct gr_native *native,
				     bool *ret) GR_MUST_CHECK;

/** The bits of register @p reg by which gr_native_is_moving() tells what a thread
 * does in its system call. They are no address. */
uint64_t gr_native_call_bits(const struct gr_arch *arch,
			     const struct gr_regs *regs, unsigned int reg);

/** Set native->is_in_motion: by threads that run code of an allocator's file,
 * that change mappings, or that did not stop. */
struct gr_error *gr_native_note_motion(struct gr_runtime *rt,
				       const struct gr_c_threads *threads,
				       struct gr_native *native) GR_MUST_CHECK;

#endif /* GR_NATIVE_MOTION_H */
