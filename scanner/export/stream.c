// SPDX-License-Identifier: Apache-2.0
#include "export/stream.h"

#include "base/cleanup.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

void gr_stream_init(struct gr_stream *stream, const struct gr_export_sink *sink)
{
	*stream = (struct gr_stream){
		.sink = sink,
		.data = malloc(GR_STREAM_BYTES),
	};
	if (!stream->data)
		stream->err = &gr_enomem;
}

void gr_stream_deinit(struct gr_stream *stream)
{
	free(steal_ptr(stream->data));
	gr_error_destroy(steal_ptr(stream->err));
}

static void empty(struct gr_stream *stream)
{
	if (!stream->err && stream->used)
		stream->err = stream->sink->write(stream->sink->ctx,
						  stream->data, stream->used);
	stream->used = 0;
}

struct gr_error *gr_stream_flush(struct gr_stream *stream)
{
	empty(stream);
	return steal_ptr(stream->err);
}

uint8_t *gr_stream_room(struct gr_stream *stream, size_t bytes)
{
	if (stream->used + bytes > GR_STREAM_BYTES)
		empty(stream);
	return GR_UNLIKELY(!!stream->err) ? NULL : stream->data + stream->used;
}

void gr_stream_put(struct gr_stream *stream, const void *data, size_t bytes)
{
	const uint8_t *next = data;

	while (bytes) {
		size_t part = bytes < GR_STREAM_BYTES ? bytes : GR_STREAM_BYTES;
		uint8_t *room = gr_stream_room(stream, part);
		if (!room)
			return;
		memcpy(room, next, part);
		gr_stream_took(stream, part);
		next += part;
		bytes -= part;
	}
}

void gr_stream_put_zeros(struct gr_stream *stream, uint64_t bytes)
{
	while (bytes) {
		size_t part = bytes < 4096 ? bytes : 4096;
		uint8_t *room = gr_stream_room(stream, part);
		if (!room)
			return;
		memset(room, 0, part);
		gr_stream_took(stream, part);
		bytes -= part;
	}
}

void gr_stream_put_u8(struct gr_stream *stream, uint8_t value)
{
	gr_stream_put(stream, &value, sizeof(value));
}

void gr_stream_put_u16(struct gr_stream *stream, uint16_t value)
{
	value = htobe16(value);
	gr_stream_put(stream, &value, sizeof(value));
}

void gr_stream_put_u32(struct gr_stream *stream, uint32_t value)
{
	value = htobe32(value);
	gr_stream_put(stream, &value, sizeof(value));
}

void gr_stream_put_u64(struct gr_stream *stream, uint64_t value)
{
	value = htobe64(value);
	gr_stream_put(stream, &value, sizeof(value));
}

void gr_stream_put_text(struct gr_stream *stream, const char *text)
{
	gr_stream_put(stream, text, strlen(text));
}

void gr_stream_put_decimal(struct gr_stream *stream, uint64_t value)
{
	char text[20];
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	gr_stream_put(stream, text + at, sizeof(text) - at);
}

void gr_stream_put_json(struct gr_stream *stream, const char *text)
{
	static const char digits[] = "0123456789abcdef";

	gr_stream_put_u8(stream, '"');
	while (*text) {
		size_t plain = 0;
		while ((uint8_t)text[plain] >= 0x20 && text[plain] != '"' &&
		       text[plain] != '\\')
			plain++;
		gr_stream_put(stream, text, plain);
		text += plain;
		if (!*text)
			break;
		uint8_t c = (uint8_t)*text++;
		if (c < 0x20) {
			gr_stream_put_text(stream, "\\u00");
			gr_stream_put_u8(stream, digits[c >> 4]);
			gr_stream_put_u8(stream, digits[c & 15]);
			continue;
		}
		gr_stream_put_u8(stream, '\\');
		gr_stream_put_u8(stream, c);
	}
	gr_stream_put_u8(stream, '"');
}
