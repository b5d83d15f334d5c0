/* SPDX-License-Identifier: Apache-2.0 */
/** call_values: where the arguments and local variables of calls lie. */
#ifndef GR_CALL_VALUES_H
#define GR_CALL_VALUES_H

#include "goroutines/backtrace.h"
#include "goruntime/roots/frame_locals.h"
#include "scan/program.h"

enum gr_call_value_state {
	GR_CALL_VALUE_THERE,
	GR_CALL_VALUE_OPTIMIZED_OUT, /**< The code keeps it nowhere. */
	/** It was moved to the heap, and the pointer to it cannot be read. */
	GR_CALL_VALUE_NO_POINTER,
};

/** A variable of a call, and its value. Strings belong to the scan. */
struct gr_call_value {
	const char *name;
	gr_type_id type; /**< Or GR_TYPE_NONE. */
	enum gr_call_value_state state;
	/** If it is there: its place, or the bytes that were in registers or in
	 * pieces, which are valid until the callback returns. */
	struct gr_shown shown;
	bool is_argument;
	uint32_t line; /**< Where it is declared; 0: not known. */
};

/** The variables of the calls of one goroutine. */
struct gr_call_values {
	struct gr_program *program;
	const struct gr_goroutine *g;
	struct gr_frame_locals locals;
};

/** Find the variables of all frames. @p ret needs gr_call_values_deinit() even
 * if this fails. */
struct gr_error *gr_call_values_init(struct gr_program *program,
				     const struct gr_goroutine *g,
				     struct gr_call_values *ret) GR_MUST_CHECK;
void gr_call_values_deinit(struct gr_call_values *values);

/** A callback that takes variables; an error ends the enumeration. */
typedef struct gr_error *(*gr_call_value_emit)(
	void *ctx, const struct gr_call_value *value);

/**
 * Enumerate the variables of a call in the order of their declaration,
 * arguments first. A variable is in scope if its block covers the pc and its
 * declaration is not below the line of the call. Variables that the compiler
 * made for itself are left out.
 *
 * @param call Of the goroutine's backtrace.
 */
struct gr_error *gr_call_values_each(struct gr_call_values *values,
				     const struct gr_backtrace_call *call,
				     gr_call_value_emit emit,
				     void *ctx) GR_MUST_CHECK;

#endif /* GR_CALL_VALUES_H */
