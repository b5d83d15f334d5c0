/* SPDX-License-Identifier: Apache-2.0 */
/**
 * copied: stacks that a thread is copying (runtime/stack.go: copystack). In
 * part of the new stack, pointers to the stack itself still lead into the old
 * one, so that objects on the stack are not found.
 *
 * A goroutine whose stack grows has a status of its own (_Gcopystack), and its
 * stack is scanned word by word. A stack that shrinks is that of a goroutine
 * that the collector holds, or of one whose own thread does it (newstack).
 */
#ifndef GR_COPIED_H
#define GR_COPIED_H

#include "goruntime/sched/goroutine.h"

/** Set is_copied of each goroutine. All stacks must be mapped. */
struct gr_error *gr_copied_note(struct gr_sched *sched) GR_MUST_CHECK;

#endif /* GR_COPIED_H */
