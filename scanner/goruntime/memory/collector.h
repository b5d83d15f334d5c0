/* SPDX-License-Identifier: Apache-2.0 */
/** collector: the settings of the garbage collector (runtime.gcController). */
#ifndef GR_COLLECTOR_H
#define GR_COLLECTOR_H

#include "base/base.h"
#include "base/error.h"

struct gr_types;

/** Numbers of the runtime; INT64_MIN: not known. */
struct gr_collector {
	int64_t gogc;	      /**< Percent; -1: off. */
	int64_t memory_limit; /**< Bytes; INT64_MAX: none. */
	/** Bytes of the heap at which the next cycle ends, by GOGC alone. */
	int64_t goal_bytes;
};

/**
 * Read them by the debug information; without it they are not known. The image
 * is lazy, or that of a core.
 */
struct gr_error *gr_collector_read(const struct gr_types *types,
				   struct gr_collector *ret) GR_MUST_CHECK;

#endif /* GR_COLLECTOR_H */
