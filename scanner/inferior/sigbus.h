/* SPDX-License-Identifier: Apache-2.0 */
/**
 * sigbus: handles files that shrink while they are mapped.
 *
 * The kernel answers a read beyond a file's new end with SIGBUS, which would
 * end the process that we run in. While a guard is active, our handler maps
 * zeros there and records the fault; the end of the guard returns an error. The
 * handler covers only watched mappings. Any other fault is passed to the
 * previous handler.
 */
#ifndef GR_SIGBUS_H
#define GR_SIGBUS_H

#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"

/** A mapped file that the handler watches. */
struct gr_sigbus_area;

/** @p path is copied. NULL if no memory is left. */
struct gr_sigbus_area *gr_sigbus_watch(struct gr_bytes mapped,
				       const char *path);
/** Stop watching; call this before the file is unmapped. NULL is allowed. */
void gr_sigbus_forget(struct gr_sigbus_area *area);

/** GR_ERROR_IO if the file has been found to have shrunk. NULL is allowed. */
struct gr_error *
gr_sigbus_check(const struct gr_sigbus_area *area) GR_MUST_CHECK;

/**
 * Faults are handled from the begin to the end of a guard. Guards may nest on
 * one thread.
 */
struct gr_sigbus_guard {
	uint64_t first_fault;
};

void gr_sigbus_guard_begin(struct gr_sigbus_guard *guard);

/**
 * End a guard. The outermost guard restores the previous handler.
 *
 * @return GR_ERROR_IO, in place of @p err (taken over), if a watched file
 * shrank meanwhile: nothing that was read can be trusted; else @p err.
 */
struct gr_error *gr_sigbus_guard_end(struct gr_sigbus_guard *guard,
				     struct gr_error *err) GR_MUST_CHECK;

#endif /* GR_SIGBUS_H */
