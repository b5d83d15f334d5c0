/* SPDX-License-Identifier: Apache-2.0 */
/**
 * sigbus: files that shrink while they are mapped.
 *
 * The kernel answers a read behind a file's new end with SIGBUS, which would
 * end the debugger that we live in. While a guard is up, a handler of ours
 * puts zeros there instead and notes it; the guard's end makes an error of it.
 * Knows the mappings that it was told of; a fault anywhere else goes to the
 * handler that was there before.
 */
#ifndef GR_SIGBUS_H
#define GR_SIGBUS_H

#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"

/** A mapped file that the handler looks after. */
struct gr_sigbus_area;

/** @p path is copied. NULL if no memory is left. */
struct gr_sigbus_area *gr_sigbus_watch(struct gr_bytes mapped,
				       const char *path);
/** Before the mapping goes; NULL is fine. */
void gr_sigbus_forget(struct gr_sigbus_area *area);

/** GR_ERROR_IO if the file was found to have shrunk; NULL is fine. */
struct gr_error *
gr_sigbus_check(const struct gr_sigbus_area *area) GR_MUST_CHECK;

/** From begin to end faults are handled. Guards may nest, on one thread. */
struct gr_sigbus_guard {
	uint64_t first_fault;
};

void gr_sigbus_guard_begin(struct gr_sigbus_guard *guard);

/**
 * The outermost one gives the previous handler back.
 *
 * @return GR_ERROR_IO, in place of @p err (taken over), if a watched file
 * shrank meanwhile: nothing that was read can be trusted; else @p err.
 */
struct gr_error *gr_sigbus_guard_end(struct gr_sigbus_guard *guard,
				     struct gr_error *err) GR_MUST_CHECK;

#endif /* GR_SIGBUS_H */
