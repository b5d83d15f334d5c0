// SPDX-License-Identifier: Apache-2.0
/* The memory that a scan may take, as the kernel counts it. */
#include "base/meter.h"

#include <sys/mman.h>

#include "suite.h"

enum { MB = 1 << 20 };

/* Memory that is touched, so that it is there. */
static void *take(size_t bytes)
{
	uint8_t *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(data, MAP_FAILED);
	for (size_t i = 0; i < bytes; i += 4096)
		((volatile uint8_t *)data)[i] = 1;
	return data;
}

static void expect(struct gr_meter *meter, uint64_t more, const char *text)
{
	meter->looked_ns = 0;
	struct gr_error *err = gr_meter_check(meter, more);

	if (!text) {
		assert_null(err);
		return;
	}
	assert_error_code(err, GR_ERROR_MEMORY_LIMIT);
	if (!strstr(err->message, text))
		fail_msg("%s", err->message);
	gr_error_destroy(err);
}

TEST(growth)
{
	struct gr_meter meter;
	void *data;

	gr_meter_init(&meter, 64 * MB);
	expect(&meter, 0, NULL);
	expect(&meter, 32 * MB, NULL);
	expect(&meter, 65 * MB, "the limit is 64.0 MiB");
	expect(&meter, UINT64_MAX, "the limit is 64.0 MiB");
	data = take(70 * MB);
	expect(&meter, 0, "the limit is 64.0 MiB");
	meter.floor_bytes = 128 * MB;
	expect(&meter, 0, NULL);
	meter.floor_bytes = 0;
	munmap(data, 70 * MB);
	expect(&meter, 0, NULL);
	gr_meter_deinit(&meter);
}

TEST(no_limit)
{
	struct gr_meter meter;

	gr_meter_init(&meter, 0);
	expect(&meter, UINT64_MAX, NULL);
	gr_meter_deinit(&meter);
}

/* A meter that nobody began is none. */
TEST(zeroed)
{
	struct gr_meter meter = { .limit_bytes = 1 };

	expect(&meter, UINT64_MAX, NULL);
	assert_int_equal(gr_meter_private_bytes(&meter), 0);
	gr_meter_deinit(&meter);
}

GR_SUITE("meter")
