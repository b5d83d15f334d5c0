/* SPDX-License-Identifier: Apache-2.0 */
/**
 * saved: writes and reads the file of a saved target. The memory comes from an
 * image; which words of it are kept, the recorder of the image tells.
 */
#ifndef GR_SAVED_H
#define GR_SAVED_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/image.h"
#include "inferior/recorder.h"
#include "inferior/saved_target.h"
#include "savedfile/frames.h"

/** The most words of a record that find_stride() may tell. */
enum { GR_SAVED_MAX_STRIDE = 1024 };

/** The contents of a file. */
struct gr_saved_spec {
	struct gr_image *image;
	/** The words to keep; of a live target also their bytes. */
	struct gr_recorder *recorder;
	bool is_whole; /**< Keep all memory that the image has, too. */
	/** Modules have their images, tables their blocks. Lists of mappings,
	 * threads and residency may be shared with others; memory is empty. */
	struct gr_saved *saved;
	/** Memory at @p page is an array: words of a record, and which of these
	 * the first word of the page is. Several threads call it. NULL: none
	 * is. */
	void (*find_stride)(void *ctx, uint64_t page, uint32_t *stride,
			    uint32_t *column);
	struct gr_error *(*poll)(void *ctx);
	void *ctx;
	/** That pack pages, GR_BATCH_THREADS at most; 0 is 1. The bytes of the
	 * file do not depend on it. */
	unsigned int nthreads;
};

/** Write a file. This fills spec->saved->memory. */
struct gr_error *gr_saved_write(const struct gr_saved_spec *spec,
				struct gr_frame_sink sink) GR_MUST_CHECK;

/**
 * Read the file @p path. @p poll is called from time to time; @p want is asked
 * before memory is taken. @p ret is zeroed, and needs gr_saved_deinit() even
 * if this fails. GR_ERROR_IO, GR_ERROR_FORMAT: see frames.h.
 */
struct gr_error *gr_saved_read(const char *path,
			       struct gr_error *(*want)(void *ctx,
							uint64_t bytes),
			       struct gr_error *(*poll)(void *ctx), void *ctx,
			       struct gr_saved *ret) GR_MUST_CHECK;
void gr_saved_deinit(struct gr_saved *saved);

#endif /* GR_SAVED_H */
