// SPDX-License-Identifier: Apache-2.0
#include "goruntime/heap/touch.h"

#include <sys/mman.h>

#include "base/thread.h"
#include "inferior/elf.h"

/* Below this, a thread costs more than it saves: 32 MB in spans of a page. */
enum { MIN_SPANS = 4096 };

static bool is_over(const struct gr_touch *touch)
{
	return atomic_load_explicit(&touch->is_over, memory_order_relaxed);
}

/* Touch the pages of a span. @return false: nobody needs more, or a page is not
 * in the page cache. To read the file at two places is slower than in order. */
static bool touch_span(const struct gr_touch *touch, const struct gr_span *span)
{
	const uint8_t *end = span->host + (span->limit_addr - span->base_addr);
	const uint8_t *page =
		span->host - (uintptr_t)span->host % GR_PAGE_BYTES;
	unsigned char is_cached;

	for (; page < end; page += GR_PAGE_BYTES) {
		if (is_over(touch) ||
		    mincore((void *)page, GR_PAGE_BYTES, &is_cached) ||
		    !(is_cached & 1))
			return false;
		(void)*(const volatile uint8_t *)page;
	}
	return true;
}

static void *run(void *arg)
{
	struct gr_touch *touch = arg;
	const struct gr_heap *heap = touch->heap;

	for (uint32_t i = heap->nspans; i > heap->nspans / 2; i--) {
		const struct gr_span *span = &heap->spans[i - 1];

		if (is_over(touch))
			break;
		if (!span->is_noscan && span->host && !touch_span(touch, span))
			break;
	}
	return NULL;
}

void gr_touch_begin(struct gr_touch *touch, const struct gr_heap *heap)
{
	touch->heap = heap;
	atomic_init(&touch->is_over, false);
	touch->is_started = heap->nspans >= MIN_SPANS &&
			    gr_image_is_mapped_core(heap->rt->image) &&
			    gr_thread_start(&touch->thread, run, touch);
}

void gr_touch_end(struct gr_touch *touch)
{
	if (!touch->is_started)
		return;
	atomic_store(&touch->is_over, true);
	pthread_join(touch->thread, NULL);
	touch->is_started = false;
}
