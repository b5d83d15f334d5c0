/* SPDX-License-Identifier: Apache-2.0 */
/**
 * save: write the target to a file that answers the same questions
 * (GR_TARGET_SAVED). Without values, the file has the words that questions
 * read: pointers, sizes, what the runtime keeps of itself.
 */
#ifndef GR_SAVE_H
#define GR_SAVE_H

#include "base/base.h"
#include "base/error.h"

struct gr_scan;

struct gr_save_options {
	bool with_values; /**< All memory of the target, strings and numbers. */
	const char *stop; /**< Why it stopped, as text for the opener; or NULL. */
	/** Which process it is, as text for the opener; or NULL. */
	const char *identity;
	/** Takes the bytes of the file in their order. */
	struct gr_error *(*write)(void *ctx, const void *data, size_t bytes);
	void *ctx;
};

/**
 * Write the target of a scan with gr_target.is_recorded. This asks all
 * questions once, so that what they read is known; those on values only if
 * values are saved. GR_ERROR_ARGUMENT if the scan does not record.
 */
struct gr_error *
gr_scan_save(struct gr_scan *scan,
	     const struct gr_save_options *options) GR_MUST_CHECK;

#endif /* GR_SAVE_H */
