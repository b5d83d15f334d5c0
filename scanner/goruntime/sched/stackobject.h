/* SPDX-License-Identifier: Apache-2.0 */
/**
 * stackobject: variables on a stack whose address is taken. The collector
 * scans such a variable only if a live pointer points into it
 * (runtime/mgcstack.go).
 */
#ifndef GR_STACKOBJECT_H
#define GR_STACKOBJECT_H

#include "base/vector.h"
#include "goruntime/sched/goroutine.h"

struct gr_stack_object {
	uint64_t addr;
	uint32_t bytes;
	uint32_t ptr_bytes;
	uint64_t mask_addr;
	bool is_program; /**< mask_addr leads to a GC program. */
	bool is_reached_precisely, is_reached, is_scanned;
};

GR_VECTOR(gr_stack_objects, struct gr_stack_object);

/**
 * Append the stack objects of @p frame's function to @p objects. Each record
 * is charged to @p left (gr_spend()).
 */
struct gr_error *gr_stack_objects_add(struct gr_runtime *rt,
				      const struct gr_goroutine *g,
				      const struct gr_frame *frame,
				      struct gr_stack_objects *objects,
				      uint64_t *left) GR_MUST_CHECK;

/**
 * Append the one stack object of a call that reflect makes. The runtime keeps
 * its record in a variable (methodValueCallFrameObjs). *@p found is false if
 * the record cannot be read.
 */
struct gr_error *gr_stack_objects_add_reflect(struct gr_runtime *rt,
					      const struct gr_frame *frame,
					      struct gr_stack_objects *objects,
					      bool *found) GR_MUST_CHECK;

/**
 * Mark the pointer words of every object that live words or values of @p g
 * reach, directly or through other objects. Each word is charged to @p left.
 */
struct gr_error *gr_stack_objects_mark(struct gr_runtime *rt,
				       struct gr_goroutine *g,
				       struct gr_stack_objects *objects,
				       uint64_t *left) GR_MUST_CHECK;

#endif /* GR_STACKOBJECT_H */
