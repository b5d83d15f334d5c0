/* SPDX-License-Identifier: Apache-2.0 */
/**
 * touch: the first touch of the pages of a mapped core, by a thread.
 *
 * To fill the pointer bits is to read all spans in order, and half of its time
 * is page faults. While the caller reads the spans from the first one on, a
 * thread touches them from the last one down to the middle, unless the core
 * would have to be read from its disk.
 */
#ifndef GR_TOUCH_H
#define GR_TOUCH_H

#include "goruntime/heap/heap.h"

#include <pthread.h>
#include <stdatomic.h>

struct gr_touch {
	const struct gr_heap *heap;
	pthread_t thread;
	bool is_started;
	atomic_bool is_over;
};

/** Begin, if the heap is large, lies in a core, and a thread can be had. The
 * spans stay as they are until gr_touch_end(). */
void gr_touch_begin(struct gr_touch *touch, const struct gr_heap *heap);

/** Wait for the thread, which ends with the page that it is at. */
void gr_touch_end(struct gr_touch *touch);

#endif /* GR_TOUCH_H */
