/* SPDX-License-Identifier: Apache-2.0 */
/**
 * huge: arrays of many megabytes, in huge pages if the kernel has some. The
 * first touch of a new page takes longer than most work on it, in a virtual
 * machine many times longer. Huge pages make such touches few.
 *
 * Arrays of gr_huge_alloc() consist of *units*: huge pages that can move.
 * Between gr_huge_hold() and gr_huge_release(), the units of a freed array are
 * kept, and later arrays use them again. New memory is taken only when no kept
 * unit is left, so holding does not raise the peak.
 */
#ifndef GR_HUGE_H
#define GR_HUGE_H

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>

/** Bytes of a huge page on machines with small pages of 4096 bytes. */
enum { GR_HUGE_BYTES = 2 << 20 };

/**
 * Ask for huge pages in [data, data + bytes), only where a whole huge page lies
 * in the array. Untouched memory costs no more than before. This is a hint.
 */
void gr_huge_advise(void *data, size_t bytes);

/** calloc() with the hint of gr_huge_advise(). The caller frees the array. */
void *gr_huge_calloc(size_t count, size_t elem_bytes);

/**
 * An array of whole units; its contents are undefined. Any thread may call
 * this. gr_huge_free() frees it. @return NULL: no memory.
 */
void *gr_huge_alloc(size_t bytes);

/**
 * Change the length of an array of gr_huge_alloc() from @p bytes to @p
 * new_bytes. Its units move, and nothing is copied.
 *
 * @return Its new place; or NULL: no memory, and it is as it was.
 */
void *gr_huge_resize(void *data, size_t bytes, size_t new_bytes);

/** Free an array of gr_huge_alloc(), of the length that it has. */
void gr_huge_free(void *data, size_t bytes);

/** The bytes that an array of this length takes. */
static inline size_t gr_huge_ceil(size_t bytes)
{
	return (bytes + GR_HUGE_BYTES - 1) / GR_HUGE_BYTES * GR_HUGE_BYTES;
}

/** Keep freed units until each gr_huge_hold() has had its gr_huge_release().
 * Then return them to the kernel. */
void gr_huge_hold(void);
void gr_huge_release(void);

/** Bytes of the units that are kept and in no array. */
size_t gr_huge_spare_bytes(void);

/**
 * A unit that a thread makes ready while its user still fills the one before:
 * the first touch is then not waited for. Zeros: there is none.
 */
struct gr_huge_next {
	pthread_t thread;
	bool is_started;
	atomic_bool is_ready;
	void *unit; /**< The thread's until is_ready; NULL: no memory. */
};

/**
 * An array of one unit: the one that is ready, or as gr_huge_alloc(). Then
 * another one is begun, if a thread can be had. gr_huge_free() frees the array.
 */
void *gr_huge_next_alloc(struct gr_huge_next *next);

/** Wait for the thread, and free what it has made. */
void gr_huge_next_deinit(struct gr_huge_next *next);

#endif /* GR_HUGE_H */
