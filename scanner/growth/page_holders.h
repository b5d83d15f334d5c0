/* SPDX-License-Identifier: Apache-2.0 */
/** page_holders: the names of what holds objects, blocks of C and stacks. */
#ifndef GR_PAGE_HOLDERS_H
#define GR_PAGE_HOLDERS_H

#include "graph/graph.h"
#include "graph/keys.h"
#include "scan/answers.h"

/** A goroutine's stack: [start, end). */
struct gr_stack_owner {
	uint64_t start, end;
	uint32_t goroutine; /**< Its index. */
};
GR_VECTOR(gr_stack_owners, struct gr_stack_owner);
GR_VECTOR(gr_holder_names, const char *);

/** Zero-initialised is ready for gr_page_holders_init(). */
struct gr_page_holders {
	struct gr_answers *answers;
	gr_vertex *root_of; /**< By vertex, the root of its nearest path. */
	struct gr_stack_owners stacks; /**< By address. */
	struct gr_holder_names names;
	struct gr_keys by_key; /**< (kind, a number of it) -> name */
};

/** The graph has been made, with the nearest paths. */
struct gr_error *gr_page_holders_init(struct gr_page_holders *holders,
				      struct gr_answers *answers) GR_MUST_CHECK;
void gr_page_holders_deinit(struct gr_page_holders *holders);

/** The holder of an object, as an index of names. UINT32_MAX: it has none. */
struct gr_error *gr_page_holder_of(struct gr_page_holders *holders, gr_vertex v,
				   uint32_t *ret) GR_MUST_CHECK;

/** The goroutines of the stack at @p addr. UINT32_MAX: it is no goroutine's.
 * @param[out] stop Up to there it is the same; at most @p end. */
struct gr_error *gr_page_holder_of_stack(struct gr_page_holders *holders,
					 uint64_t addr, uint64_t end,
					 uint64_t *stop,
					 uint32_t *ret) GR_MUST_CHECK;

#endif /* GR_PAGE_HOLDERS_H */
