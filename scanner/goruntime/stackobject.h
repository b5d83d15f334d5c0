/* SPDX-License-Identifier: Apache-2.0 */
/**
 * stackobject: variables on a stack whose address is taken. The collector
 * scans one only if a live pointer leads into it (runtime/mgcstack.go).
 */
#ifndef GR_STACKOBJECT_H
#define GR_STACKOBJECT_H

#include "base/vector.h"
#include "goruntime/goroutine.h"

struct gr_stack_object {
	uint64_t addr;
	uint32_t bytes;
	uint32_t ptr_bytes;
	uint64_t mask_addr;
	bool is_program; /**< mask_addr is that of a GC program. */
	bool is_reached_precisely, is_reached, is_scanned;
};

GR_VECTOR(gr_stack_objects, struct gr_stack_object);

/** Note the stack objects that @p frame's function has. */
struct gr_error *
gr_stack_objects_add(struct gr_runtime *rt, const struct gr_goroutine *g,
		     const struct gr_frame *frame,
		     struct gr_stack_objects *objects) GR_MUST_CHECK;

/**
 * Note the one object of a call that reflect makes, whose record the runtime
 * keeps in a variable (methodValueCallFrameObjs). *@p found is false if it is
 * not there.
 */
struct gr_error *gr_stack_objects_add_reflect(struct gr_runtime *rt,
					      const struct gr_frame *frame,
					      struct gr_stack_objects *objects,
					      bool *found) GR_MUST_CHECK;

/**
 * Mark the pointer words of every object that live words or values of @p g
 * reach, directly or through other objects.
 */
struct gr_error *
gr_stack_objects_mark(struct gr_runtime *rt, struct gr_goroutine *g,
		      struct gr_stack_objects *objects) GR_MUST_CHECK;

#endif /* GR_STACKOBJECT_H */
