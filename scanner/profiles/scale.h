/* SPDX-License-Identifier: Apache-2.0 */
/** scale: what samples stand for, to the bit as runtime/pprof computes it. */
#ifndef GR_SCALE_H
#define GR_SCALE_H

#include <stdint.h>

/**
 * Scale sampled objects of one size. Source: runtime/pprof/protomem.go,
 * scaleHeapSample.
 *
 * @param rate Bytes for each sample; up to 1, nothing is scaled.
 * @param[out] values Objects and bytes.
 */
void gr_scale_memory(int64_t objects, uint64_t object_bytes, int64_t rate,
		     int64_t values[static 2]);

/** How the runtime has counted contentions. */
struct gr_contention_scale {
	int64_t mutex_rate;	   /**< One in so many was counted; 1: all. */
	uint64_t ticks_per_second; /**< 0: not known; delays are in ticks. */
};

/**
 * Scale contentions and their delay. Source: runtime/pprof/pprof.go,
 * printCountCycleProfile and scaleMutexProfile.
 *
 * @param[out] values Contentions, and nanoseconds or ticks.
 */
void gr_scale_contentions(const struct gr_contention_scale *scale,
			  int64_t count, int64_t ticks,
			  int64_t values[static 2]);

#endif /* GR_SCALE_H */
