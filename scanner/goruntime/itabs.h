/* SPDX-License-Identifier: Apache-2.0 */
/** itabs: interface tables that the runtime has made itself. */
#ifndef GR_ITABS_H
#define GR_ITABS_H

#include "goruntime/runtime.h"

/** More entries than any runtime.itabTable has; its size, a power of two. */
enum { GR_ITABS_MAX = 1 << 24 };

/**
 * Plan the itabs of runtime.itabTable (runtime/iface.go, itabTableType). Those
 * that the compiler did not foresee (getitab) lie outside of heap and modules,
 * in memory that nothing else plans. Lazy image.
 */
struct gr_error *gr_itabs_plan(struct gr_runtime *rt) GR_MUST_CHECK;

#endif /* GR_ITABS_H */
