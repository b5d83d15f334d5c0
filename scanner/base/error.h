/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Errors. A function that can fail returns `struct gr_error *`: NULL is
 * success, results go through its last parameters.
 *
 * There are three kinds of failures, which are never mixed. A bug of ours is an
 * assert, "the scan cannot go on" is a gr_error, and "the dump is torn here" is
 * a counted gap (inferior/gaps.h).
 */
#ifndef GR_ERROR_H
#define GR_ERROR_H

#include "base/base.h"

enum gr_error_code {
	GR_ERROR_NO_MEMORY,   /**< Our own allocation failed. */
	GR_ERROR_FAULT,	      /**< Target memory is not there. */
	GR_ERROR_INTERRUPTED, /**< The user pressed Ctrl-C. */
	GR_ERROR_IO,	      /**< A file of the host failed; errno in text. */
	GR_ERROR_FORMAT,      /**< A file is not what it should be. */
	GR_ERROR_ARCH,	      /**< Not an architecture that we read. */
	GR_ERROR_NOT_GO,      /**< The target is not a Go program. */
	GR_ERROR_NO_DWARF,    /**< No debug information. */
	GR_ERROR_LAYOUT,    /**< A required field, type or symbol is absent. */
	GR_ERROR_UNSETTLED, /**< A running target kept changing. */
	GR_ERROR_MISMATCH,  /**< Executable and core do not belong together. */
	GR_ERROR_ARGUMENT,  /**< The caller's argument is invalid. */
	GR_ERROR_NOT_FOUND, /**< A name that was asked for does not exist. */
	GR_ERROR_LIMIT,	    /**< The target exceeds what we can number. */
	/** The scan would take more memory than it may. */
	GR_ERROR_MEMORY_LIMIT,
	/** Memory that a saved file has left out: it was saved without values. */
	GR_ERROR_NOT_SAVED,
	GR_ERROR_PROCESS, /**< The process cannot be stopped. */
};

/** One failure: its kind and a one-line message for the user. */
struct gr_error {
	enum gr_error_code code;
	/** One line, no final newline. Owned by the error. */
	char *message;
};

/** Out of memory; static, so reporting it never allocates. */
extern struct gr_error gr_enomem;

/**
 * Make an error with a formatted message. It is one line: control characters
 * in it become question marks.
 *
 * @return Never NULL; @ref gr_enomem if no memory is left for it.
 */
struct gr_error *gr_error_format(enum gr_error_code code, const char *fmt, ...)
	GR_PRINTF(2, 3) __attribute__((__returns_nonnull__)) GR_MUST_CHECK;

/** GR_ERROR_FAULT for the target range [addr, addr + bytes). */
struct gr_error *gr_error_fault(uint64_t addr, uint64_t bytes)
	__attribute__((__returns_nonnull__)) GR_MUST_CHECK;

/** GR_ERROR_NOT_SAVED: the answer needs values, which a saved file lacks. */
struct gr_error *gr_error_not_saved(void)
	__attribute__((__returns_nonnull__)) GR_MUST_CHECK;

/**
 * Put text before an error's message, taking the error over.
 *
 * @return The same failure; never NULL.
 */
struct gr_error *gr_error_prefix(struct gr_error *err, const char *fmt, ...)
	GR_PRINTF(2, 3) __attribute__((__returns_nonnull__)) GR_MUST_CHECK;

/** Free an error; NULL and static errors are fine. */
void gr_error_destroy(struct gr_error *err);

/**
 * If *@p errp is an error of kind @p code: destroy it, clear *@p errp and
 * return true. "Absent is fine, anything else is not" in one condition.
 */
bool gr_error_catch(struct gr_error **errp, enum gr_error_code code);

#endif /* GR_ERROR_H */
