/* SPDX-License-Identifier: Apache-2.0 */
/**
 * backtrace: the calls of one goroutine, inlined ones included, with their
 * arguments and local variables.
 */
#ifndef GR_BACKTRACE_H
#define GR_BACKTRACE_H

#include "goroutines/goroutine_list.h"
#include "show/show.h"

struct gr_stop;
struct gr_scan;

/** An argument or a local variable. `value` belongs to the backtrace, the other
 * strings to the scan. */
struct gr_call_variable {
	const char *name;
	const char *type;
	/** As gr_show_value() writes it, or `(optimized out)`. */
	char *value;
	bool is_argument;
	uint32_t line; /**< Where it is declared; 0: not known. */
};

/** A call. Strings belong to the scan. */
struct gr_backtrace_call {
	struct gr_source_place at;
	bool is_inlined;
	uint32_t frame;	      /**< Index of the physical frame. */
	uint32_t depth;	      /**< Inlined calls around it in that frame. */
	uint64_t sp, fp;      /**< The physical frame is [sp, fp). */
	bool is_conservative; /**< Nothing is known of what lives in it. */
	/** In the order of their declaration, arguments first. */
	struct gr_call_variable *variables;
	size_t nvariables;
};

/** The answer. Belongs to the caller. */
struct gr_backtrace {
	struct gr_goroutine_info goroutine;
	struct gr_backtrace_call *calls; /**< Innermost first. */
	size_t ncalls;
	/** Outer calls are missing: the stack is very deep or damaged. */
	bool is_cut;
};

struct gr_backtrace_query {
	uint64_t goroutine_id;
	uint32_t max_calls;  /**< 0: no limit. */
	bool with_variables; /**< For the calls [first_call, + ncalls). */
	uint32_t first_call;
	uint32_t ncalls; /**< 0: all. */
	struct gr_show_limits limits;
};

/**
 * The calls of a goroutine.
 *
 * @return GR_ERROR_NOT_FOUND if there is no such goroutine.
 */
struct gr_error *gr_scan_backtrace(struct gr_scan *scan,
				   const struct gr_backtrace_query *query,
				   struct gr_backtrace **ret) GR_MUST_CHECK;
/** The same for a question that has entered. */
struct gr_error *gr_backtrace_make(struct gr_stop *stop,
				   const struct gr_backtrace_query *query,
				   struct gr_backtrace **ret) GR_MUST_CHECK;
void gr_backtrace_destroy(struct gr_backtrace *backtrace);

#endif /* GR_BACKTRACE_H */
