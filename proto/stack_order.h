/* SPDX-License-Identifier: Apache-2.0 */
/**
 * stack_order: the order of paths as lines of text, `a;b;c 123', byte by byte:
 * that of sort(1) in the locale C.
 */
#ifndef GR_STACK_ORDER_H
#define GR_STACK_ORDER_H

#include "proto/paths.h"

/**
 * List the paths that have bytes in the order of their lines.
 *
 * @param paths Of the form GR_PATHS_STACKS: no name has a `;'.
 * @param poll Called repeatedly, or NULL. An error aborts.
 * @param ret A list that the caller frees.
 */
struct gr_error *gr_stack_order(const struct gr_paths *paths,
				struct gr_error *(*poll)(void *ctx), void *ctx,
				uint32_t **ret, size_t *count) GR_MUST_CHECK;

#endif /* GR_STACK_ORDER_H */
