// SPDX-License-Identifier: Apache-2.0
#include "base/meter.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

enum {
	STEP_NS = 4 * 1000 * 1000,
	PAGE_BYTES = 4096,
};

void gr_meter_init(struct gr_meter *meter, uint64_t limit_bytes)
{
	*meter = (struct gr_meter){
		.statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC),
		.limit_bytes = limit_bytes,
	};
	meter->is_on = meter->statm_fd >= 0;
	meter->first_bytes = gr_meter_private_bytes(meter);
}

void gr_meter_deinit(struct gr_meter *meter)
{
	if (meter->is_on)
		close(meter->statm_fd);
	memset(meter, 0, sizeof(*meter));
}

uint64_t gr_meter_private_bytes(const struct gr_meter *meter)
{
	unsigned long long size, resident, shared;
	char text[128];
	ssize_t n;

	if (!meter->is_on)
		return 0;
	n = pread(meter->statm_fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	if (sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3 ||
	    shared > resident)
		return 0;
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)now.tv_nsec;
}

struct gr_error *gr_meter_check(struct gr_meter *meter, uint64_t more_bytes)
{
	uint64_t now = 0, taken, needed;
	char need_text[32], limit_text[32];

	if (!meter->limit_bytes || !meter->is_on)
		return NULL;
	if (more_bytes <= PAGE_BYTES) {
		now = now_ns();
		if (now - meter->looked_ns < STEP_NS)
			return NULL;
	}
	taken = gr_meter_private_bytes(meter);
	taken -= taken < meter->first_bytes ? taken : meter->first_bytes;
	if (__builtin_add_overflow(taken, more_bytes, &needed))
		needed = UINT64_MAX;
	if (needed <= meter->limit_bytes || needed <= meter->floor_bytes) {
		meter->looked_ns = now;
		return NULL;
	}
	return gr_error_format(GR_ERROR_MEMORY_LIMIT,
			       "not enough memory: more than %s are needed, "
			       "the limit is %s",
			       gr_text_bytes(needed, need_text,
					     sizeof(need_text)),
			       gr_text_bytes(meter->limit_bytes, limit_text,
					     sizeof(limit_text)));
}
