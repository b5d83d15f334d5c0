/* SPDX-License-Identifier: Apache-2.0 */
/**
 * tls_g: where a thread keeps the address of its g, by the code that loads it.
 * Knows x86-64 instructions, by Capstone.
 */
#ifndef GR_TLS_G_H
#define GR_TLS_G_H

#include "goruntime/layout/runtime.h"

/**
 * Find the offset from a thread's fs_base to the word that has its g.
 *
 * @param[out] ret INT64_MIN: it is not known.
 */
struct gr_error *gr_tls_g_find(struct gr_runtime *rt,
			       int64_t *ret) GR_MUST_CHECK;

/** Reads the word at @p addr of the target into @p ret; false: it is not
 * there. */
typedef bool gr_tls_word_fn(void *ctx, uint64_t addr, uint64_t *ret);

/** The same in the @p bytes of one function at @p addr. */
struct gr_error *gr_tls_g_in_code(const uint8_t *code, size_t bytes,
				  uint64_t addr, gr_tls_word_fn *read,
				  void *ctx, int64_t *ret) GR_MUST_CHECK;

#endif /* GR_TLS_G_H */
