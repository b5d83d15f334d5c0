/* SPDX-License-Identifier: Apache-2.0 */
/**
 * coder: writes values into bytes, or reads them again. One function describes
 * a record for both directions. Numbers are LEB128.
 */
#ifndef GR_CODER_H
#define GR_CODER_H

#include "base/arena.h"
#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/vector.h"

GR_VECTOR(gr_byte_vector, uint8_t);

/**
 * After a failure all calls do nothing: `is_bad` (the bytes make no sense),
 * `is_out_of_memory` or `err` tells at the end.
 */
struct gr_coder {
	bool is_reading;
	bool is_bad;
	bool is_out_of_memory;
	struct gr_byte_vector out; /**< Writing. */
	struct gr_bytes in;	   /**< Reading. */
	uint64_t off;
	struct gr_arena *arena; /**< Reading: texts. */
	/** Reading: asked before the rows of a list get memory; may be NULL. */
	struct gr_error *(*want)(void *ctx, uint64_t bytes);
	/** Called from time to time; may be NULL. */
	struct gr_error *(*poll)(void *ctx);
	void *ctx;
	struct gr_error *err; /**< The error of these; the caller owns it. */
};

void gr_code_u64(struct gr_coder *coder, uint64_t *value);
void gr_code_i64(struct gr_coder *coder, int64_t *value);
void gr_code_u32(struct gr_coder *coder, uint32_t *value);
void gr_code_bool(struct gr_coder *coder, bool *value);

/** A text or NULL. One that is read has no control characters. */
void gr_code_text(struct gr_coder *coder, const char **text);

/** The number of records that follow, each with @p least_bytes at least: a
 * number that is read cannot be larger than what is left. */
void gr_code_count(struct gr_coder *coder, size_t *count, size_t least_bytes);

/** Reading: may memory of @p bytes be taken? */
bool gr_code_want(struct gr_coder *coder, uint64_t bytes);

/** Begin row @p i of a list. False: there is no more to read or to write. */
bool gr_code_row(struct gr_coder *coder, size_t i);

/** Have all bytes been read, and did they make sense? */
bool gr_coder_is_done(const struct gr_coder *coder);

#endif /* GR_CODER_H */
