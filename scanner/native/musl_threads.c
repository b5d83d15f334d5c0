// SPDX-License-Identifier: Apache-2.0
#include "native/musl_threads.h"

#include "inferior/elf.h"

enum {
	LEAST_PTHREAD_BYTES = 200,
	/* Words from map_base on. They have kept their order. */
	MAP_BASE = 0,
	MAP_SIZE = 1,
	STACK = 2, /* its top */
	STACK_SIZE = 3,
	GUARD_SIZE = 4,
	NFIELDS = 5,
};

/* Where map_base is: from 1.2.2 on; in 1.2.1; and in 1.2.2 on arm64. */
static const uint8_t layouts[] = { 72, 80, 56 };

/* Is the stack with its guard the lower part of a mapping, and the struct at
 * @p addr in the upper one? */
static bool fills_mapping(const uint64_t *fields, uint64_t addr)
{
	uint64_t base = fields[MAP_BASE], size = fields[MAP_SIZE];
	uint64_t stack = fields[STACK];

	return base && base % GR_PAGE_BYTES == 0 && size % GR_PAGE_BYTES == 0 &&
	       base + size > base && fields[GUARD_SIZE] < size &&
	       stack - fields[STACK_SIZE] == base + fields[GUARD_SIZE] &&
	       fields[STACK_SIZE] && stack > base + fields[GUARD_SIZE] &&
	       stack <= addr && addr < base + size &&
	       base + size - addr >= LEAST_PTHREAD_BYTES;
}

bool gr_musl_thread_at(struct gr_view *view, uint64_t addr,
		       struct gr_musl_thread *ret)
{
	if (!gr_view_has(view, addr, addr))
		return false;
	for (size_t i = 0; i < GR_ARRAY_SIZE(layouts); i++) {
		uint64_t fields[NFIELDS];
		bool is_whole = true;

		for (unsigned int k = 0; is_whole && k < NFIELDS; k++)
			is_whole = gr_view_word(
				view, addr + layouts[i] + k * GR_WORD_BYTES,
				&fields[k]);
		if (!is_whole || !fills_mapping(fields, addr))
			continue;
		ret->start = fields[MAP_BASE] + fields[GUARD_SIZE];
		ret->end = fields[MAP_BASE] + fields[MAP_SIZE];
		return true;
	}
	return false;
}
