// SPDX-License-Identifier: Apache-2.0
#include "inferior/source.h"

#include <unistd.h>

enum {
	/* Reads of at least this many bytes go around the cache. */
	DIRECT_BYTES = 64 << 10,
	/* Bytes read between two polls. */
	STEP_BYTES = 4 << 20,
};

void gr_source_deinit(struct gr_source *source)
{
	if (source->ops && source->mem_fd >= 0)
		close(source->mem_fd);
	if (source->ops && source->pagemap_fd >= 0)
		close(source->pagemap_fd);
	gr_cache_destroy(source->cache);
	memset(source, 0, sizeof(*source));
}

struct gr_error *gr_source_poll(const struct gr_target *target)
{
	struct gr_error *err = NULL;

	if (target->ops.poll)
		err = target->ops.poll(target->ctx);
	return err ? err : gr_source_want(target, 0);
}

struct gr_error *gr_source_want(const struct gr_target *target, uint64_t bytes)
{
	return target->meter ? gr_meter_check(target->meter, bytes) : NULL;
}

struct gr_error *gr_source_read(struct gr_source *source, uint64_t addr,
				void *buf, uint64_t bytes, uint64_t *got)
{
	*got = 0;
	if (!source->ops)
		return NULL;
	if (bytes < DIRECT_BYTES)
		return gr_cache_read(source, addr, buf, bytes, got);
	while (*got < bytes) {
		uint64_t left = bytes - *got, step;
		struct gr_piece piece = {
			addr + *got,
			(uint8_t *)buf + *got,
			left < STEP_BYTES ? left : STEP_BYTES,
		};
		struct gr_error *err =
			source->ops->read(source, &piece, 1, &step);
		if (!err)
			err = gr_source_poll(source->target);
		if (err || !step)
			return err;
		*got += step;
	}
	return NULL;
}
