/* SPDX-License-Identifier: Apache-2.0 */
/** goroutine_index: goroutines by number, for questions that are asked of many
 * goroutines. */
#ifndef GR_GOROUTINE_INDEX_H
#define GR_GOROUTINE_INDEX_H

#include "base/error.h"
#include "goruntime/sched/goroutine.h"
#include "graph/keys.h"

struct gr_stop;

/** Zero-initialised is ready. It is made when it is first needed. */
struct gr_goroutine_index {
	bool has_ids;
	struct gr_keys by_id; /**< Number -> index of the goroutine. */
};
void gr_goroutine_index_deinit(struct gr_goroutine_index *index);

/** The goroutine of that number, the first if there are several.
 * GR_ERROR_NOT_FOUND if there is none. */
struct gr_error *
gr_stop_need_goroutine(struct gr_stop *stop, uint64_t id,
		       const struct gr_goroutine **ret) GR_MUST_CHECK;

#endif /* GR_GOROUTINE_INDEX_H */
