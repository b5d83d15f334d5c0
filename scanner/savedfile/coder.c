// SPDX-License-Identifier: Apache-2.0
#include "savedfile/coder.h"

enum { MAX_TEXT_BYTES = 1 << 20, POLL_ROWS = 1 << 12 };

static bool is_over(const struct gr_coder *c)
{
	return c->is_bad || c->is_out_of_memory || c->err;
}

static void put(struct gr_coder *c, const void *data, size_t bytes)
{
	if (!gr_byte_vector_reserve(&c->out, c->out.size + bytes)) {
		c->is_out_of_memory = true;
		return;
	}
	if (bytes)
		memcpy(c->out.data + c->out.size, data, bytes);
	c->out.size += bytes;
}

void gr_code_u64(struct gr_coder *c, uint64_t *value)
{
	uint8_t bytes[10];
	size_t n = 0;

	if (is_over(c))
		return;
	if (c->is_reading) {
		if (!gr_bytes_uvarint(c->in, &c->off, value))
			c->is_bad = true;
		return;
	}
	// Bounded by 64 bits.
	for (uint64_t left = *value; n == 0 || left; left >>= 7)
		bytes[n++] = (left & 0x7f) | (left >> 7 ? 0x80 : 0);
	put(c, bytes, n);
}

void gr_code_i64(struct gr_coder *c, int64_t *value)
{
	uint64_t bits = (uint64_t)*value << 1 ^ (uint64_t)(*value >> 63);

	gr_code_u64(c, &bits);
	*value = (int64_t)(bits >> 1 ^ -(bits & 1));
}

void gr_code_u32(struct gr_coder *c, uint32_t *value)
{
	uint64_t wide = *value;

	gr_code_u64(c, &wide);
	if (wide > UINT32_MAX)
		c->is_bad = true;
	else
		*value = (uint32_t)wide;
}

void gr_code_bool(struct gr_coder *c, bool *value)
{
	uint64_t wide = *value;

	gr_code_u64(c, &wide);
	if (wide > 1)
		c->is_bad = true;
	*value = wide == 1;
}

static bool is_printable(const char *text, uint64_t bytes)
{
	// Bounded by MAX_TEXT_BYTES.
	for (uint64_t i = 0; i < bytes; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return true;
}

static void read_text(struct gr_coder *c, uint64_t bytes, const char **text)
{
	struct gr_bytes slice = gr_bytes_slice(c->in, c->off, bytes);
	char *copy;

	if (bytes > MAX_TEXT_BYTES || slice.size != bytes ||
	    (bytes && !is_printable((const char *)slice.data, bytes))) {
		c->is_bad = true;
		return;
	}
	copy = gr_arena_alloc(c->arena, bytes + 1);
	if (!copy) {
		c->is_out_of_memory = true;
		return;
	}
	if (bytes)
		memcpy(copy, slice.data, bytes);
	copy[bytes] = 0;
	c->off += bytes;
	*text = copy;
}

/* Put a text; a control character in it becomes a question mark. */
static void write_text(struct gr_coder *c, const char *text, size_t bytes)
{
	size_t at = c->out.size;

	put(c, text, bytes);
	for (; !is_over(c) && at < c->out.size; at++)
		if (c->out.data[at] < 0x20 || c->out.data[at] == 0x7f)
			c->out.data[at] = '?';
}

void gr_code_text(struct gr_coder *c, const char **text)
{
	// 0 stands for NULL.
	uint64_t length = *text && !c->is_reading ? strlen(*text) + 1 : 0;

	if (length > MAX_TEXT_BYTES)
		length = MAX_TEXT_BYTES;
	gr_code_u64(c, &length);
	if (is_over(c))
		return;
	if (c->is_reading)
		*text = NULL;
	if (!length)
		return;
	if (c->is_reading)
		read_text(c, length - 1, text);
	else
		write_text(c, *text, length - 1);
}

void gr_code_count(struct gr_coder *c, size_t *count, size_t least_bytes)
{
	uint64_t wide = *count;

	gr_code_u64(c, &wide);
	if (c->is_reading && !is_over(c) &&
	    wide > (c->in.size - c->off) / least_bytes)
		c->is_bad = true;
	*count = is_over(c) ? 0 : wide;
}

bool gr_code_want(struct gr_coder *c, uint64_t bytes)
{
	if (!is_over(c) && c->want)
		c->err = c->want(c->ctx, bytes);
	return !is_over(c);
}

bool gr_code_row(struct gr_coder *c, size_t i)
{
	if (i % POLL_ROWS == 0 && !is_over(c) && c->poll)
		c->err = c->poll(c->ctx);
	return !is_over(c);
}

bool gr_coder_is_done(const struct gr_coder *c)
{
	return !is_over(c) && c->off == c->in.size;
}
