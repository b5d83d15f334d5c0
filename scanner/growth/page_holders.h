/* SPDX-License-Identifier: Apache-2.0 */
/** page_holders: the names of what holds objects, blocks of C and stacks, and of
 * the variables that data is in. */
#ifndef GR_PAGE_HOLDERS_H
#define GR_PAGE_HOLDERS_H

#include "graph/graph.h"
#include "graph/keys.h"
#include "mark/edges.h"
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

/** The holder of what the pointer @p edge leads to: what its object has, or the
 * root. UINT32_MAX: its object is garbage. */
struct gr_error *gr_page_holder_of_edge(struct gr_page_holders *holders,
					const struct gr_edge *edge,
					uint32_t *ret) GR_MUST_CHECK;

/** The variable that the word of data at @p addr belongs to, or the section and
 * the file: `bss of libfoo.so`. UINT32_MAX: it lies in no data. */
struct gr_error *gr_page_holder_of_word(struct gr_page_holders *holders,
					uint64_t addr,
					uint32_t *ret) GR_MUST_CHECK;

/** As gr_page_holder_of_word() for pages of data: a variable is the holder of the
 * pages that it has whole.
 * @param[out] stop Up to there it is the same; at most @p end. */
struct gr_error *gr_page_holder_of_data(struct gr_page_holders *holders,
					uint64_t addr, uint64_t end,
					uint64_t *stop,
					uint32_t *ret) GR_MUST_CHECK;

#endif /* GR_PAGE_HOLDERS_H */
