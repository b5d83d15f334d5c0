/* SPDX-License-Identifier: Apache-2.0 */
/** itabs: interface tables that the runtime creates itself. */
#ifndef GR_ITABS_H
#define GR_ITABS_H

#include "goruntime/layout/runtime.h"

/** Limit for the size of runtime.itabTable, which is a power of two. */
enum { GR_ITABS_MAX = 1 << 24 };

/**
 * Plan the itabs of runtime.itabTable (runtime/iface.go, itabTableType). Itabs
 * that the runtime creates (getitab) lie outside of heap and modules, in memory
 * that nothing else plans. The image is lazy.
 */
struct gr_error *gr_itabs_plan(struct gr_runtime *rt) GR_MUST_CHECK;

#endif /* GR_ITABS_H */
