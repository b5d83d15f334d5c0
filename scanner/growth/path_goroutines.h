/* SPDX-License-Identifier: Apache-2.0 */
/**
 * path_goroutines: the goroutine at which a nearest path begins, which is the one
 * that has to let go of what lies on the path.
 *
 * It is the goroutine of a frame, of registers or of a g; the one whose call of C
 * has the stack or the registers; or the one that is to run a finalizer or a
 * cleanup that is queued. If several goroutines run cleanups, it is not known
 * which one runs this one. The stack of a thread that Go did not start has no
 * known goroutine.
 */
#ifndef GR_PATH_GOROUTINES_H
#define GR_PATH_GOROUTINES_H

#include "graph/graph.h"
#include "graph/keys.h"
#include "scan/answers.h"

/** Zero-initialised is ready for gr_path_goroutines_init(). */
struct gr_path_goroutines {
	const struct gr_answers *answers;
	struct gr_keys by_thread; /**< (thread id, 0) -> its goroutine */
	uint64_t finalizers;	  /**< The one that runs them; 0: not known. */
	uint64_t cleanups;
};

/** The graph has been made, with the nearest paths. */
struct gr_error *
gr_path_goroutines_init(struct gr_path_goroutines *goroutines,
			const struct gr_answers *answers) GR_MUST_CHECK;
void gr_path_goroutines_deinit(struct gr_path_goroutines *goroutines);

/** The number of the goroutine at which a path from @p root begins; 0: none, or
 * not known. */
uint64_t gr_path_goroutine(const struct gr_path_goroutines *goroutines,
			   gr_vertex root);

#endif /* GR_PATH_GOROUTINES_H */
