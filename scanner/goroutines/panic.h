/* SPDX-License-Identifier: Apache-2.0 */
/** panic: what ended a Go program: a panic, a fatal error or a signal. */
#ifndef GR_PANIC_H
#define GR_PANIC_H

#include "goroutines/goroutine_list.h"
#include "show/show.h"

struct gr_scan;

/** The value of a panic. `text` belongs to the answer, `type` to the scan. */
struct gr_panic_value {
	/** As gr_show_value() writes it. Before it prints them, the runtime
	 * replaces errors and what has a String method by their texts. NULL: a
	 * file without values does not have it. */
	char *text;
	const char *type; /**< "" if it is not known. */
	bool is_recovered;
	/** The next panic has the same value, which the runtime prints once. */
	bool is_repanicked;
};

/** The answer. Belongs to the caller. */
struct gr_panic {
	/**
	 * "panic"; "fatal error", which no call can recover; "signal", which
	 * the runtime does not turn into a panic; "panicking" if deferred calls
	 * of a panic still run; "" if nothing has ended the program.
	 */
	const char *kind;
	bool has_goroutine;
	struct gr_goroutine_info goroutine;
	int32_t thread_id;
	/** "" if it is not known. Belongs to the scan. A file without values
	 * does not have it. */
	const char *fatal_text;
	struct gr_panic_value *values; /**< The oldest first. */
	size_t nvalues;
	/** The signal that is the cause; 0: none. */
	uint32_t signal;
	uint64_t signal_code, signal_addr, signal_pc;
	bool has_signal_addr;
	/** If signal_pc is not in Go code: the function of C, and the path of
	 * its file. "": it is, or that is not known. They belong to the scan. */
	const char *signal_function, *signal_file;
	/** Entries of deferred functions that have not run, the next first. */
	struct gr_source_place *deferred;
	size_t ndeferred;
};

struct gr_panic_query {
	struct gr_show_limits limits;
	/** Read no values, as of a file that has none. */
	bool without_values;
};

/**
 * Say what ended the program.
 *
 * If several threads were about to end it, the answer is of the one that the
 * list of threads has first; a core has the one that wrote it first.
 */
struct gr_error *gr_scan_panic(struct gr_scan *scan,
			       const struct gr_panic_query *query,
			       struct gr_panic **ret) GR_MUST_CHECK;
void gr_panic_destroy(struct gr_panic *panic);

#endif /* GR_PANIC_H */
