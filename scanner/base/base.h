/* SPDX-License-Identifier: Apache-2.0 */
/**
 * base: the room that all other rooms build on. It knows libc and nothing else.
 *
 * This header comes first in every other header of the scanner.
 */
#ifndef GR_BASE_H
#define GR_BASE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* These come before the poison below, which forbids even a declaration. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Object number: dense over all slots of all in-use spans, address order. */
typedef uint32_t gr_obj;
#define GR_OBJ_NONE UINT32_MAX

#define GR_MUST_CHECK __attribute__((__warn_unused_result__))
#define GR_MAYBE_UNUSED __attribute__((__unused__))
#define GR_PRINTF(fmt, args) __attribute__((__format__(__printf__, fmt, args)))
#define GR_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define GR_LIKELY(x) __builtin_expect(!!(x), 1)
#define GR_UNLIKELY(x) __builtin_expect(!!(x), 0)

/**
 * Prefetch a cache line. The empty asm statement is needed: gcc treats code
 * that does nothing but prefetch as pure and removes it.
 */
#define gr_prefetch(p)                            \
	do {                                      \
		const void *_p = (p);             \
		__builtin_prefetch(_p);           \
		__asm__ volatile("" : : "r"(_p)); \
	} while (0)

/**
 * Binary search over @p n rows: return the number of leading rows for which @p
 * is_before holds. In @p is_before, @p i is a row's number.
 */
#define gr_count_before(n, i, is_before)                      \
	({                                                    \
		size_t _low = 0, _high = (n);                 \
		while (_low < _high) {                        \
			size_t i = _low + (_high - _low) / 2; \
			if (is_before)                        \
				_low = i + 1;                 \
			else                                  \
				_high = i;                    \
		}                                             \
		_low;                                         \
	})

/**
 * An invariant of our own. It is checked in builds with AddressSanitizer.
 * Other builds do not check it: a failure must not end the user's Python or
 * gdb.
 */
#ifdef __SANITIZE_ADDRESS__
#define GR_ASSERT(x) assert(x)
#else
#define GR_ASSERT(x) ((void)sizeof(!(x)))
#endif

/** Bytes of a pointer in every target that we read. */
#define GR_WORD_BYTES 8

#pragma GCC poison strcpy strcat sprintf

#endif /* GR_BASE_H */
