// SPDX-License-Identifier: Apache-2.0
#include "inferior/elf.h"
#include "inferior/source.h"

enum {
	/* Larger requests make gdb allocate fresh buffers. */
	REQUEST_BYTES = 1 << 20,
	/*
	 * The round trip is the cost, and gdbserver's largest answer holds
	 * 9,215 bytes of memory. So one request reads two pages instead of one.
	 */
	BLOCK_BYTES = 8 << 10,
};

// Return the bytes up to the next multiple of `unit`, but not past the piece.
static uint64_t request_bytes(const struct gr_piece *piece, uint64_t done,
			      uint64_t unit)
{
	uint64_t bytes = unit - (piece->addr + done) % unit;
	return bytes < piece->bytes - done ? bytes : piece->bytes - done;
}

// gdb fails a whole request if one page is missing. The bytes before that page
// are then read page by page.
static struct gr_error *remote_read(struct gr_source *source,
				    const struct gr_piece *pieces,
				    size_t npieces, uint64_t *got)
{
	const struct gr_target *target = source->target;
	const struct gr_piece *piece = &pieces[0];
	uint64_t unit = REQUEST_BYTES, end = piece->bytes;

	(void)npieces;
	*got = 0;
	// Bounded by the piece: a request that fails gets smaller.
	while (*got < end) {
		uint64_t bytes = request_bytes(piece, *got, unit);
		struct gr_error *err =
			target->ops.read(target->ctx, piece->addr + *got,
					 piece->buf + *got, bytes);
		if (!err) {
			*got += bytes;
			continue;
		}
		if (!gr_error_catch(&err, GR_ERROR_FAULT))
			return err;
		if (unit == GR_PAGE_BYTES)
			return NULL;
		unit = GR_PAGE_BYTES;
		end = *got + bytes;
	}
	return NULL;
}

static const struct gr_source_ops remote_ops = {
	.read = remote_read,
	.block_bytes = BLOCK_BYTES,
};

struct gr_error *gr_source_init_remote(struct gr_source *source,
				       const struct gr_target *target)
{
	memset(source, 0, sizeof(*source));
	if (!target->ops.read)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "there is no function that reads the "
				       "target's memory");
	*source = (struct gr_source){
		.target = target,
		.ops = &remote_ops,
		.mem_fd = -1,
		.pagemap_fd = -1,
		.cache = gr_cache_create(remote_ops.block_bytes),
	};
	if (source->cache)
		return NULL;
	gr_source_deinit(source);
	return &gr_enomem;
}
