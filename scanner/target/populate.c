// SPDX-License-Identifier: Apache-2.0
/*
 * A core's pages are mapped as they are touched, sixteen by a fault, and the
 * walk touches nearly all of the heap: that was a tenth of its time. A thread
 * does it meanwhile, in the order of addresses, as the walk does when it begins.
 * It calls nothing but the kernel.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "target/image_internal.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 // Linux 5.14; older ones refuse it.
#endif

enum {
	STEP_BYTES = 2 << 20,	 /* between two looks at whether to end */
	LEAST_BYTES = 512 << 10, /* for which it is worth it */
};

struct gr_populate {
	pthread_t thread;
	struct gr_range_vector ranges;
	bool is_over; /**< Atomic: nobody wants it any more. */
};

// What the file has lost since, or the kernel does not know, ends it.
static bool populate(struct gr_populate *p, const struct gr_range *range)
{
	uintptr_t at = (uintptr_t)range->host & ~(GR_PAGE_BYTES - 1);
	uintptr_t end = (uintptr_t)range->host + (range->end - range->start);

	for (; at < end; at += STEP_BYTES) {
		size_t bytes = end - at < STEP_BYTES ? end - at : STEP_BYTES;
		if (__atomic_load_n(&p->is_over, __ATOMIC_RELAXED) ||
		    madvise((void *)at, bytes, MADV_POPULATE_READ))
			return false;
		// The kernel's lock on our mappings: a malloc() that waits for
		// it would wait for us until the end.
		nanosleep(&(struct timespec){ .tv_nsec = 1 }, NULL);
	}
	return true;
}

static void *run(void *arg)
{
	struct gr_populate *p = arg;

	for (size_t i = 0; i < p->ranges.size; i++)
		if (!populate(p, &p->ranges.data[i]))
			break;
	return NULL;
}

// What of the plan lies in the core; what was kept is read by few, in parts.
static bool find_ranges(const struct gr_image *image,
			struct gr_range_vector *ret)
{
	const struct gr_ranges *known = &image->ranges;
	uint64_t bytes = 0;

	for (size_t i = image->kept_ranges; i < image->plan.size; i++) {
		uint64_t start = image->plan.data[i].start;
		uint64_t end = image->plan.data[i].end;
		size_t k = gr_ranges_search(known, start);

		for (; k < known->count && known->data[k].start < end; k++) {
			struct gr_range range = known->data[k];
			if (range.start < start) {
				range.host += start - range.start;
				range.start = start;
			}
			if (range.end > end)
				range.end = end;
			bytes += range.end - range.start;
			if (!gr_range_vector_append(ret, range))
				return false;
		}
	}
	return bytes >= LEAST_BYTES;
}

// Signals are for the debugger's own threads.
static bool start_thread(struct gr_populate *p)
{
	sigset_t all, old;

	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &old))
		return false;
	bool is_started = !pthread_create(&p->thread, NULL, run, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return is_started;
}

void gr_image_populate(struct gr_image *image)
{
	if (!image->core.memory.size || image->populate ||
	    image->target->max_threads < 2)
		return;
	struct gr_populate *p = calloc(1, sizeof(*p));
	if (!p)
		return;
	if (find_ranges(image, &p->ranges) && start_thread(p)) {
		image->populate = p;
		return;
	}
	gr_range_vector_deinit(&p->ranges);
	free(p);
}

void gr_image_end_populate(struct gr_image *image)
{
	struct gr_populate *p = image->populate;

	if (!p)
		return;
	image->populate = NULL;
	__atomic_store_n(&p->is_over, true, __ATOMIC_RELAXED);
	pthread_join(p->thread, NULL);
	gr_range_vector_deinit(&p->ranges);
	free(p);
}
