/* SPDX-License-Identifier: Apache-2.0 */
/**
 * stream: writes a file in pieces. After an error it takes everything and
 * writes nothing; the error is asked for at the end.
 */
#ifndef GR_EXPORT_STREAM_H
#define GR_EXPORT_STREAM_H

#include "base/error.h"
#include "export/export.h"

/** Bytes that are written at once. */
enum { GR_STREAM_BYTES = 1 << 20 };

struct gr_stream {
	const struct gr_export_sink *sink;
	uint8_t *data; /**< A buffer of GR_STREAM_BYTES. */
	size_t used;
	uint64_t bytes;	      /**< That were put. */
	struct gr_error *err; /**< The first one. */
};

/** @ref data is NULL if no memory is left: then @ref err says so. */
void gr_stream_init(struct gr_stream *stream,
		    const struct gr_export_sink *sink);
void gr_stream_deinit(struct gr_stream *stream);

/** Write what was put. @return the first error, which the caller owns. */
struct gr_error *gr_stream_flush(struct gr_stream *stream) GR_MUST_CHECK;

void gr_stream_put(struct gr_stream *stream, const void *data, size_t bytes);
void gr_stream_put_zeros(struct gr_stream *stream, uint64_t bytes);

/** Room for a few bytes; NULL after an error. The caller adds to used and
 * bytes by gr_stream_took(). */
uint8_t *gr_stream_room(struct gr_stream *stream, size_t bytes);

static inline void gr_stream_took(struct gr_stream *stream, size_t bytes)
{
	stream->used += bytes;
	stream->bytes += bytes;
}

/** Numbers with the most significant byte first. */
void gr_stream_put_u8(struct gr_stream *stream, uint8_t value);
void gr_stream_put_u16(struct gr_stream *stream, uint16_t value);
void gr_stream_put_u32(struct gr_stream *stream, uint32_t value);
void gr_stream_put_u64(struct gr_stream *stream, uint64_t value);

/** Text without its zero byte. */
void gr_stream_put_text(struct gr_stream *stream, const char *text);
void gr_stream_put_decimal(struct gr_stream *stream, uint64_t value);
/** `"text"`, with the escapes of JSON. */
void gr_stream_put_json(struct gr_stream *stream, const char *text);

#endif /* GR_EXPORT_STREAM_H */
