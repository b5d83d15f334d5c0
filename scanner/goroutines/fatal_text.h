/* SPDX-License-Identifier: Apache-2.0 */
/** fatal_text: the text of a fatal error. Source: runtime/panic.go (throw,
 * fatal). */
#ifndef GR_FATAL_TEXT_H
#define GR_FATAL_TEXT_H

#include "base/base.h"
#include "base/error.h"

struct gr_runtime;

/**
 * Find the text that runtime.throw or runtime.fatal prints, whose frame lies in
 * the stack's words [lo, hi). Both print it by a closure on the stack, which
 * has the string. *@p ret belongs to the scan; NULL if there is no such frame.
 */
struct gr_error *gr_fatal_text_find(struct gr_runtime *rt, uint64_t lo,
				    uint64_t hi,
				    const char **ret) GR_MUST_CHECK;

#endif /* GR_FATAL_TEXT_H */
