/* SPDX-License-Identifier: Apache-2.0 */
/** pools: what only sync.Pools hold. Source: sync/pool.go. */
#ifndef GR_POOLS_H
#define GR_POOLS_H

#include "base/base.h"
#include "base/error.h"
#include "base/vector.h"

struct gr_answers;
struct gr_stop;

/** A sync.Pool that has objects, or had some at the last collection. */
struct gr_pool {
	uint64_t addr;
	const char *path; /**< `main.buffers`; "": no package variable. */
	/** Only this pool holds these: its tables and what lies in it. And the
	 * part of them in blocks of C. */
	uint64_t retained_bytes, retained_c_bytes;
	uint64_t tables[2]; /**< Addresses: local and victim, or 0. */
};
GR_VECTOR(gr_pool_vector, struct gr_pool);

struct gr_pools {
	bool is_known;	/**< The layout of a sync.Pool is. */
	uint64_t pools; /**< All, those left out included. */
	/** By all pools together, and the part of it in blocks of C. */
	uint64_t retained_bytes, retained_c_bytes;
	struct gr_pool *rows; /**< Most bytes first; at most 20. */
	size_t nrows;
};

/** Read the program's lists of all pools. @p is_known is false if the layout of a
 * sync.Pool is not known. */
struct gr_error *gr_pools_read(struct gr_stop *stop, struct gr_pool_vector *ret,
			       bool *is_known) GR_MUST_CHECK;

/** Find what pools hold. Makes the dominators. @p ret needs gr_pools_deinit() even
 * if this fails. */
struct gr_error *gr_pools_find(struct gr_answers *answers,
			       struct gr_pools *ret) GR_MUST_CHECK;
void gr_pools_deinit(struct gr_pools *pools);

#endif /* GR_POOLS_H */
