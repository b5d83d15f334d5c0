/* SPDX-License-Identifier: Apache-2.0 */
/** c_pages: the classes of resident memory in the arenas of C allocators. */
#ifndef GR_RESIDENT_C_PAGES_H
#define GR_RESIDENT_C_PAGES_H

#include "resident/pieces.h"
#include "scan/answers.h"

/** Zero-initialised, no allocator was found. */
struct gr_c_pages {
	const struct gr_native *native; /**< NULL: none. */
	uint8_t *classes; /**< By block, an enum gr_rss_class; or NULL. */
};

/** Find the class of each block: by what holds it, if the graph can be made.
 * @p ret needs gr_c_pages_deinit() even if this fails. */
struct gr_error *gr_c_pages_read(struct gr_answers *answers,
				 struct gr_c_pages *ret) GR_MUST_CHECK;
void gr_c_pages_deinit(struct gr_c_pages *pages);

/** The memory of an allocator that holds @p addr, or the first one behind it; or
 * NULL. */
const struct gr_native_range *gr_c_pages_next(const struct gr_c_pages *pages,
					      uint64_t addr);

/** Give the pieces of [start, end), which lies in one range of an allocator, to
 * @p sink. */
struct gr_error *gr_c_pages_add(const struct gr_c_pages *pages,
				const struct gr_pieces *sink, uint64_t start,
				uint64_t end) GR_MUST_CHECK;

#endif /* GR_RESIDENT_C_PAGES_H */
