// SPDX-License-Identifier: Apache-2.0
#include "facts/core_memory.h"

#include <string.h>

struct gr_error *gr_core_memory_open(const char *path,
				     struct gr_core_memory *ret)
{
	const struct gr_target target = { .kind = GR_TARGET_CORE,
					  .core_path = path };
	struct gr_core_memory memory = { .core = { .missing_bytes = 0 } };

	struct gr_error *err = gr_core_open(path, &target, &memory.core);
	if (!err)
		err = gr_ranges_init(&memory.ranges, &memory.core.memory,
				     &target);
	if (err)
		gr_core_memory_close(&memory);
	else
		*ret = memory;
	return err;
}

void gr_core_memory_close(struct gr_core_memory *memory)
{
	gr_ranges_deinit(&memory->ranges);
	gr_core_deinit(&memory->core);
}

uint64_t gr_core_memory_read(struct gr_core_memory *memory, uint64_t addr,
			     void *buf, uint64_t bytes)
{
	uint64_t done = 0;

	// Bounded by the caller's buffer.
	while (done < bytes && addr <= UINT64_MAX - done) {
		const struct gr_range *range =
			gr_ranges_find(&memory->ranges, addr + done);
		if (!range)
			break;
		uint64_t there = range->end - (addr + done);
		uint64_t n = there < bytes - done ? there : bytes - done;
		memcpy((uint8_t *)buf + done,
		       range->host + (addr + done - range->start), n);
		done += n;
	}
	return done;
}

static uint64_t read_memory(void *ctx, uint64_t addr, void *buf, uint64_t bytes)
{
	return gr_core_memory_read(ctx, addr, buf, bytes);
}

struct gr_memory gr_core_memory_of(struct gr_core_memory *memory)
{
	return (struct gr_memory){ read_memory, memory };
}
