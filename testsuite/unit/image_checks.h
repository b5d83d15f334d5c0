// SPDX-License-Identifier: Apache-2.0
/* The tests of the image have these checks in common. */
#pragma once

#include "base/cleanup.h"
#include "elf_builder.h"
#include "inferior/image.h"
#include "suite.h"

enum {
	HEAP = 0x10000000,
	CORE_SALT = 77,
	PAGE = 4096,
};

static inline void assert_bytes(const uint8_t *p, uint64_t addr, uint64_t bytes,
				uint8_t salt)
{
	for (uint64_t i = 0; i < bytes; i++)
		assert_int_equal(p[i], builder_byte(addr + i, salt));
}
